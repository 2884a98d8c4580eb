"""One slot: takes a program, runs its cases one after another, resets after each and proves it.

Trust: the runner and its zygotes are of one uid, the submission and the judge of two others. What crosses from a child
to the runner is bytes on pipes, a zygote's word on how the child ended, and nothing else.
"""

from __future__ import annotations

import _socket
import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from . import build, ending, procs, wire
from .box import Box, NotEmpty
from .cgroup import GVISOR, Cgroup
from .child import SELF, Child, Code, Zygote, ZygoteDied
from .host import Host
from .network import Loopback
from .place import Place
from .watch import GRACE_S, KILL_S, Broken, Watcher
from .zygote import WORK, pack_work
from .zygotes import Zygotes

OOM_TAKES_S = 0.01  # no program fills a slot's memory in less
SPARE_SPACE_MB = 1024  # address space is more than memory: stacks, libraries, arenas
UNCOUNTED = int(GVISOR)  # among a user's processes, it does not count the one that became that user after its fork
# The last words of a program that was refused a process; they only name the failure, which is one anyhow.
REFUSED = (b"can't start new thread", b"Resource temporarily unavailable", b"Cannot fork")


class _Commands(NamedTuple):
    """What a submission's process becomes, where that is not Python: commands, the last with the submission's arguments."""

    lines: list[list[str]]
    environment: dict[str, str]
    sparse: bool = False
    out_of_memory: bytes = b""


NOT_STARTED = 127  # the status of a command that can't be started, and of no compiler

_COMPILER_ENDS = {
    "cpu_time": "the compiler took too much CPU time",
    "wall_time": "the compiler took too long",
    "memory": "the compiler ran out of memory",
    "output": "the compiler said too much",
    "file_size": "the compiler wrote too much",
    "processes": "the compiler started too many processes",
    "signalled": "the compiler was killed by a signal",
}


def _never_ran(last: wire.WireTermination) -> wire.WireTermination:
    """A case after the one that ended this slot: killed with it, whatever that one had printed."""
    if last.ending != "exited":
        return last
    return last._replace(ending="signalled", exit_code=-1, signal=int(signal.SIGKILL), stdout=b"")


class Slot:
    """The zygotes and the box of one sandbox."""

    def __init__(self, uids: tuple[int, int], cgroup: Cgroup, listener: int | None, host: Host) -> None:
        self.submission_uid, self.judge_uid = uids
        self.cgroup = cgroup
        self.listener = listener
        self.host = host
        self.zygotes = Zygotes(self.submission_uid, host.flush)
        self.own = self.zygotes.own
        self.box = Box(self.submission_uid)
        self.box.make()
        self.loopback = Loopback()
        self.place = Place()
        self.peak = 0
        self.oom = cgroup.oom_kills()
        self.resting_mb = 0
        self.reason = ""
        self.dead = ""  # why this slot ends with the present program
        self.stopped = False
        self.harvest: Callable[[], None] | None = None  # at the end of a case, before its files go

    # --- programs

    def run(self, run: wire.RunBody) -> None:
        """All cases of a program, each termination sent as soon as it is known, then DONE."""
        self.reason, self.stopped = "", False
        self.place.settle(self.own)
        numpy = bool(run.flags & wire.USES_NUMPY)
        commands = _Commands([], {})
        failure: wire.WireTermination | None = None
        if run.language != wire.PYTHON:
            commands, failure = self._install(run.language, run.built, run.limits)
        if failure is not None:
            for index in range(1 if run.flags & wire.STOP_ON_ERROR else len(run.stdins)):
                self.host.send(wire.frame(wire.CASE, wire.pack_case(run.run_id, index, failure)))
            self._done(run.run_id, b"")
            return
        held = b""
        last: wire.WireTermination | None = None
        code = Code(wanted=run.language == wire.PYTHON and len(run.stdins) > 1)
        for index, stdin in enumerate(run.stdins):
            if held:
                self.host.send(held)
            if last is not None and self.dead:
                last = _never_ran(last)
            elif last is None or last.ending != "compile_error":
                last = self._case(self.zygotes.base(numpy), run, stdin, commands, code)
            if self.stopped:
                held = b""
                break
            held = wire.frame(wire.CASE, wire.pack_case(run.run_id, index, last))
            failed = last.ending != "exited" or last.exit_code != 0
            if (failed and run.flags & wire.STOP_ON_ERROR) or self.host.wants_stop():
                break
        code.close()
        self._done(run.run_id, held)

    def build(self, run: wire.RunBody) -> None:
        """Compile a source: BUILT with what came out or how it failed, then DONE."""
        self.reason, self.stopped = "", False
        language = build.language_of(run.language)
        file = language.file_name(run.source.decode("utf-8", "replace"))
        given = [*run.files, (file.encode(), run.source)]
        commands = [build.filled(command, memory_mb=run.limits.memory_mb, file=file) for command in language.compile]
        made: list[build.BuiltFile] = []
        trouble: list[str] = []

        def harvest() -> None:
            try:
                made.extend(build.collect(WORK, {name for name, _ in given}))
            except (build.TooLarge, OSError) as error:
                trouble.append(f"the compiler made what can't be kept: {error}")

        self.harvest = harvest
        try:
            job = _Commands(commands, dict(language.environment), language.sparse)
            end = self._case(self.zygotes.plain, run._replace(files=given, source=b""), b"", job, Code(wanted=False))
        finally:
            self.harvest = None
        held = b""
        if not self.stopped and end.exit_code != NOT_STARTED:  # without a BUILT the host knows that this slot has failed
            if end.ending != "exited" or end.exit_code or trouble:
                message = "".join(f"{line}\n" for line in [*trouble, _COMPILER_ENDS.get(end.ending, "")] if line).encode()
                told = end._replace(
                    ending="compile_error", exit_code=1, signal=0, stdout=b"", stderr=end.stdout + end.stderr + message
                )
                if end.ending != "exited":
                    by_time = end.ending in ("cpu_time", "wall_time")
                    told = told._replace(exit_code=-1, signal=int(signal.SIGXCPU if by_time else signal.SIGKILL))
                built = build.pack_failure(told, by_limit=end.ending != "exited")
            else:
                built = build.pack(made)
            held = wire.frame(wire.BUILT, wire.pack_number(run.run_id) + built)
        self._done(run.run_id, held)

    def _install(self, name: bytes, built: bytes, limits: wire.WireLimits) -> tuple[_Commands, wire.WireTermination | None]:
        """Lay a build into the box; the command that runs it, or how its compilation had failed."""
        language = build.language_of(name)
        files, failure = build.unpack(built)
        if failure is None:
            self.box.install(files)
        memory_mb = limits.memory_mb - language.memory_extra_mb
        run = build.filled(language.run, memory_mb=memory_mb)
        return _Commands([run], dict(language.environment), language.sparse, language.out_of_memory.encode()), failure

    def _done(self, run_id: int, held: bytes) -> None:
        try:
            self.box.uninstall()
        except NotEmpty as error:
            self.dead = str(error)  # what was seen of the program holds; nobody runs here after it
        if self.zygotes.grown:
            self.zygotes.grown = False
            self.resting_mb = (self.cgroup.own_memory_bytes() or 0) >> 20
        done = wire.pack_done(run_id, not self.dead, self.dead or self.reason, self.resting_mb)
        self.host.send_last(held + wire.frame(wire.DONE, done))

    def _case(self, zygote: Zygote, run: wire.RunBody, stdin: bytes, commands: _Commands, code: Code) -> wire.WireTermination:
        child = self.zygotes.child(zygote, code)
        child.out_of_memory = commands.out_of_memory
        limits = run.limits
        args = [arg.decode("utf-8", "surrogateescape") for arg in run.args]
        work = self._work(limits, args, run.files, run.source, commands, hands_code=child.code is not None)
        watcher = Watcher([child], self.own, self.cgroup, self.listener, self.host, self.place, self.oom)
        try:
            child.give(work, limits, stdin)
            (end,) = self._watch(watcher)
        finally:
            child.close()
        return end

    def _work(
        self,
        limits: wire.WireLimits,
        args: list[str],
        files: list[tuple[bytes, bytes]],
        source: bytes,
        commands: _Commands,
        *,
        hands_code: bool = False,
    ) -> bytes:
        """The work message of a submission's process."""
        lines = commands.lines
        if lines:
            lines = [*lines[:-1], [*lines[-1], *args]]
        rlimits = self._rlimits(limits, sparse=commands.sparse)
        return pack_work(self.submission_uid, rlimits, args, files, source, lines, commands.environment, hands_code)

    def _watch(self, watcher: Watcher) -> list[wire.WireTermination]:
        """Watch to the end and reset. A zygote that died of its submission makes this slot's last terminations."""
        try:
            watcher.run()
            ends = self._finish(watcher)
        except (ZygoteDied, BrokenPipeError) as error:
            oom = self.cgroup.oom_kills()
            signs: tuple[str, ...]
            if oom is not None and watcher.oom is not None and oom > watcher.oom:
                self.dead, how, signs = "oom", "memory", ()
            elif self.submission_uid == SELF:
                self.dead, how, signs = "tamper", "signalled", ("killed the process that started it",)
            else:
                raise Broken(str(error)) from error
            number = signal.SIGKILL if how == "signalled" else 0
            end = wire.WireTermination(how, -1, number, 0.0, 0.0, 0.0, b"", b"", signs)
            ends = [end] * len(watcher.children)
        self.stopped = watcher.stop
        return ends

    def _rlimits(self, limits: wire.WireLimits, *, sparse: bool = False) -> tuple[int, int, int, int]:
        """CPU seconds (one more than allowed, so that passing it is seen), processes, file bytes, address space."""
        own = len(self.own) if self.submission_uid == SELF else -UNCOUNTED
        space = 0 if sparse or self.cgroup.memory_bytes() is not None else (limits.memory_mb + SPARE_SPACE_MB) << 20
        return int(limits.cpu_time_s) + 1, limits.processes + own, limits.file_bytes, space

    # --- judged programs

    def run_judged(self, run: wire.JudgeBody) -> None:
        """All payloads of a judged program, then DONE."""
        self.reason, self.stopped = "", False
        self.place.settle(self.own)
        numpy = bool(run.flags & wire.USES_NUMPY)
        submissions = self.zygotes.harness(b"s", run.submission_harness, numpy, run.source)
        judges = self.zygotes.harness(b"j", run.judge_harness, numpy, b"".join(run.payloads))
        commands = _Commands([], {})
        if run.language != wire.PYTHON:
            commands, failure = self._install(run.language, run.built, run.limits)
            if failure is not None:
                idle = failure._replace(ending="stopped", exit_code=-1, stderr=b"")
                for index in range(len(run.payloads)):
                    self.host.send(wire.frame(wire.PAIR, wire.pack_pair(run.run_id, index, failure, idle)))
                self._done(run.run_id, b"")
                return
        ends: tuple[wire.WireTermination, wire.WireTermination] | None = None
        held = b""
        for index, payload in enumerate(run.payloads):
            if held:
                self.host.send(held)
                held = b""
            if ends is None or not self.dead:
                ends, held = self._pair(submissions, judges, run, payload, index, commands)
            if self.stopped:
                held = b""
                break
            held += wire.frame(wire.PAIR, wire.pack_pair(run.run_id, index, *ends))
            failed = ends[1].ending != "exited" or ends[1].exit_code != 0
            if (failed and run.flags & wire.STOP_ON_ERROR) or self.host.wants_stop():
                break
        self._done(run.run_id, held)

    def _pair(
        self,
        submissions: Zygote,
        judges: Zygote,
        run: wire.JudgeBody,
        payload: bytes,
        index: int,
        commands: _Commands,
    ) -> tuple[tuple[wire.WireTermination, wire.WireTermination], bytes]:
        """How both ended, and the judge's last reports, which are yet to be sent."""

        def frames(reports: list[bytes]) -> bytes:
            return b"".join(wire.frame(wire.EMIT, wire.pack_emit(run.run_id, index, report)) for report in reports)

        left, right = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        emit_r, emit_w = os.pipe()
        os.set_blocking(emit_r, False)
        submission = Child(submissions, self.submission_uid, (left.detach(),))
        judge = Child(judges, self.judge_uid, (right.detach(), emit_w))
        judge.emit = emit_r
        submission.out_of_memory = commands.out_of_memory
        watcher = Watcher(
            [submission, judge],
            self.own,
            self.cgroup,
            self.listener,
            self.host,
            self.place,
            self.oom,
            lambda reports: self.host.send(frames(reports)),
        )
        try:
            judge.give(pack_work(self.judge_uid, self._rlimits(run.judge_limits), payload), run.judge_limits, b"")
            submission.give(self._work(run.limits, [], run.files, run.source, commands), run.limits, b"")
            ends = self._watch(watcher)
        finally:
            submission.close()
            judge.close()
        return (ends[0], ends[1]), frames(watcher.reports)

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
        first, *judges = watcher.children
        if first.failed or first.code is not None:
            first.take_word()
        ends = [ending.termination(first, self.box, orphans_cpu_s, submission=True)]
        ends += [ending.termination(judge, self.box, 0.0, submission=False) for judge in judges]
        if self.harvest is not None:
            self.harvest()
        try:
            signs = self.box.reset()
            self.box.make()
        except NotEmpty as error:  # its doing, so that what it did counts: the slot goes, the termination stays
            self.dead = "unclean"
            signs = [f"left what can't be removed: {error}"]
        if self.loopback.used():
            self.reason = self.reason or "network"
        if self.submission_uid == SELF and any(end.ending == "signalled" and end.signal == signal.SIGKILL for end in ends[1:]):
            signs.append("killed its judge")
            ends[0] = ends[0]._replace(ending="signalled", exit_code=-1, signal=signal.SIGKILL)
        if self.submission_uid == SELF and not procs.all_well(self.own):
            self.dead = "tamper"
            signs.append("killed a process of the sandbox")
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
