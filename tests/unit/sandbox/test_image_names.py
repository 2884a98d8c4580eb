"""The sandboxes' image is built once for each context, however many checkouts share its name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from verifier_service.sandbox import image

TAG = "verifier-runner:latest"


class Engine:
    """The images of a Docker engine, as far as `image` asks for them."""

    def __init__(self) -> None:
        self.images = self
        self.api = self
        self.held: list[SimpleNamespace] = []
        self.builds = 0

    def build(self, *, tag: str, labels: dict[str, str], **_: object) -> list[dict[str, str]]:
        self.builds += 1
        created = f"2025-01-01T00:00:{self.builds:02}"
        one = SimpleNamespace(id=f"sha256:{self.builds}", tags=[], labels=labels, attrs={"Created": created})
        one.tag = lambda repository, name: self._name(one, f"{repository}:{name}")
        self.held.append(one)
        self._name(one, tag)
        return [{"stream": "done"}]

    def _name(self, one: SimpleNamespace, tag: str) -> None:
        for other in self.held:
            other.tags = [t for t in other.tags if t != tag]
        one.tags.append(tag)

    def get(self, name: str) -> SimpleNamespace:
        for one in self.held:
            if name == one.id or name in one.tags:
                return one
        raise docker.errors.ImageNotFound("no such image")

    def list(self, **_: object) -> list[SimpleNamespace]:
        return list(self.held)

    def remove(self, name: str) -> None:
        one = self.get(name)
        one.tags = [] if name == one.id else [tag for tag in one.tags if tag != name]
        if not one.tags:
            self.held.remove(one)


def ensure_with(engine: Any, digest: str, monkeypatch: pytest.MonkeyPatch, tag: str = TAG) -> str:
    monkeypatch.setattr(image, "context_digest", lambda _profile: digest * 64)
    found = image.ensure(engine, tag)
    assert engine.get(tag).labels[image.DIGEST_LABEL] == digest * 64
    return found


def test_two_checkouts_that_take_turns_build_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    first, second = ensure_with(engine, "a", monkeypatch), ensure_with(engine, "b", monkeypatch)
    assert first != second
    for _ in range(3):
        assert ensure_with(engine, "a", monkeypatch) == first
        assert ensure_with(engine, "b", monkeypatch) == second
    assert engine.builds == 2


def test_an_image_kept_aside_counts_as_there_and_one_of_other_sources_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = Engine()
    ensure_with(engine, "a", monkeypatch)
    ensure_with(engine, "b", monkeypatch)
    monkeypatch.setattr(image, "context_digest", lambda _profile: "a" * 64)
    assert image.is_current(engine, TAG)
    monkeypatch.setattr(image, "context_digest", lambda _profile: "c" * 64)
    assert not image.is_current(engine, TAG)


def test_only_the_newest_few_contexts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    for digest in "abcdefgh":
        ensure_with(engine, digest, monkeypatch)
    assert len(engine.held) == image.KEPT_IMAGES
    assert ensure_with(engine, "h", monkeypatch) == "sha256:8"
    assert ensure_with(engine, "e", monkeypatch) == "sha256:5"
    ensure_with(engine, "i", monkeypatch)
    ensure_with(engine, "e", monkeypatch)
    assert engine.builds == 10  # "e" was the oldest of those kept when "i" came
    assert f"verifier-runner:{image.KEPT_TAG}{'e' * 16}" in engine.get(TAG).tags


def test_names_with_a_registry_or_without_a_tag_are_kept_in_their_own_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    ensure_with(engine, "a", monkeypatch, "registry.example:5000/team/runner:v1")
    assert f"registry.example:5000/team/runner:{image.KEPT_TAG}{'a' * 16}" in engine.held[0].tags
