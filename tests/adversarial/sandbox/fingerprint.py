# ruff: noqa: PTH109, PTH112, PTH116, PTH118, PTH123, PTH208 - it looks at descriptors and processes, not at paths
"""All that a program could notice of its surroundings, and that must be the same for every program of a slot.

Runs in the sandbox, alone and as the end of a planting program. It leaves out what names a process (pids), a time, or
the host, and what counts upwards for ever.
"""

import atexit
import builtins
import collections
import contextlib
import ctypes
import decimal
import fcntl
import functools
import gc
import heapq
import io
import itertools
import json
import linecache
import locale
import math
import os
import random
import re
import resource
import signal
import stat
import sys
import termios
import threading
import time
import warnings
import zlib

PLACES = ("/box", "/tmp/.", "/dev", "/var", "/run", "/home", "/root", "/etc", "/opt", "/srv", "/mnt")
STATUS = (
    "SigQ", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
    "Seccomp", "Groups", "Threads", "VmLck", "VmPin",
)  # fmt: skip
WATCHED = (builtins, collections, functools, heapq, io, itertools, json, math, os, random, re, sys, time)


def text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError as error:
        return error.errno


def described(value):
    code = getattr(value, "__code__", None)
    return type(value).__name__, getattr(value, "__qualname__", ""), code and (code.co_filename, zlib.crc32(code.co_code))


def tree():
    found = []
    for place in PLACES:
        for folder, folders, files in os.walk(place):
            for name in folders + files:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    seen = os.lstat(path)
                    extra = os.listxattr(path, follow_symlinks=False)
                    found.append((path, oct(seen.st_mode), seen.st_uid == os.getuid(), seen.st_nlink, extra))
    return sorted(found, key=str)


def space():
    used = {}
    for place in ("/box", "/dev/shm", "/dev"):
        if os.path.isdir(place):
            there = os.statvfs(place)
            used[place] = (there.f_blocks - there.f_bfree, there.f_files - there.f_ffree, oct(os.stat(place).st_mode))
    return used


def descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            kind = stat.S_IFMT(os.fstat(int(name)).st_mode)
            flags = fcntl.fcntl(int(name), fcntl.F_GETFL) & ~os.O_LARGEFILE
            room = fcntl.fcntl(int(name), 1032) if stat.S_ISFIFO(kind) else 0
            found[name] = (kind, flags, room, fcntl.fcntl(int(name), fcntl.F_GETOWN))
    waiting = fcntl.ioctl(0, termios.FIONREAD, bytes(4)) if stat.S_ISFIFO(os.fstat(0).st_mode) else b""
    return sorted(found.items()), list(waiting)


def processes():
    """Those that are neither the runner's nor this one."""
    mine, runners = os.getsid(0), text("/proc/1/stat").rpartition(")")[2].split()[3]
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        fields = str(text(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        if len(fields) > 3 and fields[3] not in (runners, "0", "1") and int(pid) != os.getpid():
            found.append((fields[0] if fields[0] in "TtZX" else "alive", fields[3] == str(mine)))
    return sorted(found)


def network():
    named = [line.split()[7] for line in str(text("/proc/net/unix")).splitlines()[1:] if len(line.split()) > 7]
    counts = {name: len(str(text(f"/proc/net/{name}")).splitlines()) for name in ("tcp", "tcp6", "udp", "udp6", "raw", "netlink")}
    return named, counts, text("/proc/net/dev")


def shared_memory():
    lines = [line.split() for line in str(text("/proc/self/maps")).splitlines()]
    return [line[1:2] + line[5:] for line in lines if "s" in line[1]]


def ipc():
    locks = [line.split()[1:4] for line in str(text("/proc/locks")).splitlines() if "OFDLCK" not in line]  # those are the host's
    return {name: text(f"/proc/sysvipc/{name}") for name in ("shm", "sem", "msg")}, text("/proc/keys"), locks


def scheduling():
    names = ("oom_score_adj", "timerslack_ns", "coredump_filter", "comm", "cmdline", "personality")
    timers = [signal.getitimer(kind) for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]
    policy = os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
    block = ctypes.CDLL(None).syscall(252 if os.uname().machine == "x86_64" else 31, 1, 0)  # ioprio_get
    return {name: text(f"/proc/self/{name}") for name in names}, timers, policy, block, str(text("/proc/self/timers"))


def inotify_instances():
    """How many more of them this user may have."""
    libc = ctypes.CDLL(None)
    taken = []
    while len(taken) < 200 and (fd := libc.inotify_init()) >= 0:
        taken.append(fd)
    for fd in taken:
        os.close(fd)
    return len(taken)


def interpreter():
    handlers = {number: str(signal.getsignal(number)) for number in signal.valid_signals()}
    names = {module.__name__: {name: described(value) for name, value in vars(module).items()} for module in WATCHED}
    for name in ("argv", "stdin", "stdout", "stderr", "modules", "path"):
        names["sys"].pop(name)
    streams = [(s.encoding, s.errors, s.line_buffering) for s in (sys.stdin, sys.stdout, sys.stderr)]
    settings = (
        sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(), sys.dont_write_bytecode,
        str(sys.gettrace()), threading.active_count(), atexit._ncallbacks(), len(warnings.filters), str(decimal.getcontext()),
        locale.setlocale(locale.LC_ALL), len(gc.callbacks), [str(type(finder)) for finder in sys.meta_path], len(sys.path_hooks),
        threading.stack_size(), described(sys.excepthook), described(sys.displayhook), described(threading.excepthook),
    )  # fmt: skip
    lists = sys.path, sorted(sys.path_importer_cache), sorted(map(str, linecache.cache)), sorted(sys.modules)
    return handlers, names, streams, settings, lists, sorted(vars(builtins))


def array_library():
    """Not called by its name here, which would choose the zygote that has it."""
    library = sys.modules.get("numpy")
    if library is None:
        return None
    return library.get_printoptions(), library.geterr(), sorted(vars(library)), described(library.array), described(library.sum)


def fingerprint():
    mask = os.umask(0o22)
    os.umask(mask)
    status = dict(line.split(":", 1) for line in text("/proc/self/status").splitlines())
    return {
        "descriptors": descriptors(),
        "processes": processes(),
        "interpreter": interpreter(),
        "arrays": array_library(),
        "files": tree(),
        "space": space(),
        "environment": dict(os.environ),
        "folder": (os.getcwd(), mask),
        # not the number of processes, which counts the slot's own where all share a uid
        "limits": {kind: resource.getrlimit(kind) for kind in range(16) if kind != resource.RLIMIT_NPROC},
        "status": {name: status.get(name) for name in STATUS},
        "network": network(),
        "shared memory": shared_memory(),
        "ipc": ipc(),
        "scheduling": scheduling(),
        "inotify": inotify_instances(),
    }


REPORT = json.dumps(fingerprint(), sort_keys=True, default=str)
with contextlib.suppress(OSError):
    os.set_blocking(1, True)
while REPORT:
    REPORT = REPORT[os.write(1, REPORT.encode()) :]
