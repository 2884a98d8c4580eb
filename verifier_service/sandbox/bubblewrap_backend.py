"""Slots that are bubblewrap boxes: namespaces, rlimits and the same runner and system call filter, without an engine.

Weaker than a container: no cgroup holds memory, CPU and process count, so the runner watches the tree and kills, with
rlimits behind it. Started by root, a box has the uids that it wants; started by an ordinary user it has one, and runner,
submission and judge share it: the runner is PID 1 of its namespace, which no signal from inside reaches, and what it
forks can't be inspected from the side.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from verifier_service.sandbox.contract import BackendInfo, SandboxFault
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.pool import Pool, PoolEvents
from verifier_service.sandbox.pooled import Compiling, PooledBackend, languages_of, versions_of
from verifier_service.sandbox.runner import wire

HELLO_S = 30.0
RUNNER_FOLDER = Path(__file__).parent / "runner"
RUNNER_PLACE = "/opt/verifier/runner"
CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
_START = "import sys; sys.path.insert(0, '/opt/verifier'); from runner.start import main; main()"
_OLDEST_PYTHON = (3, 11)
OF_LANGUAGES = ("java-*-openjdk", "ssl/openssl.cnf", "mono", "php", "ghc", "R", "fpc*.cfg")  # what their runtimes read in /etc


@functools.cache
def _system_python() -> str:
    """The interpreter of the boxes: Debian's own if it is new enough, since its packages (numpy) come with it."""
    candidate = "/usr/bin/python3"
    if Path(candidate).exists():
        said = subprocess.run(
            [candidate, "-I", "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False
        )
        if said.returncode == 0 and tuple(map(int, said.stdout.split())) >= _OLDEST_PYTHON:
            return candidate
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")


def bwrap_command(tmpfs_mb: int) -> list[str]:
    """The box, up to the program: an empty root, /usr to read, two small tmpfs to write, no network, nothing shared."""
    size = str(tmpfs_mb << 20)
    command = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.getuid() == 0:
        command += ["--cap-drop", "ALL"]
        for capability in CAPABILITIES:
            command += ["--cap-add", capability]
    else:
        command += ["--unshare-user", "--uid", "1000", "--gid", "1000"]
    command += ["--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
    command += ["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "LANG", "C.UTF-8"]
    command += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/") / name
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            command += ["--ro-bind", str(path), str(path)]
    of_languages = sorted(str(path) for pattern in OF_LANGUAGES for path in Path("/etc").glob(pattern))
    shared = ["/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", *of_languages]
    folders = {str(folder) for entry in (*shared, RUNNER_PLACE) for folder in Path(entry).parents} - {"/"}
    for folder in sorted(folders):
        command += ["--dir", folder]  # else made for its first entry, and for root alone
    for entry in shared:
        command += ["--ro-bind-try", entry, entry]
    if not sys.base_prefix.startswith("/usr"):
        command += ["--ro-bind-try", sys.base_prefix, sys.base_prefix]
    command += ["--proc", "/proc", "--dev", "/dev"]
    for place, mode in (("/box", "0711"), ("/dev/shm", "1777")):  # noqa: S108 - mounts of the box's own
        command += ["--perms", mode, "--size", size, "--tmpfs", place]
    command += ["--symlink", "/box/work", "/tmp", "--dir", "/var", "--symlink", "/box/work", "/var/tmp"]  # noqa: S108
    command += [
        "--ro-bind",
        str(RUNNER_FOLDER),
        RUNNER_PLACE,
        "--remount-ro",
        "/",
        "--remount-ro",
        "/dev",
        "--chdir",
        "/",
    ]
    return command


def try_bubblewrap() -> str | None:
    """Why no box can be made here, or None. Blocking, some milliseconds."""
    if shutil.which("bwrap") is None:
        return "bwrap is not installed (apt-get install bubblewrap)"
    command = [*bwrap_command(1), _system_python(), "-I", "-c", "print('ok')"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode == 0 and done.stdout == "ok\n":
        return None
    return done.stderr.strip()[-300:] or f"it ended with {done.returncode}"


class BubblewrapSlot:
    """One box."""

    def __init__(self, process: asyncio.subprocess.Process, link: RunnerLink, stderr: IO[bytes]) -> None:
        self._process = process
        self._stderr = stderr
        self.link = link
        self.memory_mb = 0

    async def fit_memory(self, memory_mb: int) -> None:
        """Nothing to do: each program's limit goes to the runner with it."""

    def rests_at(self, resting_mb: int) -> None:
        """Nothing to do: the runner counts a program's processes alone."""

    async def destroy(self) -> None:
        self.link.close()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        await asyncio.shield(self._process.wait())
        self._stderr.close()


class BubblewrapSlots:
    """Makes slots that are boxes."""

    def __init__(self, *, tmpfs_mb: int) -> None:
        self._tmpfs_mb = tmpfs_mb
        self.hello: dict[str, Any] = {}

    def _config(self) -> str:
        if os.getuid() == 0:
            submission = secrets.randbelow(1 << 28) * 2 + (1 << 29)
            uids = (submission, submission + 1)
        else:
            uids = (1000, 1000)
        return json.dumps({"submission_uid": uids[0], "judge_uid": uids[1], "cgroup": False})

    async def make(self) -> BubblewrapSlot:
        python = await asyncio.to_thread(_system_python)
        command = [*bwrap_command(self._tmpfs_mb), python, "-I", "-B", "-c", _START, self._config()]
        ours, theirs = socket.socketpair()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the slot
        link = RunnerLink(demux=False)
        link.read_stderr = lambda: b"" if stderr.closed else os.pread(stderr.fileno(), 8192, 0)
        try:
            ours.setblocking(False)
            await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=ours)
            process = await asyncio.create_subprocess_exec(
                *command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=stderr.fileno()
            )
        except BaseException as error:
            link.close()
            ours.close()
            stderr.close()
            if isinstance(error, OSError):
                raise SandboxFault(f"bubblewrap could not be started: {error}") from error
            raise
        finally:
            theirs.close()
        slot = BubblewrapSlot(process, link, stderr)
        try:
            async with asyncio.timeout(HELLO_S):
                kind, body = await link.receive()
            if kind != wire.HELLO:
                raise SandboxFault("the runner did not begin with hello")
            self.hello = json.loads(body)
        except TimeoutError:
            await slot.destroy()
            raise SandboxFault(f"a box's runner did not say hello within {HELLO_S:.0f} s") from None
        except BaseException:
            await slot.destroy()
            raise
        return slot


class BubblewrapBackend(PooledBackend):
    """Sandboxes in namespaces, without an engine."""

    def __init__(
        self,
        maker: BubblewrapSlots,
        *,
        slots: int,
        spares: int,
        recycle_after: int,
        reuse: bool,
        compiling: Compiling,
        events: PoolEvents | None = None,
    ) -> None:
        pool = Pool(maker, slots=slots, spares=spares, recycle_after=recycle_after, events=events)
        super().__init__(pool, reuse=reuse, compiling=compiling)
        self._maker = maker

    def info(self) -> BackendInfo:
        return BackendInfo(
            name="bubblewrap",
            isolation="namespace",
            runtime="bwrap",
            slots=self.pool.slots,
            languages=languages_of(self._maker.hello),
            versions=versions_of(self._maker.hello),
            note="namespaces and rlimits, no container: memory, CPU and processes are watched rather than held by a cgroup",
            details={"python": str(self._maker.hello.get("python", ""))},
        )
