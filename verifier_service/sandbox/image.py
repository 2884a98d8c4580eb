"""The sandbox images, one a profile: the build context is assembled from this package, in a checkout and in an installed
wheel alike, the packages to install from the table of languages.

An image carries the digest of its context and packages as a label, so that a changed runner is never served by an old
image, and in a second tag, so that two checkouts that share a name on one engine don't build it again each time the other
was started.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker.errors
import requests.exceptions
from docker.utils import parse_repository_tag

import docker
from verifier_service.sandbox.contract import SandboxFault
from verifier_service.sandbox.runner.languages import PROFILES, packages_of

HERE = Path(__file__).parent
DIGEST_LABEL = "io.verifier.sandbox.context"
PROFILE_LABEL = "io.verifier.sandbox.profile"
KEPT_TAG = "context-"
KEPT_IMAGES = 4  # of different contexts
SILENCE_S = 900  # that a step of a build may say nothing
_SAID = 400  # characters of a failed build's last words
SECCOMP_PROFILE = HERE / "image" / "seccomp.json"


def _context_files() -> list[tuple[str, bytes]]:
    files = [(name, (HERE / "image" / name).read_bytes()) for name in ("Dockerfile", "install.sh", "full.sh")]
    files += [(f"runner/{path.name}", path.read_bytes()) for path in sorted((HERE / "runner").glob("*.py"))]
    return files


def _build_arguments(profile: str) -> dict[str, str]:
    """The packages of a profile and of those before it; each profile installs in a layer of its own."""
    wanted = PROFILES[: PROFILES.index(profile) + 1]
    return {f"{name.upper()}_PACKAGES": " ".join(packages_of(name)) for name in wanted}


def context_digest(profile: str = "python") -> str:
    """SHA-256 over names and contents of the build context, and the packages."""
    digest = hashlib.sha256(json.dumps(_build_arguments(profile)).encode())
    for name, data in _context_files():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _context_tar() -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in _context_files():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(data))
    buffer.seek(0)
    return buffer


def is_current(client: docker.DockerClient, tag: str, profile: str = "python") -> bool:
    """Whether an image made of this package's context is there, under its name or kept aside: nothing has to be built."""
    digest = context_digest(profile)
    return _is_of(digest, client, tag) or _is_of(digest, client, _kept_name(tag, digest))


def ensure(client: docker.DockerClient, tag: str, profile: str = "python", given_up: Callable[[], bool] = lambda: False) -> str:
    """Build the profile's image if it is missing or out of date; its id. Blocking: minutes at the first time.

    `given_up` is asked at each line of a build, which ends when it says so.

    Raises SandboxFault with the end of the build's output.
    """
    digest = context_digest(profile)
    repository, name = _repository_and_name(tag)
    kept_name = _kept_name(tag, digest)
    if not _is_of(digest, client, tag):
        before = _image(client, tag)
        if _is_of(digest, client, kept_name):
            client.images.get(kept_name).tag(repository, name)
        else:
            _build(client, tag, profile, given_up)
        if before is not None:
            _drop_nameless(client, str(before.id))
    image = client.images.get(tag)
    if kept_name not in image.tags:
        image.tag(repository, kept_name.removeprefix(f"{repository}:"))
        _drop_oldest(client, repository, kept_name)
    return str(image.id)


def _repository_and_name(tag: str) -> tuple[str, str]:
    repository, name = parse_repository_tag(tag)
    return repository, name or "latest"


def _kept_name(tag: str, digest: str) -> str:
    return f"{_repository_and_name(tag)[0]}:{KEPT_TAG}{digest[:16]}"


def _image(client: docker.DockerClient, tag: str) -> Any:
    try:
        return client.images.get(tag)
    except docker.errors.ImageNotFound:
        return None


def _is_of(digest: str, client: docker.DockerClient, tag: str) -> bool:
    image = _image(client, tag)
    return image is not None and bool(image.labels.get(DIGEST_LABEL) == digest)


def _drop_nameless(client: docker.DockerClient, image_id: str) -> None:
    """Only what no name holds: removing by id would take the last name away, too."""
    image = _image(client, image_id)
    if image is not None and not image.tags:
        with suppress(docker.errors.APIError):  # a container may still use it
            client.images.remove(image_id)


def _drop_oldest(client: docker.DockerClient, repository: str, mine: str) -> None:
    """Of the contexts kept aside in this repository, all but our own and the newest few."""
    kept: list[tuple[str, str]] = []
    for image in client.images.list(name=repository, filters={"label": DIGEST_LABEL}):
        created = str(image.attrs.get("Created", ""))
        kept += [(created, tag) for tag in image.tags if tag.startswith(f"{repository}:{KEPT_TAG}") and tag != mine]
    for _, tag in sorted(kept, reverse=True)[KEPT_IMAGES - 1 :]:
        with suppress(docker.errors.APIError):
            client.images.remove(tag)


def _build(client: docker.DockerClient, tag: str, profile: str, given_up: Callable[[], bool]) -> None:
    said: list[str] = []
    try:
        stream: Any = client.api.build(
            fileobj=_context_tar(),
            custom_context=True,
            tag=tag,
            rm=True,
            forcerm=True,
            decode=True,
            timeout=SILENCE_S,
            buildargs=_build_arguments(profile),
            labels={DIGEST_LABEL: context_digest(profile), PROFILE_LABEL: profile},
        )
        for event in stream:
            said.append(str(event.get("stream") or event.get("error") or ""))
            if given_up():
                stream.close()  # the engine ends a build that nobody follows
                raise SandboxFault(f"the build of the sandbox image {tag} was given up")
            if "error" in event:
                raise SandboxFault(f"the sandbox image {tag} could not be built: {''.join(said)[-_SAID:]}")
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise SandboxFault(f"the sandbox image {tag} could not be built: {error}") from error
