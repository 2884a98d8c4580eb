"""Judged programs: two processes that can't reach one another but over their channel."""

from __future__ import annotations

from typing import Any

from verifier_service.sandbox.conformance.isolation import OPEN_DESCRIPTORS
from verifier_service.sandbox.conformance.programs import DEADLINE_S, Check, limits, still_well
from verifier_service.sandbox.contract import Ending, JudgedProgram, JudgedTermination, JudgeFrame, SandboxBackend

SUBMISSION = """
import socket
def serve(source, channel_fd):
    names = {}
    exec(compile(source, "submission.py", "exec"), names)
    stream = socket.socket(fileno=channel_fd).makefile("rwb")
    for line in stream:
        stream.write(str(names["f"](int(line))).encode() + b"\\n")
        stream.flush()
"""
JUDGE = """
import socket
def judge(payload, channel_fd, emit):
    stream = socket.socket(fileno=channel_fd).makefile("rwb")
    for line in payload.split():
        try:
            stream.write(line + b"\\n")
            stream.flush()
            answer = stream.readline()
        except OSError:
            answer = b""
        emit(answer.strip() or b"gone")
        if not answer:
            return
"""


async def _run(
    backend: SandboxBackend, source: str, *payloads: bytes, judge: str = JUDGE, **changes: Any
) -> tuple[list[bytes], list[JudgedTermination]]:
    program = JudgedProgram("python", source, SUBMISSION, judge, payloads)
    frames, ends = [], []
    async with backend.run_judged(program, limits(**changes), judge_limits=limits(), deadline_s=DEADLINE_S) as execution:
        async for event in execution:
            if isinstance(event, JudgeFrame):
                frames.append(event.data)
            else:
                ends.append(event)
    return frames, ends


async def a_judge_hears_the_submission_and_reports(backend: SandboxBackend) -> None:
    frames, ends = await _run(backend, "print('noise')\ndef f(x): return x * x", b"1 2 3", b"4")
    assert frames == [b"1", b"4", b"9", b"16"]
    assert [end.run for end in ends] == [0, 1]
    for end in ends:
        assert (end.judge.ending, end.judge.exit_code) == (Ending.EXITED, 0), end
        assert end.submission.stdout == b"noise\n", end
        assert end.submission.tamper == ()


async def a_submission_that_leaves_leaves_an_end_of_file(backend: SandboxBackend) -> None:
    frames, ends = await _run(backend, "import os\ndef f(x): os._exit(0)", b"1 2")
    assert frames == [b"gone"]
    assert ends[0].judge.exit_code == 0
    assert (ends[0].submission.ending, ends[0].submission.exit_code) == (Ending.EXITED, 0)


async def a_submission_over_its_limits_is_killed_and_the_judge_reports(backend: SandboxBackend) -> None:
    frames, ends = await _run(backend, "def f(x):\n    while True: pass", b"1", cpu_time_s=0.5)
    assert frames == [b"gone"]
    assert ends[0].submission.ending is Ending.CPU_TIME, ends
    assert ends[0].judge.exit_code == 0
    frames, ends = await _run(backend, "import time\ndef f(x): time.sleep(60)", b"1", wall_time_s=0.5)
    assert frames == [b"gone"]
    assert ends[0].submission.ending is Ending.WALL_TIME, ends
    await still_well(backend)


async def a_submission_that_outlives_its_judge_is_stopped(backend: SandboxBackend) -> None:
    judge = "def judge(payload, channel_fd, emit): emit(b'done')"
    frames, ends = await _run(backend, "import time\ntime.sleep(60)", b"", judge=judge)
    assert frames == [b"done"]
    assert ends[0].submission.ending is Ending.STOPPED, ends
    assert ends[0].judge.exit_code == 0


async def the_payload_is_nowhere_near_the_submission(backend: SandboxBackend) -> None:
    source = """
import gc, os, re
def f(x):
    needle = b"SECRET-" + b"PAYLOAD"
    seen = 0
    for line in open("/proc/self/maps"):
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
        if not m or "[v" in line:
            continue
        start, end = int(m[1], 16), int(m[2], 16)
        try:
            with open("/proc/self/mem", "rb", 0) as mem:
                mem.seek(start)
                data = mem.read(end - start)
        except (OSError, ValueError, OverflowError):
            continue
        seen += data.count(b"SECRET-PAYLOAD") if False else len(re.findall(needle + rb"-\\d", data))
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            for name in ("cmdline", "environ"):
                try:
                    seen += open(f"/proc/{pid}/{name}", "rb").read().count(needle)
                except OSError:
                    pass
    return seen
"""
    judge = JUDGE.replace("payload.split()", "[b'1']")
    frames, _ = await _run(backend, source, b"SECRET-" + b"PAYLOAD-7", judge=judge)
    assert frames == [b"0"]


async def the_judge_can_not_be_reached_but_over_the_channel(backend: SandboxBackend) -> None:
    source = f"""{OPEN_DESCRIPTORS}
import signal
def f(x):
    if opened():
        return 668
    for pid in range(1, 300):
        if pid != os.getpid():
            for number in (signal.SIGSTOP, signal.SIGKILL):
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
            try:
                return 666 if open(f"/proc/{{pid}}/mem", "rb").read(1) else 667
            except OSError:
                pass
    return 5
"""
    frames, ends = await _run(backend, source, b"1")
    if ends[0].judge.ending is Ending.EXITED:
        assert frames == [b"5"], (frames, ends)
    else:  # one uid for both: it can be killed, but then nothing was accepted
        assert frames == []
    await still_well(backend)


async def a_judge_that_breaks_says_so(backend: SandboxBackend) -> None:
    judge = "def judge(payload, channel_fd, emit): raise ValueError('broken test')"
    frames, ends = await _run(backend, "def f(x): return x", b"1", judge=judge)
    assert frames == []
    assert ends[0].judge.exit_code == 1
    assert b"ValueError: broken test" in ends[0].judge.stderr


async def large_frames_pass_whole(backend: SandboxBackend) -> None:
    judge = "def judge(payload, channel_fd, emit):\n    emit(payload)\n    emit(b'')\n    emit(payload[:10])"
    payload = bytes(range(256)) * 12000
    frames, _ = await _run(backend, "", payload, judge=judge)
    assert frames == [payload, b"", payload[:10]]


JUDGED: tuple[Check, ...] = (
    a_judge_hears_the_submission_and_reports,
    a_submission_that_leaves_leaves_an_end_of_file,
    a_submission_over_its_limits_is_killed_and_the_judge_reports,
    a_submission_that_outlives_its_judge_is_stopped,
    the_payload_is_nowhere_near_the_submission,
    the_judge_can_not_be_reached_but_over_the_channel,
    a_judge_that_breaks_says_so,
    large_frames_pass_whole,
)  # fmt: skip
