"""The system call filter, run by an interpreter of its own byte code: what it allows, refuses and reports."""

from __future__ import annotations

import errno
import struct

import pytest

from verifier_service.sandbox.runner import seccomp
from verifier_service.sandbox.runner.seccomp import ALLOW, ERRNO, KILL, NOTIFY, Arch

ARCHES = {
    "x86_64": Arch(0xC000003E, seccomp._X86_64 | seccomp._BOTH, 317, 157),
    "aarch64": Arch(0xC00000B7, seccomp._AARCH64 | seccomp._BOTH, 277, 167),
}


def answer(
    machine: Arch, number: int, *arguments: int, audit: int | None = None, notify: bool = True, shared_uid: bool = False
) -> int:
    """What the kernel would answer for this call."""
    audit = machine.audit if audit is None else audit
    data = struct.pack("=IIQ6Q", number, audit, 0, *(arguments + (0,) * (6 - len(arguments))))
    program = seccomp.build(machine, notify=notify, shared_uid=shared_uid)
    ops = [struct.unpack_from("=HBBI", program, i) for i in range(0, len(program), 8)]
    at, word = 0, 0
    while True:
        code, jump_true, jump_false, k = ops[at]
        at += 1
        if code == 0x20:
            (word,) = struct.unpack_from("=I", data, k)
        elif code == 0x06:
            return int(k)
        else:
            hit = {0x15: word == k, 0x35: word >= k, 0x45: bool(word & k)}[code]
            at += jump_true if hit else jump_false


@pytest.fixture(params=ARCHES)
def machine(request: pytest.FixtureRequest) -> Arch:
    return ARCHES[request.param]


def test_what_no_honest_program_calls_is_reported(machine: Arch) -> None:
    for name in ("ptrace", "process_vm_readv", "process_vm_writev", "unshare", "setns", "mount", "bpf", "keyctl", "userfaultfd"):
        assert answer(machine, machine.calls[name]) == NOTIFY, name
        assert answer(machine, machine.calls[name], notify=False) == ERRNO | errno.EPERM, name


def test_shared_memory_that_outlives_a_process_is_refused(machine: Arch) -> None:
    for name in ("shmget", "msgget", "semget", "mq_open"):
        assert answer(machine, machine.calls[name]) == ERRNO | errno.EPERM


def test_namespaces_are_refused_and_threads_allowed(machine: Arch) -> None:
    clone = machine.calls["clone"]
    assert answer(machine, clone, 0x003D0F00) == ALLOW  # what pthread_create asks for
    assert answer(machine, clone, 17) == ALLOW  # fork
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(machine, clone, flag | 17) == NOTIFY
    assert answer(machine, machine.calls["clone3"]) == ERRNO | errno.ENOSYS
    assert answer(machine, machine.calls["io_uring_setup"]) == ERRNO | errno.ENOSYS


def test_only_local_and_internet_sockets_are_made(machine: Arch) -> None:
    for family in (1, 2, 10):
        assert answer(machine, machine.calls["socket"], family) == ALLOW
    for family in (0, 3, 16, 17, 38, 40):
        assert answer(machine, machine.calls["socket"], family) == ERRNO | errno.EAFNOSUPPORT


def test_a_terminal_can_not_be_typed_into(machine: Arch) -> None:
    ioctl = machine.calls["ioctl"]
    assert answer(machine, ioctl, 0, 0x5412) == ERRNO | errno.EPERM
    assert answer(machine, ioctl, 0, 0x541C) == ERRNO | errno.EPERM
    assert answer(machine, ioctl, 0, 0x5401) == ALLOW


def test_another_numbering_of_calls_is_deadly(machine: Arch) -> None:
    assert answer(machine, 1, audit=0x40000003) == KILL
    if machine is ARCHES["x86_64"]:
        assert answer(machine, 0x40000000 + 101) == KILL


def test_all_else_is_allowed(machine: Arch) -> None:
    denied = set(machine.calls.values())
    assert all(answer(machine, number) == ALLOW for number in range(440) if number not in denied)


@pytest.mark.parametrize("name", sorted(seccomp._ON_ITSELF))
def test_where_all_share_a_uid_what_a_process_may_use_is_changed_by_itself_alone(machine: Arch, name: str) -> None:
    number, own = machine.calls[name], seccomp._ON_ITSELF[name]
    assert answer(machine, number, *own, shared_uid=True) == ALLOW
    for index in range(len(own)):
        other = [value + 7 * (place == index) for place, value in enumerate(own)]
        assert answer(machine, number, *other, shared_uid=True) == ERRNO | errno.EPERM
        assert answer(machine, number, *other) == ALLOW
    assert answer(machine, machine.calls["socket"], 1, shared_uid=True) == ALLOW
