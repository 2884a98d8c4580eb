"""The output file survives kills, edits of the input, and two processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier_protocol import GroupStats
from verifier_service.cli.file_scoring.results import Record, ResultFile, ResultFileError

STATS = GroupStats(mean=1.0, std=0.0, pass_rate=1.0, unscored=0, zero_variance=True)


def record(line: int, digest: str = "d") -> Record:
    return Record(line=line, hash=digest, rewards=[1.0], verdicts=[[]], stats=STATS)


def write(path: Path, *records: Record) -> None:
    with ResultFile(path) as results:
        results.scan(lambda _: True)
        results.settle()
        results.append(records)


def recovered(path: Path, keep: set[int] | None = None) -> list[int]:
    seen: list[int] = []

    def wanted(found: Record) -> bool:
        if keep is not None and found.line not in keep:
            return False
        seen.append(found.line)
        return True

    with ResultFile(path) as results:
        results.scan(wanted)
        results.settle()
    return seen


def test_what_was_appended_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write(path, record(1), record(2))
    write(path, record(3))
    assert recovered(path) == [1, 2, 3]


def test_a_torn_last_line_is_dropped_at_every_length(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write(path, record(1), record(2))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        path.write_bytes(whole[:cut])
        assert recovered(path) == [1]
        assert path.read_bytes() == whole[:first]
        write(path, record(2))
        assert path.read_bytes() == whole


def test_refused_records_leave_the_file_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    for keep in ({1, 3}, {1}, {3}, set(), {1, 2, 3}):
        path.unlink(missing_ok=True)
        write(path, record(1), record(2), record(3))
        assert recovered(path, keep) == sorted(keep)
        assert recovered(path) == sorted(keep)


def test_records_go_on_behind_what_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write(path, record(1), record(2))
    with ResultFile(path) as results:
        results.scan(lambda found: found.line == 2)
        results.settle()
        results.append([record(3)])
    assert recovered(path) == [2, 3]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("precious\n", encoding="utf-8")
    with pytest.raises(ResultFileError, match="line 1"):
        recovered(path)
    assert path.read_text(encoding="utf-8") == "precious\n"


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path), pytest.raises(ResultFileError, match="another process"), ResultFile(path):
        pass


def test_an_output_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(ResultFileError, match="No such file"), ResultFile(tmp_path / "no" / "out.jsonl"):
        pass


def test_replacing_keeps_the_mode_and_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "out.jsonl", tmp_path / "link.jsonl"
    write(path, record(1), record(2))
    path.chmod(0o640)
    link.symlink_to(path)
    assert recovered(link, {2}) == [2]
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert recovered(path) == [2]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultFileError, match="no regular file"), ResultFile(tmp_path):
        pass
