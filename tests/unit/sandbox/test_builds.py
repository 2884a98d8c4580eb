"""Builds: packed and unpacked, collected from a compiler's folder, made once for all who ask."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.sandbox.builds import Builds, key_of
from verifier_service.sandbox.contract import Limits, Program
from verifier_service.sandbox.execution import granted, pack_program
from verifier_service.sandbox.runner import build, wire
from verifier_service.sandbox.runner.languages import LANGUAGES

LIMITS = wire.WireLimits(1, 1, 1, 1, 1, 1)
FAILURE = wire.WireTermination("compile_error", 1, 0, 0.5, 0.6, 100.0, b"", b"main.cpp:1: error", ())


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=20), st.booleans(), st.binary(max_size=50)), max_size=5))
def test_a_build_comes_back_as_it_was_packed(files: list[tuple[bytes, bool, bytes]]) -> None:
    made = [build.BuiltFile(*file) for file in files]
    assert build.unpack(build.pack(made)) == (made, None)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_build_are_refused(data: bytes) -> None:
    try:
        build.unpack(data)
    except wire.WireError:
        return
    assert data[:1] in (b"B", b"F", b"G")


def test_a_failed_compilation_says_whether_another_try_may_end_otherwise() -> None:
    for by_limit in (False, True):
        packed = build.pack_failure(FAILURE, by_limit=by_limit)
        assert build.unpack(packed) == ([], FAILURE)
        assert build.depends_on_load(packed) is by_limit


def test_what_the_compiler_left_is_collected_and_what_it_was_given_is_not(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text("source")
    (tmp_path / "main").write_bytes(b"binary")
    (tmp_path / "main").chmod(0o755)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "A.class").write_bytes(b"class")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "x").write_bytes(b"x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    found = {file.path: (file.executable, file.data) for file in build.collect(str(tmp_path), {b"main.cpp"})}
    assert found == {b"main": (True, b"binary"), b"pkg/A.class": (False, b"class")}


def test_a_compiler_that_leaves_too_much_makes_no_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MOST_BYTES", 100)
    (tmp_path / "large").write_bytes(b"x" * 101)
    with pytest.raises(build.TooLarge, match="bytes"):
        build.collect(str(tmp_path), set())
    monkeypatch.setattr(build, "MOST_FILES", 3)
    (tmp_path / "large").unlink()
    for number in range(5):
        (tmp_path / str(number)).touch()
    with pytest.raises(build.TooLarge, match="files"):
        build.collect(str(tmp_path), set())


async def test_a_source_is_compiled_once_for_all_who_ask_at_one_time() -> None:
    builds, began = Builds(1 << 20), 0

    async def make() -> bytes:
        nonlocal began
        began += 1
        await asyncio.sleep(0.01)
        return b"B built"

    assert await asyncio.gather(*(builds.get(b"key", make) for _ in range(5))) == [b"B built"] * 5
    assert await builds.get(b"key", make) == b"B built"
    assert (began, builds.made) == (1, 1)


async def test_who_waits_for_a_compilation_that_was_broken_off_does_it_himself() -> None:
    builds, began = Builds(1 << 20), asyncio.Event()

    async def slow() -> bytes:
        began.set()
        await asyncio.sleep(60)
        return b"never"

    async def quick() -> bytes:
        return b"B built"

    first = asyncio.create_task(builds.get(b"key", slow))
    await began.wait()
    second = asyncio.create_task(builds.get(b"key", quick))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == b"B built"


async def test_a_compiler_that_ran_into_a_limit_is_tried_again_and_a_faulty_source_is_not() -> None:
    builds = Builds(1 << 20)
    answers = [build.pack_failure(FAILURE, by_limit=True), build.pack_failure(FAILURE, by_limit=False)]

    async def make() -> bytes:
        return answers[builds.made]

    for expected in (0, 1, 1):
        assert await builds.get(b"key", make) == answers[expected]


async def test_a_build_larger_than_the_cache_is_made_each_time() -> None:
    builds = Builds(1000)

    async def make() -> bytes:
        return b"B" + bytes(2000)

    for expected in (1, 2):
        await builds.get(b"key", make)
        assert builds.made == expected


def test_the_key_holds_all_that_a_compiler_is_given() -> None:
    program = wire.RunBody(0, 0, LIMITS, b"source", [], [(b"a", b"b")], [], b"cpp")
    others = [
        program._replace(source=b"source2"),
        program._replace(language=b"c"),
        program._replace(files=[(b"ab", b"")]),
        program._replace(files=[]),
    ]
    assert len({key_of(program), *map(key_of, others)}) == 5
    assert key_of(program._replace(run_id=7, flags=1, stdins=[b"x"], args=[b"y"])) == key_of(program)


def test_a_language_without_compiler_travels_as_its_own_build() -> None:
    run = wire.unpack_run(pack_program(Program("bash", "echo hi"), Limits()))
    assert build.unpack(run.built) == ([build.BuiltFile(b"main.sh", False, b"echo hi")], None)
    assert wire.unpack_run(pack_program(Program("cpp", "int main(){}"), Limits())).built == b""


def test_what_a_language_needs_for_itself_comes_on_top_of_the_limits() -> None:
    java, asked = LANGUAGES["java"], Limits()
    given_limits = granted("java", asked)
    assert given_limits.memory_mb == asked.memory_mb + java.memory_extra_mb
    assert given_limits.wall_time_s == asked.wall_time_s + java.time_extra_s
    assert given_limits.processes == asked.processes + java.processes_extra
    assert granted("python", asked) == asked


def test_files_that_are_data_make_no_other_build() -> None:
    def key(content: bytes, *, data: bool) -> bytes:
        program = Program("cpp", "int main() {}", files=(("a.txt", content),), files_are_data=data)
        return key_of(wire.unpack_run(pack_program(program, Limits())))

    assert key(b"1", data=True) == key(b"2", data=True)
    assert len({key(b"1", data=False), key(b"2", data=False), key(b"1", data=True)}) == 3
