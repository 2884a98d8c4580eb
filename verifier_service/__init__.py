"""The reward verifier service. Its composition root is `verifier_service.app.create_app`."""

__version__ = "0.1.0"
