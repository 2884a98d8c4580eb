"""Making a zygote cheap to fork: fewer pages that a child copies or maps anew.

A run's cost is page faults, some hundreds of them, far more than its system calls. These take most of them away:
- reference counts: every object that lives in the zygote is made immortal, so that using it writes nothing;
- free blocks: half used pools are filled up, so that a child's objects come from few fresh pages;
- large pages, see `pages`;
- fork hooks (the random module's new seed, threading's clean-up): they run only in a child that could notice.
All of it is optional: without any of it children are as right, and slower.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

_IMMORTAL = 0xFFFFFFFF  # the low half of a reference count, since Python 3.12

_Hooks = dict[str, Callable[[], object]]
held_hooks: list[_Hooks] = []
_kept: list[object] = []
_register = os.register_at_fork


def _hold(**hooks: Callable[[], object]) -> None:
    held_hooks.append(hooks)


def hold_fork_hooks() -> None:
    """From here on, what modules want done at a fork is kept for children that need it."""
    os.register_at_fork = _hold  # type: ignore[assignment]


def release_fork_hooks() -> None:
    os.register_at_fork = _register


# A program with none of these words neither forks, nor has threads, nor draws random numbers.
_NOTICES = (
    b"fork",
    b"thread",
    b"Thread",
    b"process",
    b"Process",
    b"concurrent",
    b"asyncio",
    b"random",
    b"__import__",
    b"importlib",
    b"exec",
    b"eval",
)


def catch_up(source: bytes) -> None:
    """In a child: do what the held hooks would have done, if its program could tell the difference."""
    if not held_hooks or not any(word in source for word in _NOTICES):
        return
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:  # imported by the zygote, it would draw the same numbers for every program
        numpy_random.seed()
    for hooks in held_hooks:
        _register(**hooks)
        after = hooks.get("after_in_child")
        if after is not None:
            after()
    held_hooks.clear()


def settle() -> None:
    """Once, at the end of a zygote's start, when it has everything and nothing of anybody's."""
    import ctypes

    from . import pages

    gc.collect()
    _kept.extend(_fill_pools())
    if (3, 12) <= sys.version_info < (3, 14) and sys.implementation.name == "cpython":
        _immortalise(ctypes.c_uint32.from_address)
    gc.freeze()
    pages.enlarge_heap()


POOL_BYTES = 16384
MOST_FILLED = 2 * POOL_BYTES


def _fill_pools() -> list[object]:
    """Use up the free blocks of every pool, so that a child's small objects come from fresh pools: one new page for
    each size, where a block of a half used pool costs a copy of its page and of its pool's first page. No more than
    that: each page that is used here is one more for every fork to map."""
    kept: list[object] = [_filled(size) for size in range(48, 513, 16)]
    return [*kept, [object() for _ in range(512)], [number / 3 for number in range(512)]]


def _filled(size: int) -> list[bytes]:
    """Blocks of this size, up to the last of the pools in use; a fresh pool gives its blocks in order from the first."""
    blocks = [bytes(size - 40)]
    for _ in range(MOST_FILLED // size):
        blocks.append(bytes(size - 40))
        first, second = map(id, blocks[-2:])
        if second == first + size and first % POOL_BYTES < size:
            del blocks[-2:]
            break
    return blocks


def _immortalise(word_at: Callable[[int], Any]) -> None:
    """Set the reference count of every object reachable from the collector's to the immortal one. What is immortal
    already is left alone: writing even the same would copy a page that is shared with the parent."""
    for holder in gc.get_objects():
        word_at(id(holder)).value = _IMMORTAL
        for held in gc.get_referents(holder):
            if not gc.is_tracked(held):
                _immortal_leaf(word_at, held, 0)


def _immortal_leaf(word_at: Callable[[int], Any], leaf: Any, depth: int) -> None:
    count = word_at(id(leaf))
    if count.value == _IMMORTAL:
        return
    count.value = _IMMORTAL
    if depth > 8:
        return
    if isinstance(leaf, CodeType):
        for part in (leaf.co_consts, leaf.co_names, leaf.co_filename, leaf.co_name, leaf.co_qualname, leaf.co_linetable,
                     leaf.co_exceptiontable):  # fmt: skip
            _immortal_leaf(word_at, part, depth + 1)
    elif type(leaf) in (tuple, frozenset):
        for part in leaf:
            _immortal_leaf(word_at, part, depth + 1)


_SAMPLE = b"""
import sys
from collections import Counter, defaultdict, deque
import heapq, math
def main():
    data = sys.stdin.read().split()
    n, values = int(data[0]), list(map(int, data[1:]))
    heap, groups = [], defaultdict(list)
    for i, value in enumerate(values):
        heapq.heappush(heap, (value, i))
        groups[value % 3].append(str(value))
    queue = deque(sorted(values, key=lambda x: -x))
    counts = Counter(queue)
    print(n, max(counts.values()), *[x * 2 for x in queue if x], sep=" ")
    print(f"{sum(values) / n:.3f}", {k: v for k, v in groups.items()}, "-".join(map(str, values)))
    while queue:
        queue.popleft()
class Node:
    def __init__(self, value, left=None):
        self.value, self.left = value, left
    def __repr__(self):
        return "Node(" + repr(self.value) + ")"
print(Node(1, Node(2)), any(Node(i).value > 2 for i in range(5)), [*zip("ab", (1, 2))], 7 // 2, 2 ** 70, -7 % 3)
main()
try:
    {}["missing"]
except KeyError as error:
    print(error)
"""


def rehearse() -> None:
    """Run a usual program with the zygote's own hands, so that caches are warm and code pages mapped."""
    import io

    stdin, stdout = sys.stdin, sys.stdout
    try:
        for _ in range(4):
            sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(b"3 1 2 3")), io.TextIOWrapper(io.BytesIO())
            exec(compile(_SAMPLE, "rehearsal", "exec", dont_inherit=True), {"__name__": "rehearsal"})  # noqa: S102 - our own
    finally:
        sys.stdin, sys.stdout = stdin, stdout
