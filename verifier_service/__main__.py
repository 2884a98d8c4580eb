"""`python -m verifier_service` is `verifier-service`."""

from verifier_service.cli import main

if __name__ == "__main__":
    main()
