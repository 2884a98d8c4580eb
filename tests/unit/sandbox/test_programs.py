"""What is refused before anything runs, and what containers are made of."""

from __future__ import annotations

import json

import pytest

from verifier_service.sandbox import docker_backend, image
from verifier_service.sandbox.contract import Limits, Program, ProgramRefused
from verifier_service.sandbox.docker_backend import ContainerTemplate
from verifier_service.sandbox.execution import pack_program
from verifier_service.sandbox.runner import wire

TEMPLATE = ContainerTemplate("image", "python", "runc", 512, 1024, 64, 64)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", ".hidden", "a/b", "a\0b", "x" * 200, "..", "é"])
def test_a_file_with_a_path_in_its_name_is_refused(name: str) -> None:
    with pytest.raises(ProgramRefused):
        pack_program(Program("python", "", files=((name, b""),)), Limits())


@pytest.mark.parametrize("program", [Program("esperanto", ""), Program("python", "", ()), Program("python", "", args=("a\0",))])
def test_a_program_that_no_slot_takes_is_refused(program: Program) -> None:
    with pytest.raises(ProgramRefused):
        pack_program(program, Limits())


def test_numpy_is_looked_for_as_a_word() -> None:
    for source, uses in (("import numpy as np", True), ("from numpy import array", True), ("numpyx = 1", False)):
        assert bool(wire.unpack_run(pack_program(Program("python", source), Limits())).flags & wire.USES_NUMPY) is uses


def test_a_lone_surrogate_travels_and_fails_to_compile_there() -> None:
    assert wire.unpack_run(pack_program(Program("python", "x = '\udc80'"), Limits())).source == b"x = '\xed\xb2\x80'"


def test_every_container_is_locked_the_same() -> None:
    made = docker_backend._create_arguments(TEMPLATE, {}, gvisor=False)
    assert made["network_mode"] == "none"
    assert made["read_only"] is True
    assert made["cap_drop"] == ["ALL"]
    assert set(made["cap_add"]) == {"SETUID", "SETGID", "CHOWN", "KILL", "DAC_OVERRIDE", "FOWNER"}
    assert made["security_opt"][0] == "no-new-privileges"
    assert json.loads(made["security_opt"][1].removeprefix("seccomp="))["defaultAction"] == "SCMP_ACT_ERRNO"
    assert made["mem_limit"] == made["memswap_limit"]
    assert made["pids_limit"] > 0
    assert made["log_config"].type == "none"
    assert "privileged" not in made
    assert "volumes" not in made
    assert all("size=" in options and "nr_inodes=" in options for options in made["tmpfs"].values())


def test_no_two_containers_share_a_uid() -> None:
    uids = [
        json.loads(docker_backend._create_arguments(TEMPLATE, {}, gvisor=False)["command"][0])["submission_uid"]
        for _ in range(50)
    ]
    assert len(set(uids)) == 50
    assert min(uids) > 1 << 28


def test_a_container_whose_owner_lives_is_nobodys_to_remove() -> None:
    labels = docker_backend.owner_labels("instance")
    assert not docker_backend._owner_is_gone(labels)
    name = docker_backend.LABEL
    assert docker_backend._owner_is_gone({**labels, f"{name}.started": "1"})
    assert docker_backend._owner_is_gone({**labels, f"{name}.pid": "999999999"})
    assert docker_backend._owner_is_gone({**labels, f"{name}.boot": "another"})
    assert not docker_backend._owner_is_gone({**labels, f"{name}.host": "elsewhere", f"{name}.pid": "999999999"})


def test_the_images_digest_follows_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.context_digest()
    assert before == image.context_digest()
    files = image._context_files()
    assert {"Dockerfile", "runner/main.py", "runner/seccomp.py"} <= {name for name, _ in files}
    monkeypatch.setattr(image, "_context_files", lambda: [*files, ("runner/new.py", b"")])
    assert image.context_digest() != before
