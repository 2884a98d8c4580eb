"""Proof, in a real slot, that the limits bite: what /readyz stands on."""

from __future__ import annotations

from verifier_service.sandbox.contract import Ending, Limits, Program, SandboxBackend, SandboxFault, Termination

# Wall time is wide: on a loaded machine, too, the limit that is tried must be the first to bite.
_LIMITS = Limits(cpu_time_s=4.0, wall_time_s=30.0, memory_mb=64, processes=8, output_bytes=65536, file_bytes=65536)

_MEMORY = "x = []\nwhile True:\n    x.append(bytearray(b'x') * (4 << 20))\n"
_PROCESSES = """
import os, time
for _ in range(40):
    if os.fork() == 0:
        time.sleep(5)
        os._exit(0)
"""
_TIME = "import time\ntime.sleep(30)\n"
_NETWORK = """
import socket
for family, address in ((socket.AF_INET, ("192.0.2.1", 9)), (socket.AF_INET6, ("2001:db8::1", 9))):
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.connect(address)
            print("a route out")
    except OSError:
        print("no route")
"""
_RIGHT = "print(sum(map(int, input().split())))\n"


async def _only(backend: SandboxBackend, source: str, limits: Limits, stdin: bytes = b"") -> Termination:
    async with backend.run(Program("python", source, (stdin,)), limits, deadline_s=60.0) as execution:
        async for termination in execution:
            return termination
    raise SandboxFault("the sandbox ran nothing")


async def probe(backend: SandboxBackend) -> dict[str, str]:
    """Run a right program and four that pass a limit. Raises SandboxFault when one of them is not told as it should be."""
    seen: dict[str, str] = {}
    right = await _only(backend, _RIGHT, _LIMITS, b"19 23\n")
    if right.ending is not Ending.EXITED or right.stdout != b"42\n":
        raise SandboxFault(f"a right program ended as {right.ending}, stderr {right.stderr[-300:]!r}")
    seen["program"] = "ran"
    short = Limits(2.0, 0.4, 64, 8, 65536, 65536)
    for name, source, limits, ending in (
        ("memory", _MEMORY, _LIMITS, Ending.MEMORY),
        ("processes", _PROCESSES, _LIMITS, Ending.PROCESSES),
        ("time", _TIME, short, Ending.WALL_TIME),
    ):
        end = await _only(backend, source, limits)
        if end.ending is not ending:
            raise SandboxFault(f"the {name} limit does not bite: the program ended as {end.ending}")
        seen[name] = f"ended as {end.ending}"
    network = await _only(backend, _NETWORK, _LIMITS)
    if network.stdout != b"no route\nno route\n":
        raise SandboxFault(f"the network is reachable: {network.stdout[-200:]!r} {network.stderr[-200:]!r}")
    seen["network"] = "no route out"
    return seen
