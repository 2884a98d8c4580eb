"""A sandbox's entry point: sets limits and the system call filter, then becomes the runner, by exec.

Two processes, since the filter is set with ctypes, which the runner that stays shall never load.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from . import seccomp

LISTENER_FD = 9


def _lower_limit(kind: int, most: int) -> None:
    """Here, before the last exec, so that the kernel lays out memory for the stack that is allowed."""
    _, hard = resource.getrlimit(kind)
    value = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (value, value))


def main() -> None:
    """The runner's configuration is the only argument."""
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 1024), (resource.RLIMIT_STACK, 64 << 20)):
        _lower_limit(kind, most)
    seccomp.drop_inheritable()
    listener = seccomp.install(shared_uid=json.loads(sys.argv[1])["submission_uid"] == os.getuid())
    if listener is not None:
        os.dup2(listener, LISTENER_FD, inheritable=True)
    flag = "notify" if listener is not None else "quiet"
    program = f"import sys; sys.path.insert(0, {sys.path[0]!r}); from runner.main import main; main()"
    flags = ["-I", "-B", "-X", "utf8"]
    os.execv(sys.executable, [sys.executable, *flags, "-c", program, sys.argv[1], flag])  # noqa: S606
