"""The submission's process in tests of the style `interactive`: the program as `python3 solution.py` would run it, or a
finished program of another language, which takes this process's place.

Its stdin and stdout are the ends of two pipes that the judge's process made and sends over the channel; after that the
channel is closed, and the pipes are all that the two processes share. Before any of the program runs, the judge is told
whether it compiles, and by which process it runs.
"""

from __future__ import annotations

import builtins
import linecache
import os
import socket
import sys
import traceback
import types
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from verifier_service.verifiers.code.harness.interactive_greeting import COMPILES, COMPILES_NOT, HERE

become_program: Callable[[], NoReturn] | None = None  # put here by the sandbox when the program isn't Python


def serve(source: bytes, channel_fd: int) -> None:
    """Entry point of the submission's process."""
    path = str(Path.cwd() / "solution.py")
    channel = socket.socket(fileno=channel_fd)
    try:
        code = compile(source, path, "exec", dont_inherit=True) if become_program is None else None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        channel.sendall(COMPILES_NOT)
        sys.stderr.write("".join(traceback.format_exception_only(error)))
        raise SystemExit(1) from None
    channel.sendall(COMPILES)
    _, ends, _, _ = socket.recv_fds(channel, 1, 2)
    if len(ends) != 2:
        raise SystemExit(1)  # there is no interactor
    for standard, end in enumerate(ends):
        os.dup2(end, standard)
        os.close(end)
    channel.sendall(HERE)
    channel.close()
    if code is None:
        assert become_program is not None
        become_program()
    _run(code, path, source)


def _run(code: types.CodeType, path: str, source: bytes) -> None:
    """Run it as the main module. Raises SystemExit; flushing, exit handlers and threads are the sandbox's business."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=path, __cached__=None, __annotations__={})
    sys.modules["__main__"] = main
    sys.argv = [path]
    with suppress(OSError):  # the program may look at itself; or it may write no file at all
        Path(path).write_bytes(source)
    try:
        exec(code, main.__dict__)
    except SystemExit as leaving:
        if leaving.code is not None and not isinstance(leaving.code, int):
            sys.stderr.write(f"{leaving.code}\n")
        raise
    except BaseException as error:
        _complain(error, path, source)
        raise SystemExit(1) from None


def _complain(error: BaseException, path: str, source: bytes) -> None:
    """The traceback, with the program's lines and without this file's."""
    text = source.decode("utf-8", "replace")
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
    sys.excepthook(type(error), error.with_traceback(trace), trace)
