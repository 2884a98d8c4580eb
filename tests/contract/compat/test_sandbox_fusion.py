"""Golden requests and answers of /run_code."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from verifier_service.sandbox.fake import FakeBackend, ended
from verifier_service.settings import Settings


def body(code: str, **more: Any) -> dict[str, Any]:
    """As verl sends it."""
    return {
        "compile_timeout": 10,
        "run_timeout": 10,
        "code": code,
        "stdin": "",
        "memory_limit_MB": 1024,
        "language": "python",
        "files": {},
        "fetch_files": [],
    } | more


async def answer(service: Any, code: str, **more: Any) -> dict[str, Any]:
    response = await service.http.post("/run_code", json=body(code, **more))
    assert response.status_code == 200, response.text
    return dict(response.json())


async def test_a_good_run_is_a_success(service: Any) -> None:
    got = await answer(service, "print(int(input()) + 1)", stdin="41")
    seconds, cpu = got["run_result"].pop("execution_time"), got["run_result"].pop("cpu_time")
    assert got == {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "run_result": {"status": "Finished", "return_code": 0, "stdout": "42\n", "stderr": ""},
        "executor_pod_name": None,
        "files": {},
    }
    assert 0 < seconds < 10
    assert 0 < cpu < 10


async def test_an_exception_is_a_failed_finished_run(service: Any) -> None:
    got = await answer(service, "print('a'); raise ValueError('b')")
    assert (got["status"], got["run_result"]["status"], got["run_result"]["return_code"]) == ("Failed", "Finished", 1)
    assert got["run_result"]["stdout"] == "a\n"
    assert "ValueError: b" in got["run_result"]["stderr"]


async def test_a_signal_is_a_negative_code(service: Any) -> None:
    got = await answer(service, "import os; os.kill(os.getpid(), 11)")
    assert (got["status"], got["run_result"]["return_code"]) == ("Failed", -11)


async def test_a_time_out_has_no_code_but_what_was_printed(service: Any) -> None:
    got = await answer(service, "print('begun', flush=True)\nwhile True: pass", run_timeout=0.5)
    assert (got["status"], got["run_result"]["status"]) == ("Failed", "TimeLimitExceeded")
    assert got["run_result"]["return_code"] is None
    assert got["run_result"]["stdout"] == "begun\n"


async def test_fields_that_other_frameworks_add_are_ignored(service: Any) -> None:
    got = await answer(service, "print(1)", expected_stdout="2", trace={"a": [1]}, stdin=None)
    assert got["status"] == "Success"


@pytest.mark.parametrize("language", ["python3", "Python", "py"])
async def test_common_names_of_a_language_are_understood(service: Any, language: str) -> None:
    assert (await answer(service, "print(1)", language=language))["run_result"]["stdout"] == "1\n"


async def test_only_code_is_needed(service: Any) -> None:
    response = await service.http.post("/run_code", json={"code": "print(3)"})
    assert response.json()["run_result"]["stdout"] == "3\n"


async def test_a_language_that_is_not_there_is_a_422_that_names_those_that_are(service: Any) -> None:
    response = await service.http.post("/run_code", json=body("x", language="cobol"))
    assert response.status_code == 422
    assert "python" in response.json()["detail"]


async def test_files_go_in(service: Any) -> None:
    data = base64.b64encode(b"from a file").decode()
    got = await answer(service, "print(open('data.txt').read())", files={"data.txt": data, "./more.txt": data, "none": None})
    assert got["run_result"]["stdout"] == "from a file\n"


async def test_files_come_out(service: Any) -> None:
    code = "print('x'); open('out.bin', 'wb').write(bytes(range(256)))"
    got = await answer(service, code, fetch_files=["out.bin", "missing"])
    assert got["files"] == {"out.bin": base64.b64encode(bytes(range(256))).decode()}
    assert got["run_result"]["stdout"] == "x\n"


async def test_files_come_out_of_a_program_that_fails_too(service: Any) -> None:
    got = await answer(service, "open('out', 'w').write('ab'); import sys; sys.exit(3)", fetch_files=["out"])
    assert got["run_result"]["return_code"] == 3
    assert got["files"] == {"out": "YWI="}


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "", ".hidden", "a\0b", "x" * 300])
async def test_a_file_can_not_leave_the_folder(service: Any, name: str) -> None:
    response = await service.http.post("/run_code", json=body("print(1)", files={name: ""}))
    assert response.status_code == 422
    response = await service.http.post("/run_code", json=body("print(1)", fetch_files=[name]))
    assert response.status_code == 422


@pytest.mark.parametrize(
    "wrong",
    [
        {"code": None},
        {"code": 3},
        {"run_timeout": 0},
        {"run_timeout": -1},
        {"run_timeout": "soon"},
        {"files": {"a": "no base64!"}},
        {"files": {f"f{i}": "" for i in range(100)}},
        {"stdin": 5},
        {"memory_limit_MB": "much"},
    ],
)
async def test_a_wrong_field_is_a_problem_that_names_it(service: Any, wrong: dict[str, Any]) -> None:
    response = await service.http.post("/run_code", json=body("print(1)") | wrong)
    assert response.status_code in (413, 422)
    assert next(iter(wrong)) in response.json()["detail"]
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("raw", [b"{", b'{"code": NaN}', b"[" * 5000, b"\xff", b'{"code":"a","run_timeout":1e999}'])
async def test_what_is_no_json_is_a_4xx(service: Any, raw: bytes) -> None:
    response = await service.http.post("/run_code", content=raw, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)


async def test_a_lone_surrogate_is_a_program_like_any_other(service: Any) -> None:
    raw = b'{"code": "print(len(input()))", "stdin": "\\ud800"}'
    response = await service.http.post("/run_code", content=raw, headers={"content-type": "application/json"})
    assert response.json()["run_result"]["stdout"] == "1\n"


async def test_too_long_a_program_is_a_413(service: Any) -> None:
    response = await service.http.post("/run_code", json=body("#" * 100_001))
    assert response.status_code == 413


async def test_limits_above_the_ceiling_are_cut_and_not_refused(service: Any) -> None:
    await answer(service, "print(1)", run_timeout=3600, memory_limit_MB=1_000_000)
    (limits,) = service.backend.limits
    assert limits.wall_time_s == service.settings.code_wall_time_ceiling_s
    assert limits.memory_mb == service.settings.code_memory_ceiling_mb


async def test_no_memory_limit_is_the_services_default(service: Any) -> None:
    await answer(service, "print(1)", memory_limit_MB=-1)
    assert service.backend.limits[0].memory_mb == service.settings.code_memory_mb


async def test_output_that_is_no_utf8_still_comes(service: Any) -> None:
    got = await answer(service, "import os; os.write(1, b'a\\xffb')")
    assert got["run_result"]["stdout"] == "a\ufffdb"


async def test_equal_requests_are_run_once(service: Any) -> None:
    sent = [service.http.post("/run_code", json=body("print(input())", stdin="7")) for _ in range(10)]
    answers = await asyncio.gather(*sent)
    assert {a.json()["run_result"]["stdout"] for a in answers} == {"7\n"}
    assert sum(len(p.stdins) for p in service.backend.programs) == 1


async def test_a_dead_sandbox_is_a_504_and_no_verdict(service_with: Any, plain_backend: Any, quick_pauses: None) -> None:
    async with service_with(Settings(math_workers=1), plain_backend(fault="the engine is gone")) as service:
        response = await service.http.post("/run_code", json=body("print(1)", compile_timeout=0.1, run_timeout=0.1))
        assert response.status_code == 504
        assert "status" in response.json()
        assert response.json()["status"] == 504


async def test_no_sandbox_at_all_is_a_504_at_once_that_says_so(service_with: Any) -> None:
    async with service_with(Settings(math_workers=1), None) as service:
        response = await asyncio.wait_for(service.http.post("/run_code", json=body("print(1)")), 2)
        assert response.status_code == 504
        assert "no sandbox" in response.json()["detail"]


async def test_a_sandbox_that_comes_back_in_time_is_no_error(service_with: Any, plain_backend: Any, quick_pauses: None) -> None:
    backend = plain_backend(fault="restarting")
    async with service_with(Settings(math_workers=1), backend) as service:
        sent = asyncio.create_task(service.http.post("/run_code", json=body("print(1)")))
        await asyncio.sleep(0.2)
        backend.fault = ""
        assert (await sent).json()["run_result"]["stdout"] == "1\n"


async def test_ping(service: Any) -> None:
    assert (await service.http.get("/v1/ping")).json() == "pong"


@pytest.mark.parametrize(("wanted", "status", "code"), [(2, "Success", 0), (3, "Failed", 1)])
async def test_pytest_passes_when_its_tests_do(service: Any, wanted: int, status: str, code: int) -> None:
    source = f"def f(x):\n    return x + 1\n\ndef test_f():\n    assert f(1) == {wanted}"
    got = await answer(service, source, language="pytest", run_timeout=60)
    assert (got["status"], got["run_result"]["return_code"]) == (status, code)
    assert ("1 passed" if code == 0 else "1 failed") in got["run_result"]["stdout"]


async def test_files_come_out_of_a_pytest_run_too(service: Any) -> None:
    source = "def test_f():\n    with open('out', 'w') as file:\n        file.write('ab')"
    got = await answer(service, source, language="pytest", run_timeout=60, fetch_files=["out"])
    assert (got["status"], got["files"]) == ("Success", {"out": "YWI="})


async def test_where_there_is_no_pytest_its_language_is_refused(service_with: Any) -> None:
    backend = FakeBackend(lambda program, stdin, limits: ended(exit_code=1, stderr=b"ModuleNotFoundError"))
    async with service_with(Settings(math_workers=1), backend) as service:
        response = await service.http.post("/run_code", json=body("def test_f(): pass", language="pytest"))
    assert response.status_code == 422
    assert [program.source for program in backend.programs] == ["import pytest"]
