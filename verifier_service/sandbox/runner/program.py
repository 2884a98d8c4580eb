"""The submission's process: run a source as `python3 solution.py` would, in the child of a zygote.

Normal semantics: `__name__ == "__main__"`, arguments, exit codes, tracebacks on stderr, atexit handlers, threads
joined, output flushed. What is left out is the interpreter's own tear-down: it would touch, and so copy, every page
that the zygote shares.
"""

from __future__ import annotations

import _socket
import atexit
import builtins
import fcntl
import gc
import marshal
import os
import signal
import struct
import sys
from contextlib import suppress
from types import CodeType, ModuleType, TracebackType
from typing import Any, NamedTuple

from . import warm
from .zygote import WORK, Entry, become, unpack_work

PATH = WORK + "/solution.py"
FAILED_TO_COMPILE = b"C"
_SEALED = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
KEPT_CODE = b"K"  # with the descriptor of the code


def program_entry(setup: bytes) -> Entry:
    """The entry of the first zygotes: the source comes with the work and is compiled in the child, or another language's
    commands come in its place."""
    del setup

    def entry(message: bytes, fds: list[int]) -> None:
        uid, limits, args, files, source, commands, environment, hands_code = unpack_work(message)
        enter(uid, limits, files)
        if commands:
            execute(commands, environment)
        work_fd, *kept = fds
        code = _kept_code(kept[0]) if kept else _compiled(source, work_fd)
        if hands_code:
            _keep_code(code, work_fd)
        os.closerange(3, 64)
        run_main(code, source, args)

    return entry


COMPILE_ERRORS = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


def _compiled(source: bytes, work_fd: int) -> CodeType:
    try:
        return compile(source, PATH, "exec", dont_inherit=True)
    except COMPILE_ERRORS as error:
        import traceback

        os.write(work_fd, FAILED_TO_COMPILE)
        sys.stderr.write("".join(traceback.format_exception_only(error)))
        sys.stderr.flush()
        os._exit(1)


def _keep_code(code: CodeType, work_fd: int) -> None:
    """Hand the code to the runner, for the children of later cases, sealed before the program begins."""
    memory_fd = os.memfd_create("code", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(marshal.dumps(code))
        while view:
            view = view[os.write(memory_fd, view) :]
        fcntl.fcntl(memory_fd, fcntl.F_ADD_SEALS, _SEALED)
    except OSError:
        return  # larger than the files it may write: each case compiles for itself
    work = _socket.socket(fileno=work_fd)
    work.sendmsg([KEPT_CODE], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("=i", memory_fd))])
    work.detach()


def _kept_code(fd: int) -> CodeType:
    """What an earlier child of this program has compiled, and nobody could change since."""
    code: CodeType = marshal.loads(os.pread(fd, os.fstat(fd).st_size, 0))  # noqa: S302
    return code


def enter(uid: int, limits: tuple[int, int, int, int], files: list[tuple[bytes, bytes]]) -> None:
    os.chdir(WORK)
    become(uid, limits)
    for name, data in files:
        with open(name, "wb") as file:
            file.write(data)
    sys.path_importer_cache.pop(WORK, None)  # of a zygote that imported something since it forgot this folder


def execute(commands: list[list[str]], environment: dict[str, str]) -> None:
    """Run the commands one after another until one fails; the last takes this process's place. Never returns."""
    os.closerange(3, 64)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # an interpreter ignores them, and a new program would inherit that
        signal.signal(number, signal.SIG_DFL)
    environment = os.environ | environment
    try:
        for command in commands[:-1]:
            _, status = os.waitpid(os.posix_spawnp(command[0], command, environment), 0)
            if status:
                os._exit(os.waitstatus_to_exitcode(status) & 0x7F)
        os.execvpe(commands[-1][0], commands[-1], environment)  # noqa: S606 - no shell
    except OSError as error:
        os.write(2, f"{error.strerror}: {error.filename or commands[-1][0]}\n".encode("utf-8", "replace"))
        os._exit(127)


# Where a program may look at its own file, there is one; else writing it would cost each run for nothing.
_LOOKS_AT_ITSELF = (b"__file__", b"argv", b"inspect", b"solution", b"spawn", b"forkserver", b"runpy")


# Without these words no object of a program's says or writes anything as it goes.
_SPEAKS_AT_THE_END = (b"__del__", b"yield", b"open(", b"weakref", b"IOWrapper", b"Buffered", b"FileIO", b"finally", b"with ")


def speaks_at_the_end(source: bytes) -> bool:
    """Whether objects of this program may say or write something as they go."""
    return any(word in source for word in _SPEAKS_AT_THE_END)


def run_main(code: CodeType, source: bytes, args: list[str]) -> None:
    """Run the code as the main module and end the process. Never returns."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=PATH, __cached__=None, __annotations__={})
    sys.modules["__main__"] = main
    sys.argv = [PATH, *args]
    if any(word in source for word in _LOOKS_AT_ITSELF):
        with open(PATH, "wb") as file:
            file.write(source)
    status = 0
    warm.catch_up(source)
    try:
        exec(code, main.__dict__)  # noqa: S102 - the sandbox is this line's purpose
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException as error:
        status = report_error(error, source)
    finish(main, status, speaks_at_the_end(source))


def _exit_status(leaving: SystemExit) -> int:
    code = leaving.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        print(code, file=sys.stderr)
    except BaseException:  # noqa: S110 - stderr may be closed: the interpreter keeps silent then, too
        pass
    return 1


def report_error(error: BaseException, source: bytes) -> int:
    """An uncaught exception: through sys.excepthook, without this file's frames and with the source's lines."""
    import linecache

    text = source.decode("utf-8", "replace")
    linecache.cache[PATH] = (len(text), None, text.splitlines(keepends=True), PATH)
    if sys.version_info < (3, 13) and not os.path.exists(PATH):  # there the traceback's lines come from the file alone
        with suppress(OSError), open(PATH, "wb") as file:
            file.write(source)
    trace = error.__traceback__
    trace = trace.tb_next if trace is not None else None
    try:
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        sys.__excepthook__(type(error), error, trace)
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def finish(main: ModuleType, status: int, tidy: bool) -> None:
    """What the interpreter does on its way out, as far as a program can tell; then leave at once.

    `tidy`: let go of the main module's objects, as something of them may speak as it goes.
    """
    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException as error:
        unraisable: Any = _Unraisable(type(error), error, error.__traceback__, None, None)
        sys.unraisablehook(unraisable)
    if not _flush():
        status = status or 120
    if tidy and (threading is None or threading.active_count() == 1):
        # Objects of the program that say or write something as they go: files of its own, __del__, finally blocks.
        # A stream of its own in the place of a standard one needs those objects: the interpreter lets go of it first.
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        names = main.__dict__
        for name in [name for name in names if name[:1] == "_" and name not in ("__builtins__", "__name__")]:
            names[name] = None
        for name in [name for name in names if name not in ("__builtins__", "__name__")]:
            names[name] = None
        gc.collect()
        if not _flush():
            status = status or 120
    os._exit(status)


class _Unraisable(NamedTuple):
    """The argument that sys.unraisablehook wants."""

    exc_type: type[BaseException]
    exc_value: BaseException | None
    exc_traceback: TracebackType | None
    err_msg: str | None
    object: Any


def _flush() -> bool:
    fine = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            fine = fine and stream is sys.stderr
    return fine
