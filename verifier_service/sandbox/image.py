"""The sandbox image: its build context is assembled from this package, in a checkout and in an installed wheel alike.

The image carries the digest of its context as a label, so that a changed runner is never served by an old image.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker.errors

import docker
from verifier_service.sandbox.contract import SandboxFault

HERE = Path(__file__).parent
DIGEST_LABEL = "io.verifier.sandbox.context"
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
    """Whether the image is there and made of this package's context."""
    try:
        image = client.images.get(tag)
    except docker.errors.ImageNotFound:
        return False
    return bool(image.labels.get(DIGEST_LABEL) == context_digest())


def ensure(client: docker.DockerClient, tag: str) -> str:
    """Build the image if it is missing or out of date; its id. Blocking: minutes at the first time.

    Raises SandboxFault with the end of the build's output.
    """
    if not is_current(client, tag):
        before = _image_id(client, tag)
        _build(client, tag)
        if before is not None:
            with suppress(docker.errors.APIError):  # a container may still use it
                client.images.remove(before)
    return str(client.images.get(tag).id)


def _image_id(client: docker.DockerClient, tag: str) -> str | None:
    try:
        return str(client.images.get(tag).id)
    except docker.errors.ImageNotFound:
        return None


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
