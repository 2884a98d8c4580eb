"""The warm, single-threaded process that worker processes are forked from.

It imports the verifier once, then obeys lines on its control socket: `fork` (with the worker's end of a socket pair as
ancillary data) is answered by `{"pid": …}`, `kill PID` kills a worker of its own, and each death is told by
`{"exit": PID, "status": …}`. Only this process forks, so no thread of the service is ever copied; only it kills, so no
recycled pid is ever hit. It ends, and its workers with it, when the control socket closes.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def serve(control: socket.socket, memory_mb: int) -> None:
    """Obey until the control socket closes."""
    from verifier_service.verifiers.math import worker

    worker.warm_up()
    gc.collect()
    gc.freeze()
    wake_read, wake_write = socket.socketpair()
    for end in (wake_read, wake_write):
        end.setblocking(False)
    signal.set_wakeup_fd(wake_write.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: set[int] = set()
    with selectors.DefaultSelector() as selector, suppress(ConnectionError):  # the owner is gone: the end, as at a closed socket
        control.sendall(b'{"ready": true}\n')
        selector.register(control, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if wake_read in ready:
                _drain(wake_read)
                _reap(control, children)
            if control in ready:
                data, fds, _, _ = socket.recv_fds(control, 4096, 8)
                if not data:
                    break
                _obey(data, fds, control, children, memory_mb, (wake_read, wake_write))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # their deaths are nobody's business now, and the wake-up's sockets go first
    signal.set_wakeup_fd(-1)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _obey(
    data: bytes, fds: list[int], control: socket.socket, children: set[int], memory_mb: int, wake: tuple[socket.socket, ...]
) -> None:
    for line in data.decode("ascii").splitlines():
        if line == "fork":
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                control.close()
                for end in wake:
                    end.close()
                _become_worker(fds[0], memory_mb)
            os.close(fds.pop(0))
            children.add(pid)
            control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        elif line.startswith("kill "):
            pid = int(line[5:])
            if pid in children:
                os.kill(pid, signal.SIGKILL)


def _become_worker(fd: int, memory_mb: int) -> None:
    from verifier_service.verifiers.math import worker

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    status = 1
    try:
        status = worker.serve(socket.socket(fileno=fd), memory_mb)
    finally:
        os._exit(status)


def _reap(control: socket.socket, children: set[int]) -> None:
    while children:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        children.discard(pid)
        control.sendall(json.dumps({"exit": pid, "status": status}).encode() + b"\n")


def _drain(end: socket.socket) -> None:
    try:
        while end.recv(4096):
            pass
    except BlockingIOError:
        pass


if __name__ == "__main__":
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
