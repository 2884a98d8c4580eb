"""Nothing crosses from one program to the next of the same slot, by any channel; nor from a submission to the next one's
judge, nor back.

A program plants. The next one in that slot looks at everything that it can see (`fingerprint.py`) and must see what it
saw before, to the letter. That the looking sees is proven by the planting program itself.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verifier_service.sandbox.conformance.programs import DEADLINE_S, SMALL, still_well
from verifier_service.sandbox.contract import Ending, JudgedProgram, JudgedTermination, Program, Termination
from verifier_service.sandbox.pool import Slot
from verifier_service.sandbox.pooled import PooledBackend

HERE = Path(__file__).parent
LOOK = (HERE / "fingerprint.py").read_text()
LOOK_WITH_NUMPY = "import numpy\n" + LOOK
PLANTS: dict[str, dict[str, Any]] = {plant["name"]: plant for plant in tomllib.loads((HERE / "plants.toml").read_text())["plant"]}
ROOM = replace(SMALL, memory_mb=256, processes=24, output_bytes=8 << 20, wall_time_s=60.0)
SUBMISSION = "def serve(source, channel_fd):\n    exec(compile(source, 'submission.py', 'exec'), {'__name__': '__main__'})\n"
JUDGE = "def judge(payload, channel_fd, emit):\n    exec(compile(payload, 'tests.py', 'exec'), {'__name__': '__main__'})\n"
WAIT = """
import socket
channel = socket.socket(fileno=3)
channel.settimeout({patience_s})
try:
    channel.recv(1)
except OSError:
    pass
"""  # for the other side of the channel to end; something that it planted may keep it open
WAYS = [("submission", "judge"), ("submission", "submission"), ("judge", "submission")]

pytestmark = pytest.mark.asyncio(loop_scope="module")


def slot_of(backend: PooledBackend) -> Slot:
    (lease,) = backend.pool._busy
    return lease.slot


async def play(backend: PooledBackend, role: str, source: str, patience_s: float = 0.3) -> tuple[Slot, Termination]:
    """Run a source alone, as the submission of a judged pair, or as its judge; where it ran, and how it ended."""
    if role == "program":
        async with backend.run(Program("python", source), ROOM, deadline_s=DEADLINE_S) as execution:
            slot = slot_of(backend)
            (end,) = [termination async for termination in execution]
            return slot, end
    wait = WAIT.format(patience_s=patience_s)
    submission, judge = (source, wait) if role == "submission" else (wait, source)
    pair = JudgedProgram("python", submission, SUBMISSION, JUDGE, (judge.encode(),))
    async with backend.run_judged(pair, ROOM, deadline_s=DEADLINE_S) as judged:
        slot = slot_of(backend)
        (ending,) = [event async for event in judged if isinstance(event, JudgedTermination)]
    return slot, ending.submission if role == "submission" else ending.judge


async def look(backend: PooledBackend, role: str, source: str = LOOK) -> tuple[Slot, dict[str, Any]]:
    slot, end = await play(backend, role, source, patience_s=40.0)
    assert (end.ending, end.exit_code) == (Ending.EXITED, 0), end.stderr[-2000:]
    seen: dict[str, Any] = json.loads(end.stdout)
    if role != "program" and ["alive", False] in seen["processes"]:
        seen["processes"].remove(["alive", False])  # its partner, which may have ended
    return slot, seen


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    """Where two fingerprints differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted(before.keys() | after.keys())
        return [line for key in keys for line in differences(before.get(key), after.get(key), f"{path}/{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for index, (one, other) in pairs for line in differences(one, other, f"{path}/{index}")]
    return [] if before == after else [f"{path}: {str(before)[:300]} became {str(after)[:300]}"]


@pytest.mark.parametrize("name", PLANTS)
async def test_the_next_program_of_the_slot_sees_what_it_saw_before(one_slot: PooledBackend, name: str) -> None:
    plant = PLANTS[name]
    source = LOOK_WITH_NUMPY if "numpy" in plant["source"] else LOOK
    recycles = one_slot.stats().recycles
    slot, before = await look(one_slot, "program", source)
    thrown_away = recycles.total()
    planted_in, _ = await play(one_slot, "program", plant["source"])
    assert planted_in is slot
    looked_in, after = await look(one_slot, "program", source)
    assert differences(before, after) == []
    if (expected := plant.get("ends", "")) != "?":
        assert (looked_in is slot) == (not expected), recycles
        assert recycles.total() - thrown_away == bool(expected), recycles


@pytest.mark.parametrize(("planter", "looker"), WAYS)
async def test_nothing_crosses_between_submissions_and_judges(one_slot: PooledBackend, planter: str, looker: str) -> None:
    await look(one_slot, looker)
    _, before = await look(one_slot, looker)
    for name, plant in PLANTS.items():
        planted_in, _ = await play(one_slot, planter, plant["source"])
        looked_in, after = await look(one_slot, looker)
        assert differences(before, after) == [], name
        if plant.get("ends", "") == "" and planter == "submission":
            assert looked_in is planted_in, (name, one_slot.stats().recycles)


@pytest.mark.parametrize("name", [name for name, plant in PLANTS.items() if plant.get("visible", True)])
async def test_the_looking_sees_what_was_planted(one_slot: PooledBackend, name: str) -> None:
    _, before = await look(one_slot, "program")
    plant = re.sub(r"^os\._exit\(0\)$", "", PLANTS[name]["source"], flags=re.MULTILINE)
    _, end = await play(one_slot, "program", plant + "\n" + LOOK)
    try:
        seen = json.loads(end.stdout)
    except ValueError:  # what it planted has stopped even its own looking
        seen = None
    assert differences(before, seen) != []
    await still_well(one_slot, 1)


@pytest.mark.parametrize("source", ["import random\nprint(random.random())", "import numpy\nprint(numpy.random.rand())"])
async def test_random_numbers_are_each_programs_own(one_slot: PooledBackend, source: str) -> None:
    drawn = [await play(one_slot, role, source) for role in ("program", "program", "submission", "submission", "judge", "judge")]
    assert len({slot for slot, _ in drawn}) == 1
    assert len({end.stdout for _, end in drawn}) == len(drawn), drawn
