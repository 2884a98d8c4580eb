"""The policy of plain runs: once, together, in turn, and never given up while somebody waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.sandbox.contract import Ending, Execution, Limits, Program, ProgramRefused, SandboxFault, Termination
from verifier_service.scoring import flights as flights_module
from verifier_service.scoring import runs as runs_module
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import BringsSandboxDown, Runs
from verifier_service.verifiers.base import Deadline

MakeRuns = Callable[..., Runs]


def a_run(source: str = "print(1)", stdin: bytes = b"", **more: object) -> Run:
    return Run("python", source, Limits(), stdin, **more)  # type: ignore[arg-type]


def soon(seconds: float = 5.0) -> Deadline:
    return Deadline.after(seconds)


async def test_equal_runs_at_one_time_are_computed_once(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    backend = fake.Backend(fake.echo)
    runs = runs_with(backend)
    answers = await asyncio.gather(*(runs.run(a_run(stdin=b"a"), soon()) for _ in range(20)))
    assert [a.stdout for a in answers] == [b"a"] * 20
    assert backend.ran() == [b"a"]


async def test_an_equal_run_later_comes_from_the_cache(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    backend = fake.Backend(fake.echo)
    runs = runs_with(backend)
    for _ in range(3):
        assert (await runs.run(a_run(stdin=b"a"), soon())).stdout == b"a"
    assert backend.ran() == [b"a"]


async def test_the_cache_can_be_switched_off(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    backend = fake.Backend(fake.echo)
    runs = runs_with(backend, compat_runs_cache_mb=0)
    for _ in range(3):
        await runs.run(a_run(), soon())
    assert len(backend.ran()) == 3


async def test_what_is_kept_is_forgotten_after_its_time(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    backend = fake.Backend(fake.echo)
    runs = runs_with(backend, compat_runs_cache_s=0.02)
    await runs.run(a_run(), soon())
    await asyncio.sleep(0.05)
    await runs.run(a_run(), soon())
    assert len(backend.ran()) == 2


@pytest.mark.parametrize(
    "other",
    [
        Run("python", "print(2)", Limits(), b""),
        Run("cpp", "print(1)", Limits(), b""),
        Run("python", "print(1)", Limits(wall_time_s=3.0), b""),
        Run("python", "print(1)", Limits(), b"x"),
        Run("python", "print(1)", Limits(), b"", ("a",)),
        Run("python", "print(1)", Limits(), b"", (), (("f", b""),)),
        Run("python", "print(1)", Limits(), b"", (), (("f", b"x"),)),
    ],
)
async def test_runs_that_differ_in_anything_are_different_runs(runs_with: MakeRuns, fake: SimpleNamespace, other: Run) -> None:
    backend = fake.Backend(fake.echo)
    runs = runs_with(backend)
    await runs.run(a_run(), soon())
    await runs.run(other, soon())
    assert len(backend.ran()) == 2


async def test_a_files_name_and_content_can_not_be_shifted_into_one_another(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    backend = fake.Backend(fake.echo)
    runs = runs_with(backend)
    await runs.run(a_run(files=(("ab", b"c"),)), soon())
    await runs.run(a_run(files=(("a", b"bc"),)), soon())
    assert len(backend.ran()) == 2


@pytest.mark.parametrize("ending", [Ending.CPU_TIME, Ending.WALL_TIME, Ending.MEMORY, Ending.OUTPUT, Ending.PROCESSES])
async def test_a_limit_that_was_hit_is_not_kept(runs_with: MakeRuns, fake: SimpleNamespace, ending: Ending) -> None:
    async def script(program: Program, stdin: bytes) -> Termination:
        return fake.ended(ending=ending, cpu_s=10.0)

    backend = fake.Backend(script)
    runs = runs_with(backend)
    for _ in range(2):
        assert (await runs.run(a_run(), soon())).ending is ending
    assert len(backend.ran()) == 2


async def test_what_does_not_compile_is_known_for_all_its_inputs(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    async def script(program: Program, stdin: bytes) -> Termination:
        return fake.ended(ending=Ending.COMPILE_ERROR, exit_code=1, stderr=program.source.encode())

    backend = fake.Backend(script)
    runs = runs_with(backend)
    for stdin in (b"1", b"2", b"3"):
        assert (await runs.run(a_run("a", stdin), soon())).ending is Ending.COMPILE_ERROR
    assert backend.ran() == [b"1"]
    assert (await runs.run(a_run("b", b"1"), soon())).stderr == b"b"
    assert backend.ran() == [b"1", b"1"]


async def test_a_compiler_that_a_limit_ended_is_asked_again(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    async def script(program: Program, stdin: bytes) -> Termination:
        return Termination(Ending.COMPILE_ERROR, None, 24, 1.0, 1.0, 9.0, b"", b"took too long")

    backend = fake.Backend(script)
    runs = runs_with(backend)
    for _ in range(2):
        assert (await runs.run(replace(a_run(), language="cpp"), soon())).ending is Ending.COMPILE_ERROR
    assert len(backend.ran()) == 2


@pytest.mark.parametrize("failing", [False, True], ids=["waiting for its sandboxes", "failing"])
async def test_a_profile_without_sandboxes_holds_up_no_other(
    runs_with: MakeRuns, fake: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, failing: bool
) -> None:
    monkeypatch.setattr(runs_module, "SHORTEST_BACKOFF_S", 1.0)

    backend = fake.Backend(fake.echo, slots=2)
    run_python = backend.run

    @asynccontextmanager
    async def run(program: Program, limits: Limits, *, deadline_s: float | None = None) -> AsyncIterator[Execution]:
        if program.language != "python":
            await asyncio.sleep(0 if failing else 5)
            raise SandboxFault("no image with compilers")
        async with run_python(program, limits, deadline_s=deadline_s) as execution:
            yield execution

    backend.run = run
    runs = runs_with(backend)
    waiting = [asyncio.create_task(runs.run(replace(a_run(str(i)), language="cpp"), soon())) for i in range(25)]
    await asyncio.sleep(0.05)
    started = time.monotonic()
    answers = await asyncio.gather(*(runs.run(a_run(str(i), b"x"), soon()) for i in range(20)))
    assert [a.stdout for a in answers] == [b"x"] * 20
    assert time.monotonic() - started < 0.9
    for task in waiting:
        task.cancel()


async def test_waiting_runs_of_one_program_go_together(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    async def script(program: Program, stdin: bytes) -> Termination:
        await asyncio.sleep(0.005)
        return fake.ended(stdin)

    backend = fake.Backend(script)
    runs = runs_with(backend)
    inputs = [b"%d" % i for i in range(40)]
    answers = await asyncio.gather(*(runs.run(a_run(stdin=i), soon()) for i in inputs))
    assert [a.stdout for a in answers] == inputs
    assert len(backend.programs) < 10


async def test_programs_take_turns(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    order: list[str] = []

    async def script(program: Program, stdin: bytes) -> Termination:
        await asyncio.sleep(0.001)
        order.append(program.source)
        return fake.ended(stdin)

    runs = runs_with(fake.Backend(script))
    many = [runs.run(a_run("many", b"%d" % i), soon()) for i in range(200)]
    await asyncio.gather(*many, runs.run(a_run("few"), soon()))
    assert order.index("few") < 120


async def test_an_answer_comes_as_soon_as_its_own_run_has_ended(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    hold = asyncio.Event()

    async def script(program: Program, stdin: bytes) -> Termination:
        if stdin == b"slow":
            await hold.wait()
        return fake.ended(stdin)

    runs = runs_with(fake.Backend(script))
    quick, slow = (asyncio.create_task(runs.run(a_run(stdin=i), soon())) for i in (b"quick", b"slow"))
    assert (await quick).stdout == b"quick"
    assert not slow.done()
    hold.set()
    assert (await slow).stdout == b"slow"


async def test_a_time_limit_ends_the_exchange_and_the_rest_is_run_again(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    async def script(program: Program, stdin: bytes) -> Termination:
        await asyncio.sleep(0.001)
        if stdin == b"1":
            return fake.ended(ending=Ending.CPU_TIME, cpu_s=10.0)
        return fake.ended(stdin)

    backend = fake.Backend(script)
    runs = runs_with(backend)
    answers = await asyncio.gather(*(runs.run(a_run(stdin=b"%d" % i), soon()) for i in range(6)))
    assert [a.ending for a in answers] == [Ending.EXITED, Ending.CPU_TIME] + [Ending.EXITED] * 4


async def test_a_starved_program_gets_a_second_chance(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    calls = 0

    async def script(program: Program, stdin: bytes) -> Termination:
        nonlocal calls
        calls += 1
        return fake.ended(ending=Ending.WALL_TIME) if calls == 1 else fake.ended(b"done")

    runs = runs_with(fake.Backend(script))
    runs._second_chance = SimpleNamespace(is_due=lambda t, limits, deadline: t.ending is Ending.WALL_TIME)  # type: ignore[assignment]
    assert (await runs.run(a_run(), soon())).stdout == b"done"


async def test_a_passed_deadline_is_told_and_the_run_goes_on(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    hold = asyncio.Event()

    async def script(program: Program, stdin: bytes) -> Termination:
        await hold.wait()
        return fake.ended(b"late")

    backend = fake.Backend(script)
    runs = runs_with(backend)
    with pytest.raises(DeadlineExceeded):
        await runs.run(a_run(), soon(0.02))
    again = asyncio.create_task(runs.run(a_run(), soon()))
    await asyncio.sleep(0.01)
    hold.set()
    assert (await again).stdout == b"late"
    assert len(backend.ran()) == 1


async def test_what_nobody_waits_for_any_more_is_dropped(
    runs_with: MakeRuns, fake: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flights_module, "LINGER_S", 0.01)
    hold = asyncio.Event()

    async def script(program: Program, stdin: bytes) -> Termination:
        await hold.wait()
        return fake.ended(stdin)

    backend = fake.Backend(script)
    runs = runs_with(backend)
    first = asyncio.create_task(runs.run(a_run("first"), soon()))
    second = asyncio.create_task(runs.run(a_run("second"), soon()))
    await asyncio.sleep(0.01)
    for i in range(5):
        with pytest.raises(DeadlineExceeded):
            await runs.run(a_run(f"left {i}"), soon(0.001))
    await asyncio.sleep(0.03)
    hold.set()
    await asyncio.gather(first, second)
    await asyncio.sleep(0.01)
    assert {p.source for p in backend.programs} == {"first", "second"}
    assert runs.waiting() == 0


async def test_a_sandbox_that_is_down_for_a_while_is_waited_for(
    runs_with: MakeRuns, fake: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "SHORTEST_BACKOFF_S", 0.005)
    tries = 0

    class Flaky(fake.Backend):  # type: ignore[misc, name-defined]
        def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> object:
            nonlocal tries
            tries += 1
            if tries < 6:
                raise SandboxFault("the engine is down")
            return super().run(program, limits, deadline_s=deadline_s)

    runs = runs_with(Flaky(fake.echo))
    answers = await asyncio.gather(*(runs.run(a_run(stdin=b"%d" % i), soon()) for i in range(3)))
    assert [a.stdout for a in answers] == [b"0", b"1", b"2"]


async def test_a_program_that_kills_the_sandbox_is_given_up_and_its_companions_are_not(
    runs_with: MakeRuns, fake: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "SHORTEST_BACKOFF_S", 0.005)

    async def script(program: Program, stdin: bytes) -> Termination:
        await asyncio.sleep(0.001)
        if stdin == b"2":
            raise SandboxFault("the container died")
        return fake.ended(stdin)

    runs = runs_with(fake.Backend(script))
    answers = await asyncio.gather(*(runs.run(a_run(stdin=b"%d" % i), soon()) for i in range(6)), return_exceptions=True)
    assert isinstance(answers[2], BringsSandboxDown)
    assert [a.stdout for i, a in enumerate(answers) if i != 2] == [b"0", b"1", b"3", b"4", b"5"]


async def test_too_large_a_program_is_refused_to_all_who_asked(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    class Strict(fake.Backend):  # type: ignore[misc, name-defined]
        def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> object:
            raise ProgramRefused("larger than this sandbox takes")

    runs = runs_with(Strict(fake.echo))
    answers = await asyncio.gather(*(runs.run(a_run(stdin=b"%d" % i), soon()) for i in range(3)), return_exceptions=True)
    assert all(isinstance(a, ProgramRefused) for a in answers)


async def test_without_a_sandbox_the_fault_says_how_to_mend_it(runs_with: MakeRuns) -> None:
    with pytest.raises(InfrastructureFault, match="no sandbox here"):
        await runs_with(None).run(a_run(), soon())


async def test_inputs_beyond_the_memory_allowed_wait_their_turn(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    most = 0
    runs: Runs

    async def script(program: Program, stdin: bytes) -> Termination:
        nonlocal most
        most = max(most, runs._bytes)
        await asyncio.sleep(0.001)
        return fake.ended(stdin[:1])

    runs = runs_with(fake.Backend(script), max_inflight_bytes=4096)
    answers = await asyncio.gather(*(runs.run(a_run(stdin=b"%d" % i * 500), soon()) for i in range(40)))
    assert len(answers) == 40
    assert most <= 4096
    assert runs._bytes == 0


async def test_closing_leaves_nobody_waiting(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    async def script(program: Program, stdin: bytes) -> Termination:
        await asyncio.Event().wait()
        raise AssertionError

    runs = runs_with(fake.Backend(script))
    waiting = [asyncio.create_task(runs.run(a_run(stdin=b"%d" % i), soon())) for i in range(5)]
    await asyncio.sleep(0.01)
    await runs.aclose()
    await runs.aclose()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(a, InfrastructureFault) for a in answers)
    with pytest.raises(InfrastructureFault):
        await runs.run(a_run("new"), soon())


async def test_all_slots_are_used_at_once(runs_with: MakeRuns, fake: SimpleNamespace) -> None:
    at_once = most = 0

    async def script(program: Program, stdin: bytes) -> Termination:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.002)
        at_once -= 1
        return fake.ended(stdin)

    runs = runs_with(fake.Backend(script, slots=4))
    await asyncio.gather(*(runs.run(a_run(stdin=b"%d" % i), soon()) for i in range(64)))
    assert most == 4


async def test_a_sandbox_that_stays_down_is_given_up_in_the_end(
    runs_with: MakeRuns, fake: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "SHORTEST_BACKOFF_S", 0.005)
    monkeypatch.setattr(runs_module, "PATIENCE_S", 0.05)

    class Down(fake.Backend):  # type: ignore[misc, name-defined]
        def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> object:
            raise SandboxFault("the engine is down")

    runs = runs_with(Down(fake.echo))
    with pytest.raises(InfrastructureFault, match="the engine is down"):
        await runs.run(a_run(), soon(60))
    assert runs.waiting() == 0
