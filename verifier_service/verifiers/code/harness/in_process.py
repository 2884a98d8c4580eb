"""The submission's process when the task allows its tests in it: for test code that can't cross between two processes.

Nothing protects these tests from the submission; the verdict says so (`trust: in_process`).
"""

from __future__ import annotations

from typing import Any

from verifier_service.verifiers.code.harness.asserts import AssertRun
from verifier_service.verifiers.code.harness.described import catch_up
from verifier_service.verifiers.code.harness.peer import Peer
from verifier_service.verifiers.code.harness.submission_side import MODULE, Submission
from verifier_service.verifiers.code.harness.task_code import BadTask
from verifier_service.verifiers.code.harness.task_plan import planned

IN_PROCESS_TEST_MODULE = "tests"


class TestingSubmission(Submission):
    """A submission that also runs test code, when asked to."""

    def do_run_tests(self, peer: Peer, code: str, entry_point: str | None, stop: bool) -> Any:
        """The judge's frames, as lists of pairs."""
        catch_up()
        frames: list[dict[str, Any]] = []
        try:
            run = AssertRun(planned(code, entry_point, tells_of_drops=False), entry_point, self, IN_PROCESS_TEST_MODULE)
            run.execute(
                stop=stop,
                begin=lambda number: frames.append({"kind": "begin", "test": number}),
                ended=lambda number, outcome, note, wall_s: frames.append(
                    {"kind": "test", "test": number, "outcome": outcome, "note": "", "wall_s": wall_s, "cpu_s": 0.0}
                ),
                planned=lambda total: frames.append({"kind": "plan", "total": total}),
                touched=lambda: True,
                checked=lambda: None,
                in_words=lambda error: type(error).__name__,
            )
        except BadTask as fault:
            frames.append({"kind": "bad_task", "detail": str(fault)})
        return frames

    def set_name(self, name: str, value: Any) -> None:
        setattr(self.module, name, value)

    def delete_name(self, name: str) -> None:
        delattr(self.module, name)

    def library(self, module: str, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Never wanted: nothing here stands for something at another end."""
        raise NotImplementedError

    def seed(self, arguments: tuple[Any, ...]) -> None:
        """Done already: it is the same process."""

    def lookup(self, name: str) -> Any:
        try:
            return vars(self.module)[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined in {MODULE}") from None


def serve(source: bytes, channel_fd: int) -> None:
    """Entry point of the submission's process."""
    submission = TestingSubmission(source)
    Peer(channel_fd, submission.serve_request, restrains=False).serve_forever()
