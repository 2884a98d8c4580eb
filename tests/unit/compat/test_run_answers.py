"""How a termination reads in SandboxFusion's, piston's and judge0's words."""

from __future__ import annotations

import pytest

from verifier_service.api.compat import judge0, piston, sandbox_fusion
from verifier_service.sandbox.contract import Ending, Termination
from verifier_service.sandbox.runner.languages import LANGUAGES


def ended(
    ending: Ending, code: int | None = None, signal: int | None = None, stdout: bytes = b"out", stderr: bytes = b"err"
) -> Termination:
    return Termination(ending, code, signal, 0.5, 0.75, 12.0, stdout, stderr)


@pytest.mark.parametrize(
    ("termination", "status", "run_status", "code"),
    [
        (ended(Ending.EXITED, 0), "Success", "Finished", 0),
        (ended(Ending.EXITED, 3), "Failed", "Finished", 3),
        (ended(Ending.SIGNALLED, None, 11), "Failed", "Finished", -11),
        (ended(Ending.CPU_TIME), "Failed", "TimeLimitExceeded", None),
        (ended(Ending.WALL_TIME), "Failed", "TimeLimitExceeded", None),
        (ended(Ending.MEMORY), "Failed", "Finished", 137),
        (ended(Ending.PROCESSES), "Failed", "Finished", 137),
        (ended(Ending.OUTPUT), "Failed", "Finished", 153),
        (ended(Ending.FILE_SIZE), "Failed", "Finished", 153),
        (ended(Ending.COMPILE_ERROR), "Failed", "Finished", 1),
    ],
)
def test_every_ending_has_a_status_and_a_code(termination: Termination, status: str, run_status: str, code: int | None) -> None:
    got = sandbox_fusion.result_of(termination, "python")
    assert (got["status"], got["run_result"]["status"], got["run_result"]["return_code"]) == (status, run_status, code)
    assert got["run_result"]["stdout"] == "out"
    assert got["run_result"]["stderr"].startswith("err")
    assert got["compile_result"] is None


def test_no_ending_of_a_limit_is_ever_a_success() -> None:
    for ending in Ending:
        if ending is not Ending.EXITED:
            assert sandbox_fusion.result_of(ended(ending, 0), "python")["status"] == "Failed"
            assert piston.results_of(ended(ending, 0), "python")["run"]["status"]
            assert judge0.result_of(ended(ending, 0), "python", None, False)["status"]["id"] > 4


def test_a_memory_limit_says_so_where_old_clients_read_a_runtime_error() -> None:
    got = sandbox_fusion.result_of(ended(Ending.MEMORY), "python")
    assert got["message"] == "memory limit exceeded"
    assert got["run_result"]["stderr"] == "err\nmemory limit exceeded\n"


def test_a_compiled_language_has_a_compile_result() -> None:
    assert sandbox_fusion.result_of(ended(Ending.EXITED, 0), "cpp")["compile_result"]["return_code"] == 0
    failed = sandbox_fusion.result_of(ended(Ending.COMPILE_ERROR, 1), "cpp")
    assert failed["run_result"] is None
    assert (failed["compile_result"]["return_code"], failed["compile_result"]["stderr"]) == (1, "err")
    assert judge0.result_of(ended(Ending.COMPILE_ERROR, 1), "cpp", None, False)["compile_output"] == "err"


@pytest.mark.parametrize(
    ("number", "status", "code", "piston_status"), [(24, "TimeLimitExceeded", None, "TO"), (9, "Finished", -9, "SG")]
)
def test_a_compiler_that_a_limit_ended_is_told_in_the_compile_stage(
    number: int, status: str, code: int | None, piston_status: str
) -> None:
    given_up = ended(Ending.COMPILE_ERROR, None, number)
    got = sandbox_fusion.result_of(given_up, "java")
    assert (got["status"], got["run_result"]) == ("Failed", None)
    assert (got["compile_result"]["status"], got["compile_result"]["return_code"]) == (status, code)
    stages = piston.results_of(given_up, "java")
    assert (stages["compile"]["status"], stages["compile"]["code"], stages["compile"]["signal"]) == (
        piston_status,
        None,
        "SIGKILL",
    )
    assert judge0.result_of(given_up, "java", None, False)["status"]["id"] == 6


@pytest.mark.parametrize("language", sorted(row.name for row in LANGUAGES.values() if row.compile))
def test_no_ending_of_a_compiled_program_is_a_success_but_a_good_one(language: str) -> None:
    for ending in Ending:
        for code in (None, 0, 1):
            got = sandbox_fusion.result_of(ended(ending, code), language)
            assert (got["status"] == "Success") == (ending is Ending.EXITED and code != 1)
            assert (got["run_result"] is None) == (ending is Ending.COMPILE_ERROR)
            stages = piston.results_of(ended(ending, code), language)
            assert (stages["run"] is stages["compile"]) == (ending is Ending.COMPILE_ERROR)


@pytest.mark.parametrize(
    ("compile_s", "run_s", "compiled", "expected"),
    [
        (10, 10, False, 25),  # verl's 30 s
        (30, 30, False, 32),  # ROLL: one run may take all its time
        (5, 5, False, 15),
        (None, 6, False, 11),
        (10, 60, False, 62),
        (60, 60, True, 122),
        (1, 80_000, False, 122),  # the ceiling of 120 s and some slack
    ],
)
def test_the_504_comes_before_the_clients_own_time_out(
    compile_s: float | None, run_s: float, compiled: bool, expected: float
) -> None:
    from verifier_service.settings import Settings

    asked = sandbox_fusion.RunCodeRequest(code="", compile_timeout=compile_s, run_timeout=run_s)
    limits = sandbox_fusion.limits_of(asked, Settings())
    assert sandbox_fusion.deadline_s(asked, limits, compiled) == expected
