"""From what the tests did to one verdict. Nothing here knows an expected output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from verifier_protocol import Outcome, ScoredVerdict, TestResult, VerifierId
from verifier_service.sandbox.contract import Ending, Termination

EXTRACTED_CHARS = 2_000
TAIL_BYTES = 1_000
PASSED_TAIL_BYTES = 200  # what a right program printed is rarely read, and a reply may hold a million tests
MAX_TAMPER_SIGNS = 20

WORDS: dict[Outcome, str] = {
    Outcome.CORRECT: "passed",
    Outcome.INCORRECT: "wrong answer",
    Outcome.COMPILE_ERROR: "compile error",
    Outcome.RUNTIME_ERROR: "runtime error",
    Outcome.TIME_LIMIT_EXCEEDED: "time limit exceeded",
    Outcome.MEMORY_LIMIT_EXCEEDED: "memory limit exceeded",
    Outcome.OUTPUT_LIMIT_EXCEEDED: "output limit exceeded",
    Outcome.PROCESS_LIMIT_EXCEEDED: "process limit exceeded",
}

_LIMITS: dict[Ending, Outcome] = {
    Ending.SIGNALLED: Outcome.RUNTIME_ERROR,
    Ending.CPU_TIME: Outcome.TIME_LIMIT_EXCEEDED,
    Ending.WALL_TIME: Outcome.TIME_LIMIT_EXCEEDED,
    Ending.MEMORY: Outcome.MEMORY_LIMIT_EXCEEDED,
    Ending.OUTPUT: Outcome.OUTPUT_LIMIT_EXCEEDED,
    Ending.FILE_SIZE: Outcome.OUTPUT_LIMIT_EXCEEDED,
    Ending.PROCESSES: Outcome.PROCESS_LIMIT_EXCEEDED,
    Ending.COMPILE_ERROR: Outcome.COMPILE_ERROR,
}


def failure_of(termination: Termination) -> Outcome | None:
    """The outcome of a run that did not end well; None for one that exited with status 0.

    A program that prints the right answer and then fails has failed: exit status 0 is part of being right.
    """
    if termination.ending is Ending.EXITED:
        return None if termination.exit_code == 0 else Outcome.RUNTIME_ERROR
    return _LIMITS.get(termination.ending, Outcome.RUNTIME_ERROR)


def how_it_ended(termination: Termination) -> str:
    """In words, for a run that did not end well."""
    if termination.ending is Ending.EXITED:
        return f"exit status {termination.exit_code}"
    if termination.ending is Ending.SIGNALLED:
        return f"killed by signal {termination.signal}"
    return "its files reached their limit" if termination.ending is Ending.FILE_SIZE else ""


def readable(text: str) -> str:
    """A stranger's text without lone surrogates, which no JSON reply can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def tail(output: bytes, size: int) -> str:
    """The last `size` bytes as text; what is no UTF-8 becomes U+FFFD."""
    return output[-size:].decode("utf-8", "replace") if size else ""


def test_result(outcome: Outcome, termination: Termination) -> TestResult:
    """One test's line of the verdict."""
    size = PASSED_TAIL_BYTES if outcome is Outcome.CORRECT else TAIL_BYTES
    return TestResult(
        outcome=outcome,
        cpu_s=round(termination.cpu_s, 6),
        wall_s=round(termination.wall_s, 6),
        memory_mb=round(termination.memory_mb, 3),
        stdout_tail=tail(termination.stdout, size),
        stderr_tail=tail(termination.stderr, size),
    )


@dataclass(slots=True)
class Tally:
    """The tests of one submission as they come in. `notes` has a word on each failure, by the test's number from 1."""

    total: int
    results: list[TestResult] = field(default_factory=list)
    notes: dict[int, str] = field(default_factory=dict)
    tamper: Counter[str] = field(default_factory=Counter)

    def add(self, result: TestResult, note: str = "", tamper: Iterable[str] = ()) -> None:
        self.results.append(result)
        self.total = max(self.total, len(self.results))
        if note:
            self.notes[len(self.results)] = note
        for sign in tamper:
            if sign in self.tamper or len(self.tamper) < MAX_TAMPER_SIGNS:
                self.tamper[sign] += 1

    @property
    def passed(self) -> int:
        return sum(result.outcome is Outcome.CORRECT for result in self.results)

    def first_failure(self) -> tuple[int, Outcome] | None:
        """(number from 1, outcome) of the first test that did not pass."""
        for number, result in enumerate(self.results, start=1):
            if result.outcome is not Outcome.CORRECT:
                return number, result.outcome
        return None


def verdict_of(
    tally: Tally,
    *,
    verifier: VerifierId,
    program: str,
    fraction: bool,
    ms: float,
    trust: Literal["isolated", "in_process"] = "isolated",
    extra: dict[str, Any] | None = None,
) -> ScoredVerdict:
    """Score 1 when every test passed; else 0, or with `fraction` the share that did."""
    passed, failure = tally.passed, tally.first_failure()
    if passed == tally.total:
        score, outcome, detail = 1.0, Outcome.CORRECT, f"{_of(passed, tally.total)} passed"
    else:
        assert failure is not None
        number, why = failure
        score = passed / tally.total if fraction else 0.0
        outcome = Outcome.PARTIAL if fraction and passed else why
        note = tally.notes.get(number, "")
        detail = f"{_of(passed, tally.total)} passed; test {number}: {WORDS[why]}" + (f" ({note})" if note else "")
    return ScoredVerdict(
        kind="code",
        score=score,
        outcome=outcome,
        verifier=verifier,
        extracted=program[:EXTRACTED_CHARS],
        detail=detail,
        ms=ms,
        passed=passed,
        total=tally.total,
        tests=tally.results,
        tamper=[sign if count == 1 else f"{sign} ({count} times)" for sign, count in tally.tamper.items()],
        trust=trust,
        extra=extra,
    )


def no_program(verifier: VerifierId, total: int | None, detail: str, ms: float, *, too_large: bool = False) -> ScoredVerdict:
    """The verdict for a reply that hands in no program, or one that no sandbox takes."""
    return ScoredVerdict(
        kind="code",
        score=0.0,
        outcome=Outcome.ANSWER_TOO_COMPLEX if too_large else Outcome.NO_ANSWER,
        verifier=verifier,
        detail=detail,
        ms=ms,
        passed=0,
        total=total,
        tests=[],
        tamper=[],
        trust="isolated",
    )


def _of(passed: int, total: int) -> str:
    return f"{passed} of {total} test{'' if total == 1 else 's'}"


__all__: Sequence[str] = ["Tally", "failure_of", "how_it_ended", "no_program", "readable", "tail", "test_result", "verdict_of"]
