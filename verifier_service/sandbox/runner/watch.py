"""Watching children until they end: input fed, output drained, limits enforced, denied calls answered.

For the first milliseconds only the ends are waited for: most runs are over by then, with all their output and their
judge's reports in the pipes, and each wake-up saved is a context switch saved. After that everything is watched, and usage
is looked at on a tick.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

from . import procs, seccomp, wire
from .box import files_bytes, files_count
from .cgroup import Cgroup
from .child import SELF, Child, ZygoteDied
from .harness import EMIT_HEADER
from .host import Host
from .place import LONG_S, Place

QUIET_S = 0.006
TICK_S = 0.02
GRACE_S = 0.03  # for what ends by itself just after its parent
KILL_S = 10.0
MAX_FILES = 16384  # where no inode cap of the mount holds
MAX_EMIT = 8 << 20


class Broken(Exception):
    """The sandbox is in a state that only throwing it away mends."""


class Watcher:
    """Watches one child, or a submission and its judge."""

    def __init__(
        self,
        children: list[Child],
        own: set[int],
        cgroup: Cgroup,
        listener: int | None,
        host: Host,
        place: Place,
        oom: int | None,
        pass_on: Callable[[list[bytes]], None] | None = None,
    ) -> None:
        """`oom` is how many OOM kills the container has seen before; `pass_on` gets the judge's reports on every tick, what
        came since stays in `reports`."""
        self.children = children
        self.own = own
        self.cgroup = cgroup
        self.listener = listener
        self.host = host
        self.place = place
        self.placed = True
        self.pass_on = pass_on
        self.reports: list[bytes] = []
        self.signs: list[str] = []
        self.stop = False
        self.oom = oom
        self.cpu: float | None = None  # the counter at the first look, some milliseconds in
        self.rest = len(own)
        self.inherited_bytes = -1
        self.counted = cgroup.counted_bytes()
        self.emitted_room = 64 << 20

    def kill(self, child: Child, cause: str) -> None:
        if child.end is not None or child.cause is not None:
            return  # one kill reaches all of a uid
        child.cause = cause
        child.killed_at = time.monotonic()
        try:
            os.kill(child.pid, signal.SIGKILL)  # it may not have taken its uid yet
        except OSError:
            pass
        if child.uid != SELF:
            procs.kill_uid(child.uid)
        else:
            others = {other.pid for other in self.children if other is not child and other.end is None}
            procs.kill_each(procs.pids() - self.own - others)
            procs.wake(self.own)  # it may have stopped the very zygote that is to tell of its end

    def run(self) -> None:
        """Until every child has ended. The children's work has been given just now."""
        poll = select.poll()
        start = time.monotonic()
        for child in self.children:
            child.started = start
            poll.register(child.control, select.POLLIN)
        poll.register(0, select.POLLIN)
        if self.listener is not None:
            poll.register(self.listener, select.POLLIN)
        self._heed_host()  # a STOP may have come together with the program
        quiet = all(child.stdin < 0 for child in self.children)
        look_at = start + QUIET_S
        if not quiet:
            self._register(poll)
        while any(child.end is None for child in self.children):
            for fd, _ in poll.poll(max(0.0, look_at - time.monotonic()) * 1000):
                self._serve(fd, poll)
            if time.monotonic() < look_at:
                continue
            if quiet:
                quiet = False
                self._register(poll)
            self.host.flush()
            look_at = time.monotonic() + self._tick()

    def _heed_host(self) -> None:
        if self.host.wants_stop():
            self.stop = True
            for child in self.children:
                self.kill(child, "stopped")

    def _register(self, poll: select.poll) -> None:
        for child in self.children:
            for fd in (child.stdout, child.stderr, child.emit):
                if fd >= 0:
                    poll.register(fd, select.POLLIN)
            if child.stdin >= 0:
                poll.register(child.stdin, select.POLLOUT)

    def _serve(self, fd: int, poll: select.poll) -> None:
        if fd == 0:
            self._heed_host()
            return
        if fd == self.listener:
            name = seccomp.answer_one(fd)
            sign = f"denied system call {name}"
            if name is not None and sign not in self.signs:
                self.signs.append(sign)
            return
        for child in self.children:
            if fd == child.control.fileno():
                child.take_end()
                poll.unregister(fd)
                self._ended(child)
            elif fd == child.stdin:
                child.feed()
                if child.stdin < 0:
                    poll.unregister(fd)
            elif fd in (child.stdout, child.stderr):
                child.take(fd)
                if child.over:
                    self.kill(child, "output")
                if fd not in (child.stdout, child.stderr):
                    poll.unregister(fd)
            elif fd == child.emit:
                self._take_emit(child)
                if child.emit < 0:
                    poll.unregister(fd)
            else:
                continue
            return

    def _ended(self, child: Child) -> None:
        """A judge's end ends its submission; a submission's end leaves the judge to its verdict."""
        if len(self.children) < 2 or child is self.children[0]:
            return
        while child.emit >= 0 and self._take_emit(child):
            pass
        submission = self.children[0]
        deadline = time.monotonic() + GRACE_S
        waiting = select.poll()
        waiting.register(submission.control.fileno(), select.POLLIN)
        if submission.end is None and not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
            self.kill(submission, "stopped")

    def _take_emit(self, child: Child) -> bool:
        """Read what the judge emitted; False if there is nothing more now."""
        try:
            chunk = os.read(child.emit, 1 << 18)
        except BlockingIOError:
            return False
        if not chunk:
            os.close(child.emit)
            child.emit = -1
            return False
        child.emitted += chunk
        self.emitted_room -= len(chunk)
        if self.emitted_room < 0:
            self.kill(child, "output")
            child.emitted.clear()
        else:
            self._forward(child)
        return True

    def _forward(self, child: Child) -> None:
        buffer = child.emitted
        while len(buffer) >= EMIT_HEADER.size:
            (size,) = EMIT_HEADER.unpack_from(buffer)
            if size > MAX_EMIT:
                self.kill(child, "output")
                buffer.clear()
                return
            if len(buffer) < EMIT_HEADER.size + size:
                return
            self.reports.append(bytes(buffer[EMIT_HEADER.size : EMIT_HEADER.size + size]))
            del buffer[: EMIT_HEADER.size + size]

    def _tick(self) -> float:
        """Enforce limits; seconds until the next look."""
        if self.reports and self.pass_on is not None:
            self.pass_on(self.reports)
            self.reports = []
        now = time.monotonic()
        wait_s = TICK_S
        if self.placed:
            wait_s = self.children[0].started + LONG_S - now
            if wait_s <= 0:
                self.placed, wait_s = False, TICK_S
                self.place.let_go(procs.pids() - self.own, {child.uid for child in self.children})
        oom = self.cgroup.oom_kills()
        for child in self.children:
            if child.end is not None:
                continue
            if child.cause is not None:
                if now - child.killed_at > KILL_S:
                    raise ZygoteDied("a zygote does not tell the end of its child")
                continue
            limits = child.limits
            left_s = child.started + limits.wall_time_s - now
            if child is self.children[0] and oom is not None and self.oom is not None and oom > self.oom:
                self.kill(child, "memory")  # its judge, if the kernel has left it alone, goes on to its verdict
            elif left_s <= 0:
                self.kill(child, "wall_time")
            else:
                self._check_usage(child, limits)
                wait_s = min(wait_s, max(0.001, left_s))
        return wait_s

    def _check_usage(self, child: Child, limits: wire.WireLimits) -> None:
        cpu_s, tasks, memory = self._usage(child)
        child.crowded = child.crowded or tasks >= limits.processes
        if cpu_s > limits.cpu_time_s:
            self.kill(child, "cpu_time")
        elif memory is not None and memory > limits.memory_mb << 20 and self._uses_more_than(limits.memory_mb << 20):
            self.kill(child, "memory")
        elif memory is not None and files_count(MAX_FILES) > MAX_FILES:
            self.kill(child, "file_size")

    def _uses_more_than(self, limit: int) -> bool:
        """Whether the sandbox's own count agrees, where there is one: the sum over processes has pages that a fork shares
        once for each, and gVisor's has all of a large mapping as soon as one page of it is touched."""
        now = self.cgroup.counted_bytes()
        return now is None or self.counted is None or now - self.counted > limit

    def _usage(self, child: Child) -> tuple[float, int, int | None]:
        """CPU seconds, tasks and, where no cgroup holds the memory, bytes of the child's tree."""
        cpu_s, tasks = self.cgroup.cpu_s(), self.cgroup.tasks()
        if self.cpu is None:
            self.cpu = cpu_s
        if cpu_s is not None and self.cpu is not None and tasks is not None:
            limits, used_s, grown = child.limits, cpu_s - self.cpu, tasks - self.rest
            if len(self.children) == 1 or (used_s <= limits.cpu_time_s and grown < limits.processes):
                return used_s, grown, None  # of a pair's two ends together: no need to ask which is whose
        if self.inherited_bytes < 0:
            self.inherited_bytes = procs.own_memory(child.zygote.pid)
        shared = child.uid == SELF
        if shared and len(self.children) > 1:
            usage = procs.usage_of({child.pid}, None, self.inherited_bytes)
        else:
            usage = procs.usage_of(procs.pids() - self.own, None if shared else child.uid, self.inherited_bytes)
        held = self.cgroup.memory_bytes() is not None
        return usage.cpu_s, usage.tasks, None if held else usage.memory_bytes + files_bytes()
