"""Every language of the table, on the real engine: the same program in each, which does what its first line asks.

The rows of the profile `full` are collected with VERIFIER_TEST_FULL_IMAGE=1 only (`make test-languages`): their image takes a
quarter of an hour to build where nothing of it is there yet.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from verifier_service.sandbox.contract import Ending, Limits, Program, SandboxBackend, Termination
from verifier_service.sandbox.runner.languages import LANGUAGES, Language
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

FULL = os.environ.get("VERIFIER_TEST_FULL_IMAGE") == "1"
ROWS = [pytest.param(row, id=row.name) for row in LANGUAGES.values() if FULL or row.profile != "full"]
PROGRAMS = Path(__file__).parent / "programs"
SAME_LANGUAGE = {"pypy": "python", "luajit": "lua"}
SETTINGS = Settings(sandbox_slots=1, sandbox_spares=1)
LIMITS = Limits(cpu_time_s=5, wall_time_s=90, memory_mb=256)
NOT_A_PROGRAM = '\n)]} this is "no program\n'
MANY = b"".join(b"%d\n" % (i % 1000 - 400) for i in range(200_000))
MANY_SUM = sum(i % 1000 - 400 for i in range(200_000))
# How deep the programs recurse, where it isn't 100,000.
DEPTHS = {"bash": 5_000, "luajit": 10_000, "r": 1_000, "tcl": 10_000}
# Without recursion, without a heap of its own, or with neither.
LACKS = {"sql": {"deep", "hog"}, "cobol": {"deep"}, "verilog": {"deep", "hog"}}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def backend() -> AsyncIterator[SandboxBackend]:
    backend = make_docker_backend(SETTINGS, profile="full" if FULL else "compiled")
    await backend.start()
    yield backend
    await backend.aclose()


def source_of(row: Language) -> str:
    (path,) = (PROGRAMS / SAME_LANGUAGE.get(row.name, row.name)).iterdir()
    assert path.name == row.file or row.name in SAME_LANGUAGE
    return path.read_text()


async def ended(backend: SandboxBackend, row: Language, stdins: list[bytes], limits: Limits = LIMITS) -> list[Termination]:
    async with backend.run(Program(row.name, source_of(row), tuple(stdins)), limits) as execution:
        return [termination async for termination in execution]


@pytest.mark.parametrize("row", ROWS)
async def test_a_program_reads_to_the_end_of_its_input_and_prints_what_it_found(backend: SandboxBackend, row: Language) -> None:
    if row.name == "sql":
        stdins = [
            b"CREATE TABLE numbers(number INTEGER); INSERT INTO numbers VALUES (1), (2), (4);",
            b"CREATE TABLE numbers(number);",
        ]
        wanted = ["7", "0"]
    else:
        stdins = [b"hello\n", b"sum\n1\n2\n3\n-4\n5\n", b"sum\n" + MANY, b"deep\n"]
        wanted = ["héllo, wörld ✓", "7", str(MANY_SUM), str(DEPTHS.get(row.name, 100_000))]
        if "deep" in LACKS.get(row.name, ()):
            del stdins[3], wanted[3]
    found = await ended(backend, row, stdins)
    assert [(end.ending, end.exit_code, end.stdout.decode().strip()) for end in found] == [
        (Ending.EXITED, 0, text) for text in wanted
    ], [end.stderr[-1000:] for end in found]
    assert not any(end.tamper for end in found)


@pytest.mark.parametrize("row", [param for param in ROWS if param.id != "sql"])
async def test_a_crash_is_no_exit_with_zero(backend: SandboxBackend, row: Language) -> None:
    (end,) = await ended(backend, row, [b"crash\n"])
    assert end.ending in (Ending.EXITED, Ending.SIGNALLED)
    assert end.exit_code != 0
    assert not end.stdout or row.name == "verilog"  # which prints its last words


@pytest.mark.parametrize("row", [param for param in ROWS if param.id != "sql"])
async def test_a_loop_without_end_is_stopped_for_its_cpu_time(backend: SandboxBackend, row: Language) -> None:
    (end,) = await ended(backend, row, [b"loop\n"], Limits(cpu_time_s=1, wall_time_s=90, memory_mb=256))
    assert end.ending is Ending.CPU_TIME
    assert end.cpu_s < 1 + row.time_extra_s + 1


@pytest.mark.parametrize("row", [param for param in ROWS if "hog" not in LACKS.get(str(param.id), ())])
async def test_a_program_that_takes_more_memory_than_it_may_is_stopped_for_that(backend: SandboxBackend, row: Language) -> None:
    (end,) = await ended(backend, row, [b"hog\n"], Limits(cpu_time_s=20, wall_time_s=90, memory_mb=128))
    if row.out_of_memory and end.ending is not Ending.MEMORY:
        assert row.out_of_memory in end.stderr.decode() or end.ending is Ending.SIGNALLED
    else:
        assert end.ending is Ending.MEMORY, end
    assert end.exit_code != 0
    (after,) = await ended(backend, row, [b"hello\n"])
    assert after.exit_code == 0


@pytest.mark.parametrize("row", ROWS)
async def test_what_is_no_program_fails_with_a_message(backend: SandboxBackend, row: Language) -> None:
    source = source_of(row)
    # Nothing after Pascal's `end.` counts, and Lisp reads no further than it has got.
    first = row.name in ("pascal", "commonlisp")
    source = NOT_A_PROGRAM + source if first else source + NOT_A_PROGRAM
    program = Program(row.name, source, (b"",))
    async with backend.run(program, LIMITS) as execution:
        (end,) = [termination async for termination in execution]
    if row.compile:
        assert end.ending is Ending.COMPILE_ERROR
    assert end.exit_code != 0
    assert end.stderr.strip()


async def test_the_image_has_every_language_of_its_profile_and_knows_its_version(backend: SandboxBackend) -> None:
    info = backend.info()
    expected = {param.id for param in ROWS}
    assert expected <= set(info.languages)
    assert {name for name in expected if not info.versions.get(str(name))} == set()


@pytest.mark.parametrize("name", ["cpp", "cpp20"])
async def test_the_precompiled_header_fits_the_flags_of_the_table(backend: SandboxBackend, name: str) -> None:
    """Were it refused, compiling the same includes would take three times the processor's time, and nobody would be told."""
    flags = " ".join(LANGUAGES[name].compile[0][1:-3])
    check = f"printf '#include <bits/stdc++.h>\\nint main() {{}}\\n' >a.cpp; g++ {flags} -H -fsyntax-only a.cpp 2>&1 | head -3"
    async with backend.run(Program("bash", check, (b"",)), Limits(memory_mb=512)) as execution:
        (end,) = [termination async for termination in execution]
    assert "\n! /usr/include" in "\n" + end.stdout.decode(), end
