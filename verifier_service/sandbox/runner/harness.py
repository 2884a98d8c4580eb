"""The two processes of a judged run: the submission behind its harness, and the judge.

Both harnesses are trusted sources, loaded once in a zygote of their own; what they are given per run (the submission,
the payload) is read by the forked child alone.
"""

from __future__ import annotations

import importlib
import marshal
import os
import struct
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from . import warm
from .program import enter, execute, finish, report_error, speaks_at_the_end
from .zygote import WORK, Entry, SetupFailed, become, unpack_work

CHANNEL_FD = 3
EMIT_FD = 4
EMIT_HEADER = struct.Struct(">I")


def _load(setup: bytes, name: str, function: str) -> tuple[ModuleType, Callable[..., Any]]:
    """The harness's module and its entry point. What it has as `rehearse()` is called, to warm it up."""
    source, more = unpack_work(setup)
    for wanted in more.split():
        importlib.import_module(wanted)
    module = ModuleType(name)
    module.__dict__["__file__"] = f"<{name}>"
    sys.modules[name] = module
    try:
        exec(_compiled(source, name), module.__dict__)  # noqa: S102 - trusted source
        rehearse = module.__dict__.get("rehearse")
        if rehearse is not None:
            rehearse()
        return module, module.__dict__[function]
    except Exception as error:
        raise SetupFailed(f"{name}: {type(error).__name__}: {error}") from None


def _compiled(source: bytes, name: str) -> CodeType:
    """Compiled in a process of its own: the holes that a compiler leaves in the memory would be every child's to map."""
    result, theirs = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            with open(theirs, "wb") as pipe:
                pipe.write(marshal.dumps(compile(source, f"<{name}>", "exec", dont_inherit=True)))
        finally:
            os._exit(0)
    os.close(theirs)
    with open(result, "rb") as pipe:
        data = pipe.read()
    os.waitpid(helper, 0)
    if not data:
        return compile(source, f"<{name}>", "exec", dont_inherit=True)  # and raise what was wrong
    code: CodeType = marshal.loads(data)  # noqa: S302 - of this process's own fork
    return code


def submission_entry(setup: bytes) -> Entry:
    """`serve(source, channel_fd)` of the submission's harness. For a program that isn't Python, its module has
    `become_program()`, which puts that program in the process's place."""
    module, serve = _load(setup, "submission_harness", "serve")

    def entry(message: bytes, fds: list[int]) -> None:
        work_fd, channel_fd = fds
        uid, limits, _, files, source, commands, environment, _ = unpack_work(message)
        enter(uid, limits, files)
        os.close(work_fd)
        module.__dict__["catch_up"] = lambda: warm.catch_up(b"random")
        module.__dict__["become_program"] = (lambda: execute(commands, environment)) if commands else None
        _keep({channel_fd: CHANNEL_FD})
        warm.catch_up(source)
        _call(lambda: serve(source, CHANNEL_FD), source, tidy=speaks_at_the_end(source))

    return entry


def judge_entry(setup: bytes) -> Entry:
    """`judge(payload, channel_fd, emit)` of the judge's harness."""
    module, judge = _load(setup, "judge_harness", "judge")
    sys.path[:] = [folder for folder in sys.path if folder != WORK]  # the submission's

    def entry(message: bytes, fds: list[int]) -> None:
        work_fd, channel_fd, emit_fd = fds
        uid, limits, payload = unpack_work(message)
        os.chdir("/")
        become(uid, limits)
        os.close(work_fd)
        _keep({channel_fd: CHANNEL_FD, emit_fd: EMIT_FD})
        module.__dict__["catch_up"] = lambda: warm.catch_up(b"random")
        warm.catch_up(payload)
        _call(lambda: judge(payload, CHANNEL_FD, _emit), b"", tidy=False)

    return entry


def _keep(moves: dict[int, int]) -> None:
    """Move these descriptors to their places and close all else beyond stdio."""
    import fcntl

    high = {fcntl.fcntl(fd, fcntl.F_DUPFD, 64): target for fd, target in moves.items()}
    for fd, target in high.items():
        os.dup2(fd, target, inheritable=False)
    os.closerange(max(moves.values()) + 1, 128)


def _emit(data: bytes) -> None:
    view = memoryview(EMIT_HEADER.pack(len(data)) + data)
    while view:
        view = view[os.write(EMIT_FD, view) :]


def _call(run: Callable[[], None], source: bytes, *, tidy: bool) -> None:
    status = 0
    try:
        run()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException as error:
        status = report_error(error, source)
    finish(sys.modules.get("__main__") or ModuleType("__main__"), status & 0xFF, tidy)
