"""A code task as prepared once per group: limits resolved, expected outputs as bytes, kept on this side of the sandbox."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from verifier_protocol import Checker, CodeSpec, FunctionTests, InteractiveTests, StdinTests
from verifier_protocol.request import AssertTests
from verifier_service.faults import TaskFault
from verifier_service.sandbox.contract import Limits
from verifier_service.verifiers.code.drivers.shapes import Shapes, shapes_of
from verifier_service.verifiers.code.reserved import RESERVED


@dataclass(slots=True)
class TestReading:
    """What the first judge of test code made of its text, before it met the submission; its siblings are given that.

    `payload`: what judges are sent, once it is known.
    """

    payload: bytes = b""
    plan: str | None = None


@dataclass(frozen=True, slots=True)
class CodeTask:
    """What `CodeVerifier.prepare` makes of a spec."""

    spec: CodeSpec
    limits: Limits
    stdins: tuple[bytes, ...] = ()
    expected: tuple[bytes, ...] = ()
    checker: Checker | None = None
    checker_limits: Limits = field(default_factory=Limits)
    shapes: Shapes = ()
    reading: TestReading = field(default_factory=TestReading)

    @property
    def total(self) -> int | None:
        """How many tests there are; None where only running the test code tells."""
        tests = self.spec.tests
        return None if isinstance(tests, AssertTests) else len(tests.cases)

    @property
    def tests_bytes(self) -> int:
        """About how much the tests add to what a sandbox is sent."""
        tests = self.spec.tests
        return sum(map(len, self.stdins)) if isinstance(tests, StdinTests) else len(tests.model_dump_json())

    @property
    def fraction(self) -> bool:
        return self.spec.scoring == "fraction"


def make_task(spec: CodeSpec, limits: Limits, checker_limits: Limits) -> CodeTask:
    """Raises TaskFault when nothing would be verified."""
    tests = spec.tests
    if isinstance(tests, AssertTests):
        if not tests.code.strip():
            raise TaskFault("the task has no tests: tests.code is blank")
        _check_entry_point(tests.entry_point, "python")
        return CodeTask(spec, limits)
    if not tests.cases:
        raise TaskFault("the task has no tests: tests.cases is empty")
    if isinstance(tests, FunctionTests):
        _check_function(tests, spec.language)
        if spec.language == "python":
            return CodeTask(spec, limits)
        given, expected = _written(tests)
        return CodeTask(spec, limits, stdins=given, expected=expected, shapes=shapes_of([case.args for case in tests.cases]))
    if isinstance(tests, InteractiveTests):
        if not tests.interactor.source.strip():
            raise TaskFault("the task has no tests: tests.interactor.source is blank")
        return CodeTask(spec, limits)
    return CodeTask(
        spec,
        limits,
        stdins=tuple(_encoded(case.stdin) for case in tests.cases),
        expected=tuple(_encoded(case.expected_stdout) for case in tests.cases),
        checker=tests.checker,
        checker_limits=checker_limits,
    )


def vacuous_tests(tests: StdinTests) -> int:
    """How many tests a program passes that prints nothing."""
    return sum(not case.expected_stdout.strip() for case in tests.cases)


def _check_entry_point(entry_point: str | None, language: str) -> None:
    if entry_point in RESERVED.get(language, ()):
        raise TaskFault(f"tests.entry_point is {entry_point}, which no function of {language} can be called")


def _check_function(tests: FunctionTests, language: str) -> None:
    _check_entry_point(tests.entry_point, language)
    if tests.inplace_arg is None:
        return
    for number, case in enumerate(tests.cases, start=1):
        if tests.inplace_arg >= len(case.args):
            raise TaskFault(f"tests.inplace_arg is {tests.inplace_arg}, but case {number} has {len(case.args)} arguments")


def _written(tests: FunctionTests) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """(the line of arguments that a driver is given, the expected value as JSON), a case each."""
    try:
        given = tuple(f"{json.dumps(case.args, separators=(',', ':'))}\n".encode() for case in tests.cases)
        return given, tuple(json.dumps(case.expected).encode() for case in tests.cases)
    except ValueError as error:  # more digits than Python writes
        raise TaskFault(f"a value of the tests can't be written as JSON: {error}") from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
