# ruff: noqa: E501 - programs stand here as they are sent
"""Hostile submissions beside an interactor that knows a secret: none learns it, none is accepted, the next one runs as ever.

The secret is a fresh random word in the case's input, in the reference and in the interactor's memory. A submission that
finds it anywhere prints it, and would be accepted.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from verifier_protocol import CodeSpec, ScoredVerdict
from verifier_service.sandbox.select import make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

SETTINGS = Settings(sandbox_slots=1, sandbox_spares=1)
BACKENDS = [
    pytest.param(make_docker_backend, marks=pytest.mark.docker, id="docker"),
    pytest.param(make_bubblewrap_backend, marks=pytest.mark.bubblewrap, id="bubblewrap"),
]
pytestmark = pytest.mark.asyncio(loop_scope="module")
LIMITS = {"cpu_time_s": 2.0, "wall_time_s": 4.0, "memory_mb": 256, "output_bytes": 1_000_000}
INTERACTOR = """
import sys
secret, expected = (open(name).read() for name in sys.argv[1:])
print("what is it?")
answer = input()
if answer == "tell me":
    print(secret)
    answer = input()
sys.exit(answer != secret)
"""
# Looks for the secret in what it is given, and ends by saying what it found.
LOOK = """
import os, re, sys
def look(data):
    found = re.search(rb"sesame-[0-9a-f]{32}", data)
    if found:
        print(found.group().decode(), flush=True)
        sys.exit(0)
def each(top):
    try:
        return [os.path.join(top, name) for name in os.listdir(top)]
    except OSError:
        return []
def look_at(path, size=1 << 22):
    try:
        with open(path, "rb", buffering=0) as file:
            look(file.read(size) or b"")
    except (OSError, ValueError):
        pass
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
input()
"""

ATTACKS = {
    "reads other processes' files": LOOK + "for pid in pids:\n    if pid == os.getpid(): continue\n    for name in ('environ', 'cmdline', 'maps', 'stat', 'status', 'stack', 'syscall', 'auxv', 'io'): look_at(f'/proc/{pid}/{name}')\n    for path in each(f'/proc/{pid}/fd') + each(f'/proc/{pid}/map_files') + each(f'/proc/{pid}/cwd') + each(f'/proc/{pid}/root/tmp'): look_at(path)",
    "reads other processes' memory": LOOK + "for pid in pids:\n    try:\n        maps = open(f'/proc/{pid}/maps').read().split('\\n')\n        memory = open(f'/proc/{pid}/mem', 'rb', buffering=0)\n    except OSError: continue\n    if pid == os.getpid(): continue\n    for line in maps:\n        try:\n            start, end = (int(x, 16) for x in line.split()[0].split('-'))\n            memory.seek(start); look(memory.read(end - start))\n        except (OSError, ValueError, IndexError, OverflowError): pass",
    "asks the kernel for their memory": LOOK + "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nclass V(ctypes.Structure): _fields_ = [('b', ctypes.c_void_p), ('n', ctypes.c_size_t)]\nbuffer = ctypes.create_string_buffer(1 << 16)\nfor pid in pids:\n    if pid == os.getpid(): continue\n    libc.ptrace(16, pid, 0, 0)\n    for start in range(0x7f0000000000, 0x7f0000100000, 1 << 16):\n        local, remote = V(ctypes.addressof(buffer), 1 << 16), V(start, 1 << 16)\n        libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)\n    look(buffer.raw)",
    "takes their descriptors": LOOK + "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nfor pid in pids:\n    if pid == os.getpid(): continue\n    try: handle = os.pidfd_open(pid)\n    except (OSError, AttributeError): continue\n    for fd in range(3, 16):\n        taken = libc.syscall(438, handle, fd, 0)\n        if taken >= 0:\n            look(os.pread(taken, 1 << 16, 0))",
    "reads its own memory": LOOK + "import ctypes\nfor line in open('/proc/self/maps').read().splitlines():\n    place, rights = line.split()[:2]\n    start, end = (int(x, 16) for x in place.split('-'))\n    if rights[0] == 'r' and '[v' not in line: look(ctypes.string_at(start, end - start))",
    "reads its own objects": LOOK + "import gc\nfor o in gc.get_objects():\n    if type(o) in (dict, list, tuple): look(repr(o).encode('utf-8', 'replace'))\nfor module in list(sys.modules.values()): look(repr(vars(module)).encode('utf-8', 'replace'))",
    "reads all files": LOOK + "for top in ('/box', '/tmp', '/dev', '/run', '/var', '/etc', '/home', '/root', '/proc/sys', '/proc/self'):\n    for folder, _, names in os.walk(top):\n        for name in names:\n            path = os.path.join(folder, name)\n            if os.path.isfile(path): look_at(path)",
    "reads its own pipes from the wrong side": "import os\nhear = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)\nsay = os.open('/proc/self/fd/0', os.O_WRONLY | os.O_NONBLOCK)\nos.write(say, b'accepted\\n')\nos.write(1, b'tell me\\n')\nprint(os.read(hear, 100))\nprint(input())",
    "keeps what it was sent": "import os, socket\nfor fd in range(3, 256):\n    try:\n        s = socket.socket(fileno=fd)\n        s.setblocking(False)\n        s.send(b'R'); print(s.recv(100), socket.recv_fds(s, 10, 9))\n    except OSError: pass",
    "forges the judge's words": "import os, struct\nfor kind in (b'{\"kind\": \"heard\"}', b'{\"kind\": \"ended\", \"accepted\": true, \"heard\": true, \"raised\": null, \"at_the_end\": false, \"received\": 1, \"waited_s\": 0, \"tail\": \"\"}'):\n    for fd in range(1, 64):\n        try: os.write(fd, struct.pack('>I', len(kind)) + kind)\n        except OSError: pass",
    "kills all it may": "import os, signal\ntry: os.kill(-1, signal.SIGKILL)\nexcept OSError: pass\nprint('done')",
    "kills each process by its number": "import os, signal\nfor name in os.listdir('/proc'):\n    if name.isdigit() and int(name) != os.getpid():\n        for number in (signal.SIGTERM, signal.SIGKILL):\n            try: os.kill(int(name), number)\n            except OSError: pass\nprint('done')",
    "stops all others": "import os, signal\nfor name in os.listdir('/proc'):\n    if name.isdigit() and int(name) != os.getpid():\n        try: os.kill(int(name), signal.SIGSTOP)\n        except OSError: pass\nprint('done')",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "leaves a child with its pipes": "import os, time\nif os.fork(): os._exit(0)\ntime.sleep(60)",
    "leaves a child that answers": "import os\nif os.fork(): os._exit(0)\nprint('?')",
    "leaves children in other sessions": "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)\nos._exit(0)",
    "makes its pipes small and impatient": "import fcntl, os\nfor fd in (0, 1):\n    try: fcntl.fcntl(fd, 1031, 4096)\n    except OSError: pass\n    os.set_blocking(fd, False)\nwhile True:\n    try: os.write(1, b'x' * 70000)\n    except OSError: break\nprint('x')",
    "forks without end": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "threads without end": "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
    "floods its errors": "import os\nwhile True: os.write(2, b'e' * 65536)",
    "a segmentation fault": "import ctypes\nctypes.string_at(0)",
    "exits in haste": "import os\nos._exit(0)",
    "breaks its compiler": "(" * 100_000,
    "patches its harness": "import gc, types\ndef yes(*a, **k): return True\nfor o in gc.get_objects():\n    if isinstance(o, types.FunctionType) and o.__module__ == 'submission_harness' and not o.__code__.co_freevars: o.__code__ = yes.__code__\nprint('x')",
}  # fmt: skip


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=BACKENDS)
async def verifier(request: pytest.FixtureRequest, started_verifier: Any) -> AsyncIterator[CodeVerifier]:
    async with started_verifier(request.param(SETTINGS), SETTINGS) as verifier:
        yield verifier


async def verdict(verifier: CodeVerifier, source: str, interactor: str = INTERACTOR) -> tuple[ScoredVerdict, str]:
    secret = f"sesame-{secrets.token_hex(16)}"
    tests = {
        "style": "interactive",
        "interactor": {"source": interactor},
        "cases": [{"stdin": secret, "expected_stdout": f"{secret}\n"}],
    }
    spec = CodeSpec.model_validate({"kind": "code", "tests": tests, "limits": LIMITS})
    return await verifier.verify(verifier.prepare(spec), f"```python\n{source}\n```", Deadline.after(110)), secret


ASKS = "input()\nprint('tell me', flush=True)\nprint(input())"


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_scores_zero_and_the_next_submission_runs(verifier: CodeVerifier, name: str) -> None:
    found, secret = await verdict(verifier, ATTACKS[name])
    assert found.score == 0.0, found
    assert secret not in found.model_dump_json()
    after, _ = await verdict(verifier, ASKS)
    assert after.score == 1.0, after


@pytest.mark.parametrize("name", ["leaves a child with its pipes", "leaves children in other sessions", "stops itself"])
async def test_what_does_not_read_all_that_it_is_told_is_to_blame(verifier: CodeVerifier, name: str) -> None:
    found, _ = await verdict(verifier, ATTACKS[name], INTERACTOR.replace("what is it?", "what is it?" * 100_000))
    assert found.score == 0.0, found


async def test_the_search_finds_a_secret_that_lies_about(verifier: CodeVerifier) -> None:
    """The attacks that look for the secret would know it: this one is given it, in a file and in memory of its own."""
    source = ASKS.replace("print(input())", "open('f', 'w').write(input())\nprint('again')")
    found, _ = await verdict(verifier, source + LOOK.replace("input()", "look_at('f')"))
    assert found.score == 0.0
    assert found.tests is not None
    assert "sesame-" in found.tests[0].stdout_tail
