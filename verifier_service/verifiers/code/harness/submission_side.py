"""The submission's process: loads the program and does what the judge asks of it.

Nothing of a test is here but the arguments of the call in hand. The program may do as it likes with this code: all that
it can forge is its own answers.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import copy
import dataclasses
import enum
import functools
import heapq
import io
import itertools
import json
import math
import operator
import random
import re
import string
import sys
import time
import traceback
import types
import typing
from typing import TYPE_CHECKING, Any

from verifier_service.verifiers.code.harness.described import base_value, data_base, find_global
from verifier_service.verifiers.code.harness.lent import refill
from verifier_service.verifiers.code.harness.nodes import ListNode, Node, TreeNode, from_nodes, node_kind, to_nodes
from verifier_service.verifiers.code.harness.peer import Peer, PlainResult

if TYPE_CHECKING:
    import asyncio

MODULE = "solution"
RECURSION_LIMIT = 20_000
MIRROR_CHARS = 1 << 20

# What contest sites import for everybody. They stand behind the program's own names, as built-in names do.
PRESET_MODULES: tuple[types.ModuleType, ...] = (
    bisect,
    collections,
    copy,
    dataclasses,
    enum,
    functools,
    heapq,
    itertools,
    json,
    math,
    operator,
    random,
    re,
    string,
)
PRESET_MODULES += (sys, time, typing)
PRESET_NAMES: dict[str, Any] = {
    **{module.__name__: module for module in PRESET_MODULES},
    **{name: getattr(typing, name) for name in typing.__all__ if name not in ("Counter", "OrderedDict", "Text")},
    **{name: getattr(collections, name) for name in ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple", "ChainMap")},
    **{
        name: getattr(functools, name)
        for name in ("cache", "cached_property", "cmp_to_key", "lru_cache", "partial", "reduce", "wraps")
    },
    **{name: getattr(itertools, name) for name in ("accumulate", "chain", "combinations", "count", "cycle", "groupby", "islice")},
    **{name: getattr(itertools, name) for name in ("pairwise", "permutations", "product", "repeat", "starmap", "zip_longest")},
    **{
        name: getattr(heapq, name)
        for name in ("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "nlargest", "nsmallest")
    },
    **{name: getattr(bisect, name) for name in ("bisect_left", "bisect_right", "insort", "insort_left", "insort_right")},
    **{
        name: getattr(math, name)
        for name in ("ceil", "comb", "factorial", "floor", "gcd", "inf", "isqrt", "lcm", "log2", "perm", "sqrt")
    },
    "dataclass": dataclasses.dataclass,
    "deepcopy": copy.deepcopy,
    "ListNode": ListNode,
    "TreeNode": TreeNode,
    "Node": Node,
}
# A program's built-in names; made here, in the zygote, so that no child has to.
NAMES: dict[str, Any] = {**PRESET_NAMES, **builtins.__dict__}


class Submission:
    """The loaded program and the operations that the judge may ask for."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.module = types.ModuleType(MODULE)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.mirror: io.StringIO | None = None

    def serve_request(self, peer: Peer, operation: str, arguments: list[Any]) -> Any:
        """One request of the judge."""
        return getattr(self, f"do_{operation}")(peer, *arguments)

    def do_load(self, peer: Peer, mirrors: bool) -> None:
        """Run the program's top level."""
        sys.modules[MODULE] = self.module
        namespace = self.module.__dict__
        namespace["__builtins__"] = NAMES
        if mirrors:
            self._mirror(peer)
        sys.setrecursionlimit(RECURSION_LIMIT)
        try:
            code = compile(self.source, f"<{MODULE}>", "exec", dont_inherit=True)
            exec(code, namespace)
        except BaseException:
            traceback.print_exc()
            raise

    def do_get(self, peer: Peer, name: str) -> Any:
        """A name of the program's top level."""
        return getattr(self.module, name)

    def do_names(self, peer: Peer) -> Any:
        """The public names of the program's top level."""
        return [name for name in vars(self.module) if not name.startswith("_")]

    def do_call(self, peer: Peer, callee: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return callee(*arguments, **keywords)

    def do_attr(self, peer: Peer, owner: Any, name: str) -> Any:
        return getattr(owner, name)

    def do_setattr(self, peer: Peer, owner: Any, name: str, value: Any) -> None:
        setattr(owner, name, value)

    def do_delattr(self, peer: Peer, owner: Any, name: str) -> None:
        delattr(owner, name)

    def do_setglobal(self, peer: Peer, name: str, value: Any) -> None:
        setattr(self.module, name, value)

    def do_delglobal(self, peer: Peer, name: str) -> None:
        delattr(self.module, name)

    def do_seed(self, peer: Peer, arguments: tuple[Any, ...]) -> None:
        """What the test's `random.seed` is to do here."""
        random.seed(*arguments)

    def do_refill(self, peer: Peer, owner: Any, name: str, before: Any, value: Any) -> None:
        """The test changed its copy of the container in an attribute; the same is done here, if that is as it was then."""
        refill(getattr(owner, name), before, value)

    def do_library(self, peer: Peer, module: str, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A function of the standard library that looks inside an object of the program."""
        return find_global(module, name)(*arguments, **keywords)

    def do_op(self, peer: Peer, dunder: str, owner: Any, operands: tuple[Any, ...]) -> Any:
        """A special method, looked up as the interpreter does."""
        if dunder == "__getitem__" and isinstance(owner, type) and not hasattr(type(owner), dunder):
            return owner[operands[0]]  # type: ignore[index]
        return getattr(type(owner), dunder)(owner, *operands)

    def do_plain(self, peer: Peer, owner: Any) -> Any:
        """The data of an instance of a subclass of a built-in container."""
        base = data_base(type(owner))
        return None if base is None else base_value(owner, base)

    def do_copy(self, peer: Peer, owner: Any, deep: bool) -> Any:
        return copy.deepcopy(owner) if deep else copy.copy(owner)

    def do_await(self, peer: Peer, awaitable: Any) -> Any:
        """Run something awaitable to its end."""
        import asyncio  # rarely wanted, and much to fork

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(_awaited(awaitable))

    def do_invoke(self, peer: Peer, entry: str, arguments: list[Any], keywords: dict[str, Any], inplace: int | None) -> Any:
        """Call the entry point with plain data and give plain data back."""
        function = self._entry(entry)
        hints = _hints(function)
        arguments = [_argument(value, hint) for value, hint in itertools.zip_longest(arguments, hints[: len(arguments)])]
        try:
            result = function(*arguments, **keywords)
            if isinstance(result, types.CoroutineType):  # asyncio.iscoroutine takes generators too
                result = self.do_await(peer, result)
        except BaseException:
            traceback.print_exc()
            raise
        if inplace is not None:
            return PlainResult(from_nodes(arguments[inplace]))
        return PlainResult(from_nodes(result, hints[-1] if hints else ""))

    def _entry(self, entry: str) -> Any:
        found = vars(self.module).get(entry)
        if found is not None:
            return found
        solution = vars(self.module).get("Solution")
        if solution is None or not hasattr(solution, entry):
            raise NameError(f"the submission defines no {entry}")
        return getattr(solution(), entry)

    def _mirror(self, peer: Peer) -> None:
        """Show the judge what is printed, and ask it for what is read, since the test looks at both."""
        self.mirror = io.StringIO()
        sys.stdout = _Tee(sys.stdout, self.mirror)
        peer.notes = self._printed
        builtins.input = lambda prompt="": peer.request("input", prompt)
        sys.stdin = _Asking(peer)
        self.module.__dict__["__builtins__"]["input"] = builtins.input

    def _printed(self) -> str:
        assert self.mirror is not None
        text = self.mirror.getvalue()
        self.mirror.seek(0)
        self.mirror.truncate()
        return text[-MIRROR_CHARS:]


class _Tee(io.TextIOBase):
    """Writes to two streams."""

    def __init__(self, *streams: Any) -> None:
        self.streams = streams

    def write(self, text: str) -> int:
        for stream in self.streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        self.streams[0].flush()


class _Asking(io.TextIOBase):
    """`sys.stdin` where the test may have put something in its place."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.buffer = sys.stdin.buffer

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        return str(self.peer.request("stdin", "read", -1 if size is None else size))

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        return str(self.peer.request("stdin", "readline", -1 if size is None else size))


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _hints(function: Any) -> list[str]:
    """The annotations of the parameters, in order, and then that of the result, as text."""
    try:
        annotations = dict(getattr(function, "__annotations__", {}))
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
    except Exception:  # the function is the submission's: it may be anything callable
        return []
    names = names[1:] if names[:1] == ("self",) else names
    return [_hint_text(annotations.get(name, "")) for name in (*names, "return")]


def _hint_text(hint: Any) -> str:
    return hint if isinstance(hint, str) else getattr(hint, "__name__", "") if isinstance(hint, type) else repr(hint)


def _argument(value: Any, hint: str | None) -> Any:
    kind = node_kind(hint or "")
    return value if kind is None or hint is None else to_nodes(value, hint, vars(sys.modules[MODULE]).get(kind))


def serve(source: bytes, channel_fd: int) -> None:
    """Entry point of the submission's process."""
    submission = Submission(source)
    peer = Peer(channel_fd, submission.serve_request, restrains=False)
    peer.serve_forever()
