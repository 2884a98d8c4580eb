"""Running unittest's test cases one by one, with outcomes as the judge reports them."""

from __future__ import annotations

import sys
import time
import unittest
from collections.abc import Callable
from typing import Any, Protocol

from verifier_service.verifiers.code.harness.proxies import Unproxiable
from verifier_service.verifiers.code.harness.task_code import BadTask, Stop


class Run(Protocol):
    """What a result needs of the run that it is part of."""

    checked: Callable[[], None]

    def begun(self) -> int: ...

    def not_counted(self, number: int) -> None: ...

    def over(self, number: int, failure: tuple[str, str] | None, wall_s: float) -> None: ...

    def blame(self, error: BaseException) -> tuple[str, str]: ...


class UnittestResult(unittest.TestResult):
    """Passes unittest's outcomes on, one test at a time."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run
        self.failure: tuple[str, str] | None = None
        self.counts, self.begun, self.started = True, -1, 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        self.failure = None
        self.counts, self.started = True, time.monotonic()
        self.begun = self.run.begun()

    def stopTest(self, test: unittest.TestCase) -> None:
        number, self.begun = self.begun, -1
        self.run.checked()
        cut_short = sys.exc_info()[1]
        if isinstance(cut_short, KeyboardInterrupt):  # which unittest lets through without a word to its result
            self.counts, self.failure = True, self.run.blame(cut_short)
        if not self.counts:
            self.run.not_counted(number)
            return
        self.run.over(number, self.failure, time.monotonic() - self.started)

    def _failed(self, error: Any) -> None:
        failure = self.run.blame(error[1])
        if self.begun < 0:  # a class's set-up failed: its tests won't start
            number = self.run.begun()
            self.run.over(number, failure, 0.0)
            raise Stop
        self.failure = self.failure or failure

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        if isinstance(err[1], (Stop, BadTask, Unproxiable)):
            raise err[1]
        self._failed(err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._failed(err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self._failed(err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.counts = False

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.counts = False

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.failure = "incorrect", "expected to fail"
