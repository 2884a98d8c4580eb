"""Hostile answers through the real workers: each costs its own deadline at most, and never a sibling's verdict."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from verifier_protocol import MathOptions, MathSpec, ScoredVerdict
from verifier_service.faults import DeadlineExceeded, InfrastructureFault, TaskFault
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.math.verifier import MathVerifier
from verifier_service.verifiers.math.workers import WorkerPool

ITEM_S = 1.0

HOSTILE = {
    "a million digits": "1" * 1_000_000,
    "a million decimals": "0." + "3" * 1_000_000,
    "an exponent form": "1e999999999",
    "a tiny power": "10^{-999999999}",
    "a tower": "9^{9^{9^{9}}}",
    "a tower in ASCII": "9**9**9**9",
    "a tower of twos": "2^{2^{2^{2^{2^{2}}}}}",
    "a huge factorial": "(10^{9})!",
    "a factorial of factorials": "((9!)!)!",
    "a huge binomial": "\\binom{10^{9}}{5\\cdot 10^{8}}",
    "a long product": "\\prod_{k=1}^{10^{9}} k",
    "a long sum": "\\sum_{k=1}^{1000000000} \\frac{1}{k^2}",
    "a deep fraction": "\\frac{1}{1+" * 3000 + "1" + "}" * 3000,
    "deep brackets": "(" * 20_000 + "4" + ")" * 20_000,
    "deep roots": "\\sqrt{" * 5000 + "4" + "}" * 5000,
    "open braces": "{" * 100_000 + "5",
    "nested sines": "\\sin(" * 150 + "x" + ")" * 150,
    "a big expansion": "(x+1)^{100000}",
    "many symbols": "(" + "+".join(f"x_{{{i}}}" for i in range(200)) + ")^{50}",
    "a hopeless integral": "\\int_0^1 x^{x^{x}} \\, dx",
    "blanks": " " * 200_000 + "5",
    "commas": "1," * 50_000,
    "minus signs": "-" * 50_001 + "1",
    "minus signs below the length limit": "-" * 3001 + "1",
    "plus signs": "+".join(["1"] * 1900),
    "open text groups": "\\text{" * 10_000 + "5",
    "a huge matrix": "\\begin{pmatrix}" + "\\\\".join(["&".join(["1"] * 60)] * 60) + "\\end{pmatrix}",
    "many signs": "\\pm 1" + " \\pm 1" * 40,
    "many sets": "\\cup".join(["(1,2)"] * 500),
    "a power of a matrix": "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}^{1000000}",
    "nested absolute values": "|" * 2000 + "x" + "|" * 2000,
    "a dense relation": "<".join(["x"] * 800),
    "radicals": "+".join(f"\\sqrt{{{i}+\\sqrt{{{i + 1}}}}}" for i in range(2, 60)),
    "trigonometry": "+".join(f"\\sin({i}x)\\cos({i + 1}y)^{{{i}}}" for i in range(2, 40)),
    "branches": "+".join(f"\\sqrt{{x^{{{i}}}+{i}}}|x-{i}|" for i in range(2, 14)),
}
GOLDS = ["1", "x", "\\frac{\\pi^2}{6}", "\\{1,2\\}", "|x|+\\sqrt{x}"]


@pytest.fixture
async def math() -> AsyncIterator[MathVerifier]:
    verifier = MathVerifier(Settings(math_workers=2, math_item_cpu_s=ITEM_S))
    await verifier.start()
    yield verifier
    await verifier.aclose()


async def judge(math: MathVerifier, gold: str, completion: str, options: MathOptions | None = None) -> ScoredVerdict:
    task = math.prepare(MathSpec(kind="math", gold=gold, options=options or MathOptions()))
    return await math.verify(task, completion, Deadline.after(100.0))


@pytest.mark.parametrize("gold", GOLDS)
async def test_a_hostile_answer_is_scored_zero_in_time_and_its_siblings_get_their_scores(math: MathVerifier, gold: str) -> None:
    hostile = [judge(math, gold, f"\\boxed{{{answer}}}") for answer in HOSTILE.values()]
    honest = [judge(math, "7", "\\boxed{7}") for _ in range(200)]
    started = time.monotonic()
    verdicts = await asyncio.gather(*hostile, *honest)
    assert all(v.score == 1.0 for v in verdicts[len(hostile) :])
    for name, verdict in zip(HOSTILE, verdicts, strict=False):
        assert verdict.score == 0.0, name
    assert time.monotonic() - started < len(HOSTILE) * (ITEM_S + 1.0)


async def test_thousands_of_boxes_are_read_in_linear_time(math: MathVerifier) -> None:
    for text in (
        "\\boxed{" * 20_000 + "5",
        "\\boxed{4}" * 20_000,
        "\\boxed{" * 5000 + "4" + "}" * 5000,
        "<!-- " * 50_000 + "\\boxed{6",
    ):
        started = time.monotonic()
        assert (await judge(math, "5", text)).score == 0.0
        assert time.monotonic() - started < 2.0


async def test_an_item_over_its_cpu_time_is_too_complex_and_the_worker_is_replaced(math: MathVerifier) -> None:
    options = MathOptions(allow_unevaluated=True)
    hard = "\\boxed{\\int_0^1 \\sin(x^x)\\ln(1+x^{x+\\sqrt{x}})e^{\\cos(x^3+x)}\\,dx}"
    verdict = await judge(math, "\\frac{355}{113}", hard, options)
    assert verdict.score == 0.0
    assert (await judge(math, "7", "\\boxed{7}")).score == 1.0


async def test_a_killed_worker_costs_nobody_a_verdict(math: MathVerifier) -> None:
    pool: WorkerPool = math._pool
    pending = asyncio.gather(*(judge(math, str(i), f"\\boxed{{{i}}}") for i in range(3000)))
    await asyncio.sleep(0.02)
    os.kill(pool.pids()[0], signal.SIGKILL)
    assert all(v.score == 1.0 for v in await pending)


async def test_a_worker_that_has_grown_is_replaced_and_nobody_loses_a_verdict() -> None:
    verifier = MathVerifier(Settings(math_workers=1, math_worker_memory_mb=128))
    await verifier.start()
    try:
        first = verifier._pool.pids()
        verdicts = await asyncio.gather(*(judge(verifier, "7", " " * 6_000_000 + "\\boxed{7}") for _ in range(4)))
        assert all(v.score == 1.0 for v in verdicts)
        await asyncio.sleep(0.5)
        assert verifier._pool.pids() != first
        assert (await judge(verifier, "7", "\\boxed{7}")).score == 1.0
    finally:
        await verifier.aclose()


async def test_a_dead_fork_server_is_restarted(math: MathVerifier) -> None:
    server = math._pool._server._process
    assert server is not None
    server.kill()
    await asyncio.sleep(0.2)
    await math.canary()


async def test_nothing_is_left_running_after_close() -> None:
    verifier = MathVerifier(Settings(math_workers=2))
    await verifier.start()
    pids = verifier._pool.pids()
    await verifier.aclose()
    await verifier.aclose()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(_runs(pid) for pid in pids):
        await asyncio.sleep(0.05)
    assert not any(_runs(pid) for pid in pids)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_passed_deadline_is_no_score(math: MathVerifier) -> None:
    task = math.prepare(MathSpec(kind="math", gold="7"))
    with pytest.raises(DeadlineExceeded):
        await math.verify(task, "\\boxed{7}", Deadline.after(-1.0))


async def test_a_broken_gold_is_the_tasks_fault(math: MathVerifier) -> None:
    with pytest.raises(TaskFault):
        math.prepare(MathSpec(kind="math", gold="  "))
    for gold in ("\\boxed{}", "\\unknowncommand{4}", "(" * 300 + "1" + ")" * 300, "\x00"):
        with pytest.raises(TaskFault) as caught:
            await judge(math, gold, "\\boxed{5}")
        assert gold not in str(caught.value)


async def test_a_closed_verifier_says_so() -> None:
    verifier = MathVerifier(Settings(math_workers=1))
    with pytest.raises(InfrastructureFault):
        await judge(verifier, "7", "\\boxed{7}")


async def test_surrogates_and_control_characters_are_malformed_not_errors(math: MathVerifier) -> None:
    for answer in ("\ud8005", "4\x005", "\u202e51", "5\x1b[31m"):
        verdict = await judge(math, "5", f"\\boxed{{{answer}}}")
        assert (verdict.score, verdict.outcome) == (0.0, "malformed_answer")
        verdict.model_dump_json()


async def test_the_verdict_of_a_worker_never_shows_the_gold(math: MathVerifier) -> None:
    for answer in ("5", "x", "\\text{words}", "(1,2)", "\\frac{1}{", ""):
        verdict = await judge(math, "\\sqrt{7919}+104729", f"\\boxed{{{answer}}}")
        assert "7919" not in verdict.model_dump_json()
        assert "104729" not in verdict.model_dump_json()
