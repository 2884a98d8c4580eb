"""Which backend the settings get, and the reason where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from verifier_service.sandbox import select
from verifier_service.sandbox.profiles import ProfiledBackend
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
    assert isinstance(choice.backend, ProfiledBackend)


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


def test_each_profile_has_an_image_of_its_own_name() -> None:
    settings = Settings(sandbox_image="registry.example:5000/team/runner:v3")
    assert settings.image_of("python") == "registry.example:5000/team/runner:v3"
    assert settings.image_of("compiled") == "registry.example:5000/team/runner-compiled:v3"
    assert Settings(sandbox_image="registry.example:5000/runner").image_of("full") == "registry.example:5000/runner-full:latest"


def test_slots_of_the_larger_profiles_may_be_fewer() -> None:
    settings = Settings(sandbox_slots=6, sandbox_other_slots=2)
    assert select.make_docker_backend(settings, profile="python").pool.slots == 6
    assert select.make_docker_backend(settings, profile="compiled").pool.slots == 2


@pytest.mark.parametrize("profiles", ["", "compiled", "python,full,compiled", "python,rust", "python,"])
def test_profiles_that_make_no_sense_are_refused(profiles: str) -> None:
    with pytest.raises(ValidationError):
        Settings(sandbox_profiles=profiles)
