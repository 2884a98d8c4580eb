"""A guessing game, played through real sandboxes of both kinds: each way to win or lose has its outcome."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.faults import TaskFault
from verifier_service.sandbox.select import make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

SETTINGS = Settings(sandbox_slots=1, sandbox_spares=1)
BACKENDS = [
    pytest.param(make_docker_backend, marks=pytest.mark.docker, id="docker"),
    pytest.param(make_bubblewrap_backend, marks=pytest.mark.bubblewrap, id="bubblewrap"),
]
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=BACKENDS)
async def verifier(request: pytest.FixtureRequest, started_verifier: Any) -> AsyncIterator[CodeVerifier]:
    async with started_verifier(request.param(SETTINGS), SETTINGS) as verifier:
        yield verifier


INTERACTOR = """
import sys
secret, highest, queries = map(int, open(sys.argv[1]).read().split())
assert int(open(sys.argv[2]).read()) == secret
print(highest)
for _ in range(queries):
    kind, number = input().split()
    if kind == "!":
        sys.exit(int(number) != secret)
    print("<" if secret < int(number) else ">" if secret > int(number) else "=")
sys.exit("too many queries")
"""
RIGHT = """
low, high = 1, int(input())
while low < high:
    middle = (low + high + 1) // 2
    print("?", middle, flush=True)
    low, high = (low, middle - 1) if input() == "<" else (middle, high)
print("!", low)
"""
FORGETS = "import sys\ninput = sys.stdin.readline\n" + RIGHT.replace(", flush=True", "").replace(
    "input() ==", "input().strip() =="
)
LIMITS = {"cpu_time_s": 1.0, "wall_time_s": 10.0, "memory_mb": 128}


async def play(
    verifier: CodeVerifier, source: str, *, secrets: tuple[int, ...] = (77, 1, 100), interactor: str = INTERACTOR, **more: Any
) -> ScoredVerdict:
    cases = [{"stdin": f"{secret} 100 8\n", "expected_stdout": f"{secret}\n"} for secret in secrets]
    tests = {"style": "interactive", "interactor": {"source": interactor}, "cases": cases}
    spec = CodeSpec.model_validate({"kind": "code", "tests": tests, "limits": LIMITS, **more})
    return await verifier.verify(verifier.prepare(spec), f"```python\n{source}\n```", Deadline.after(110))


async def test_binary_search_wins(verifier: CodeVerifier) -> None:
    found = await play(verifier, RIGHT)
    assert (found.score, found.passed, found.total, found.trust, found.tamper) == (1.0, 3, 3, "isolated", []), found
    assert found.tests is not None
    assert found.tests[0].stdout_tail.startswith("? 51\n? 76\n")
    assert found.tests[0].stdout_tail.endswith("! 77\n")


async def test_a_solution_with_threads_and_children_of_its_own_wins(verifier: CodeVerifier) -> None:
    source = f"import subprocess, sys, threading\nsource = {RIGHT!r}\n" + (
        "def play():\n    sys.exit(subprocess.run([sys.executable, '-c', source]).returncode)\n"
        "thread = threading.Thread(target=play)\nthread.start()\nthread.join()\n"
    )
    assert (await play(verifier, source, secrets=(42,))).score == 1.0


LOSES: dict[str, tuple[str, Outcome]] = {
    "a wrong answer": ("input()\nprint('!', 5)", Outcome.INCORRECT),
    "too many queries": (
        "for n in range(1, int(input()) + 1):\n    print('?', n)\n    if input() == '=': break\nprint('!', n)",
        Outcome.INCORRECT,
    ),
    "no such query": ("print('hello?')", Outcome.INCORRECT),
    "all queries before any answer": ("print('? 1\\n' * 20)", Outcome.INCORRECT),
    "an end before the answer": ("print('? 5', int(input()) * 0)\nraise SystemExit(0)", Outcome.INCORRECT),
    "an end at once": ("raise SystemExit(0)", Outcome.INCORRECT),
    "an output closed early": ("import os, time\nos.close(1)\ntime.sleep(30)", Outcome.INCORRECT),
    "a crash in the middle": ("input()\nprint('? 5')\ninput()\n1 / 0", Outcome.RUNTIME_ERROR),
    "a crash after the answer": (RIGHT + "1 / 0", Outcome.RUNTIME_ERROR),
    "an exit status after the answer": (RIGHT + "raise SystemExit(3)", Outcome.RUNTIME_ERROR),
    "a question after the answer": (RIGHT + "print(input())", Outcome.RUNTIME_ERROR),
    "no program": ("def (", Outcome.COMPILE_ERROR),
    "a loop": ("while True: pass", Outcome.TIME_LIMIT_EXCEEDED),
    "a loop after the answer": (RIGHT + "import sys\nsys.stdout.flush()\nwhile True: pass", Outcome.TIME_LIMIT_EXCEEDED),
    "all memory": ("a = []\nwhile True: a.append(bytearray(b'x' * (1 << 20)))", Outcome.MEMORY_LIMIT_EXCEEDED),
    "a flood without a line's end": ("while True: print('x' * 1000, end='')", Outcome.OUTPUT_LIMIT_EXCEEDED),
    "a flood after the answer": (RIGHT + "while True: print('x' * 1000)", Outcome.OUTPUT_LIMIT_EXCEEDED),
}


@pytest.mark.parametrize("name", LOSES)
async def test_a_losing_program_gets_its_outcome(verifier: CodeVerifier, name: str) -> None:
    source, outcome = LOSES[name]
    limits = {**LIMITS, "output_bytes": 1_000_000}
    found = await play(verifier, source, limits=limits, secrets=(77,))
    assert (found.score, found.outcome) == (0.0, outcome), found
    assert (await play(verifier, RIGHT, secrets=(13,))).score == 1.0


STOPPED = "import os, signal\ninput()\nprint('? 5', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)"
DEADLOCKS = {
    "forgets to flush": (FORGETS, "no output came; output must be flushed"),
    "waits for more": ("input()\nprint('? 5', flush=True)\ninput()\ninput()", "nothing came after 4 bytes"),
    "stops itself": (STOPPED, "nothing came after 4 bytes"),
}


@pytest.mark.parametrize("name", DEADLOCKS)
async def test_a_deadlock_ends_at_the_wall_limit_and_is_the_submissions(verifier: CodeVerifier, name: str) -> None:
    source, hint = DEADLOCKS[name]
    found = await play(verifier, source, limits={**LIMITS, "wall_time_s": 1.0})
    assert (found.score, found.outcome) == (0.0, Outcome.TIME_LIMIT_EXCEEDED), found
    assert hint in found.detail
    assert (await play(verifier, RIGHT)).score == 1.0


@pytest.mark.parametrize("name", DEADLOCKS)
async def test_a_deadlock_does_not_hold_a_slot_up_to_the_wall_limit(verifier: CodeVerifier, name: str) -> None:
    source, hint = DEADLOCKS[name]
    found = await play(verifier, source, limits={**LIMITS, "wall_time_s": 40.0})
    assert (found.score, found.outcome) == (0.0, Outcome.TIME_LIMIT_EXCEEDED), found
    assert hint in found.detail
    assert found.tests is not None
    assert found.tests[0].wall_s < 20
    assert (await play(verifier, RIGHT)).score == 1.0


async def test_a_flood_that_nobody_reads_ends_at_the_wall_limit(verifier: CodeVerifier) -> None:
    interactor = "import sys\nprint('x' * 1_000_000)\nsys.exit(input() != 'y')"
    found = await play(verifier, "while True: print('x' * 1000)", interactor=interactor, limits={**LIMITS, "wall_time_s": 1.0})
    assert (found.score, found.outcome) == (0.0, Outcome.TIME_LIMIT_EXCEEDED), found


async def test_a_fraction_counts_each_case(verifier: CodeVerifier) -> None:
    source = RIGHT + "raise SystemExit(low == 1)"
    found = await play(verifier, source, scoring="fraction", secrets=(50, 1, 100, 1))
    assert (found.score, found.outcome) == (0.5, Outcome.PARTIAL)
    assert found.tests is not None
    assert [test.outcome.value for test in found.tests] == ["correct", "runtime_error", "correct", "runtime_error"]


BROKEN = {
    "does not compile": "def (",
    "raises at once": "1 / 0",
    "raises on its input": "import sys\nint(open(sys.argv[1]).read())",
    "decides without reading": "raise SystemExit(1)",
    "accepts all": "print('hello')",
    "never reads": "while True: pass",
    "takes all memory": "a = []\nwhile True: a.append(bytearray(b'x' * (1 << 20)))",
    "has a slip in a line that is reached later": "input()\nprnt(5)",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_interactor_is_the_tasks_fault(verifier: CodeVerifier, name: str) -> None:
    with pytest.raises(TaskFault, match="interactor"):
        await play(verifier, "print('! 1', flush=True)\ninput()", interactor=BROKEN[name])
    assert (await play(verifier, RIGHT)).score == 1.0


async def test_an_interactor_is_held_by_the_limits_too(verifier: CodeVerifier) -> None:
    found = await play(verifier, "print(1)", interactor="input()\nwhile True: pass")
    assert (found.score, found.outcome) == (0.0, Outcome.TIME_LIMIT_EXCEEDED)
    assert "the interactor came to its own limit" in found.detail
