"""What the client raises, and when.

Raised: what a person must mend (a refused request, a service that is not ready, too many failures to go on).
Never raised: what passes by itself. That is retried inside the deadline and then becomes an unscored verdict.

    VerifierClientError
    ├── RequestRefused        the service answered 4xx: a bug of the caller; names the field
    ├── ServiceNotReady       preflight found no service, another protocol, or a kind that can't be scored
    └── VerificationAborted   too large a share of a training step could not be verified; raised on every rank together
"""

from __future__ import annotations


class VerifierClientError(Exception):
    """Base of all that the client raises on purpose."""


class RequestRefused(VerifierClientError):
    """The request itself is wrong; sending it again changes nothing.

    `status` is the HTTP status (0 if the client refused it before sending), `field` the path in what the caller
    passed, such as `groups[3].verifiers[0].gold`.
    """

    def __init__(self, message: str, *, status: int = 0, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.field = field


class ServiceNotReady(VerifierClientError):
    """The service cannot score what is asked; the message says what to do."""


class VerificationAborted(VerifierClientError):
    """Too large a share of a step stayed unscored: training on would learn from the failures of the service."""
