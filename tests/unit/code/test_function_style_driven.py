"""The style `function` through drivers, on a scripted backend: replies, processes, blame, and what a sandbox sees."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from verifier_protocol import CodeSpec, Outcome
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import Ending, Limits, Program, Termination
from verifier_service.sandbox.fake import FakeBackend, ended
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline, SpecRefused
from verifier_service.verifiers.code.function_driven import FORGED, MARK, replies_in
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.verifier import CodeVerifier

REPLY = "```cpp\nint f(int x) { return x; }\n```"


def spec(*cases: tuple[list[Any], Any], language: str = "cpp", **more: Any) -> CodeSpec:
    tests: dict[str, Any] = {"style": "function", "entry_point": "f"}
    tests["cases"] = [{"args": args, "expected": expected} for args, expected in cases]
    tests.update({name: more.pop(name) for name in ("float_tol", "rel_tol", "inplace_arg") if name in more})
    return CodeSpec.model_validate({"kind": "code", "language": language, "tests": tests, **more})


def reply(number: int, result: Any, kind: str = "answer") -> bytes:
    return MARK + f"{number} {kind} {json.dumps(result)}\n".encode()


class Driver:
    """Behaves like a driver around `function`, which may return a Termination to end the process with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.processes: list[list[list[Any]]] = []

    def __call__(self, program: Program, stdin: bytes, limits: Limits) -> Termination:
        given = [json.loads(line) for line in stdin.splitlines()]
        self.processes.append(given)
        out = b""
        for number, args in enumerate(given):
            result = self.function(*args, number == 0)
            if isinstance(result, Termination):
                return ended(out + result.stdout, ending=result.ending, exit_code=result.exit_code, stderr=result.stderr)
            out += f"noise {number}".encode() + reply(number, result)
        return ended(out, stderr=b"complaints")


def verifier_on(script: Any, *, load: float = 0.0) -> tuple[CodeVerifier, FakeBackend]:
    backend = FakeBackend(script, languages=("python", "cpp", "java", "javascript", "bash"))
    return CodeVerifier(backend, Settings(), second_chance=SecondChance(lambda: load)), backend


async def outcomes(function: Callable[..., Any], task: CodeSpec) -> tuple[list[str], list[list[list[Any]]]]:
    driver = Driver(function)
    verifier, _ = verifier_on(driver)
    verdict = await verifier.verify(verifier.prepare(task), REPLY, Deadline.after(60))
    assert verdict.tests is not None
    return [test.outcome.value for test in verdict.tests], driver.processes


async def test_all_cases_of_a_right_submission_go_to_one_process() -> None:
    driver = Driver(lambda x, first: x + 1)
    verifier, backend = verifier_on(driver)
    verdict = await verifier.verify(verifier.prepare(spec(([1], 2), ([5], 6), ([7], 8))), REPLY, Deadline.after(5))
    assert (verdict.score, verdict.passed, verdict.total, verdict.trust) == (1.0, 3, 3, "isolated")
    assert driver.processes == [[[1], [5], [7]]]
    assert verdict.tests is not None
    assert [test.stdout_tail for test in verdict.tests] == ["noise 0", "noise 1", "noise 2"]
    assert verdict.extracted == "int f(int x) { return x; }\n"
    assert backend.judged == []


async def test_no_expected_value_reaches_the_sandbox_nor_the_verdict() -> None:
    verifier, backend = verifier_on(Driver(lambda x, first: x))
    verdict = await verifier.verify(verifier.prepare(spec(([1], "hidden-phrase"), scoring="fraction")), REPLY, Deadline.after(5))
    assert verdict.outcome is Outcome.INCORRECT
    assert "hidden-phrase" not in repr(backend.programs)
    assert "hidden-phrase" not in verdict.model_dump_json()


async def test_the_program_is_the_same_whatever_the_cases() -> None:
    verifier, backend = verifier_on(Driver(lambda x, first: x))
    for cases in ([([1], 1)], [([2], 2), ([3], 3)]):
        await verifier.verify(verifier.prepare(spec(*cases)), REPLY, Deadline.after(5))
    assert len({(program.source, program.files) for program in backend.programs}) == 1


async def test_a_case_that_fails_behind_others_is_run_by_itself_before_it_counts() -> None:
    stateful = await outcomes(lambda x, first: x if first else -1, spec(([1], 1), ([2], 2), ([3], 3)))
    assert stateful == (["correct"] * 3, [[[1], [2], [3]], *[[[2]]] * 3, *[[[3]]] * 3])
    wrong = await outcomes(lambda x, first: x if x < 3 else 0, spec(([1], 1), ([2], 2), ([3], 3), ([4], 4)))
    assert wrong == (["correct", "correct", "incorrect"], [[[1], [2], [3], [4]], [[3]]])


@pytest.mark.parametrize("scoring", ["binary", "fraction"])
async def test_a_guess_that_was_wrong_behind_others_has_no_second_try(scoring: str) -> None:
    guesses = iter([True, False, True, True, False])  # of the second case: right by itself, then wrong again
    found, processes = await outcomes(lambda x, first: next(guesses), spec(([1], True), ([2], True), scoring=scoring))
    assert found == ["correct", "incorrect"]
    assert processes == [[[1], [2]], [[2]], [[2]], [[2]]]


async def test_the_first_case_of_a_process_counts_at_once() -> None:
    found = await outcomes(lambda x, first: 0, spec(([1], 1), ([2], 2)))
    assert found == (["incorrect"], [[[1], [2]]])


async def test_a_crash_costs_only_its_own_case() -> None:
    crash = ended(exit_code=1, stderr=b"no")
    task = spec(*(([n], n) for n in range(5)), scoring="fraction")
    found, processes = await outcomes(lambda x, first: crash if x == 2 else x, task)
    assert found == ["correct", "correct", "runtime_error", "correct", "correct"]
    assert processes == [[[0], [1], [2], [3], [4]], [[2]], [[3], [4]]]


async def test_many_crashes_take_no_more_processes_than_cases_and_a_few() -> None:
    task = spec(*(([n], n) for n in range(60)), scoring="fraction")
    found, processes = await outcomes(lambda x, first: ended(exit_code=1) if x % 2 else x, task)
    assert found == ["correct", "runtime_error"] * 30
    assert len(processes) < 70
    assert sum(map(len, processes)) < 60 * 10


async def test_a_limit_met_behind_other_cases_is_not_theirs_to_pay() -> None:
    late = ended(ending=Ending.CPU_TIME)
    task = spec(*(([n], n) for n in range(4)), scoring="fraction")
    found, processes = await outcomes(lambda x, first: x if first else late, task)
    assert found == ["correct"] * 4
    assert processes == [[[0], [1], [2], [3]], [[1]], [[2]], [[3]]]
    found, processes = await outcomes(lambda x, first: late if x == 2 else x, spec(*(([n], n) for n in range(4))))
    assert found == ["correct", "correct", "time_limit_exceeded"]


async def test_a_process_that_ends_well_without_an_answer_has_failed() -> None:
    verifier, _ = verifier_on(lambda program, stdin, limits: ended(b"42\n"))
    verdict = await verifier.verify(verifier.prepare(spec(([1], 42))), REPLY, Deadline.after(5))
    assert verdict.outcome is Outcome.RUNTIME_ERROR
    assert verdict.tests is not None
    assert verdict.tests[0].stdout_tail == "42\n"


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("unwritable", Outcome.INCORRECT), ("failed", Outcome.RUNTIME_ERROR), ("compile", Outcome.COMPILE_ERROR)],
)
async def test_a_driver_that_gives_up_says_why(kind: str, outcome: Outcome) -> None:
    verifier, _ = verifier_on(lambda program, stdin, limits: ended(reply(0, "so it is", kind), exit_code=1))
    task = spec(([1], 1), ([2], 2), scoring="fraction")
    verdict = await verifier.verify(verifier.prepare(task), REPLY, Deadline.after(5))
    assert verdict.outcome is outcome
    assert "so it is" in verdict.detail
    assert verdict.tests is not None
    assert len(verdict.tests) == (1 if kind == "compile" else 2)


async def test_a_source_that_does_not_compile_is_not_run_again() -> None:
    broken = ended(ending=Ending.COMPILE_ERROR, stderr=b"expected ;")
    verifier, backend = verifier_on(lambda program, stdin, limits: broken)
    task = spec(([1], 1), ([2], 2), scoring="fraction")
    verdict = await verifier.verify(verifier.prepare(task), REPLY, Deadline.after(5))
    assert verdict.outcome is Outcome.COMPILE_ERROR
    assert len(backend.programs) == 1


@pytest.mark.parametrize(
    ("text", "expected", "right"),
    [
        ("3", 3, True),
        ("3.0", 3, True),
        ("true", 1, False),
        ("1", True, False),
        ('"3"', 3, False),
        ("9007199254740993", 2**53 + 1, True),
        ("9007199254740992", 2**53 + 1, False),
        ("1e300", 1e300, True),
        ("NaN", 1.0, False),
        ("Infinity", 1e308, False),
        ("[1,[2,null]]", [1, [2, None]], True),
        ('{"a":1}', {"a": 1}, True),
        ('"\\u0000\\ud83d\\ude00"', "\0\U0001f600", True),
        ('"\\ud800"', "?", False),
        ("", 1, False),
        ("[1", [1], False),
        ("[" * 100_000, [1], False),
        ("9" * 5000, 1, False),
        (f"[{','.join('1' * 100_000)}]", [1], False),
        ("1 1", 1, False),
    ],
)
async def test_results_are_compared_as_those_of_python_are(text: str, expected: Any, right: bool) -> None:
    said = MARK + b"0 answer " + text.encode("utf-8", "surrogatepass") + b"\n"
    verifier, _ = verifier_on(lambda program, stdin, limits: ended(said))
    verdict = await verifier.verify(verifier.prepare(spec(([1], expected))), REPLY, Deadline.after(5))
    assert verdict.outcome is (Outcome.CORRECT if right else Outcome.INCORRECT)


async def test_numbers_agree_within_the_tolerance() -> None:
    for tolerance, right in ((1e-9, "correct"), (0.0, "incorrect")):
        found, _ = await outcomes(lambda first: 0.1 + 0.2, spec(([], 0.3), float_tol=tolerance))
        assert found == [right]
    assert (await outcomes(lambda first: math.nan, spec(([], 0.3), float_tol=1e9)))[0] == ["incorrect"]


def test_replies_are_found_among_noise() -> None:
    found = replies_in(b"a\n" + reply(0, [1]) + b"b" + MARK + b"nonsense\n" + reply(1, "x") + b"c")
    assert found.found == {
        0: ("answer", b"[1]", b"a\n"),
        1: ("answer", b'"x"', b"b" + MARK + b"nonsense\n"),
    }
    assert (found.rest, found.forged) == (b"c", False)
    assert replies_in(b"").found == {}
    assert replies_in(reply(0, 1)[:-1]).found == {}  # cut short: not a whole reply


@pytest.mark.parametrize("forgery", [reply(0, 1) + reply(0, 2), reply(1, 1) + reply(0, 2), reply(7, 1) + reply(0, 2)])
async def test_replies_out_of_turn_are_a_sign_and_the_drivers_own_counts(forgery: bytes) -> None:
    verifier, _ = verifier_on(lambda program, stdin, limits: ended(forgery))
    verdict = await verifier.verify(verifier.prepare(spec(([1], 2))), REPLY, Deadline.after(5))
    assert verdict.score == 1.0
    assert verdict.tamper == [FORGED]


async def test_a_starved_process_is_run_again_alone() -> None:
    starved = ended(ending=Ending.WALL_TIME, cpu_s=3.0, wall_s=20.0)
    script = iter([starved, ended(reply(0, 1))])
    verifier, _ = verifier_on(lambda program, stdin, limits: next(script), load=3.0)
    verdict = await verifier.verify(verifier.prepare(spec(([1], 1))), REPLY, Deadline.after(60))
    assert verdict.score == 1.0


STARVED = replace(ended(ending=Ending.COMPILE_ERROR, signal=signal.SIGXCPU, cpu_s=3.0, wall_s=30.0), exit_code=None)


@pytest.mark.parametrize(
    ("compiler", "load", "outcome"),
    [
        (STARVED, 3.0, Outcome.CORRECT),
        (STARVED, 0.5, Outcome.COMPILE_ERROR),
        (replace(STARVED, cpu_s=15.0), 3.0, Outcome.COMPILE_ERROR),
        (replace(STARVED, signal=None, exit_code=1), 3.0, Outcome.COMPILE_ERROR),
    ],
)
async def test_a_starved_compiler_has_a_second_chance(compiler: Termination, load: float, outcome: Outcome) -> None:
    script = iter([compiler, ended(reply(0, 1))])
    verifier, _ = verifier_on(lambda program, stdin, limits: next(script), load=load)
    verdict = await verifier.verify(verifier.prepare(spec(([1], 1))), REPLY, Deadline.after(60))
    assert verdict.outcome is outcome


async def test_a_sandbox_that_says_nothing_has_failed() -> None:
    class Silent(FakeBackend):
        async def _terminations(self, program: Program, limits: Limits) -> Any:
            return
            yield

    verifier = CodeVerifier(Silent(lambda program, stdin, limits: ended(), languages=("cpp",)), Settings())
    with pytest.raises(InfrastructureFault):
        await verifier.verify(verifier.prepare(spec(([1], 1))), REPLY, Deadline.after(5))


def test_what_is_not_offered_is_refused_by_name() -> None:
    verifier, _ = verifier_on(lambda program, stdin, limits: ended())
    with pytest.raises(
        SpecRefused, match="tests of style function are for python, cpp, java, javascript; use style stdin"
    ) as bash:
        verifier.prepare(spec(([1], 1), language="bash"))
    assert bash.value.field == "language"
    asserts = {"kind": "code", "language": "cpp", "tests": {"style": "asserts", "code": "assert f(1)"}}
    with pytest.raises(SpecRefused, match="tests of style asserts are for python"):
        verifier.prepare(CodeSpec.model_validate(asserts))
    tests = {"style": "function", "entry_point": "f", "cases": [{"kwargs": {"x": 1}, "expected": 1}]}
    with pytest.raises(SpecRefused, match="kwargs are for python"):
        verifier.prepare(CodeSpec.model_validate({"kind": "code", "language": "java", "tests": tests}))
    with pytest.raises(SpecRefused, match="not available here"):
        verifier.prepare(spec(([1], 1), language="rust"))


def test_a_task_that_can_not_be_called_is_a_fault_of_the_task() -> None:
    verifier, _ = verifier_on(lambda program, stdin, limits: ended())
    with pytest.raises(TaskFault, match="inplace_arg"):
        verifier.prepare(spec(([1], 1), inplace_arg=1))
    with pytest.raises(TaskFault, match="can't be written"):
        verifier.prepare(spec(([10**5000], 1)))


def test_the_description_says_which_languages_are_called() -> None:
    verifier, _ = verifier_on(lambda program, stdin, limits: ended())
    assert verifier.describe()["function_languages"] == ["python", "cpp", "java", "javascript"]
