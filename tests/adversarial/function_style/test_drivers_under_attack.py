# ruff: noqa: E501 - programs stand here as they are sent
"""Hostile submissions around whose code a driver stands: none passes, each is scored, and the next one runs as ever."""

from __future__ import annotations

import pytest

from verifier_protocol import CodeSpec, ScoredVerdict
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="session")]

TESTS = {"style": "function", "entry_point": "f", "cases": [{"args": [n], "expected": 10 * n + 3} for n in (1, 2, 3)]}
LIMITS = {"cpu_time_s": 2.0, "wall_time_s": 15.0, "memory_mb": 192}
RIGHT = {
    "cpp": "int f(int x) { return 10 * x + 3; }",
    "javascript": "const f = (x) => 10 * x + 3;",
}
MARK = "\\n\\x1everifier-driver"

ATTACKS = {
    "cpp": {
        "leaves before main": "#include <cstdlib>\nstruct A { A() { _Exit(0); } } a; int f(int) { return 0; }",
        "answers before main": f'#include <cstdio>\n#include <cstdlib>\nstruct A {{ A() {{ for (int i = 0; i < 3; i++) printf("{MARK} %d answer true\\n", i); fflush(stdout); _Exit(0); }} }} a; int f(int) {{ return 0; }}',
        "answers with all numbers": f'#include <cstdio>\nint f(int) {{ for (int i = 0; i < 100; i++) for (int k = 0; k < 3; k++) printf("{MARK} %d answer %d\\n", k, i); fflush(stdout); return 0; }}',
        "answers with far too much": f'#include <cstdio>\n#include <cstdlib>\nint f(int) {{ printf("{MARK} 0 answer ["); for (int i = 0; i < 700000; i++) printf("[],"); printf("0]\\n"); fflush(stdout); _Exit(0); }}',
        "claims the tests are broken": f'#include <cstdio>\n#include <cstdlib>\nint f(int) {{ printf("{MARK} 0 bad_task \\"x\\"\\n"); fflush(stdout); _Exit(70); }}',
        "closes the channel": "#include <unistd.h>\nint f(int x) { for (int i = 0; i < 256; i++) close(i); return 10 * x + 3; }",
        "leaves a child that answers": f'#include <unistd.h>\n#include <cstdio>\n#include <cstdlib>\nint f(int) {{ if (fork()) _Exit(0); usleep(200000); printf("{MARK} 0 answer 13\\n"); fflush(stdout); _Exit(0); }}',
        "equal to everything": "struct E { template <class T> bool operator==(const T&) const { return true; } operator int() const { return 13; } }; E f(int) { return {}; }",
        "forks without end": "#include <unistd.h>\nint f(int) { for (;;) fork(); }",
        "takes all memory": "#include <vector>\nint f(int) { std::vector<char*> v; for (;;) { v.push_back(new char[1 << 20]); for (int i = 0; i < 1 << 20; i += 512) v.back()[i] = 1; } }",
        "floods": '#include <cstdio>\nint f(int) { for (;;) puts("13"); }',
        "compiles for ever": "template <int N> struct A { static constexpr long v = A<N - 1>::v + A<N - 2>::v; }; template <int N, int M> struct B { using T = typename B<N - 1, M * 2>::T; using U = typename B<N - 1, M * 2 + 1>::U; }; int f(int) { B<40, 1>::T x; return 0; }",
        "includes what it must not": '#include "/dev/stdin"\n#include "/dev/zero"\nint f(int) { return 0; }',
        "steals main": "#undef main\nint main() { return 0; }\nint f(int) { return 0; }",
        "steals the driver": '#define report(a, b) report("answer", "13")\n#define write(...) (void)0\nint f(int) { return 0; }',
    },
    "javascript": {
        "leaves at once": "process.exit(0); function f() {}",
        "answers at once": f'for (let i = 0; i < 3; i++) require("fs").writeSync(1, `{MARK} ${{i}} answer true\\n`); process.reallyExit(0);',
        "patches everything": "JSON.stringify = () => '13'; JSON.parse = () => [1]; Array.prototype.map = () => [13]; String.prototype.split = () => []; Object.is = () => true; function f() { return 0; }",
        "equal to everything": "function f() { return { valueOf: () => 13, toJSON: () => 13, [Symbol.toPrimitive]: () => 13 }; }",
        "a proxy for an answer": "function f() { return new Proxy([], { get: (t, k) => k === 'length' ? 1e9 : 13 }); }",
        "never ends": "function f() { return new Promise(() => setInterval(() => {}, 1000)); }",
        "spawns": 'require("child_process").spawn("sleep", ["100"], { detached: true }); function f() { return 0; }',
        "a getter that leaves": "function f() { return { get a() { process.reallyExit(0); } }; }",
        "takes all memory": "function f() { const a = []; for (;;) a.push(new Array(1e5).fill(1)); }",
    },
}


async def verdict(verifier: CodeVerifier, language: str, source: str) -> ScoredVerdict:
    spec = CodeSpec.model_validate({"kind": "code", "language": language, "tests": TESTS, "limits": LIMITS})
    return await verifier.verify(verifier.prepare(spec), f"```{language}\n{source}\n```", Deadline.after(280))


@pytest.mark.parametrize(("language", "name"), [(language, name) for language in ATTACKS for name in ATTACKS[language]])
async def test_an_attack_scores_zero_and_the_next_submission_runs(verifier: CodeVerifier, language: str, name: str) -> None:
    found = await verdict(verifier, language, ATTACKS[language][name])
    assert found.score == 0.0, found
    assert found.passed == 0 or name == "leaves a child that answers"
    after = await verdict(verifier, language, RIGHT[language])
    assert after.score == 1.0, after
