"""Zygotes: interpreters kept warm, forked once per run.

A zygote never sees a program, an input or a payload: those go over a pipe to the child it forks. It runs under the
runner's uid, so that no child can signal or inspect it, and holds no descriptor but its control socket. Per order it
forks one child, says the child's pid, waits for its end, and says how it ended.
"""

from __future__ import annotations

import _socket
import fcntl
import marshal
import os
import resource
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from . import warm

WORK = "/box/work"
CONTROL_FD = 3
SETUP_FD = 4
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": WORK, "LANG": "C.UTF-8", "TMPDIR": "/tmp", "USER": "sandbox"}  # noqa: S108
ENDED = struct.Struct("=iddQ")  # wait status, CPU seconds, wall clock at the end, peak memory in KiB
_FDS = struct.Struct("=6i")

# What submissions usually import; loading it once here is what makes a run cheap.
PRELUDE = (
    "abc array atexit bisect collections collections.abc contextlib copy dataclasses datetime decimal enum fractions functools"
    " heapq io itertools json linecache math numbers operator os os.path random re statistics string struct sys textwrap"
    " threading time traceback types typing weakref"
)

Entry = Callable[[bytes, list[int]], None]  # (work message, [work, more descriptors]); never returns
Entries = dict[bytes, Callable[[bytes], Entry]]  # an entry's letter → how to make it from a setup


class SetupFailed(Exception):
    """A zygote can't be made of its setup; the text is for whoever wrote it."""


def send_order(control: _socket.socket, kind: bytes, fds: list[int]) -> None:
    """Give an order and the descriptors that go with it.

    b"P": fork a child that owns work, stdin, stdout, stderr and, for harnesses, more.
    b"Z" and an entry's letter: fork a zygote that owns a control socket and a socket that its setup comes over.
    b"W" and a pid: wait for a zygote that was told to leave (no descriptors).
    """
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack(f"={len(fds)}i", *fds))] if fds else []
    control.sendmsg([kind], rights)


def _receive_order(control: _socket.socket) -> tuple[bytes, list[int]]:
    data, ancillary, flags, _ = control.recvmsg(16, _socket.CMSG_SPACE(_FDS.size))
    if not data:
        os._exit(0)  # the runner is gone, or done with this zygote
    if flags & _socket.MSG_CTRUNC:
        os._exit(70)
    payload = ancillary[0][2] if ancillary else b""
    return data, list(struct.unpack(f"={len(payload) // 4}i", payload))


def pack_message(data: bytes) -> bytes:
    return struct.pack("=I", len(data)) + data


def read_message(fd: int) -> bytes:
    """One length-prefixed message; empty if the other end closed instead."""
    data = os.read(fd, 1 << 13)
    if len(data) < 4:
        return b""
    (size,) = struct.unpack_from("=I", data)
    if len(data) == size + 4:
        return data[4:]
    parts, missing = [data[4:]], size + 4 - len(data)
    while missing:
        chunk = os.read(fd, min(missing, 1 << 20))
        if not chunk:
            return b""
        parts.append(chunk)
        missing -= len(chunk)
    return b"".join(parts)


def become(uid: int, limits: tuple[int, int, int, int]) -> None:
    """Leave the zygote's identity for good: own session, own uid, hard limits (CPU seconds, processes, file bytes, and
    bytes of address space where no cgroup holds the memory, else 0)."""
    os.setsid()
    cpu_s, processes, file_bytes, space = limits
    if space:
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
    if uid != os.getuid():
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))


def _child(fds: list[int], entry: Entry) -> None:
    """In the fork: read the work, take the descriptors, run. Never returns."""
    work_fd = fds[0]
    message = read_message(work_fd)
    if message:
        for target in (0, 1, 2):
            os.dup2(fds[target + 1], target)
        entry(message, [work_fd, *fds[4:]])
    os._exit(71)


def _sub_zygote(fds: list[int], entries: Entries, letter: bytes) -> None:
    """In the fork: become a zygote of another entry, prepared from a setup that the parent never reads."""
    control = _settle(*fds)
    setup = read_message(SETUP_FD)
    os.close(SETUP_FD)
    try:
        entry = entries[letter](setup)
    except SetupFailed as failure:
        control.send(b"E" + str(failure).encode("utf-8", "replace")[:60000])
        os._exit(0)
    warm.settle()
    control.send(b"R")
    loop(control, entry, entries)


def loop(control: _socket.socket, entry: Entry, entries: Entries) -> None:
    """Serve orders until the runner closes the other end."""
    clock, fork, wait, close = time.monotonic, os.fork, os.wait4, os.closerange
    while True:
        order, fds = _receive_order(control)
        if order[:1] == b"W":
            wait(struct.unpack("=i", order[1:])[0], 0)
            control.send(b"W")
            continue
        pid = fork()
        if pid == 0:
            control.close()
            if order == b"P":
                _child(fds, entry)
            _sub_zygote(fds, entries, order[1:])
        close(min(fds), max(fds) + 1)  # they came together, and lie together
        control.send(struct.pack("=i", pid))
        if order == b"P":
            _, status, usage = wait(pid, 0)
            control.send(ENDED.pack(status, usage.ru_utime + usage.ru_stime, clock(), usage.ru_maxrss))


def _settle(control_fd: int, setup_fd: int) -> _socket.socket:
    """Let go of everything of the parent's: stdio (to nowhere), the control and the setup socket are all that stays."""
    null = os.open("/dev/null", os.O_RDWR)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in (null, control_fd, setup_fd)]
    for target in (0, 1, 2):
        os.dup2(high[0], target)
    os.dup2(high[1], CONTROL_FD, inheritable=False)
    os.dup2(high[2], SETUP_FD, inheritable=False)
    os.closerange(SETUP_FD + 1, 1024)
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, CONTROL_FD)


def _be_first_to_go() -> None:
    """Out of memory, the kernel takes a zygote or what it forked, whichever is largest, and never the runner."""
    try:
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"1000")
        os.close(score)
    except PermissionError:
        pass  # where nobody may look into a process of its own uid, not even at this


def start_first(hidden: bool) -> tuple[int, _socket.socket]:
    """Start the first zygote, a new process that shares no memory with the runner; its pid and control socket.

    It loads the prelude, says b"R" and serves orders; the programs that it forks are of entry b"p".
    `hidden`: it shares a uid with what it forks, and must not be readable for that.
    """
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    try:
        _settle(theirs.detach(), os.open("/dev/null", os.O_RDONLY)).detach()
        os.close(SETUP_FD)
        os.set_inheritable(CONTROL_FD, True)
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        start = f"import sys; sys.path.insert(0, {folder!r}); from runner.main import first_zygote; first_zygote({hidden})"
        os.execve(sys.executable, [sys.executable, "-I", "-B", "-X", "utf8", "-c", start], ENVIRONMENT)  # noqa: S606
    finally:
        os._exit(70)


def serve_first(entries: Entries) -> None:
    """The first zygote's life, in its own process."""
    os.set_inheritable(CONTROL_FD, False)
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, CONTROL_FD)
    _be_first_to_go()
    try:
        os.setgroups([])
    except PermissionError:
        pass  # a namespace with one uid has one group, too
    _import_prelude()
    from . import pages  # not above: it needs ctypes, which the runner never loads

    pages.enlarge_code()
    warm.settle()
    control.send(b"R")
    loop(control, entries[b"p"](b""), entries)


def _import_prelude() -> None:
    import importlib

    warm.hold_fork_hooks()
    for name in PRELUDE.split():
        importlib.import_module(name)
    warm.release_fork_hooks()
    sys.path[:0] = [WORK]
    warm.rehearse()
    sys.path_importer_cache.pop(WORK, None)  # what was looked for there is no answer for what will lie there


def pack_work(*values: Any) -> bytes:
    return marshal.dumps(values)


def unpack_work(message: bytes) -> tuple[Any, ...]:
    """Only the runner writes work messages, so marshal reads trusted bytes."""
    values: tuple[Any, ...] = marshal.loads(message)  # noqa: S302
    return values
