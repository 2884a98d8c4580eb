"""`verifier-service serve` refuses in words what it can't serve, before anything is started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from verifier_service import server
from verifier_service.cli import app
from verifier_service.settings import Settings


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings that were served; nothing is."""
    seen: list[Settings] = []
    monkeypatch.setattr(server, "run", seen.append)
    monkeypatch.setattr("verifier_service.cli.serve.prepare_sandbox", lambda settings: None)
    return seen


def serve(*options: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["serve", "--log-format", "json", *options], env=environment)


def unused_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def test_options_stand_above_the_environment(served: list[Settings]) -> None:
    port = unused_port()
    done = serve("--port", port, "--slots", "3", VERIFIER_SANDBOX_SLOTS="5", VERIFIER_MATH_WORKERS="7")
    assert done.exit_code == 0, done.output
    assert (served[0].port, served[0].sandbox_slots, served[0].math_workers) == (int(port), 3, 7)


def test_a_setting_that_makes_no_sense_is_named(served: list[Settings]) -> None:
    done = serve(VERIFIER_SANDBOX="chroot", VERIFIER_DEADLINE_S="-1")
    assert done.exit_code == 2
    assert "VERIFIER_SANDBOX:" in done.output
    assert "VERIFIER_DEADLINE_S:" in done.output
    assert not served


def test_a_taken_port_is_named(served: list[Settings]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = serve("--port", str(taken.getsockname()[1]))
    assert done.exit_code == 1
    assert "is taken" in done.output
    assert not served


def test_a_tokens_file_with_a_plain_token_is_refused_without_showing_it(served: list[Settings], tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("hunter2\n", encoding="utf-8")
    done = serve("--port", unused_port(), "--tokens-file", str(tokens))
    assert done.exit_code == 1
    assert "hash-token" in done.output
    assert "hunter2" not in done.output
    assert serve("--port", unused_port(), "--tokens-file", str(tmp_path / "none")).exit_code == 1
    assert not served


def test_an_open_address_without_tokens_is_warned_about(served: list[Settings]) -> None:
    done = serve("--port", unused_port(), "--host", "0.0.0.0", "--log-format", "console")
    assert "VERIFIER_TOKENS_FILE" in done.output
    assert served


def test_ctrl_c_is_no_failure(monkeypatch: pytest.MonkeyPatch, served: list[Settings]) -> None:
    def interrupted(settings: Settings) -> None:
        served.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "run", interrupted)
    done = serve("--port", unused_port())
    assert done.exit_code == 0, done.output
    assert served
