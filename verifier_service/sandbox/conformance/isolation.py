"""Nothing gets out, nothing crosses to the next program, and nobody but the runner speaks for the sandbox."""

from __future__ import annotations

from verifier_service.sandbox.conformance.programs import Check, expect_output, run, still_well
from verifier_service.sandbox.contract import Ending, SandboxBackend

TIMES = 6  # more programs than slots, so that one of them meets the slot that was touched

_PLACES = """(
    '/tmp', '/var/tmp', '/dev/shm', '/dev', '/run', '/box', '/box/work', '/', '/home', '/usr/lib/python3', '/etc', '/proc',
    '/dev/mqueue', '.',
)"""


# Defines opened(): pipes, sockets and files without a name that this process got open through other processes'
# descriptors. What has a name is guarded by that.
OPEN_DESCRIPTORS = """
import os, stat
def identity(fd):
    found = os.fstat(fd)
    nameless = stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode) or not found.st_nlink
    return (found.st_dev, found.st_ino) if nameless else None
def opened():
    own, got = [None, *map(identity, range(3))], []
    for pid in [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
        for number in range(64):
            for mode in (os.O_RDONLY, os.O_WRONLY):
                try:
                    fd = os.open(f"/proc/{pid}/fd/{number}", mode | os.O_NONBLOCK)
                except OSError:
                    continue
                if identity(fd) not in own:
                    got.append((pid, number, mode))
                os.close(fd)
    return got
"""


async def _plant_and_look(backend: SandboxBackend, plant: str, look: str) -> None:
    await run(backend, plant, wall_time_s=5.0)
    for _ in range(TIMES):
        await expect_output(backend, look, b"clean\n")


async def files_do_not_cross(backend: SandboxBackend) -> None:
    plant = f"""
import os
for place in {_PLACES}:
    for name in ("planted", ".planted"):
        try:
            open(os.path.join(place, name), "w").write("x")
        except OSError:
            pass
    try:
        os.mkdir(os.path.join(place, "planted.d"))
    except OSError:
        pass
"""
    look = f"""
import os
found = [os.path.join(place, name) for place in {_PLACES} if os.path.isdir(place) and os.access(place, os.R_OK)
         for name in os.listdir(place) if "planted" in name]
print(found or "clean")
"""
    await _plant_and_look(backend, plant, look)


async def patches_of_the_interpreter_do_not_cross(backend: SandboxBackend) -> None:
    plant = """
import builtins, collections, json, os, random, sys, types
builtins.planted = json.planted = sys.planted = True
builtins.print = lambda *a, **k: None
sys.modules["planted"] = types.ModuleType("planted")
os.environ["PLANTED"] = "1"
collections.OrderedDict.planted = True
sys.setrecursionlimit(50)
sys.path.insert(0, "/planted")
random.seed(1)
"""
    look = """
import builtins, collections, json, os, sys
bad = [o for o in (builtins, json, sys, collections.OrderedDict) if hasattr(o, "planted")]
bad += [1] if "planted" in sys.modules or "PLANTED" in os.environ or "/planted" in sys.path else []
bad += [2] if sys.getrecursionlimit() < 1000 else []
print(bad or "clean")
"""
    await _plant_and_look(backend, plant, look)


async def processes_sockets_and_shared_memory_do_not_cross(backend: SandboxBackend) -> None:
    plant = """
import os, socket, time
from multiprocessing import shared_memory
s = socket.socket(socket.AF_UNIX)
s.bind(chr(0) + "planted")
s.listen()
t = socket.socket()
t.bind(("127.0.0.1", 4999))
t.listen()
shared_memory.SharedMemory("planted", create=True, size=4096)
if os.fork() == 0:
    os.setsid()
    time.sleep(300)
"""
    look = """
import os, socket
bad = []
for family, address in ((socket.AF_UNIX, chr(0) + "planted"), (socket.AF_INET, ("127.0.0.1", 4999))):
    try:
        with socket.socket(family) as s:
            s.connect(address)
            bad.append(address)
    except OSError:
        pass
bad += [n for n in os.listdir("/dev/shm")] if os.path.isdir("/dev/shm") else []
def uid_of(p):
    return open(f"/proc/{p}/status").read().split("Uid:")[1].split()[0]
mine = [p for p in os.listdir("/proc") if p.isdigit() and uid_of(p) == str(os.getuid())]
if len({open(f"/proc/{p}/stat").read().rpartition(")")[2].split()[3] for p in mine} - {"0", str(os.getsid(0))}) > SHARED:
    bad.append(mine)
print(bad or "clean")
"""
    await _plant_and_look(backend, plant, look.replace("SHARED", "8" if await _shares_uid(backend) else "0"))


async def _shares_uid(backend: SandboxBackend) -> bool:
    """Whether runner and submission share a uid here (bubblewrap of an ordinary user)."""
    end = await run(backend, "import os\nprint(os.stat('/proc/1').st_uid == os.getuid())")
    return end.stdout == b"True\n"


async def the_network_is_nowhere(backend: SandboxBackend) -> None:
    source = """
import os, socket
out = []
for family, address in ((socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET6, ("2001:db8::1", 80))):
    try:
        socket.socket(family, socket.SOCK_DGRAM).connect(address)
        out.append(address)
    except OSError:
        pass
for family in (16, 17, 38, 40):
    try:
        socket.socket(family, socket.SOCK_RAW)
        out.append(family)
    except OSError:
        pass
out += [n for n in os.listdir("/sys/class/net") if n not in ("lo", "bonding_masters")] if os.path.isdir("/sys/class/net") else []
print(out or "clean")
"""
    await expect_output(backend, source, b"clean\n")


async def privileges_are_gone(backend: SandboxBackend) -> None:
    source = """
import ctypes, os
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
bad = []
if 0 in (os.getuid(), os.geteuid(), os.getgid()): bad.append("root")
if any(int(status[k], 16) for k in ("CapEff", "CapPrm", "CapInh")): bad.append("capabilities")
if ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) != 1: bad.append("new privileges")
if status["Seccomp"].strip() != "2": bad.append("no filter")
if os.getgroups() not in ([], [os.getgid()]) and 65534 not in os.getgroups(): bad.append(os.getgroups())
for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chroot("/tmp")):
    try:
        call()
        bad.append("a privileged call worked")
    except OSError:
        pass
for path in ("/usr/bin/x", "/etc/x", "/x", "/opt/verifier/runner/x", "/sys/x"):
    try:
        open(path, "w")
        bad.append(path)
    except OSError:
        pass
print(bad or "clean")
"""
    await expect_output(backend, source, b"clean\n")


async def priority_can_not_be_raised(backend: SandboxBackend) -> None:
    await expect_output(backend, "import os\ntry:\n    print(os.nice(-5))\nexcept OSError:\n    print('refused')", b"refused\n")


async def no_descriptor_but_stdio_is_open(backend: SandboxBackend) -> None:
    source = """
import os
fds = [int(n) for n in os.listdir('/proc/self/fd')]
print(sorted(f for f in fds if os.path.exists(f'/proc/self/fd/{f}')))
"""
    await expect_output(backend, source, b"[0, 1, 2]\n")
    forge = """
import os, struct
body = struct.pack(">II", 1, 0) + b"x" * 100
for fd in range(3, 1024):
    try:
        os.write(fd, struct.pack(">IB", len(body), ord("C")) + body)
    except OSError:
        pass
print("wrote")
"""
    await expect_output(backend, forge, b"wrote\n")
    await still_well(backend)


async def other_processes_can_not_be_read(backend: SandboxBackend) -> None:
    source = """
import os
bad = []
for pid in [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
    for name in ("mem", "environ", "maps", "fd", "root", "cwd", "exe", "stack", "syscall"):
        path = f"/proc/{pid}/{name}"
        try:
            if name in ("root", "cwd", "exe"):
                os.readlink(path)
            elif name == "fd":
                os.listdir(path)
            elif open(path, "rb").read(1):
                bad.append(path)
                continue
            else:
                continue
            bad.append(path)
        except OSError:
            pass
print(bad or "clean")
"""
    await expect_output(backend, source, b"clean\n")


async def descriptors_of_other_processes_can_not_be_opened(backend: SandboxBackend) -> None:
    """Its own pipes have another end in the runner: opening that is no more than it has. So is a device."""
    await expect_output(backend, f"{OPEN_DESCRIPTORS}print(opened() or 'clean')", b"clean\n")


async def the_runner_can_not_be_killed(backend: SandboxBackend) -> None:
    for source in (
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
        "import os, signal\nos.kill(1, signal.SIGKILL)",
        "import os, signal\nos.kill(-1, signal.SIGKILL)",
        "import os, signal\nos.killpg(0, signal.SIGKILL)",
        """
import os, signal
for p in range(1, 200):
    if p != os.getpid():
        for s in (signal.SIGSTOP, signal.SIGKILL):
            try: os.kill(p, s)
            except OSError: pass
""",
    ):
        end = await run(backend, source, wall_time_s=5.0)
        assert end.ending in (Ending.EXITED, Ending.SIGNALLED, Ending.WALL_TIME), end
        await still_well(backend, 3)


_DENIED = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print([libc.ptrace(16, os.getppid(), 0, 0), libc.unshare(0x10000000), libc.mount(b"x", b"/tmp", b"tmpfs", 0, 0)])
"""


async def denied_system_calls_are_refused(backend: SandboxBackend) -> None:
    await expect_output(backend, _DENIED, b"[-1, -1, -1]\n")


async def denied_system_calls_are_told(backend: SandboxBackend) -> None:
    end = await run(backend, _DENIED)
    assert any("ptrace" in sign for sign in end.tamper), end
    end = await run(backend, "print('honest')")
    assert end.tamper == ()


ISOLATION: tuple[Check, ...] = (
    files_do_not_cross,
    patches_of_the_interpreter_do_not_cross,
    processes_sockets_and_shared_memory_do_not_cross,
    the_network_is_nowhere,
    privileges_are_gone,
    priority_can_not_be_raised,
    no_descriptor_but_stdio_is_open,
    other_processes_can_not_be_read,
    descriptors_of_other_processes_can_not_be_opened,
    the_runner_can_not_be_killed,
    denied_system_calls_are_refused,
    denied_system_calls_are_told,
)  # fmt: skip
