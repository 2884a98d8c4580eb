"""Where the kernel counts no inodes (gVisor), a writable place is proven empty by its entries and blocks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verifier_service.sandbox.runner import box

BLOCKS = 1000


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Callable[[int], None]]:
    """A box over a folder in a file system that counts blocks only, and a way to take blocks without a name."""
    nameless = 0

    def take(blocks: int) -> None:
        nonlocal nameless
        nameless = blocks

    def statvfs(_: Any) -> Any:
        used = nameless + sum(-(-path.stat().st_size // 4096) for path in tmp_path.rglob("*") if path.is_file())
        free = BLOCKS - used
        return SimpleNamespace(f_files=0, f_ffree=0, f_favail=0, f_blocks=BLOCKS, f_bfree=free, f_bavail=free, f_frsize=4096)

    monkeypatch.setattr(box, "BOX", str(tmp_path))
    monkeypatch.setattr(box, "SHM", "/nowhere")
    monkeypatch.setattr(box, "QUEUES", "/nowhere")
    monkeypatch.setattr(box, "WORK", str(tmp_path / "work"))
    monkeypatch.setattr(box, "LET_GO_S", 0.05)
    monkeypatch.setattr(os, "statvfs", statvfs)
    return tmp_path, take


Place = tuple[Path, Callable[[int], None]]


def test_an_untouched_folder_comes_back_without_a_sign(place: Place) -> None:
    made = box.Box(os.getuid())
    made.make()
    assert made.reset() == []


def test_files_in_the_work_folder_go_without_a_sign(place: Place) -> None:
    made = box.Box(os.getuid())
    made.make()
    (place[0] / "work" / "kept").write_bytes(b"x" * 10_000)
    assert made.reset() == []
    assert list(place[0].iterdir()) == []


def test_an_empty_file_beside_the_work_folder_is_seen_and_removed(place: Place) -> None:
    made = box.Box(os.getuid())
    made.make()
    (place[0] / "planted").touch()
    assert made.reset() == ["left files outside the work folder"]
    assert list(place[0].iterdir()) == []


def test_a_file_without_a_name_is_not_called_empty(place: Place) -> None:
    made = box.Box(os.getuid())
    made.make()
    place[1](3)
    with pytest.raises(box.NotEmpty, match="no name"):
        made.reset()


def test_a_disk_without_inode_counts_is_not_taken_for_full(place: Place) -> None:
    made = box.Box(os.getuid())
    made.make()
    assert not made.disk_full(1 << 20)
    place[1](BLOCKS)
    assert made.disk_full(1 << 20)


def test_files_are_counted_by_a_walk_that_ends_soon_after_the_bound(place: Place) -> None:
    deep = place[0] / "a" / "b"
    deep.mkdir(parents=True)
    for number in range(20):
        (deep / str(number)).touch()
    assert box.files_count(1000) == 22
    assert box.files_count(10) == 11
