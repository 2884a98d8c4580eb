"""Which backend the settings get, and the reason where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier_service.sandbox import select
from verifier_service.sandbox.docker_backend import DockerBackend
from verifier_service.sandbox.remote import RemoteBackend
from verifier_service.settings import Settings


async def test_off_is_off_and_says_so() -> None:
    choice = await select.choose_backend(Settings(sandbox="off"))
    assert choice.backend is None
    assert "off" in choice.reason


async def test_the_executor_is_taken_when_its_socket_is_set(tmp_path: Path) -> None:
    choice = await select.choose_backend(Settings(executor_socket=tmp_path / "executor.sock"))
    assert isinstance(choice.backend, RemoteBackend)
    choice = await select.choose_backend(Settings(sandbox="executor"))
    assert choice.backend is None
    assert "VERIFIER_EXECUTOR_SOCKET" in choice.reason


async def test_an_engine_that_answers_is_taken_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "lack_of_engine", lambda: None)
    choice = await select.choose_backend(Settings())
    assert isinstance(choice.backend, DockerBackend)


async def test_without_engine_and_bubblewrap_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "lack_of_engine", lambda: "no Docker engine answers")
    monkeypatch.setattr("shutil.which", lambda name: None)
    choice = await select.choose_backend(Settings())
    assert choice.backend is None
    assert "no Docker engine answers" in choice.reason
    assert "apt-get install bubblewrap" in choice.reason
    choice = await select.choose_backend(Settings(sandbox="docker"))
    assert choice.backend is None
    assert "start one" in choice.reason


async def test_minimum_isolation_refuses_bubblewrap_even_when_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "lack_of_engine", lambda: "no Docker engine answers")
    for wish in ("auto", "bubblewrap"):
        choice = await select.choose_backend(Settings(sandbox=wish, minimum_isolation="container"))
        assert choice.backend is None
        assert "VERIFIER_MINIMUM_ISOLATION" in choice.reason


async def test_bubblewrap_that_does_not_work_is_told_with_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/bwrap")
    monkeypatch.setattr(select, "try_bubblewrap", lambda: "No permissions to create new namespace")
    choice = await select.choose_backend(Settings(sandbox="bubblewrap"))
    assert choice.backend is None
    assert "No permissions" in choice.reason
