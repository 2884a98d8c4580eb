"""docker compose brings up two locked containers that score all three kinds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[2]
PROJECT = f"reward-verifier-test-{os.getpid()}"
UP_TIMEOUT_S = 600

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(UP_TIMEOUT_S + 120)]


def compose_command() -> list[str]:
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    assert subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0, (
        "neither docker-compose nor the compose plugin is installed: scripts/docker-engine.sh installs one"
    )
    return ["docker", "compose"]


def run(*command: str, timeout_s: float = UP_TIMEOUT_S, port: int = 0) -> str:
    environment = os.environ | {"COMPOSE_PROJECT_NAME": PROJECT, "PORT": str(port)}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    import socket
    import time

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    compose = compose_command()
    wheels = run(str(ROOT / "scripts" / "wheelhouse.sh"))
    print(wheels)
    try:
        run(*compose, "up", "--build", "--detach", port=port)
        address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{address}/readyz", timeout=5).is_success:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.5)
        else:
            logs = subprocess.run(
                [*compose, "logs", "--tail", "40"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
                env=os.environ | {"COMPOSE_PROJECT_NAME": PROJECT, "PORT": str(port)},
            )
            pytest.fail(f"not ready in 120 s:\n{logs.stdout}")
        yield address
    finally:
        subprocess.run(
            [*compose, "down", "--volumes", "--remove-orphans"],
            cwd=ROOT,
            env=os.environ | {"COMPOSE_PROJECT_NAME": PROJECT, "PORT": str(port)},
            capture_output=True,
            check=False,
            timeout=120,
        )


def inspected(service: str) -> dict[str, Any]:
    label = f"label=com.docker.compose.service={service}"
    project = f"label=com.docker.compose.project={PROJECT}"
    (name,) = run("docker", "ps", "--quiet", "--filter", label, "--filter", project).split()
    facts: dict[str, Any] = json.loads(run("docker", "inspect", name))[0]
    return facts


def test_all_three_kinds_are_scored(url: str) -> None:
    tests = {"style": "stdin", "cases": [{"stdin": "1 2\n", "expected_stdout": "3\n"}]}
    right = "<think>add</think>\n```python\nprint(sum(map(int, input().split())))\n```"
    body = {
        "groups": [
            {
                "completions": ["<think>.</think>\\boxed{0.5}"],
                "verifiers": [{"kind": "math", "gold": "\\frac12"}, {"kind": "format"}],
            },
            {"completions": [right, "no program"], "verifiers": [{"kind": "code", "language": "python", "tests": tests}]},
        ]
    }
    answer = httpx.post(f"{url}/score", json=body, timeout=60).json()
    assert [group["rewards"] for group in answer["groups"]] == [[2.0], [1.0, 0.0]]


def test_the_http_process_has_no_docker_socket_no_root_and_no_way_out(url: str) -> None:
    facts = inspected("verifier")
    assert [mount["Destination"] for mount in facts["Mounts"]] == ["/run/verifier"]
    host = facts["HostConfig"]
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    name = facts["Name"].removeprefix("/")
    assert run("docker", "exec", name, "id", "-u").strip() == "10001"
    probe = "import socket; socket.create_connection(('1.1.1.1', 53), timeout=3)"
    reached = subprocess.run(["docker", "exec", name, "python", "-c", probe], capture_output=True, check=False, timeout=30)
    assert reached.returncode != 0


def test_the_executor_gave_up_root_and_has_no_network(url: str) -> None:
    facts = inspected("executor")
    assert facts["HostConfig"]["NetworkMode"] == "none"
    assert facts["HostConfig"]["ReadonlyRootfs"] is True
    name = facts["Name"].removeprefix("/")
    status = run("docker", "exec", name, "cat", "/proc/1/status")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert fields["Uid"].split() == ["10001"] * 4
    assert fields["Gid"].split() == ["10001"] * 4
    assert int(fields["CapEff"], 16) == 0
    assert int(fields["CapPrm"], 16) == 0


def test_the_images_hold_no_compiler_and_no_installer(url: str) -> None:
    for image in ("reward-verifier:latest", "verifier-runner:latest"):
        look = "for tool in gcc cc make pip pip3 git curl wget; do command -v $tool; done; true"
        command = ["docker", "run", "--rm", "--network", "none", "--user", "65534", "--entrypoint", "/bin/sh", image, "-c", look]
        assert run(*command).split() == []
