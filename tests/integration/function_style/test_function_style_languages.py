"""The style `function` in each language that has a driver, in real sandboxes: programs/ has a submission for each scenario."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.drivers import LANGUAGES
from verifier_service.verifiers.code.verifier import CodeVerifier

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="session")]

PROGRAMS = {path.stem: tomllib.loads(path.read_text()) for path in Path(__file__).with_name("programs").glob("*.toml")}
WEIRD = 'a"\\b\n\t\0é\U0001f600\x7f</p>'
STATIC = frozenset({"cpp", "go", "rust"})  # a missing or unfitting entry point shows when they are compiled


class Scenario(NamedTuple):
    """Cases of the entry point `f`, and what comes out, in languages compiled against their driver and in others."""

    cases: list[tuple[list[Any], Any]]
    outcomes: frozenset[Outcome] = frozenset({Outcome.CORRECT})
    static: frozenset[Outcome] | None = None
    more: dict[str, Any] = {}  # noqa: RUF012 - read only


def failing(*outcomes: Outcome) -> frozenset[Outcome]:
    return frozenset(outcomes)


SCENARIOS = {
    "sums": Scenario([([1, 2], 3), ([-(2**61), 1], 1 - 2**61), ([2**61, 7], 2**61 + 7)]),
    "grid": Scenario([([[[1, 2, 3], [4, 5, 6]]], [[1, 4], [2, 5], [3, 6]]), ([[[7]]], [[7]])]),
    "text": Scenario([([""], ""), ([WEIRD], WEIRD * 2)]),
    "mean": Scenario([([[0.1, 0.2]], 0.15), ([[1, 2]], 1.5), ([[1e300]], 1e300)], more={"float_tol": 1e-9}),
    "reversed": Scenario([([[1, 2, 3]], [3, 2, 1]), ([[]], [])], more={"inplace_arg": 0}),
    "list": Scenario([([[1, 2, 3]], [3, 2, 1]), ([[]], [])]),
    "tree": Scenario([([[4, 2, 7, 1, None, None, 9]], [4, 7, 2, 9, None, None, 1]), ([[]], [])]),
    "mapped": Scenario([([["a", "b", "a"]], {"a": [0, 2], "b": [1]}), ([[]], {})]),
    "counter": Scenario([([1], 1), ([2], 2), ([3], 3)]),
    "wrong": Scenario([([1], 2)], failing(Outcome.INCORRECT)),
    "raises": Scenario([([1], 1), ([2], 2)], failing(Outcome.RUNTIME_ERROR)),
    "exits": Scenario([([1], 1), ([2], 2)], failing(Outcome.RUNTIME_ERROR)),
    "forges": Scenario([([1], 8)], failing(Outcome.INCORRECT)),
    "loops": Scenario([([1], 1)], failing(Outcome.TIME_LIMIT_EXCEEDED)),
    "overflows": Scenario([([1], 1)], failing(Outcome.RUNTIME_ERROR, Outcome.MEMORY_LIMIT_EXCEEDED, Outcome.TIME_LIMIT_EXCEEDED)),
    "unwritable": Scenario([([1], [1])], failing(Outcome.INCORRECT), failing(Outcome.INCORRECT, Outcome.COMPILE_ERROR)),
    "missing": Scenario([([1], 1)], failing(Outcome.RUNTIME_ERROR), failing(Outcome.COMPILE_ERROR)),
    "broken": Scenario([([1], 1)], failing(Outcome.COMPILE_ERROR)),
    "truth": Scenario([([1], 1)], failing(Outcome.INCORRECT)),
    "argument": Scenario([([1], 1)], failing(Outcome.RUNTIME_ERROR)),
}  # fmt: skip


async def verdict(verifier: CodeVerifier, language: str, source: str, scenario: Scenario, **more: Any) -> ScoredVerdict:
    cases = [{"args": args, "expected": expected} for args, expected in scenario.cases]
    tests = {"style": "function", "entry_point": "f", "cases": cases, **scenario.more}
    limits = {"cpu_time_s": 3.0, "wall_time_s": 20.0, "memory_mb": 256}
    spec = CodeSpec.model_validate({"kind": "code", "language": language, "tests": tests, "limits": limits, **more})
    return await verifier.verify(verifier.prepare(spec), f"```{language}\n{source}\n```", Deadline.after(280))


async def test_every_language_with_a_driver_has_a_program_for_every_scenario() -> None:
    assert set(PROGRAMS) | {"cpp20"} == set(LANGUAGES)
    for language, programs in PROGRAMS.items():
        assert set(programs) == set(SCENARIOS), language


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("language", PROGRAMS)
async def test_a_function_is_called_and_its_result_compared(verifier: CodeVerifier, language: str, name: str) -> None:
    scenario = SCENARIOS[name]
    found = await verdict(verifier, language, PROGRAMS[language][name], scenario)
    wanted = scenario.static if scenario.static is not None and language in STATIC else scenario.outcomes
    assert found.outcome in wanted, found
    assert found.score == (1.0 if found.outcome is Outcome.CORRECT else 0.0)
    assert found.trust == "isolated"


@pytest.mark.parametrize("language", PROGRAMS)
async def test_a_case_that_fails_costs_the_others_nothing(verifier: CodeVerifier, language: str) -> None:
    scenario = Scenario([([n], n) for n in (1, 2, 3, 4)])
    found = await verdict(verifier, language, PROGRAMS[language]["raises"], scenario, scoring="fraction")
    assert (found.score, found.outcome) == (0.75, Outcome.PARTIAL)
    assert found.tests is not None
    assert [test.outcome for test in found.tests] == [
        Outcome.CORRECT,
        Outcome.RUNTIME_ERROR,
        Outcome.CORRECT,
        Outcome.CORRECT,
    ]


async def test_a_later_standard_has_the_same_driver(verifier: CodeVerifier) -> None:
    source = "#include <numeric>\n#include <span>\n#include <vector>\nint f(std::vector<int> x) { std::span s(x); return s[0]; }"
    assert (await verdict(verifier, "cpp20", source, Scenario([([[5]], 5)]))).score == 1.0


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("go", "func f(all ...int) int { sum := 0; for _, one := range all { sum += one }; return sum }"),
        ("java", "int f(int... all) { return java.util.Arrays.stream(all).sum(); }"),
    ],
)
async def test_any_number_of_arguments_may_come_as_an_array(verifier: CodeVerifier, language: str, source: str) -> None:
    scenario = Scenario([([[1, 2]], 3), ([[]], 0), ([5], 5), ([1, 2, 4], 7), ([], 0)])
    assert (await verdict(verifier, language, source, scenario)).score == 1.0


GENERIC = {
    "cpp": "template <class T> std::vector<T> f(std::vector<T> v) { std::sort(v.begin(), v.end()); return v; }",
    "java": "static <T extends Comparable<T>> List<T> f(List<T> v) { Collections.sort(v); return v; }",
    "go": "func f[T int | float64 | string](v []T) []T { sort.Slice(v, func(i, j int) bool { return v[i] < v[j] }); return v }",
    "rust": "fn f<T: PartialOrd>(mut v: Vec<T>) -> Vec<T> { v.sort_by(|a, b| a.partial_cmp(b).unwrap()); v }",
    "typescript": "function f<T>(v: T[]): T[] { return v.sort((a, b) => (a < b ? -1 : 1)); }",
}


@pytest.mark.parametrize("language", GENERIC)
@pytest.mark.parametrize("values", [[3, 1, 2], ["b", "ä", "a"], [0.5, 2.25, -1.0]], ids=["numbers", "texts", "fractions"])
async def test_an_entry_point_of_any_type_gets_that_of_the_cases(
    verifier: CodeVerifier, language: str, values: list[Any]
) -> None:
    scenario = Scenario([([values], sorted(values)), ([[]], [])])
    assert (await verdict(verifier, language, GENERIC[language], scenario)).score == 1.0
    wrong = Scenario([([values], sorted(values, reverse=True))])
    assert (await verdict(verifier, language, GENERIC[language], wrong)).outcome is Outcome.INCORRECT


async def test_overloads_are_told_apart_by_the_number_of_arguments_and_the_cases_types(verifier: CodeVerifier) -> None:
    source = "int f(int a) { return a; }\nint f(int a, int b) { return a + b; }\nstd::string f(std::string a) { return a + a; }"
    assert (await verdict(verifier, "cpp", source, Scenario([([1], 1), ([1, 2], 3)]))).score == 1.0
    assert (await verdict(verifier, "cpp", source, Scenario([(["x"], "xx")]))).score == 1.0


async def test_a_set_is_an_array_in_the_order_of_insertion(verifier: CodeVerifier) -> None:
    source = "function f(v) { return new Set(v); }"
    assert (await verdict(verifier, "javascript", source, Scenario([([[3, 1, 3]], [3, 1])]))).score == 1.0
    assert (await verdict(verifier, "javascript", source, Scenario([([[3, 1, 3]], [1, 3])]))).score == 0.0
