"""`verifier-service score`, whole, with a scoring endpoint of the tests."""

from __future__ import annotations

import errno
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from verifier_protocol import UnscoredReason
from verifier_service.cli import app, score
from verifier_service.cli.file_scoring.endpoint import Unreachable


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    def call(path: Path, endpoint: Any, *options: str) -> Result:
        @asynccontextmanager
        async def opened(*_: object) -> AsyncIterator[Any]:
            yield endpoint

        monkeypatch.setattr(score, "remote", opened)
        command = ["score", str(path), "--out", str(tmp_path / "out.jsonl"), "--url", "http://service", *options]
        return CliRunner().invoke(app, command, env={"COLUMNS": "120"})

    return call


def results(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_file_is_scored_and_summed_up(run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path) -> None:
    path = write_lines(
        {"id": "a", "completions": ["1", "2"], "gold": "1", "labels": [True, True]}, {"completion": "1", "gold": "1"}
    )
    done = run(path, make_endpoint())
    assert done.exit_code == 0, done.output
    assert [(r["line"], r.get("id"), r["rewards"]) for r in results(tmp_path)] == [(1, "a", [1.0, 0.0]), (2, None, [1.0])]
    assert "66.67%" in done.output
    assert "1 of 2 (50.00%)" in done.output


def test_a_second_run_scores_nothing_again(run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path) -> None:
    path = write_lines({"completion": "1", "gold": "1"}, {"completion": "2", "gold": "1"})
    run(path, make_endpoint())
    before = (tmp_path / "out.jsonl").read_bytes()
    second = make_endpoint()
    done = run(path, second)
    assert done.exit_code == 0
    assert second.requests == []
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert "50.00%" in done.output


def test_bad_lines_are_named_and_the_rest_is_scored(run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path) -> None:
    path = write_lines(
        {"completion": "1", "gold": "1"}, "{", {"completion": "1", "gold": "refuse"}, "", {"completion": "2", "gold": "2"}
    )
    done = run(path, make_endpoint())
    assert done.exit_code == 1
    assert [r["line"] for r in results(tmp_path)] == [1, 5]
    assert "in.jsonl:2:" in done.output
    assert "in.jsonl:3:" in done.output


def test_a_mended_line_is_scored_by_the_next_run(run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path) -> None:
    path = write_lines({"completion": "1", "gold": "1"}, "{")
    run(path, make_endpoint())
    write_lines({"completion": "1", "gold": "1"}, {"completion": "2", "gold": "2"})
    endpoint = make_endpoint()
    assert run(path, endpoint).exit_code == 0
    assert [r["line"] for r in results(tmp_path)] == [1, 2]
    assert len(endpoint.requests) == 1


def test_an_edited_line_is_scored_anew(run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path) -> None:
    path = write_lines({"completion": "1", "gold": "1"}, {"completion": "2", "gold": "1"})
    run(path, make_endpoint())
    write_lines({"completion": "1", "gold": "1"}, {"completion": "1", "gold": "1"})
    assert run(path, make_endpoint()).exit_code == 0
    assert sorted((r["line"], r["rewards"][0]) for r in results(tmp_path)) == [(1, 1.0), (2, 1.0)]


def test_the_results_of_another_file_are_never_overwritten(
    run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path
) -> None:
    run(write_lines({"completion": "1", "gold": "1"}), make_endpoint())
    before = (tmp_path / "out.jsonl").read_bytes()
    done = run(write_lines({"completion": "3", "gold": "4"}, name="other.jsonl"), make_endpoint())
    assert done.exit_code == 1
    assert "results of another input" in done.output
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_unscored_completions_have_a_status_of_their_own(
    run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_service.cli.file_scoring.batches.RETRY_PAUSE_S", 0.0)
    path = write_lines({"completion": "broken", "gold": "1"}, {"completion": "1", "gold": "1"})
    done = run(path, make_endpoint(broken_times=99))
    assert done.exit_code == 3
    assert "unscored: deadline" in done.output
    assert results(tmp_path)[0]["rewards"] == [None]
    assert run(path, make_endpoint()).exit_code == 3
    assert run(path, make_endpoint(), "--retry-unscored").exit_code == 0
    assert sorted((r["line"], r["rewards"][0]) for r in results(tmp_path)) == [(1, 1.0), (2, 1.0)]


def test_strict_stops_at_the_first_failure(run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path) -> None:
    path = write_lines({"completion": "1", "gold": "1"}, "{", *({"completion": "1", "gold": "1"} for _ in range(20)))
    done = run(path, make_endpoint(), "--strict")
    assert done.exit_code == 1
    assert "stopped at line 2" in done.output
    assert [r["line"] for r in results(tmp_path)] == [1]


def test_a_service_that_is_away_is_named_without_an_empty_summary(run: Any, write_lines: Any) -> None:
    class Away:
        async def score(self, groups: Any, deadline_s: float) -> Any:
            raise Unreachable("ConnectError")

    done = run(write_lines({"completion": "1", "gold": "1"}), Away())
    assert done.exit_code == 1
    assert "http://service: ConnectError" in done.output
    assert "pass rate" not in done.output


def test_results_leave_out_what_there_is_not_as_the_answers_of_the_service_do(
    run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path
) -> None:
    run(write_lines({"completion": "broken", "gold": "1"}), make_endpoint(broken_times=99, reason=UnscoredReason.BAD_TASK))
    (record,) = results(tmp_path)
    assert record["rewards"] == [None]
    assert "id" not in record
    assert "labels" not in record


def test_an_empty_file_is_a_wrong_call(run: Any, write_lines: Any, make_endpoint: Any) -> None:
    assert run(write_lines(""), make_endpoint()).exit_code == 2


def test_a_full_disk_ends_with_a_sentence_and_the_next_run_goes_on(
    run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines({"completion": "1", "gold": "1"})
    with monkeypatch.context() as patched:

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        patched.setattr("verifier_service.cli.file_scoring.results.ResultFile.append", full)
        done = run(path, make_endpoint())
    assert done.exit_code == 1
    assert "No space left" in done.output
    assert run(path, make_endpoint()).exit_code == 0


def test_verdicts_of_two_versions_of_a_verifier_are_pointed_out(
    run: Any, write_lines: Any, make_endpoint: Any, tmp_path: Path
) -> None:
    path = write_lines({"completion": "1", "gold": "1"}, "{")
    run(path, make_endpoint())
    out = tmp_path / "out.jsonl"
    out.write_text(out.read_text("utf-8").replace('"version":"1"', '"version":"0"'), encoding="utf-8")
    write_lines({"completion": "1", "gold": "1"}, {"completion": "1", "gold": "1"})
    done = run(path, make_endpoint())
    assert "several versions of the verifier math (0, 1)" in done.output
