"""Sources that attack the compiler's box, and programs that attack their own build."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_service.sandbox.contract import Ending, Limits, Program, Termination
from verifier_service.sandbox.docker_backend import DockerBackend
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings

SETTINGS = Settings(sandbox_slots=1, sandbox_spares=1, code_build_cpu_s=4.0, code_build_memory_mb=512)
LIMITS = Limits(cpu_time_s=2.0, wall_time_s=20.0, memory_mb=128)
GOOD = '#include <stdio.h>\nint main(){int x;scanf("%d",&x);printf("%d\\n",2*x);}'
pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def backend() -> AsyncIterator[DockerBackend]:
    made = make_docker_backend(SETTINGS, profile="compiled")
    await made.start()
    try:
        yield made
    finally:
        await made.aclose()


async def ran(backend: DockerBackend, language: str, source: str, *stdins: bytes, limits: Limits = LIMITS) -> list[Termination]:
    async with backend.run(Program(language, source, stdins or (b"",)), limits) as execution:
        return [termination async for termination in execution]


async def works_as_ever(backend: DockerBackend) -> bool:
    (end,) = await ran(backend, "c", GOOD, b"21")
    return (end.ending, end.stdout) == (Ending.EXITED, b"42\n")


COMPILE_BOMBS = {
    "an array of a gigabyte in the binary": ("c", "char large[1 << 30] = {1};\nint main(){return large[7];}"),
    "templates without end": (
        "cpp",
        "template<int N, int M> struct T { T<N + 1, M> a; T<N, M + 1> b; };\nT<0, 0> t;\nint main(){}",
    ),
    "a computation at compile time": (
        "cpp20",
        "constexpr long f(long n){ long s = 0; for (long i = 0; i < n; ++i) s += i; return s; }\n"
        "template<long N> struct S { static constexpr long v = f(2'000'000 + N) + S<N - 1>::v; };\n"
        "template<> struct S<0> { static constexpr long v = 0; };\nint main(){ return S<200>::v; }",
    ),
    "includes of itself": ("c", "#include __FILE__\n#include __FILE__\nint main(){}"),
    "a million macro expansions": (
        "c",
        "\n".join(f"#define A{n + 1} A{n} A{n} A{n} A{n} A{n} A{n} A{n} A{n}" for n in range(12))
        + "\n#define A0 0;\nint main(){ A12 }",
    ),
    "an endless file": ("c", '#include "/dev/zero"\nint main(){}'),
    "an endless stream": ("c", '#include "/dev/urandom"\nint main(){}'),
    "errors without end": ("c", "int main(){" + "".join(f"x{n};" for n in range(50_000)) + "}"),
}


@pytest.mark.parametrize("name", COMPILE_BOMBS)
async def test_a_compile_bomb_is_a_compile_error_in_time_and_the_next_program_runs_as_ever(
    backend: DockerBackend, name: str
) -> None:
    language, source = COMPILE_BOMBS[name]
    began = time.monotonic()
    ends = await ran(backend, language, source, b"", b"")
    assert time.monotonic() - began < 40
    assert {end.ending for end in ends} <= {Ending.COMPILE_ERROR}, ends
    assert all(len(end.stderr) <= 200_000 for end in ends)
    assert await works_as_ever(backend)


SECRETS = {
    "c": '#include "{}"\nint main(){{}}',
    "rust": 'const S: &[u8] = include_bytes!("{}"); fn main() {{ use std::io::Write; std::io::stdout().write_all(S).unwrap(); }}',
}


@pytest.mark.parametrize("language", SECRETS)
@pytest.mark.parametrize("path", ["/proc/1/environ", "/proc/1/mem", "/proc/self/environ", "/etc/shadow"])
async def test_a_compiler_tells_nothing_of_the_runner(backend: DockerBackend, language: str, path: str) -> None:
    ends = await ran(backend, language, SECRETS[language].format(path))
    told = b"".join(end.stdout + end.stderr for end in ends)
    assert b"submission_uid" not in told
    assert b"judge_uid" not in told
    assert b"root:" not in told


async def test_a_program_can_neither_change_nor_remove_its_own_build(backend: DockerBackend) -> None:
    source = r"""
#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>
int main(int argc, char **argv) {
    int tries = 0;
    tries += chmod("/box/built/main", 0777) == 0;
    tries += unlink("/box/built/main") == 0;
    tries += rename("/box/built", "/box/work/built") == 0;
    tries += open("/box/built/planted", O_CREAT | O_WRONLY, 0666) >= 0;
    tries += open("/box/built/main", O_WRONLY) >= 0;
    tries += open("/box/planted", O_CREAT | O_WRONLY, 0666) >= 0;
    tries += access("/box/work/planted", F_OK) == 0;
    open("/box/work/planted", O_CREAT | O_WRONLY, 0666);
    printf("%d\n", tries);
}
"""
    ends = await ran(backend, "c", source, b"", b"", b"")
    assert [end.stdout for end in ends] == [b"0\n"] * 3, ends


async def test_nothing_of_a_build_is_left_for_the_next_program(backend: DockerBackend) -> None:
    await ran(backend, "c", GOOD, b"1")
    look = "ls -A /box /box/built /box/work /dev/shm 2>&1; find / -newer /proc/1 -user $(id -u) -not -path '/proc/*' 2>/dev/null"
    (end,) = await ran(backend, "bash", look)
    lines = {line for line in end.stdout.decode().split("\n") if line}
    assert lines == {"/box:", "built", "work", "/box/built:", "main.sh", "/box/work:", "/dev/shm:"} | (lines & {"/box/work"}), (
        lines
    )


async def test_a_build_that_was_made_for_one_source_never_runs_for_another(backend: DockerBackend) -> None:
    sources = [f'#include <stdio.h>\nint main(){{puts("{n}");}}' for n in range(6)]
    for _ in range(2):
        found = await asyncio.gather(*(ran(backend, "c", source) for source in sources))
        assert [ends[0].stdout for ends in found] == [f"{n}\n".encode() for n in range(6)]


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        ("int main(){ for(;;); }", Ending.CPU_TIME),
        ("#include <unistd.h>\nint main(){ pause(); }", Ending.WALL_TIME),
        ("#include <unistd.h>\nint main(){ while(1) fork(); }", None),
        ("#include <stdlib.h>\n#include <string.h>\nint main(){ for(;;) memset(malloc(1<<20),1,1<<20); }", Ending.MEMORY),
        ('#include <stdio.h>\nint main(){ for(;;) puts("flood flood flood"); }', Ending.OUTPUT),
        (
            "int f(int n){ volatile char a[4096]; a[0]=n; return f(n+1)+a[0]; }\nint main(){ return f(1); }",
            Ending.SIGNALLED,
        ),
        ("int main(){ return *(volatile int*)8; }", Ending.SIGNALLED),
        ("int main(){ __builtin_trap(); }", Ending.SIGNALLED),
    ],
)
async def test_limits_hold_a_compiled_program_as_they_hold_python(
    backend: DockerBackend, source: str, ending: Ending | None
) -> None:
    (end,) = await ran(backend, "c", source)
    if ending is None:
        assert end.ending in (Ending.PROCESSES, Ending.CPU_TIME, Ending.WALL_TIME), end
    else:
        assert end.ending is ending, end
    assert await works_as_ever(backend)
