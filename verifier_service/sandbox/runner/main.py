"""The runner: PID 1 of a sandbox. Reads frames on stdin, writes frames on stdout, and ends when the host goes.

Configuration is one JSON argument.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from . import seccomp, wire
from .cgroup import Cgroup
from .harness import judge_entry, submission_entry
from .host import CANCELLED, Host, Stopped, write
from .languages import available
from .program import program_entry
from .slot import Slot
from .start import LISTENER_FD
from .zygote import ENVIRONMENT, Entry, serve_first

VERSIONS = "/opt/verifier/versions.json"


def _numpy_entry(setup: bytes) -> Entry:
    with suppress(ImportError):  # a program that wants it then fails by itself, as it should
        __import__("numpy")
    return program_entry(setup)


ENTRIES: dict[bytes, Callable[[bytes], Entry]] = {
    b"p": program_entry,
    b"n": _numpy_entry,
    b"s": submission_entry,
    b"j": judge_entry,
}


def _serve(config: dict[str, Any], listener: int | None) -> None:
    host = Host()
    if config["submission_uid"] == os.getuid():
        seccomp.hide_from_equals()
    uids = _mapped(config["submission_uid"]), _mapped(config["judge_uid"])
    slot = Slot(uids, Cgroup(trusted=config["cgroup"]), listener, host)
    hello = {
        "version": wire.VERSION,
        "python": sys.version.split()[0],
        "machine": os.uname().machine,
        "uid": os.getuid(),
        "notify": listener is not None,
        "cgroup": slot.cgroup.memory_bytes() is not None,
        "tasks_peak": slot.cgroup.tasks_peak() is not None,
        "languages": available(_is_here),
        "versions": _versions(),
    }
    host.send(wire.frame(wire.HELLO, json.dumps(hello).encode()))
    try:
        _serve_runs(slot, host)
    finally:
        host.flush()


def _serve_runs(slot: Slot, host: Host) -> None:
    while not slot.dead and not slot.reason:  # with a reason to go, it runs nothing that was sent ahead
        slot.zygotes.prepare()
        kind, body = host.next()
        if kind == wire.RUN:
            run = wire.unpack_run(body)
            host.run_id = run.run_id
            slot.run(run)
        elif kind == wire.BUILD:
            run = wire.unpack_run(body)
            host.run_id = run.run_id
            slot.build(run)
        elif kind == wire.JUDGE:
            judged = wire.unpack_judge(body)
            host.run_id = judged.run_id
            slot.run_judged(judged)
        elif kind == wire.WARM:
            submission, judge, numpy = wire.unpack_warm(body)
            for letter, harness in ((b"s", submission), (b"j", judge)):
                slot.zygotes.sources[harness.name] = harness.source
                slot.zygotes.harness(letter, harness.name, numpy)
        elif kind == wire.NUMPY:
            slot.zygotes.start_numpy()
        elif kind == CANCELLED:
            host.send(wire.frame(wire.DONE, wire.pack_done(wire.unpack_number(body), True, "")))
        elif kind != wire.STOP:
            raise wire.WireError(f"unknown frame kind {kind}")


def _is_here(command: str) -> bool:
    return any(os.access(f"{folder}/{command}", os.X_OK) for folder in ENVIRONMENT["PATH"].split(":"))


def _versions() -> dict[str, str]:
    """What the image says of its languages; nothing where there is no image."""
    try:
        with open(VERSIONS, "rb") as file:
            versions: dict[str, str] = json.load(file)
            return versions
    except (OSError, ValueError):
        return {}


def _mapped(uid: int) -> int:
    """This uid, or one like it where the user namespace has fewer of them (rootless engines)."""
    with open("/proc/self/uid_map") as uid_map:
        spans = [tuple(map(int, line.split())) for line in uid_map]
    if uid == os.getuid() or any(first <= uid < first + count for first, _, count in spans):
        return uid
    most = max(first + count for first, _, count in spans)
    return 1000 + uid % (most - 1000)


def first_zygote(hidden: bool) -> None:
    """The first zygote's process."""
    sys.path.pop(0)
    if hidden:
        seccomp.hide_from_equals()
    serve_first(ENTRIES)


def main() -> None:
    """PID 1, once the container's entry point (see start.py) has done its part."""
    sys.path.pop(0)
    config = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's handler would let a program that shares this uid interrupt PID 1
    try:
        _serve(config, LISTENER_FD if sys.argv[2] == "notify" else None)
    except (Stopped, BrokenPipeError):
        os._exit(0)
    except BaseException:
        with suppress(OSError):
            write(wire.frame(wire.FAULT, traceback.format_exc()[-4000:].encode("utf-8", "replace")))
        os._exit(1)
