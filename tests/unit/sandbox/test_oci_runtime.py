"""An engine without the runtime that was asked for is told before anything is built or started, and gVisor gets its own
container."""

from __future__ import annotations

import json
from typing import Any, cast

import docker.errors
import pytest

import docker
from verifier_service.cli.terminal import prepare_sandbox
from verifier_service.sandbox import docker_backend, image, select
from verifier_service.sandbox.contract import SandboxFault
from verifier_service.sandbox.docker_backend import ContainerTemplate, DockerSlots, _create_arguments
from verifier_service.sandbox.oci_runtime import RuntimeMissing, is_gvisor, lack_of_runtime
from verifier_service.settings import Settings

RUNC = {"runc": {"path": "runc"}, "io.containerd.runc.v2": {"path": "runc"}}


class Engine:
    """An engine that answers, with these runtimes; whatever else it is asked is a failure of the test."""

    def __init__(self, runtimes: dict[str, Any] | None) -> None:
        self._info = {} if runtimes is None else {"Runtimes": runtimes}
        self.containers = self

    def ping(self) -> bool:
        return True

    def info(self) -> dict[str, Any]:
        return self._info

    def list(self, **_: object) -> list[Any]:
        return []

    def close(self) -> None: ...


def template(runtime: str) -> ContainerTemplate:
    return ContainerTemplate("image", "python", runtime, 512, 1024, 64, 64)


def slots(engine: Engine, runtime: str) -> DockerSlots:
    return DockerSlots(lambda: cast("docker.DockerClient", engine), template(runtime))


def test_a_registered_runtime_lacks_nothing() -> None:
    assert lack_of_runtime("runc", RUNC) is None
    assert lack_of_runtime("runsc", {**RUNC, "runsc": {"path": "/usr/bin/runsc"}}) is None


def test_a_runtime_that_is_not_registered_is_named_with_those_that_are_and_how_to_mend_it() -> None:
    lack = lack_of_runtime("runsc", RUNC)
    assert lack is not None
    for word in ("runsc", "io.containerd.runc.v2, runc", "/etc/docker/daemon.json", "restart", "VERIFIER_SANDBOX_RUNTIME"):
        assert word in lack
    assert "it has none" in str(lack_of_runtime("runsc", {}))


@pytest.mark.parametrize("shim", ["io.containerd.runsc.v1", "/opt/bin/containerd-shim-runsc-v1"])
def test_a_shim_needs_no_registration(shim: str) -> None:
    assert lack_of_runtime(shim, RUNC) is None
    assert is_gvisor(shim, RUNC)


def test_gvisor_is_known_by_its_name_its_program_or_its_shim() -> None:
    assert is_gvisor("runsc", {"runsc": {}})
    assert is_gvisor("guarded", {"guarded": {"path": "/usr/local/bin/runsc", "runtimeArgs": ["--platform=systrap"]}})
    assert is_gvisor("guarded", {"guarded": {"runtimeType": "io.containerd.runsc.v1"}})
    assert not is_gvisor("runc", RUNC)
    assert not is_gvisor("crun", {**RUNC, "crun": {"path": "/usr/bin/crun"}, "runsc": {"path": "runsc"}})


@pytest.mark.parametrize("runtimes", [RUNC, {}, None])
def test_a_start_without_the_runtime_fails_before_an_image_is_built(
    monkeypatch: pytest.MonkeyPatch, runtimes: dict[str, Any] | None
) -> None:
    monkeypatch.setattr(image, "ensure", lambda *_: pytest.fail("an image was built"))
    with pytest.raises(RuntimeMissing, match=r"no runtime named runsc.*daemon\.json"):
        slots(Engine(runtimes), "runsc").prepare()


def test_the_preparation_of_a_command_says_so_first_and_speaks_of_no_registry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(select, "lack_of_engine", lambda: None)
    monkeypatch.setattr(docker, "from_env", lambda **_: Engine(RUNC))
    monkeypatch.setattr(image, "is_current", lambda *_: pytest.fail("an image was looked for"))
    prepare_sandbox(Settings(sandbox="docker", sandbox_runtime="runsc"))
    said = capsys.readouterr().err
    assert "no runtime named runsc" in said
    assert "registry" not in said


def test_an_engine_that_does_not_tell_its_runtimes_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Engine) -> dict[str, Any]:
        raise docker.errors.APIError("gone")

    monkeypatch.setattr(Engine, "info", refuse)
    with pytest.raises(SandboxFault, match="gone"):
        slots(Engine(RUNC), "runc").prepare()


def test_a_start_learns_whether_its_runtime_is_gvisor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "ensure", lambda *_: "sha256:0")
    for runtime, path, gvisor in (("runc", "runc", False), ("runsc", "runsc", True), ("guarded", "/usr/bin/runsc", True)):
        maker = slots(Engine({**RUNC, runtime: {"path": path}}), runtime)
        maker.prepare()
        assert maker.gvisor is gvisor


def test_runc_holds_the_program_by_its_cgroup_and_gvisor_leaves_that_to_the_runner() -> None:
    plain = _create_arguments(template("runc"), {}, gvisor=False)
    assert json.loads(plain["command"][0])["cgroup"] is True
    assert plain["mem_limit"] == f"{512 + docker_backend.RUNNER_MEMORY_MB}m"
    inside = _create_arguments(template("runsc"), {}, gvisor=True)
    assert json.loads(inside["command"][0])["cgroup"] is False
    assert int(inside["mem_limit"].removesuffix("m")) >= 1024 + 2 * 64 + docker_backend.GVISOR_MEMORY_MB
    assert inside["memswap_limit"] == inside["mem_limit"]
    assert inside["pids_limit"] == docker_backend.GVISOR_TASKS * plain["pids_limit"]
    same = {"network_mode", "ipc_mode", "read_only", "cap_drop", "cap_add", "security_opt", "tmpfs", "nano_cpus", "ulimits"}
    assert {name: plain[name] for name in same} == {name: inside[name] for name in same}


async def test_the_memory_of_a_gvisor_container_is_not_moved() -> None:
    class Container:
        moved = 0

        def update(self, **_: object) -> None:
            self.moved += 1

    for movable, times in ((True, 1), (False, 0)):
        container = Container()
        slot = docker_backend.DockerSlot(container, cast("Any", None), 512, movable=movable)
        await slot.fit_memory(512)
        await slot.fit_memory(128)
        assert container.moved == times
