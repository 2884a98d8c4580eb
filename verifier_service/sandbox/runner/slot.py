"""One slot: takes a program, runs its cases one after another, resets after each and proves it.

Trust: the runner and its zygotes are of one uid, the submission and the judge of two others. What crosses from a child
to the runner is bytes on pipes, a zygote's word on how the child ended, and nothing else.
"""

from __future__ import annotations

import _socket
import os
import signal
import struct
import time
from collections.abc import Callable

from . import procs, wire
from .box import Box, NotEmpty
from .cgroup import Cgroup
from .child import SELF, Child, Zygote, ZygoteDied, receive
from .watch import GRACE_S, KILL_S, Broken, Watcher
from .zygote import pack_message, pack_work, send_order, start_first

MOST_HARNESSES = 8
OOM_TAKES_S = 0.01  # no program fills a slot's memory in less
NUMPY_SETUP = b"numpy"
SPARE_SPACE_MB = 1024  # address space is more than memory: stacks, libraries, arenas
MEMORY_ERROR = b"MemoryError"
# The last words of a program that was refused a process; they only name the failure, which is one anyhow.
REFUSED = (b"can't start new thread", b"Resource temporarily unavailable", b"Cannot fork")


def _never_ran(last: wire.WireTermination) -> wire.WireTermination:
    """A case after the one that ended this slot: killed with it, whatever that one had printed."""
    if last.ending != "exited":
        return last
    return last._replace(ending="signalled", exit_code=-1, signal=int(signal.SIGKILL), stdout=b"")


class Slot:
    """The zygotes and the box of one sandbox."""

    def __init__(self, uids: tuple[int, int], cgroup: Cgroup, listener: int | None, host: Callable[[], bool]) -> None:
        self.submission_uid, self.judge_uid = uids
        self.cgroup = cgroup
        self.listener = listener
        self.host = host
        pid, control = start_first(hidden=self.submission_uid == SELF)
        self.plain = Zygote(pid, control)
        receive(control)
        self.own = {os.getpid(), 1, pid}
        self.numpy: Zygote | None = None
        self._numpy_ready = False
        self.harnesses: dict[tuple[bytes, bytes, bool], Zygote] = {}
        self.ready: dict[int, Child] = {}
        self.box = Box(self.submission_uid)
        self.box.make()
        self.peak = 0
        self.oom = cgroup.oom_kills()
        self.reason = ""
        self.dead = ""  # why this slot ends with the present program
        self.stopped = False

    # --- zygotes

    def _sub_zygote(self, parent: Zygote, letter: bytes, setup: bytes) -> Zygote:
        """Have a clean zygote fork another kind of zygote. It is not ready before its b"R" was received."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        way, their_way = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        send_order(parent.control, b"Z" + letter, [theirs.fileno(), their_way.fileno()])
        theirs.close()
        their_way.close()
        (pid,) = struct.unpack("=i", receive(parent.control))
        self.own.add(pid)
        try:
            way.sendall(pack_message(setup))
        except (BrokenPipeError, ConnectionResetError):
            pass  # its end is seen on the control socket
        finally:
            way.close()
        return Zygote(pid, ours)

    def start_numpy(self) -> None:
        """Begin to load numpy in a zygote of its own; its readiness is awaited when it is first wanted."""
        if self.numpy is None:
            self._drop_ready(self.plain)
            self.numpy = self._sub_zygote(self.plain, b"n", NUMPY_SETUP)
            self._numpy_ready = False

    def base(self, numpy: bool) -> Zygote:
        if not numpy:
            return self.plain
        self.start_numpy()
        assert self.numpy is not None
        if not self._numpy_ready:
            answer = receive(self.numpy.control)
            if answer[:1] != b"R":
                raise ZygoteDied(answer[1:].decode("utf-8", "replace"))
            self._numpy_ready = True
        return self.numpy

    def harness(self, letter: bytes, source: bytes, numpy: bool) -> Zygote:
        key = (letter, source, numpy)
        zygote = self.harnesses.get(key)
        if zygote is None:
            if len(self.harnesses) >= MOST_HARNESSES:
                raise Broken("more harnesses than a slot keeps")
            parent = self.base(numpy)
            self._drop_ready(parent)
            zygote = self._sub_zygote(parent, letter, pack_work(source, numpy))
            answer = receive(zygote.control)
            if answer[:1] != b"R":
                raise Broken(answer[1:].decode("utf-8", "replace"))
            self.harnesses[key] = zygote
        return zygote

    def prepare(self) -> None:
        """Between programs: fork the next child ahead, which then waits for its work."""
        if self.plain.pid not in self.ready:
            child = Child(self.plain, self.submission_uid)
            self.ready[self.plain.pid] = child
            self.own.add(child.pid)

    def _drop_ready(self, zygote: Zygote) -> None:
        """A waiting child keeps its zygote busy: send it home before other orders."""
        child = self.ready.pop(zygote.pid, None)
        if child is not None:
            child.work.close()
            child.take_end()
            self.own.discard(child.pid)
            child.close()

    def _child(self, zygote: Zygote) -> Child:
        child = self.ready.pop(zygote.pid, None)
        if child is None:
            return Child(zygote, self.submission_uid)
        self.own.discard(child.pid)
        return child

    # --- programs

    def run(self, run: wire.RunBody, send: Callable[[bytes], None]) -> None:
        """All cases of a program, each termination sent as soon as it is known, then DONE."""
        self.reason, self.stopped = "", False
        numpy = bool(run.flags & wire.USES_NUMPY)
        compiled: Zygote | None = None
        held = b""
        if len(run.stdins) > 1:
            compiled, failure = self._compile(run, numpy)
            if failure is not None:
                for index in range(1 if run.flags & wire.STOP_ON_ERROR else len(run.stdins)):
                    send(wire.frame(wire.CASE, wire.pack_case(run.run_id, index, failure)))
                self._done(run.run_id, b"", send)
                return
        last: wire.WireTermination | None = None
        for index, stdin in enumerate(run.stdins):
            if held:
                send(held)
            if last is not None and self.dead:
                last = _never_ran(last)
            else:
                last = self._case(compiled or self.base(numpy), run, b"" if compiled else run.source, stdin)
            if self.stopped:
                held = b""
                break
            held = wire.frame(wire.CASE, wire.pack_case(run.run_id, index, last))
            failed = last.ending != "exited" or last.exit_code != 0
            if (failed and run.flags & wire.STOP_ON_ERROR) or self.host():
                break
        if compiled is not None and not self.dead:
            self._dismiss(compiled, self.base(numpy))
        self._done(run.run_id, held, send)

    def _done(self, run_id: int, held: bytes, send: Callable[[bytes], None]) -> None:
        send(held + wire.frame(wire.DONE, wire.pack_done(run_id, not self.dead, self.dead or self.reason)))

    def _case(self, zygote: Zygote, run: wire.RunBody, source: bytes, stdin: bytes) -> wire.WireTermination:
        child = self._child(zygote)
        limits = run.limits
        args = [arg.decode("utf-8", "surrogateescape") for arg in run.args]
        work = pack_work(self.submission_uid, self._rlimits(limits), args, run.files, source)
        watcher = Watcher([child], self.own, self.cgroup, self.listener, self.host, self.oom)
        try:
            child.give(work, limits, stdin)
            (end,) = self._watch(watcher)
        finally:
            child.close()
        return end

    def _watch(self, watcher: Watcher) -> list[wire.WireTermination]:
        """Watch to the end and reset. A zygote that died of its submission makes this slot's last terminations."""
        try:
            watcher.run()
            ends = self._finish(watcher)
        except (ZygoteDied, BrokenPipeError) as error:
            oom = self.cgroup.oom_kills()
            signs: tuple[str, ...]
            if oom is not None and watcher.oom is not None and oom > watcher.oom:
                self.dead, ending, signs = "oom", "memory", ()
            elif self.submission_uid == SELF:
                self.dead, ending, signs = "tamper", "signalled", ("killed the process that started it",)
            else:
                raise Broken(str(error)) from error
            number = signal.SIGKILL if ending == "signalled" else 0
            end = wire.WireTermination(ending, -1, number, 0.0, 0.0, 0.0, b"", b"", signs)
            ends = [end] * len(watcher.children)
        self.stopped = watcher.stop
        return ends

    def _rlimits(self, limits: wire.WireLimits) -> tuple[int, int, int, int]:
        """CPU seconds (one more than allowed, so that passing it is seen), processes, file bytes, address space."""
        own = len(self.own) if self.submission_uid == SELF else 0
        space = 0 if self.cgroup.memory_bytes() is not None else (limits.memory_mb + SPARE_SPACE_MB) << 20
        return int(limits.cpu_time_s) + 1, limits.processes + own, limits.file_bytes, space

    def _compile(self, run: wire.RunBody, numpy: bool) -> tuple[Zygote | None, wire.WireTermination | None]:
        """A zygote that has compiled the source, or how the compilation failed."""
        parent = self.base(numpy)
        self._drop_ready(parent)
        zygote = self._sub_zygote(parent, b"c", pack_work(run.source, int(run.limits.cpu_time_s) + 1))
        started = time.monotonic()
        zygote.control.settimeout(run.limits.wall_time_s)
        try:
            answer = receive(zygote.control)
        except ZygoteDied:
            answer = b"Ethe compiler died of this source"
        except TimeoutError:
            os.kill(zygote.pid, signal.SIGKILL)
            answer = b"Ethe source took too long to compile"
        zygote.control.settimeout(None)
        if answer[:1] == b"R":
            return zygote, None
        self._dismiss(zygote, parent)
        wall_s = time.monotonic() - started
        return None, wire.WireTermination("compile_error", 1, 0, wall_s, wall_s, 0.0, b"", answer[1:], ())

    def _dismiss(self, zygote: Zygote, parent: Zygote) -> None:
        """Let a submission's own zygote end, and wait until it has."""
        zygote.control.close()
        send_order(parent.control, b"W" + struct.pack("=i", zygote.pid), [])
        receive(parent.control)
        self.own.discard(zygote.pid)

    # --- judged programs

    def run_judged(self, run: wire.JudgeBody, send: Callable[[bytes], None]) -> None:
        """All payloads of a judged program, then DONE."""
        self.reason, self.stopped = "", False
        numpy = bool(run.flags & wire.USES_NUMPY)
        submissions = self.harness(b"s", run.submission_harness, numpy)
        judges = self.harness(b"j", run.judge_harness, numpy)
        ends: tuple[wire.WireTermination, wire.WireTermination] | None = None
        for index, payload in enumerate(run.payloads):
            if ends is None or not self.dead:
                ends = self._pair(submissions, judges, run, payload, index, send)
            if self.stopped:
                break
            send(wire.frame(wire.PAIR, wire.pack_pair(run.run_id, index, *ends)))
            failed = ends[1].ending != "exited" or ends[1].exit_code != 0
            if (failed and run.flags & wire.STOP_ON_ERROR) or self.host():
                break
        self._done(run.run_id, b"", send)

    def _pair(
        self,
        submissions: Zygote,
        judges: Zygote,
        run: wire.JudgeBody,
        payload: bytes,
        index: int,
        send: Callable[[bytes], None],
    ) -> tuple[wire.WireTermination, wire.WireTermination]:
        left, right = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        emit_r, emit_w = os.pipe()
        os.set_blocking(emit_r, False)
        submission = Child(submissions, self.submission_uid, (left.detach(),))
        judge = Child(judges, self.judge_uid, (right.detach(), emit_w))
        judge.emit = emit_r
        watcher = Watcher(
            [submission, judge],
            self.own,
            self.cgroup,
            self.listener,
            self.host,
            self.oom,
            lambda data: send(wire.frame(wire.EMIT, wire.pack_emit(run.run_id, index, data))),
        )
        try:
            self._give_pair(submission, judge, run, payload)
            ends = self._watch(watcher)
        finally:
            submission.close()
            judge.close()
        return ends[0], ends[1]

    def _give_pair(self, submission: Child, judge: Child, run: wire.JudgeBody, payload: bytes) -> None:
        judge.give(pack_work(self.judge_uid, self._rlimits(run.judge_limits), payload), run.judge_limits, b"")
        submission.give(pack_work(self.submission_uid, self._rlimits(run.limits), [], run.files, run.source), run.limits, b"")

    # --- the end of a case

    def _finish(self, watcher: Watcher) -> list[wire.WireTermination]:
        """Kill what is left, take the last output, look at the limits, reset, and prove it."""
        natural = all(child.cause in (None, "stopped") for child in watcher.children)
        left: set[int] = set()
        orphans_cpu_s = 0.0
        if self.cgroup.tasks() != len(self.own):  # zombies count, too: equality proves that nobody is left
            left, orphans_cpu_s = procs.wait_gone(self.own, GRACE_S if natural else 0.0)
        if left:
            running = procs.alive(left)
            if natural and running:
                watcher.signs.append(f"left {len(running)} running process(es)")
            self.reason = self.reason or ("left processes" if natural else "")
            for child in watcher.children[:1]:
                child.crowded = child.crowded or (natural and len(left) + 1 >= child.limits.processes)
            orphans_cpu_s += self._kill_left(watcher, left)
        for child in watcher.children:
            child.take_rest()
        if left or any(child.failed or child.end.at - child.started > OOM_TAKES_S for child in watcher.children if child.end):
            self._cgroup_causes(watcher, bool(left))
        ends = [self._termination(child, watcher, orphans_cpu_s) for child in watcher.children]
        try:
            signs = self.box.reset()
            self.box.make()
        except NotEmpty as error:  # its doing, so that what it did counts: the slot goes, the termination stays
            self.dead = "unclean"
            signs = [f"left what can't be removed: {error}"]
        if watcher.signs or signs:
            signs = [*watcher.signs, *signs]
            self.reason = self.reason or "tamper"
            ends[0] = ends[0]._replace(tamper=tuple(signs))
        return ends

    def _kill_left(self, watcher: Watcher, left: set[int]) -> float:
        deadline = time.monotonic() + KILL_S
        cpu_s = 0.0
        while left:
            if time.monotonic() > deadline:
                raise Broken(f"{len(left)} process(es) outlive SIGKILL")
            for child in watcher.children:
                if child.uid != SELF:
                    procs.kill_uid(child.uid)
                else:
                    procs.kill_each(left)
            left, more = procs.wait_gone(self.own, 0.05)
            cpu_s += more
        return cpu_s

    def _cgroup_causes(self, watcher: Watcher, left: bool) -> None:
        """What the counters tell: a kernel OOM kill; and a tree that reached its process limit, and then failed.

        A program that is refused a process, copes and exits with 0 has passed no limit.
        """
        oom = self.cgroup.oom_kills()
        memory = oom is not None and watcher.oom is not None and oom > watcher.oom
        self.oom = oom
        peak = self.cgroup.tasks_peak() or 0
        grown, self.peak = peak > self.peak, max(peak, self.peak)
        others = watcher.rest + len(watcher.children) - 1
        for child in watcher.children:
            if memory and child.cause in (None, "memory"):
                self.reason = "oom"
                if child is watcher.children[0] or (child.end is not None and os.WIFSIGNALED(child.end.status)):
                    child.cause = "memory"
                continue
            told = not self.peak and child.end is not None and b"".join(child.err).rstrip().endswith(REFUSED)
            reached = told or child.crowded or (grown and peak >= others + child.limits.processes)
            failed = child.cause in ("cpu_time", "wall_time") or (child.cause is None and (left or child.failed))
            if reached and failed and child is watcher.children[0]:
                child.cause = "processes"
                self.reason = "processes"

    def _termination(self, child: Child, watcher: Watcher, orphans_cpu_s: float) -> wire.WireTermination:
        end = child.end
        assert end is not None
        limits = child.limits
        number = os.WTERMSIG(end.status) if os.WIFSIGNALED(end.status) else 0
        exit_code = os.WEXITSTATUS(end.status) if os.WIFEXITED(end.status) else -1
        cpu_s = end.cpu_s + (orphans_cpu_s if child is watcher.children[0] else 0.0)
        stdout, stderr = b"".join(child.out), b"".join(child.err)
        if child.cause is not None:
            ending = child.cause
        elif cpu_s > limits.cpu_time_s or number == signal.SIGXCPU:
            ending = "cpu_time"
        elif number == signal.SIGXFSZ:
            ending = "file_size"
        elif number:
            ending = "output" if child.over else "signalled"
        elif exit_code and child.compile_failed():
            ending = "compile_error"
        elif child.over:
            ending = "output"
        elif exit_code == 1 and stderr.rstrip().rpartition(b"\n")[2].startswith(MEMORY_ERROR):
            ending = "memory"
        elif exit_code and child is watcher.children[0] and self.box.disk_full(limits.file_bytes):
            ending = "file_size"
        else:
            ending = "exited"
        if ending not in ("exited", "compile_error"):
            exit_code = exit_code if child.cause is None else -1
        wall_s = max(0.0, end.at - child.started)
        return wire.WireTermination(
            ending, exit_code, number if ending == "signalled" else 0, cpu_s, wall_s, end.peak_kib / 1024, stdout, stderr, ()
        )
