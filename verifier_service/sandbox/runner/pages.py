"""Large pages for a zygote's memory, so that a fork of it has fewer page tables to copy, faults to take and pages to unmap.

The interpreter's own code moves into anonymous memory of the same content at the same address: a child finds it mapped,
where it would else map a file's pages anew, sixteen at a time. The heap's pages are brought together where they fill large
ones. Both are optional: a kernel without large pages (or before 6.1), or one that forbids executable memory of one's own,
leaves everything as it was.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from typing import NamedTuple

LARGE = 2 << 20
_READ, _WRITE, _EXEC = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22
_MADV_COLLAPSE = 25
_MAYMOVE_FIXED = 3


class _Area(NamedTuple):
    """A line of /proc/self/maps."""

    start: int
    end: int
    access: str
    name: str


def _areas() -> list[_Area]:
    areas = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, access, _, _, _, *name = line.split(None, 5)
            start, end = span.split("-")
            areas.append(_Area(int(start, 16), int(end, 16), access, "".join(name).strip()))
    return areas


def _inner(start: int, end: int) -> tuple[int, int]:
    """The part that consists of whole large pages."""
    return -(-start // LARGE) * LARGE, end // LARGE * LARGE


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = [address, size, number, number, number, ctypes.c_long]
    libc.mremap.argtypes = [address, size, size, number, address]
    libc.munmap.argtypes = [address, size]
    libc.madvise.argtypes = libc.mprotect.argtypes = [address, size, number]
    return libc


def enlarge_code() -> None:
    """Once, in the first zygote: the others inherit it."""
    executable = os.path.realpath(sys.executable)
    own = [area for area in _areas() if area.name == executable and "w" not in area.access]
    if not own or any(before.end != after.start for before, after in itertools.pairwise(own)):
        return
    start, end = _inner(own[0].start, own[-1].end)
    if end > start:
        _move(_libc(), start, end - start)


def _move(libc: ctypes.CDLL, start: int, size: int) -> None:
    """Put large pages of the same content in the place of this span, by one system call, in the midst of running it."""
    raw = libc.mmap(None, size + LARGE, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if raw in (None, ctypes.c_void_p(-1).value):
        return
    copy, _ = _inner(raw, raw + size + LARGE)
    ctypes.memmove(copy, start, size)
    fine = libc.madvise(copy, size, _MADV_COLLAPSE) == 0 and libc.mprotect(copy, size, _READ | _EXEC) == 0
    if fine and libc.mremap(copy, size, size, _MAYMOVE_FIXED, start) == start:
        libc.munmap(raw, copy - raw)
        libc.munmap(copy + size, raw + LARGE - copy)
    else:
        libc.munmap(raw, size + LARGE)


def enlarge_heap() -> None:
    """At the end of a zygote's start."""
    libc = _libc()
    for area in _areas():
        if area.access == "rw-p" and area.name in ("", "[heap]"):
            start, end = _inner(area.start, area.end)
            for page in range(start, end, LARGE):
                libc.madvise(page, LARGE, _MADV_COLLAPSE)
