"""The contract between those who want a program run and those who isolate it.

program → execution → termination. `SandboxBackend.run` returns for anything that the program did, and raises only if
the sandbox failed; it never sees an expected output, so nothing of a test's answer can reach the process that runs
model code. Comparison happens on the caller's side.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one case (one process tree), all hard. Wall time counts from the case's start inside the slot.

    `output_bytes` is stdout's; as much of stderr is kept, the rest of it is dropped, and only 16 times as much ends a case.
    """

    cpu_time_s: float = 10.0
    wall_time_s: float = 20.0
    memory_mb: int = 512
    processes: int = 16
    output_bytes: int = 8 * MIB
    file_bytes: int = 16 * MIB


@dataclass(frozen=True, slots=True)
class Program:
    """A submission: source text, and one stdin per case. All cases go to the slot in one exchange.

    `language` is a row of the table in runner/languages.py. `files` lie in the work folder where it runs and, unless
    `files_are_data`, beside the source where it is compiled; as data they don't make it another program to compile.

    `stop_on_error`: the slot itself skips the cases after the first that does not exit with status 0; stopping on a
    wrong answer is the caller's, by leaving the execution early.
    """

    language: str
    source: str
    stdins: tuple[bytes, ...] = (b"",)
    args: tuple[str, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    stop_on_error: bool = False
    files_are_data: bool = False


@dataclass(frozen=True, slots=True)
class JudgedProgram:
    """A submission and, beside it, a trusted judge: two processes of two uids, forked from zygotes that saw neither.

    For each payload a fresh pair is made, joined by a connected `AF_UNIX` stream socket, its descriptor inheritable by
    nobody else. Both harnesses are trusted source of the standard library only, loaded once per slot as a module and
    forked from there, so that neither the submission's nor the judge's run pays for compiling them.

    `submission_harness` defines `serve(source: bytes, channel_fd: int) -> None`: called in the submission's process,
    uid and limits; it loads the submission and answers the judge. Stdin is empty; stdout and stderr are captured.
    `judge_harness` defines `judge(payload: bytes, channel_fd: int, emit: Callable[[bytes], None]) -> None`: called in
    the judge's process; each `emit` is one `JudgeFrame` at the caller, at most `JUDGE_FRAME_BYTES` long. The payload
    reaches that process alone, over a pipe: never a file, an argument or the environment.

    A harness that raises ends with a traceback on its stderr and exit code 1. The pair ends when the judge ends: a
    submission that still runs then is `Ending.STOPPED`. One that ends sooner leaves the judge with an end of file.

    For a submission of another language than Python, the submission harness finds `become_program` in its module (None for
    Python): called, it puts the finished program in the process's place, with the stdio that the harness left it. A source
    that does not compile ends with `Ending.COMPILE_ERROR`, and its judge, which never ran, with `Ending.STOPPED`.
    """

    language: str
    source: str
    submission_harness: str
    judge_harness: str
    payloads: tuple[bytes, ...]
    files: tuple[tuple[str, bytes], ...] = ()  # in the submission's work folder
    stop_on_error: bool = False  # skip later payloads after one whose judge does not exit with 0


JUDGE_FRAME_BYTES = 8 * MIB


class Ending(StrEnum):
    """How a case's process tree ended."""

    EXITED = "exited"  # by itself, see exit_code
    SIGNALLED = "signalled"  # killed by a signal not of our sending
    CPU_TIME = "cpu_time"
    WALL_TIME = "wall_time"
    MEMORY = "memory"
    OUTPUT = "output"
    PROCESSES = "processes"
    COMPILE_ERROR = "compile_error"  # never ran; stderr has the compiler's message
    FILE_SIZE = "file_size"  # its files reached file_bytes, or filled the slot's disk, and it failed
    STOPPED = "stopped"  # killed by us for nothing of its doing: its judge was done


@dataclass(frozen=True, slots=True)
class Termination:
    """What one case did. Output is what came before the end, cut at the output limit.

    Of a COMPILE_ERROR, `exit_code` is None where a limit ended the compiler, and `signal` then SIGXCPU for time, else SIGKILL:
    that may come out otherwise next time.
    """

    ending: Ending
    exit_code: int | None
    signal: int | None
    cpu_s: float
    wall_s: float
    memory_mb: float
    stdout: bytes
    stderr: bytes
    tamper: tuple[str, ...] = ()


class Execution(Protocol):
    """Terminations in the order of `Program.stdins`, each as soon as it is known; fewer if stopped early."""

    def __aiter__(self) -> AsyncIterator[Termination]: ...


@dataclass(frozen=True, slots=True)
class JudgeFrame:
    """One `emit` of the judge of payload number `run`."""

    run: int
    data: bytes


@dataclass(frozen=True, slots=True)
class JudgedTermination:
    """How the pair of payload number `run` ended; the last event of that payload."""

    run: int
    submission: Termination
    judge: Termination


class JudgedExecution(Protocol):
    """Frames as the judge emits them, then that payload's `JudgedTermination`; payload after payload, in order."""

    def __aiter__(self) -> AsyncIterator[JudgeFrame | JudgedTermination]: ...


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """Facts for /v1/verifiers, /readyz and the doctor."""

    name: str  # docker, bubblewrap, executor, fake
    isolation: str  # container, namespace, none
    runtime: str  # runc, runsc, bwrap …
    slots: int
    languages: tuple[str, ...] = ("python",)
    versions: dict[str, str] = field(default_factory=dict)  # of languages, as far as known
    profiles: dict[str, str] = field(default_factory=dict)  # "ready", or how far it has come or why it can't be had
    note: str = ""
    details: dict[str, str] = field(default_factory=dict)


class SandboxBackend(Protocol):
    """Makes executions. Started once; `run` may be called concurrently and queues for a slot."""

    async def start(self) -> None:
        """Bring up the slots and prove that limits bite. Raises SandboxFault."""
        ...

    async def aclose(self) -> None:
        """Kill and remove all that start and run made."""
        ...

    def info(self) -> BackendInfo: ...

    def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AbstractAsyncContextManager[Execution]:
        """Take a slot (waiting for at most `deadline_s` seconds), run the program, iterate its terminations.

        Leaving the context early kills what still runs and gives the slot back after its reset.

        Raises:
            SlotWaitTimeout: no slot came free in time; nothing ran.
            SandboxFault: the sandbox itself failed, before or while it ran; what came before is void.
            ProgramRefused: larger than this backend takes.
        """
        ...

    def run_judged(
        self, program: JudgedProgram, limits: Limits, *, judge_limits: Limits | None = None, deadline_s: float | None = None
    ) -> AbstractAsyncContextManager[JudgedExecution]:
        """As `run`, for a judged program. `limits` are the submission's, `judge_limits` the judge's (default: the same).

        The memory limit is the slot's: the larger of the two counts for both together.
        """
        ...

    async def probe(self) -> dict[str, str]:
        """Prove in a real slot that memory, process, time and network limits bite; what was seen, by name.

        Raises SandboxFault when one doesn't.
        """
        ...


class SandboxFault(Exception):
    """The sandbox failed: engine down, image missing, container or runner died. Never the program's doing."""


class ProgramRefused(ValueError):
    """The program, its inputs or its files are larger than the backend takes; nothing ran."""


class SlotWaitTimeout(Exception):
    """No slot came free before the deadline."""
