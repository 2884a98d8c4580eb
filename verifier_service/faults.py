"""The boundary rule: who is to blame decides what the trainer gets.

1. What a completion does is never a fault: a wrong answer, a crash, a limit exceeded or an attack is a *scored*
   verdict, and code below the scorer returns it as a value.
2. `TaskFault`: the task itself cannot be graded (gold unparsable, no tests, broken test code). Unscored, `bad_task`,
   not retryable: asking again changes nothing.
3. `InfrastructureFault`: our side failed (engine down, container or worker died, a bug). Retried once elsewhere,
   then unscored, `infrastructure`, retryable.
4. `DeadlineExceeded`: the request's deadline passed before this item ran. Unscored, `deadline`, retryable.
5. `Overloaded`: admission is full. The whole request is refused with 503 and Retry-After.

Only two places catch everything: the scorer, per item, and the trainer client's edge to the trainer.
An engine failure is never told from a program's output, since a program writes that output.
"""


class Fault(Exception):
    """Base of what stops a completion from being scored through no doing of its own."""


class TaskFault(Fault):
    """The task cannot be graded; the message says what to mend in it and never quotes the gold."""


class InfrastructureFault(Fault):
    """The service failed; the message says what an operator can do."""


class DeadlineExceeded(Fault):
    """The request's deadline passed first."""


class Overloaded(Fault):
    """No room for the request now; `retry_after_s` says when to come back."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
