"""The system call filter of everything inside a sandbox, built by hand so that no library is needed.

The container's own profile (image/seccomp.json) allows what an interpreter needs and denies the rest. This filter is
tighter still, holds under bubblewrap too, and can tell the runner: calls that no honest program makes are answered
with EPERM by the runner itself, through a notification, and listed as a tamper sign.
"""

from __future__ import annotations

import errno
import os
import struct
from typing import NamedTuple

KILL = 0x80000000
ERRNO = 0x00050000
NOTIFY = 0x7FC00000
ALLOW = 0x7FFF0000

_LD_W_ABS, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data; arguments are 8 bytes, low word first

# Those that a submission has no honest use for: refused, and told to the runner.
_SIGNS = (
    "ptrace process_vm_readv process_vm_writev unshare setns mount umount2 pivot_root chroot bpf perf_event_open keyctl"
    " add_key request_key userfaultfd kexec_load kexec_file_load init_module finit_module delete_module reboot"
    " open_by_handle_at pidfd_getfd open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr swapon swapoff"
)
# Refused quietly: libraries try some of them and have another way.
_QUIET = (
    "shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink"
    " mq_timedsend mq_timedreceive mq_notify mq_getsetattr acct settimeofday clock_settime clock_adjtime adjtimex"
    " sethostname setdomainname quotactl quotactl_fd nfsservctl syslog lookup_dcookie name_to_handle_at fanotify_init"
    " move_pages migrate_pages kcmp process_madvise process_mrelease vhangup memfd_secret iopl ioperm modify_ldt"
    " uselib ustat sysfs personality seccomp"
)
# As if the kernel were older: libraries then fall back, and clone's flags (unlike clone3's) can be looked at.
_ABSENT = "clone3 io_uring_setup io_uring_enter io_uring_register"

_X86_64 = {
    "shmget": 29, "shmat": 30, "shmctl": 31, "shmdt": 67, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220,
    "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "mq_open": 240, "mq_unlink": 241, "mq_timedsend": 242,
    "mq_timedreceive": 243, "mq_notify": 244, "mq_getsetattr": 245, "ptrace": 101, "process_vm_readv": 310,
    "process_vm_writev": 311, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155,
    "chroot": 161, "bpf": 321, "perf_event_open": 298, "keyctl": 250, "add_key": 248, "request_key": 249,
    "userfaultfd": 323, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "reboot": 169, "open_by_handle_at": 304, "name_to_handle_at": 303, "swapon": 167,
    "swapoff": 168, "acct": 163, "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "adjtimex": 159,
    "sethostname": 170, "setdomainname": 171, "quotactl": 179, "nfsservctl": 180, "syslog": 103, "lookup_dcookie": 212,
    "fanotify_init": 300, "move_pages": 279, "migrate_pages": 256, "kcmp": 312, "vhangup": 153, "iopl": 172,
    "ioperm": 173, "modify_ldt": 154, "uselib": 134, "ustat": 136, "sysfs": 139, "personality": 135, "seccomp": 317,
    "clone": 56, "socket": 41, "ioctl": 16, "prlimit64": 302, "sched_setaffinity": 203, "sched_setscheduler": 144,
    "sched_setparam": 142, "sched_setattr": 314, "setpriority": 141, "ioprio_set": 251,
}  # fmt: skip
_AARCH64 = {
    "shmget": 194, "shmat": 196, "shmctl": 195, "shmdt": 197, "semget": 190, "semop": 193, "semctl": 191,
    "semtimedop": 192, "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187, "mq_open": 180, "mq_unlink": 181,
    "mq_timedsend": 182, "mq_timedreceive": 183, "mq_notify": 184, "mq_getsetattr": 185, "ptrace": 117,
    "process_vm_readv": 270, "process_vm_writev": 271, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39,
    "pivot_root": 41, "chroot": 51, "bpf": 280, "perf_event_open": 241, "keyctl": 219, "add_key": 217,
    "request_key": 218, "userfaultfd": 282, "kexec_load": 104, "kexec_file_load": 294, "init_module": 105,
    "finit_module": 273, "delete_module": 106, "reboot": 142, "open_by_handle_at": 265, "name_to_handle_at": 264,
    "swapon": 224, "swapoff": 225, "acct": 89, "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266,
    "adjtimex": 171, "sethostname": 161, "setdomainname": 162, "quotactl": 60, "nfsservctl": 42, "syslog": 116,
    "lookup_dcookie": 18, "fanotify_init": 262, "move_pages": 239, "migrate_pages": 238, "kcmp": 272, "vhangup": 58,
    "personality": 92, "seccomp": 277, "clone": 220, "socket": 198, "ioctl": 29, "prlimit64": 261, "sched_setaffinity": 122,
    "sched_setscheduler": 119, "sched_setparam": 118, "sched_setattr": 274, "setpriority": 140, "ioprio_set": 30,
}  # fmt: skip
_BOTH = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448,
}  # fmt: skip

# Where all share a uid, these reach the runner and its zygotes: allowed with these first arguments only, which mean the
# caller itself.
_ON_ITSELF = {
    "prlimit64": (0,), "sched_setaffinity": (0,), "sched_setscheduler": (0,), "sched_setparam": (0,), "sched_setattr": (0,),
    "setpriority": (0, 0), "ioprio_set": (1, 0),
}  # fmt: skip

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
_FAMILIES = (1, 2, 10)  # AF_UNIX, and AF_INET(6), whose namespace leads nowhere
_TTY_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX


class Arch(NamedTuple):
    """How one architecture numbers its calls."""

    audit: int
    calls: dict[str, int]
    seccomp: int
    prctl: int


def arch() -> Arch:
    machine = os.uname().machine
    if machine == "x86_64":
        return Arch(0xC000003E, _X86_64 | _BOTH, 317, 157)
    if machine == "aarch64":
        return Arch(0xC00000B7, _AARCH64 | _BOTH, 277, 167)
    raise OSError(f"no system call table for {machine}: the sandbox runs on x86_64 and aarch64")


def _op(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jt, jf, k)


def _answer(numbers: list[int], action: int) -> list[bytes]:
    """Compare the loaded number with each, and answer with the action on the first match."""
    ops = []
    for number in numbers:
        ops += [_op(_JEQ, number, 0, 1), _op(_RET, action)]
    return ops


def _only_with(number: int, arguments: tuple[int, ...]) -> list[bytes]:
    """Refuse the loaded call unless its first arguments are these."""
    ops = [_op(_JEQ, number, 0, 2 * len(arguments) + 2)]
    for index, value in enumerate(arguments):
        last = index == len(arguments) - 1
        ops += [_op(_LD_W_ABS, _ARGS + 8 * index), _op(_JEQ, value, int(last), 0 if last else 2 * (len(arguments) - index - 1))]
    return [*ops, _op(_RET, ERRNO | errno.EPERM), _op(_RET, ALLOW)]


def build(machine: Arch, *, notify: bool, shared_uid: bool = False) -> bytes:
    """The filter as an array of `struct sock_filter`."""
    sign = NOTIFY if notify else ERRNO | errno.EPERM
    calls = machine.calls

    def of(names: str) -> list[int]:
        return [calls[name] for name in names.split() if name in calls]

    ops = [_op(_LD_W_ABS, _ARCH), _op(_JEQ, machine.audit, 1, 0), _op(_RET, KILL), _op(_LD_W_ABS, _NR)]
    if machine.audit == 0xC000003E:  # the x32 numbering would step around every comparison below
        ops += [_op(_JGE, 0x40000000, 0, 1), _op(_RET, KILL)]
    ops += _answer(of(_SIGNS), sign)
    ops += _answer(of(_QUIET), ERRNO | errno.EPERM)
    ops += _answer(of(_ABSENT), ERRNO | errno.ENOSYS)
    ops += [_op(_JEQ, calls["clone"], 0, 4), _op(_LD_W_ABS, _ARGS), _op(_JSET, _NEW_NAMESPACES, 0, 1)]
    ops += [_op(_RET, sign), _op(_RET, ALLOW)]
    ops += [_op(_JEQ, calls["socket"], 0, len(_FAMILIES) + 3), _op(_LD_W_ABS, _ARGS)]
    ops += [_op(_JEQ, family, len(_FAMILIES) - i, 0) for i, family in enumerate(_FAMILIES)]
    ops += [_op(_RET, ERRNO | errno.EAFNOSUPPORT), _op(_RET, ALLOW)]
    ops += [_op(_JEQ, calls["ioctl"], 0, 5), _op(_LD_W_ABS, _ARGS + 8)]
    ops += [_op(_JEQ, _TTY_INJECTION[0], 1, 0), _op(_JEQ, _TTY_INJECTION[1], 0, 1)]
    ops += [_op(_RET, ERRNO | errno.EPERM), _op(_RET, ALLOW)]
    for name, arguments in _ON_ITSELF.items() if shared_uid else ():
        ops += _only_with(calls[name], arguments)
    ops.append(_op(_RET, ALLOW))
    return b"".join(ops)


def install(*, shared_uid: bool) -> int | None:
    """Filter this process and all that it will fork or exec; the notification listener, or None without one.

    `shared_uid`: submissions have this process's uid, and could change what it and its zygotes may use.

    Raises OSError when no filter at all can be set.
    """
    import ctypes  # not at the top: zygotes never load it, the process that installs the filter execs away

    libc = ctypes.CDLL(None, use_errno=True)
    machine = arch()
    if libc.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
        raise OSError(ctypes.get_errno(), "no_new_privs could not be set")
    for notify in (True, False):
        code = ctypes.create_string_buffer(build(machine, notify=notify, shared_uid=shared_uid))
        program = struct.pack("@HP", (len(code) - 1) // 8, ctypes.addressof(code))
        listener = libc.syscall(machine.seccomp, 1, 8 if notify else 0, program)
        if listener >= 0:
            return int(listener) if notify else None
    raise OSError(ctypes.get_errno(), "the seccomp filter could not be set")


def drop_inheritable() -> None:
    """Clear the capabilities that exec would hand on; permitted ones stay, and go when a child leaves uid 0."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("=Ii", 0x20080522, 0)
    sets = ctypes.create_string_buffer(24)  # two words each of effective, permitted, inheritable, interleaved
    if libc.capget(header, sets) == 0:
        low_effective, low_permitted, _, high_effective, high_permitted, _ = struct.unpack("=6I", sets.raw)
        libc.capset(header, struct.pack("=6I", low_effective, low_permitted, 0, high_effective, high_permitted, 0))
    libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL


def hide_from_equals() -> None:
    """Where submission and runner share a uid: nobody of it may read or trace this process and its forks."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(4, 0, 0, 0, 0) != 0:  # PR_SET_DUMPABLE
        raise OSError(ctypes.get_errno(), "the runner could not be hidden")


_RECEIVE, _SEND = 0xC0502100, 0xC0182101


def answer_one(listener: int) -> str | None:
    """Refuse one waiting call with EPERM; its name, or None if its caller is gone meanwhile."""
    import fcntl

    notice = bytearray(80)
    try:
        fcntl.ioctl(listener, _RECEIVE, notice)
        (ticket,) = struct.unpack_from("=Q", notice)
        (number,) = struct.unpack_from("=i", notice, 16)
        fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", ticket, 0, -errno.EPERM, 0))
    except OSError:
        return None
    return next((name for name, value in arch().calls.items() if value == number), str(number))
