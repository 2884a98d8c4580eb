"""Running test code: statements with asserts, `check(candidate)`, unittest classes and pytest functions.

The test's module runs statement by statement in a namespace whose missing names are the submission's. Order of names:
the test's own, built-in ones, usual modules and typing names, the submission's; so that a submission can't replace the
`abs` or `sorted` that a test compares with. Only the name under test may be that of a built-in function.

Who is to blame for a failure: before the test has called the submission, the test (`BadTask`); afterwards, or where a
name is missing that the test doesn't define itself, the submission.
"""

from __future__ import annotations

import builtins
import dataclasses
import errno
import random
import sys
import time
import types
import unittest
from collections.abc import Callable
from typing import Any, Protocol

from verifier_service.verifiers.code.harness.class_use import DROP, MARK
from verifier_service.verifiers.code.harness.mini_pytest import install
from verifier_service.verifiers.code.harness.proxies import RemoteMeta, Unproxiable, is_remote
from verifier_service.verifiers.code.harness.pytest_run import Outcome, PytestItem, collect, run_item
from verifier_service.verifiers.code.harness.submission_module import SubmissionFinder
from verifier_service.verifiers.code.harness.task_code import BadTask, Stop
from verifier_service.verifiers.code.harness.task_plan import CANDIDATES, TaskPlan, preset
from verifier_service.verifiers.code.harness.unittest_run import UnittestResult

NO_FILES = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS)  # what using a file comes to in the judge's process
STREAM_WORDS = ("capsys", "capfd", "stdout", "stdin", "input", "print")

Begin = Callable[[int], None]
Ended = Callable[[int, str, str, float], None]


class SubmissionEnds(Protocol):
    """The submission, as far as names go: the other end of the wire, or the same process."""

    def lookup(self, name: str) -> Any:
        """Raises NameError."""
        ...

    def set_name(self, name: str, value: Any) -> None: ...

    def delete_name(self, name: str) -> None: ...

    def library(self, module: str, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the standard library there."""
        ...

    def seed(self, arguments: tuple[Any, ...]) -> None:
        """Seed the submission's random numbers as the test seeds its own."""
        ...


class Namespace(dict[str, Any]):
    """The test module's globals."""

    def __init__(self, name: str, resolve: Callable[[str], Any]) -> None:
        super().__init__(__name__=name, __builtins__=builtins, __file__=f"{name}.py")
        self.resolve = resolve

    def __missing__(self, name: str) -> Any:
        return self.resolve(name)


class Behind(dict[str, Any]):
    """Built-in names for a module with classes: names in a class's body aren't looked up as a module's others are."""

    def __init__(self, ours: frozenset[str], resolve: Callable[[str], Any]) -> None:
        found = vars(builtins)
        super().__init__({name: found[name] for name in found.keys() - ours - REPLACED})
        self.ours, self.resolve = ours, resolve

    def __missing__(self, name: str) -> Any:
        return self.resolve(name) if name in self.ours or name not in vars(builtins) else vars(builtins)[name]


REPLACED = frozenset({"print", "input", "open"})  # built-in functions that tests put something else in place of
LOOKING_INSIDE = ("asdict", "astuple", "fields", "is_dataclass", "replace")  # of dataclasses


class AssertRun:
    """One run of test code.

    Args:
        plan: what its text says.
        ends: what the test may do with the submission's names.
    """

    def __init__(self, plan: TaskPlan, entry_point: str | None, ends: SubmissionEnds, module_name: str) -> None:
        self.entry_point = entry_point
        self.ends = ends
        self.plan = plan
        self.ours = plan.ours
        self.space = Namespace(module_name, self._resolve)
        self.module = types.ModuleType(module_name)
        self.missed = self.looked_up = False

    def tell_of_dropped_results(self, mark: Callable[[], int], drop: Callable[[int, Any], None]) -> None:
        """Call `mark` before and `drop` after each method call whose result the test drops."""
        self.space.update({MARK: mark, DROP: drop})

    def execute(
        self,
        *,
        stop: bool,
        begin: Begin,
        ended: Ended,
        planned: Callable[[int], None],
        touched: Callable[[], bool],
        checked: Callable[[], None],
        in_words: Callable[[BaseException], str],
    ) -> None:
        """Run all tests in order.

        Raises:
            BadTask: the test code is broken, skips everything or never calls the submission.
        """
        self.begin, self.ended, self.touched, self.checked, self.in_words = begin, ended, touched, checked, in_words
        self.stop, self.number, self.passed, self.skipped = stop, 0, 0, 0
        sys.modules[self.space["__name__"]] = self.module
        self._install()
        if self.entry_point is None and self.ours:
            self.ours = frozenset(name for name in self.ours if self._is_submitted(name))
            if not self.ours:  # else the built-in functions would pass the test by themselves
                begin(0)
                ended(0, "runtime_error", "the submission defines none of the functions that the test calls", 0.0)
                return
        plan = self.plan
        if plan.has_classes:
            self.space["__builtins__"] = Behind(self.ours, self._resolve)
        try:
            self._run_statements()
            if plan.checker is not None:
                checker, target = plan.checker
                self._run_unit(lambda: self.space[checker](self.submitted(target)))
            items = collect(self.space, self._candidate_fixture)
            cases = self._unittest_suites()
            total = len(plan.units) + (plan.checker is not None) + len(items) + sum(suite.countTestCases() for suite in cases)
            if total != plan.total:
                planned(total)
            self._run_items(items)
            for suite in cases:
                suite.run(UnittestResult(self))
        except Stop:
            return
        if self.passed and not self._touched():
            raise BadTask("the tests pass without calling the submission")
        if not self.number:
            raise BadTask("no test ran: all are skipped")

    def _run_statements(self) -> None:
        units = set(self.plan.units)
        for index, code in enumerate(self.plan.statements):
            if index in units:
                self._run_unit(lambda code=code: exec(code, self.space))  # type: ignore[misc]
                continue
            failure = self._failure(lambda code=code: exec(code, self.space))  # type: ignore[misc]
            if failure is not None:  # without its set-up the rest means nothing
                self.begin(self.number)
                self.ended(self.number, *failure, 0.0)
                raise Stop

    def _run_unit(self, body: Callable[[], Any]) -> None:
        number = self.begun()
        started = time.monotonic()
        failure = self._failure(body)
        self.over(number, failure, time.monotonic() - started)

    def _run_items(self, items: list[PytestItem]) -> None:
        for item in items:
            number = self.begun()
            started = time.monotonic()
            seen: list[Outcome] = []
            failure = self._failure(lambda item=item, seen=seen: seen.append(run_item(item)))  # type: ignore[misc]
            if failure is None and seen[0] is not Outcome.PASSED:
                if seen[0] is Outcome.XPASSED:
                    failure = "incorrect", "expected to fail"
                else:
                    self.not_counted(number)
                    continue
            self.over(number, failure, time.monotonic() - started)

    def _touched(self) -> bool:
        """Whether the test has had anything to do with the submission yet."""
        return self.looked_up or self.touched()

    def begun(self) -> int:
        number = self.number
        self.number += 1
        self.begin(number)
        return number

    def not_counted(self, number: int) -> None:
        """The test's author skips it: it says nothing of the submission."""
        self.number -= 1
        self.skipped += 1
        self.ended(number, "skipped", "", 0.0)

    def over(self, number: int, failure: tuple[str, str] | None, wall_s: float) -> None:
        if failure is None:
            self.passed += 1
        outcome, note = failure or ("correct", "")
        self.ended(number, outcome, note, wall_s)
        if failure is not None and self.stop:
            raise Stop

    def _failure(self, body: Callable[[], Any]) -> tuple[str, str] | None:
        """Run it; (outcome, note) of its failure, or None. Whatever a test catches, a dead submission has failed."""
        try:
            body()
        except (Stop, BadTask, Unproxiable):
            raise
        except BaseException as error:
            self.checked()
            return self.blame(error)
        self.checked()
        return None

    def blame(self, error: BaseException) -> tuple[str, str]:
        """(outcome, note) of a failed test. Raises BadTask when the test can only blame itself."""
        foreign = bool(error.__dict__.get("__from_other_end__"))
        if isinstance(error, OSError) and not foreign and error.errno in NO_FILES:
            raise Unproxiable("the test works with files, and has none in common with the submission") from None
        missing = bool(error.__dict__.get("__missing__")) or (self.missed and isinstance(error, (ImportError, AttributeError)))
        if not foreign and not missing and not self._touched():
            raise BadTask(f"the test code fails by itself, before it calls the submission: {type(error).__name__}") from None
        if missing:
            return "runtime_error", f"{type(error).__name__}: the submission lacks a name that the test uses"
        if foreign:
            return "runtime_error", self.in_words(error)
        if isinstance(error, AssertionError):
            return "incorrect", ""
        return "incorrect", f"{type(error).__name__} in the test"

    # ---- names

    def _resolve(self, name: str) -> Any:
        """A global name that the test module doesn't have. Raises KeyError for built-in names and unknown ones."""
        if name.startswith("__") and name.endswith("__"):
            raise KeyError(name)
        if name in vars(builtins) and name not in self.ours:
            raise KeyError(name)
        if name in self.plan.bound and name not in self.ours:
            raise KeyError(name)
        if name not in self.ours:
            usual = preset(name)
            if usual is not None:
                return usual
        self.looked_up = True
        if name in CANDIDATES and name not in self.ours and self.entry_point:
            try:
                return self.submitted(name)
            except NameError:
                return self.submitted(self.entry_point)
        return self.submitted(name)

    def submitted(self, name: str) -> Any:
        """A name of the submission, or the method of that name of its `class Solution`. Raises NameError."""
        try:
            value = self.ends.lookup(name)
            if not callable(value) or not (is_remote(value) or isinstance(value, RemoteMeta)):
                self.looked_up = True  # calling a built-in type, or what can't be called, asks nothing of the submission
            return value
        except NameError as missing:
            method = self._solution_method(name)
            if method is not None:
                return method
            missing.__dict__["__missing__"] = True
            self.missed = True
            raise

    def _is_submitted(self, name: str) -> bool:
        try:
            self.ends.lookup(name)
        except NameError:
            return False
        return True

    def set_name(self, name: str, value: Any) -> None:
        self.ends.set_name(name, value)

    def delete_name(self, name: str) -> None:
        self.ends.delete_name(name)

    def _solution_method(self, name: str) -> Any:
        """A method of the submission's `class Solution`, for tests that call it as a function."""
        if name == "Solution" or name != self.entry_point:
            return None
        try:
            return getattr(self.ends.lookup("Solution")(), name)
        except (NameError, AttributeError):
            return None

    def _candidate_fixture(self, name: str) -> Any:
        if name in (*CANDIDATES, self.entry_point) and self.entry_point:
            return self.submitted(self.entry_point)
        raise BadTask(f"a test asks for the fixture {name[:60]}, which doesn't exist here")

    def _install(self) -> None:
        install()
        own_seed = random.seed

        def seed(*arguments: Any) -> None:
            own_seed(*arguments)
            self.ends.seed(arguments)

        random.seed = seed  # type: ignore[assignment]
        for name in LOOKING_INSIDE:
            setattr(dataclasses, name, self._looking_inside(name, getattr(dataclasses, name)))
        unittest.main = lambda *args, **kwargs: None  # type: ignore[assignment]
        sys.meta_path.append(SubmissionFinder(self))

    def _looking_inside(self, name: str, own: Any) -> Any:
        """A function of dataclasses that works for objects and classes of the submission, too."""

        def function(owner: Any, *arguments: Any, **keywords: Any) -> Any:
            if is_remote(owner) or isinstance(owner, RemoteMeta):
                return self.ends.library("dataclasses", name, (owner, *arguments), keywords)
            return own(owner, *arguments, **keywords)

        return function

    def _unittest_suites(self) -> list[unittest.TestSuite]:
        loader = unittest.TestLoader()
        classes = [
            value
            for value in self.space.values()
            if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == self.space["__name__"]
        ]
        return [loader.loadTestsFromTestCase(kind) for kind in classes]
