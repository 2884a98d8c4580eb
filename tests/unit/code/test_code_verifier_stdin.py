"""The code verifier with tests of the style stdin, on a scripted backend: blame, limits, scores, and what a sandbox sees."""

from __future__ import annotations

import asyncio

import pytest

from verifier_protocol import CodeSpec, Outcome
from verifier_service.faults import DeadlineExceeded, InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import Ending, Limits, Program, ProgramRefused, SandboxFault, SlotWaitTimeout, Termination
from verifier_service.sandbox.fake import FakeBackend, Script, ended
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline, SpecRefused
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.verifier import CodeVerifier

REPLY = "```python\nprint(int(input()) * 2)\n```"


def spec(*expected: str, **more: object) -> CodeSpec:
    tests = {
        "style": "stdin",
        "cases": [{"stdin": f"{n}\n", "expected_stdout": text} for n, text in enumerate(expected, start=1)],
        "compare": more.pop("compare", {"mode": "lines"}),
    }
    return CodeSpec.model_validate({"kind": "code", "tests": tests, **more})


def doubling(program: Program, stdin: bytes, limits: Limits) -> Termination:
    return ended(b"%d\n" % (int(stdin) * 2), stderr=b"noise")


def always(termination: Termination) -> Script:
    return lambda program, stdin, limits: termination


def verifier_on(script: Script, *, load: float = 0.0) -> tuple[CodeVerifier, FakeBackend]:
    backend = FakeBackend(script)
    return CodeVerifier(backend, Settings(), second_chance=SecondChance(lambda: load)), backend


async def test_a_right_program_scores_one_in_one_exchange() -> None:
    verifier, backend = verifier_on(doubling)
    verdict = await verifier.verify(verifier.prepare(spec("2\n", "4\n", "6\n")), REPLY, Deadline.after(5))
    assert (verdict.score, verdict.outcome, verdict.passed, verdict.total) == (1.0, Outcome.CORRECT, 3, 3)
    assert verdict.extracted == "print(int(input()) * 2)\n"
    assert verdict.trust == "isolated"
    assert [len(program.stdins) for program in backend.programs] == [3]


async def test_no_expected_output_reaches_the_sandbox_nor_the_verdict() -> None:
    verifier, backend = verifier_on(doubling)
    verdict = await verifier.verify(verifier.prepare(spec("hidden-phrase\n", scoring="fraction")), REPLY, Deadline.after(5))
    assert verdict.outcome is Outcome.INCORRECT
    assert "hidden-phrase" not in repr(backend.programs)
    assert "hidden-phrase" not in verdict.model_dump_json()


async def test_binary_scoring_stops_at_the_first_failure_and_leaves_the_execution() -> None:
    verifier, backend = verifier_on(doubling)
    verdict = await verifier.verify(verifier.prepare(spec("2\n", "5\n", "6\n")), REPLY, Deadline.after(5))
    assert (verdict.score, verdict.outcome, verdict.passed, verdict.total) == (0.0, Outcome.INCORRECT, 1, 3)
    assert verdict.tests is not None
    assert [test.outcome for test in verdict.tests] == [Outcome.CORRECT, Outcome.INCORRECT]
    assert backend.left_early == 1
    assert backend.programs[0].stop_on_error
    assert "test 2: wrong answer (line 1 differs)" in verdict.detail


async def test_fraction_scoring_runs_all_tests_and_scores_the_share() -> None:
    verifier, backend = verifier_on(doubling)
    verdict = await verifier.verify(
        verifier.prepare(spec("2\n", "5\n", "6\n", "8\n", scoring="fraction")), REPLY, Deadline.after(5)
    )
    assert (verdict.score, verdict.outcome, verdict.passed) == (0.75, Outcome.PARTIAL, 3)
    assert not backend.programs[0].stop_on_error
    assert backend.left_early == 0


async def test_no_test_passed_is_not_partial() -> None:
    verifier, _ = verifier_on(always(ended(exit_code=1, stderr=b"Traceback: boom")))
    verdict = await verifier.verify(verifier.prepare(spec("2\n", "4\n", scoring="fraction")), REPLY, Deadline.after(5))
    assert (verdict.score, verdict.outcome) == (0.0, Outcome.RUNTIME_ERROR)
    assert verdict.tests is not None
    assert verdict.tests[0].stderr_tail == "Traceback: boom"


@pytest.mark.parametrize(
    ("termination", "outcome"),
    [
        (ended(b"2\n", exit_code=3), Outcome.RUNTIME_ERROR),
        (ended(b"2\n", ending=Ending.SIGNALLED, signal=11), Outcome.RUNTIME_ERROR),
        (ended(b"2\n", ending=Ending.CPU_TIME), Outcome.TIME_LIMIT_EXCEEDED),
        (ended(b"2\n", ending=Ending.WALL_TIME), Outcome.TIME_LIMIT_EXCEEDED),
        (ended(b"2\n", ending=Ending.MEMORY), Outcome.MEMORY_LIMIT_EXCEEDED),
        (ended(b"2\n", ending=Ending.OUTPUT), Outcome.OUTPUT_LIMIT_EXCEEDED),
        (ended(b"2\n", ending=Ending.FILE_SIZE), Outcome.OUTPUT_LIMIT_EXCEEDED),
        (ended(b"2\n", ending=Ending.PROCESSES), Outcome.PROCESS_LIMIT_EXCEEDED),
        (ended(b"2\n", ending=Ending.COMPILE_ERROR, stderr=b"SyntaxError"), Outcome.COMPILE_ERROR),
    ],
)
async def test_a_program_that_does_not_end_well_fails_even_with_the_right_output(
    termination: Termination, outcome: Outcome
) -> None:
    verifier, _ = verifier_on(always(termination))
    verdict = await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(5))
    assert (verdict.score, verdict.outcome) == (0.0, outcome)


async def test_a_reply_without_a_program_is_scored_zero_without_a_sandbox() -> None:
    verifier, backend = verifier_on(doubling)
    verdict = await verifier.verify(verifier.prepare(spec("2\n")), "It is 2.", Deadline.after(5))
    assert (verdict.score, verdict.outcome, verdict.passed, verdict.total) == (0.0, Outcome.NO_ANSWER, 0, 1)
    assert backend.programs == []


async def test_output_that_is_no_text_is_a_wrong_answer_and_shown_as_text() -> None:
    verifier, _ = verifier_on(always(ended(b"\xff\xfe\x00")))
    verdict = await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(5))
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.tests is not None
    assert verdict.tests[0].stdout_tail == "\ufffd\ufffd\x00"


async def test_long_output_is_cut_to_its_tail() -> None:
    verifier, _ = verifier_on(always(ended(b"x" * 100_000 + b"end")))
    verdict = await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(5))
    assert verdict.tests is not None
    assert verdict.tests[0].stdout_tail.endswith("end")
    assert len(verdict.tests[0].stdout_tail) <= 1000


async def test_signs_of_tampering_are_listed_once_with_their_count() -> None:
    verifier, _ = verifier_on(always(ended(b"x", tamper=("left processes",))))
    verdict = await verifier.verify(verifier.prepare(spec("2\n", "4\n", scoring="fraction")), REPLY, Deadline.after(5))
    assert verdict.tamper == ["left processes (2 times)"]


def test_a_task_without_tests_is_the_tasks_fault() -> None:
    verifier, _ = verifier_on(doubling)
    with pytest.raises(TaskFault, match="no tests"):
        verifier.prepare(spec())


def test_a_limit_above_its_ceiling_is_refused_by_name() -> None:
    verifier, _ = verifier_on(doubling)
    with pytest.raises(SpecRefused, match="at most 1024") as refused:
        verifier.prepare(spec("2\n", limits={"memory_mb": 1_000_000}))
    assert refused.value.field == "limits.memory_mb"


def test_an_unknown_language_is_refused_and_those_available_are_named() -> None:
    verifier, _ = verifier_on(doubling)
    with pytest.raises(SpecRefused, match="there is python") as refused:
        verifier.prepare(spec("2\n", language="cobol"))
    assert refused.value.field == "language"


async def test_limits_are_what_the_task_asks_for_else_the_defaults() -> None:
    verifier, backend = verifier_on(doubling)
    await verifier.verify(verifier.prepare(spec("2\n", limits={"cpu_time_s": 2.5, "memory_mb": 64})), REPLY, Deadline.after(5))
    limits, settings = backend.limits[0], Settings()
    assert (limits.cpu_time_s, limits.memory_mb) == (2.5, 64)
    assert (limits.wall_time_s, limits.processes) == (settings.code_wall_time_s, settings.code_processes)


def raising(error: Exception) -> Script:
    def script(program: Program, stdin: bytes, limits: Limits) -> Termination:
        raise error

    return script


async def test_a_sandbox_that_failed_is_the_services_fault() -> None:
    verifier, _ = verifier_on(raising(SandboxFault("the engine is gone")))
    with pytest.raises(InfrastructureFault, match="engine is gone"):
        await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(5))


async def test_no_slot_in_time_is_the_deadlines_fault() -> None:
    verifier, _ = verifier_on(raising(SlotWaitTimeout()))
    with pytest.raises(DeadlineExceeded):
        await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(5))
    with pytest.raises(DeadlineExceeded):
        await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(-1))


async def test_a_program_too_large_for_a_sandbox_is_scored_but_inputs_too_large_are_the_tasks_fault() -> None:
    verifier, _ = verifier_on(raising(ProgramRefused("too large")))
    verdict = await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(5))
    assert (verdict.score, verdict.outcome) == (0.0, Outcome.ANSWER_TOO_COMPLEX)
    large = CodeSpec.model_validate(
        {"kind": "code", "tests": {"style": "stdin", "cases": [{"stdin": "1" * 1000, "expected_stdout": "1"}]}}
    )
    with pytest.raises(TaskFault):
        await verifier.verify(verifier.prepare(large), REPLY, Deadline.after(5))


async def test_an_execution_that_ends_too_soon_is_the_services_fault() -> None:
    class Short(FakeBackend):
        async def _terminations(self, program: Program, limits: Limits):  # type: ignore[no-untyped-def]
            yield ended(b"2\n")

    verifier = CodeVerifier(Short(doubling), Settings())
    with pytest.raises(InfrastructureFault, match="before it had run all"):
        await verifier.verify(verifier.prepare(spec("2\n", "4\n")), REPLY, Deadline.after(5))


async def test_without_a_sandbox_code_is_unscored_and_the_reason_says_how_to_mend_it() -> None:
    verifier = CodeVerifier(None, Settings(), unavailable="start Docker")
    with pytest.raises(InfrastructureFault, match="start Docker"):
        await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(5))
    with pytest.raises(InfrastructureFault, match="start Docker"):
        await verifier.start()
    await verifier.aclose()
    assert verifier.describe()["unavailable"] == "start Docker"


def sleeper_then(*terminations: Termination) -> Script:
    left = list(terminations)
    return lambda program, stdin, limits: left.pop(0)


TIMED_OUT = ended(ending=Ending.WALL_TIME, cpu_s=1.0, wall_s=20.0)
LONG = Deadline.after(3600)


async def test_a_wall_time_out_on_a_saturated_host_is_run_once_more_alone() -> None:
    verifier, backend = verifier_on(sleeper_then(ended(b"2\n"), TIMED_OUT, ended(b"4\n"), ended(b"6\n")), load=9.0)
    verdict = await verifier.verify(verifier.prepare(spec("2\n", "4\n", "6\n")), REPLY, LONG)
    assert verdict.score == 1.0
    assert [program.stdins for program in backend.programs] == [(b"1\n", b"2\n", b"3\n"), (b"2\n",), (b"3\n",)]


async def test_a_second_wall_time_out_counts() -> None:
    verifier, backend = verifier_on(sleeper_then(TIMED_OUT, TIMED_OUT), load=9.0)
    verdict = await verifier.verify(verifier.prepare(spec("2\n", "4\n")), REPLY, LONG)
    assert verdict.outcome is Outcome.TIME_LIMIT_EXCEEDED
    assert len(backend.programs) == 2


@pytest.mark.parametrize(
    ("termination", "load"),
    [
        (TIMED_OUT, 0.5),
        (ended(ending=Ending.WALL_TIME, cpu_s=9.0, wall_s=20.0), 9.0),
        (ended(ending=Ending.CPU_TIME, cpu_s=1.0, wall_s=20.0), 9.0),
        (ended(ending=Ending.WALL_TIME, cpu_s=0.05, wall_s=20.0), 9.0),
    ],
)
async def test_a_time_out_on_an_idle_host_or_after_much_cpu_or_asleep_counts_at_once(
    termination: Termination, load: float
) -> None:
    verifier, backend = verifier_on(always(termination), load=load)
    verdict = await verifier.verify(verifier.prepare(spec("2\n")), REPLY, LONG)
    assert verdict.outcome is Outcome.TIME_LIMIT_EXCEEDED
    assert len(backend.programs) == 1


async def test_tests_that_outlast_the_deadline_leave_the_completion_unscored() -> None:
    class Slow(FakeBackend):
        async def _terminations(self, program: Program, limits: Limits):  # type: ignore[no-untyped-def]
            await asyncio.sleep(5)
            yield ended(b"2\n")

    verifier = CodeVerifier(Slow(doubling), Settings())
    with pytest.raises(DeadlineExceeded):
        await verifier.verify(verifier.prepare(spec("2\n")), REPLY, Deadline.after(0.05))


async def test_a_task_says_how_many_of_its_tests_an_empty_output_passes() -> None:
    verifier, _ = verifier_on(always(ended(b"")))
    verdict = await verifier.verify(verifier.prepare(spec("\n", "4\n", scoring="fraction")), REPLY, Deadline.after(5))
    assert verdict.extra == {"vacuous_tests": 1}


async def test_the_canary_wants_a_right_and_a_wrong_program_told_apart_and_limits_that_bite() -> None:
    def canary(program: Program, stdin: bytes, limits: Limits) -> Termination:
        return ended(b"42\n" if "* 2" in program.source else b"23\n")

    verifier, backend = verifier_on(canary)
    await verifier.canary()
    backend.probe_fault = "the memory limit did not bite"
    with pytest.raises(InfrastructureFault, match="memory limit"):
        await verifier.canary()
    generous, _ = verifier_on(always(ended(b"42\n")))
    with pytest.raises(InfrastructureFault, match="canary"):
        await generous.canary()
