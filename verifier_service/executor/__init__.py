"""The process that owns Docker when the HTTP process must not: `python -m verifier_service.executor`."""
