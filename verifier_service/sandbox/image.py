"""The sandbox image: its build context is assembled from this package, in a checkout and in an installed wheel alike.

The image carries the digest of its context as a label, so that a changed runner is never served by an old image, and in a
second tag, so that two checkouts that share a name on one engine don't build it again each time the other was started.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker.errors
from docker.utils import parse_repository_tag

import docker
from verifier_service.sandbox.contract import SandboxFault

HERE = Path(__file__).parent
DIGEST_LABEL = "io.verifier.sandbox.context"
KEPT_TAG = "context-"
KEPT_IMAGES = 4  # of different contexts
_SAID = 400  # characters of a failed build's last words
SECCOMP_PROFILE = HERE / "image" / "seccomp.json"


def _context_files() -> list[tuple[str, bytes]]:
    files = [("Dockerfile", (HERE / "image" / "Dockerfile").read_bytes())]
    files += [(f"runner/{path.name}", path.read_bytes()) for path in sorted((HERE / "runner").glob("*.py"))]
    return files


def context_digest() -> str:
    """SHA-256 over names and contents of the build context."""
    digest = hashlib.sha256()
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


def is_current(client: docker.DockerClient, tag: str) -> bool:
    """Whether an image made of this package's context is there, under its name or kept aside: nothing has to be built."""
    return _is_of_this_context(client, tag) or _is_of_this_context(client, _kept_name(tag))


def ensure(client: docker.DockerClient, tag: str) -> str:
    """Build the image if it is missing or out of date; its id. Blocking: minutes at the first time.

    Raises SandboxFault with the end of the build's output.
    """
    repository, name = _repository_and_name(tag)
    if not _is_of_this_context(client, tag):
        before = _image(client, tag)
        if _is_of_this_context(client, _kept_name(tag)):
            client.images.get(_kept_name(tag)).tag(repository, name)
        else:
            _build(client, tag)
        if before is not None:
            _drop_nameless(client, str(before.id))
    image = client.images.get(tag)
    if _kept_name(tag) not in image.tags:
        image.tag(repository, _kept_name(tag).removeprefix(f"{repository}:"))
        _drop_oldest(client, repository, _kept_name(tag))
    return str(image.id)


def _repository_and_name(tag: str) -> tuple[str, str]:
    repository, name = parse_repository_tag(tag)
    return repository, name or "latest"


def _kept_name(tag: str) -> str:
    return f"{_repository_and_name(tag)[0]}:{KEPT_TAG}{context_digest()[:16]}"


def _image(client: docker.DockerClient, tag: str) -> Any:
    try:
        return client.images.get(tag)
    except docker.errors.ImageNotFound:
        return None


def _is_of_this_context(client: docker.DockerClient, tag: str) -> bool:
    image = _image(client, tag)
    return image is not None and bool(image.labels.get(DIGEST_LABEL) == context_digest())


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


def _build(client: docker.DockerClient, tag: str) -> None:
    said: list[str] = []
    try:
        stream: Any = client.api.build(
            fileobj=_context_tar(),
            custom_context=True,
            tag=tag,
            rm=True,
            forcerm=True,
            decode=True,
            labels={DIGEST_LABEL: context_digest()},
        )
        for event in stream:
            said.append(str(event.get("stream") or event.get("error") or ""))
            if "error" in event:
                raise SandboxFault(f"the sandbox image {tag} could not be built: {''.join(said)[-_SAID:]}")
    except docker.errors.DockerException as error:
        raise SandboxFault(f"the sandbox image {tag} could not be built: {error}") from error
