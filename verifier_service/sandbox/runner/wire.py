"""The frames between the host and the runner, both directions, on the runner's stdin and stdout.

A frame is a 4-byte big-endian length, a 1-byte kind and `length` bytes of body; lengths are bounded on both sides.
Bodies of the hot kinds are packed structs followed by blobs (4-byte length, bytes); HELLO is JSON, FAULT is text.
Only the runner holds the writing end, so a frame is always the runner's word, never a program's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

VERSION = 1
HEADER = struct.Struct(">IB")
MAX_BODY = 160 << 20  # the largest output of one case and change
MAX_PROGRAM_BYTES = 64 << 20  # source, files and inputs of one program together
KEPT_PAIRS = 2  # of harnesses, that a slot keeps loaded; so a slot at rest stays below 80 MB

HELLO = ord("H")  # runner → host, once: versions and what the runner found
RUN = ord("R")  # host → runner: a program and its cases
JUDGE = ord("J")  # host → runner: a judged program
BUILD = ord("B")  # host → runner: compile a program; a RUN body without inputs
WARM = ord("W")  # host → runner: load these harnesses; before the first judged program that names them
NUMPY = ord("N")  # host → runner: programs of this kind come; begin to load it
STOP = ord("S")  # host → runner: end the run of this number
CASE = ord("C")  # runner → host: one termination
EMIT = ord("E")  # runner → host: one frame of a judge
PAIR = ord("P")  # runner → host: terminations of a submission and its judge
BUILT = ord("U")  # runner → host: what came of it, see build.py
DONE = ord("D")  # runner → host: the slot is reset, or isn't; always the last frame of a run
FAULT = ord("X")  # runner → host: the runner itself failed

ENDINGS = (
    "exited",
    "signalled",
    "cpu_time",
    "wall_time",
    "memory",
    "output",
    "processes",
    "compile_error",
    "stopped",
    "file_size",
)

_U32 = struct.Struct(">I")
_LIMITS = struct.Struct(">ddIIQQ")
_RUN = struct.Struct(">IBHHI")
_JUDGE = struct.Struct(">IBHI")
_TERMINATION = struct.Struct(">BhBddd")
_DONE = struct.Struct(">I?H")
_INDEX = struct.Struct(">II")

STOP_ON_ERROR = 1
USES_NUMPY = 2
FILES_ARE_DATA = 4  # nothing that a compiler needs
PYTHON = b"python"


class WireError(ValueError):
    """The other side broke the format."""


class WireLimits(NamedTuple):
    """The limits of one case, as in the contract."""

    cpu_time_s: float
    wall_time_s: float
    memory_mb: int
    processes: int
    output_bytes: int
    file_bytes: int


class WireTermination(NamedTuple):
    """One termination; `exit_code` and `signal` are -1 and 0 where there is none."""

    ending: str
    exit_code: int
    signal: int
    cpu_s: float
    wall_s: float
    memory_mb: float
    stdout: bytes
    stderr: bytes
    tamper: tuple[str, ...]


class RunBody(NamedTuple):
    """A program with one stdin per case."""

    run_id: int
    flags: int
    limits: WireLimits
    source: bytes
    args: list[bytes]
    files: list[tuple[bytes, bytes]]
    stdins: list[bytes]
    language: bytes = PYTHON
    built: bytes = b""  # what was made of the source; last in the body, so that the host can put it there late


class JudgeBody(NamedTuple):
    """A judged program with one payload per pair. Its harnesses are named: their texts went before, in a WARM frame."""

    run_id: int
    flags: int
    limits: WireLimits
    judge_limits: WireLimits
    source: bytes
    submission_harness: bytes
    judge_harness: bytes
    files: list[tuple[bytes, bytes]]
    payloads: list[bytes]
    language: bytes = PYTHON
    built: bytes = b""


def frame(kind: int, body: bytes = b"") -> bytes:
    if len(body) > MAX_BODY:
        raise WireError(f"a frame of {len(body)} bytes is over the bound of {MAX_BODY}")
    return HEADER.pack(len(body), kind) + body


def blob(data: bytes) -> bytes:
    return _U32.pack(len(data)) + data


def _blobs(body: bytes, offset: int, count: int) -> Iterator[tuple[bytes, int]]:
    for _ in range(count):
        if offset + 4 > len(body):
            raise WireError("a blob's length is missing")
        (size,) = _U32.unpack_from(body, offset)
        offset += 4
        if offset + size > len(body):
            raise WireError("a blob is longer than its frame")
        yield body[offset : offset + size], offset + size
        offset += size


def take(body: bytes, offset: int, count: int) -> tuple[list[bytes], int]:
    taken = []
    for data, end in _blobs(body, offset, count):
        taken.append(data)
        offset = end
    return taken, offset


def _pairs(flat: list[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def pack_run(run: RunBody) -> bytes:
    parts = [_RUN.pack(run.run_id, run.flags, len(run.args), len(run.files), len(run.stdins)), _LIMITS.pack(*run.limits)]
    parts += (blob(run.language), blob(run.source))
    parts.extend(blob(arg) for arg in run.args)
    for name, data in run.files:
        parts += (blob(name), blob(data))
    parts.extend(blob(stdin) for stdin in run.stdins)
    parts.append(blob(run.built))
    return b"".join(parts)


def unpack_run(body: bytes) -> RunBody:
    try:
        run_id, flags, n_args, n_files, n_cases = _RUN.unpack_from(body)
        limits = WireLimits(*_LIMITS.unpack_from(body, _RUN.size))
    except struct.error as error:
        raise WireError("a RUN frame is cut short") from error
    offset = _RUN.size + _LIMITS.size
    (language, source), offset = take(body, offset, 2)
    args, offset = take(body, offset, n_args)
    files, offset = take(body, offset, 2 * n_files)
    stdins, offset = take(body, offset, n_cases)
    (built,), offset = take(body, offset, 1)
    if offset != len(body):
        raise WireError("a RUN frame has bytes to spare")
    return RunBody(run_id, flags, limits, source, args, _pairs(files), stdins, language, built)


def pack_judge(run: JudgeBody) -> bytes:
    parts = [_JUDGE.pack(run.run_id, run.flags, len(run.files), len(run.payloads))]
    parts += (_LIMITS.pack(*run.limits), _LIMITS.pack(*run.judge_limits))
    parts += (blob(run.language), blob(run.source), blob(run.submission_harness), blob(run.judge_harness))
    for name, data in run.files:
        parts += (blob(name), blob(data))
    parts.extend(blob(payload) for payload in run.payloads)
    parts.append(blob(run.built))
    return b"".join(parts)


def unpack_judge(body: bytes) -> JudgeBody:
    try:
        run_id, flags, n_files, n_payloads = _JUDGE.unpack_from(body)
        limits = WireLimits(*_LIMITS.unpack_from(body, _JUDGE.size))
        judge_limits = WireLimits(*_LIMITS.unpack_from(body, _JUDGE.size + _LIMITS.size))
    except struct.error as error:
        raise WireError("a JUDGE frame is cut short") from error
    (language, source, submission, judge), offset = take(body, _JUDGE.size + 2 * _LIMITS.size, 4)
    files, offset = take(body, offset, 2 * n_files)
    payloads, offset = take(body, offset, n_payloads)
    (built,), offset = take(body, offset, 1)
    if offset != len(body):
        raise WireError("a JUDGE frame has bytes to spare")
    return JudgeBody(run_id, flags, limits, judge_limits, source, submission, judge, _pairs(files), payloads, language, built)


def language_in(kind: int, body: bytes) -> bytes:
    """The language of a packed RUN or JUDGE body, without unpacking the rest. Raises WireError."""
    offset = _RUN.size + _LIMITS.size if kind == RUN else _JUDGE.size + 2 * _LIMITS.size
    (language,), _ = take(body, offset, 1)
    return language


def with_built(body: bytes, built: bytes) -> bytes:
    """A packed body, which has no build yet, with one."""
    return body[: -_U32.size] + blob(built)


class Harness(NamedTuple):
    """A harness's name, which says which it is, and its text."""

    name: bytes
    source: bytes


def pack_warm(submission: Harness, judge: Harness, numpy: bool) -> bytes:
    return bytes([numpy]) + b"".join(map(blob, (submission.name, judge.name, submission.source, judge.source)))


def unpack_warm(body: bytes) -> tuple[Harness, Harness, bool]:
    (submission, judge, *sources), offset = take(body, 1, 4)
    if offset != len(body):
        raise WireError("a WARM frame has bytes to spare")
    return Harness(submission, sources[0]), Harness(judge, sources[1]), bool(body[0])


def harnesses_in(kind: int, body: bytes) -> bytes:
    """Which harnesses a WARM body brings, or a JUDGE body needs. Raises WireError."""
    if kind == WARM:
        (submission, judge), _ = take(body, 1, 2)
        return body[:1] + submission + judge
    (_, _, submission, judge), _ = take(body, _JUDGE.size + 2 * _LIMITS.size, 4)
    return bytes([bool(body[4] & USES_NUMPY)]) + submission + judge


def pack_termination(end: WireTermination) -> bytes:
    fixed = _TERMINATION.pack(ENDINGS.index(end.ending), end.exit_code, end.signal, end.cpu_s, end.wall_s, end.memory_mb)
    tamper = "\n".join(end.tamper).encode()
    return fixed + blob(end.stdout) + blob(end.stderr) + blob(tamper)


def unpack_termination(body: bytes, offset: int) -> tuple[WireTermination, int]:
    try:
        code, exit_code, signal, cpu_s, wall_s, memory_mb = _TERMINATION.unpack_from(body, offset)
    except struct.error as error:
        raise WireError("a termination is cut short") from error
    if code >= len(ENDINGS):
        raise WireError(f"unknown ending {code}")
    (stdout, stderr, tamper), offset = take(body, offset + _TERMINATION.size, 3)
    signs = tuple(tamper.decode("utf-8", "replace").split("\n")) if tamper else ()
    return WireTermination(ENDINGS[code], exit_code, signal, cpu_s, wall_s, memory_mb, stdout, stderr, signs), offset


def pack_case(run_id: int, index: int, end: WireTermination) -> bytes:
    return _INDEX.pack(run_id, index) + pack_termination(end)


def unpack_case(body: bytes) -> tuple[int, int, WireTermination]:
    if len(body) < _INDEX.size:
        raise WireError("a CASE frame is cut short")
    run_id, index = _INDEX.unpack_from(body)
    end, offset = unpack_termination(body, _INDEX.size)
    if offset != len(body):
        raise WireError("a CASE frame has bytes to spare")
    return run_id, index, end


def pack_emit(run_id: int, index: int, data: bytes) -> bytes:
    return _INDEX.pack(run_id, index) + data


def unpack_emit(body: bytes) -> tuple[int, int, bytes]:
    if len(body) < _INDEX.size:
        raise WireError("an EMIT frame is cut short")
    run_id, index = _INDEX.unpack_from(body)
    return run_id, index, body[_INDEX.size :]


def pack_pair(run_id: int, index: int, submission: WireTermination, judge: WireTermination) -> bytes:
    return _INDEX.pack(run_id, index) + pack_termination(submission) + pack_termination(judge)


def unpack_pair(body: bytes) -> tuple[int, int, WireTermination, WireTermination]:
    if len(body) < _INDEX.size:
        raise WireError("a PAIR frame is cut short")
    run_id, index = _INDEX.unpack_from(body)
    submission, offset = unpack_termination(body, _INDEX.size)
    judge, offset = unpack_termination(body, offset)
    if offset != len(body):
        raise WireError("a PAIR frame has bytes to spare")
    return run_id, index, submission, judge


def pack_done(run_id: int, clean: bool, reason: str, resting_mb: int = 0) -> bytes:
    return _DONE.pack(run_id, clean, min(resting_mb, 0xFFFF)) + reason.encode()


def unpack_done(body: bytes) -> tuple[int, bool, str, int]:
    """Run number; whether the slot is proven clean; why it must go nevertheless, if it must; memory in MiB that the runner and
    its zygotes hold between runs, 0 where it can't be told."""
    if len(body) < _DONE.size:
        raise WireError("a DONE frame is cut short")
    run_id, clean, resting_mb = _DONE.unpack_from(body)
    return run_id, clean, body[_DONE.size :].decode("utf-8", "replace"), resting_mb


def pack_number(number: int) -> bytes:
    return _U32.pack(number)


def unpack_number(body: bytes) -> int:
    if len(body) != 4:
        raise WireError("a number is four bytes")
    (number,) = _U32.unpack(body)
    return int(number)
