"""Builds: what a compiler made of a source, as bytes that the host keeps and hands to whichever slot runs the program.

The host never looks inside. What the files hold is a stranger's; their names are names of entries of the folder that
the compiler was given, so none leads out of it.
"""

from __future__ import annotations

import os
import stat
import struct
from typing import NamedTuple

from . import wire
from .languages import LANGUAGES, Command, Language

MOST_FILES = 2000
MOST_BYTES = 40 << 20
MOST_DEPTH = 20
BUILT = "/box/built"

_MADE, _FAILED, _GAVE_UP = b"B", b"F", b"G"
_COUNT = struct.Struct(">I")


class BuiltFile(NamedTuple):
    """One file, its path relative to the folder of the build."""

    path: bytes
    executable: bool
    data: bytes


class TooLarge(Exception):
    """The compiler made more than a build may hold."""


def pack(files: list[BuiltFile]) -> bytes:
    parts = [_MADE, _COUNT.pack(len(files))]
    for file in files:
        parts += (wire.blob(b"x" if file.executable else b"-"), wire.blob(file.path), wire.blob(file.data))
    return b"".join(parts)


def pack_failure(end: wire.WireTermination, *, by_limit: bool) -> bytes:
    """A source that does not compile: how the compiler ended, by itself or at a limit."""
    return (_GAVE_UP if by_limit else _FAILED) + wire.pack_termination(end)


def depends_on_load(built: bytes) -> bool:
    """Whether another try may come out otherwise."""
    return built[:1] == _GAVE_UP


def unpack(built: bytes) -> tuple[list[BuiltFile], wire.WireTermination | None]:
    """The files, or how the compilation failed. Raises WireError."""
    if built[:1] in (_FAILED, _GAVE_UP):
        end, _ = wire.unpack_termination(built, 1)
        return [], end
    if built[:1] != _MADE or len(built) < 1 + _COUNT.size:
        raise wire.WireError("a build is cut short")
    (count,) = _COUNT.unpack_from(built, 1)
    if count > MOST_FILES:
        raise wire.WireError("a build has too many files")
    flat, end_at = wire.take(built, 1 + _COUNT.size, 3 * count)
    if end_at != len(built):
        raise wire.WireError("a build has bytes to spare")
    files = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    return [BuiltFile(path, flag == b"x", data) for flag, path, data in files], None


def collect(folder: str, without: set[bytes]) -> list[BuiltFile]:
    """All regular files below `folder` but those named, which the compiler was given. Raises TooLarge.

    Nobody else may be writing there any more.
    """
    files: list[BuiltFile] = []
    room = MOST_BYTES
    waiting = [(b"", 0)]
    while waiting:
        prefix, depth = waiting.pop()
        with os.scandir(os.path.join(os.fsencode(folder), prefix)) as entries:
            for entry in entries:
                path = prefix + entry.name
                kept = path not in without and not entry.name.startswith(b".")
                if kept and entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
                    waiting.append((path + b"/", depth + 1))
                elif kept and entry.is_file(follow_symlinks=False):
                    executable, data = _read(entry.path, room)
                    room -= len(data)
                    files.append(BuiltFile(path, executable, data))
                    if len(files) > MOST_FILES:
                        raise TooLarge(f"more than {MOST_FILES} files")
    return files


def _read(path: bytes, room: int) -> tuple[bool, bytes]:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        about = os.fstat(fd)
        if about.st_size > room:
            raise TooLarge(f"more than {MOST_BYTES} bytes")
        return bool(about.st_mode & stat.S_IXUSR), file.read(room)


def install(files: list[BuiltFile]) -> None:
    """Write them below BUILT, to be read and run by everybody and changed by nobody else."""
    os.mkdir(BUILT, 0o755)
    os.chmod(BUILT, 0o755)
    for file in files:
        path = os.path.join(os.fsencode(BUILT), file.path)
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        with open(path, "xb") as target:
            target.write(file.data)
        os.chmod(path, 0o555 if file.executable else 0o444)


def language_of(name: bytes) -> Language:
    """Raises WireError: the host knows a language that this runner doesn't."""
    language = LANGUAGES.get(name.decode("ascii", "replace"))
    if language is None:
        raise wire.WireError("a language that this runner doesn't know")
    return language


def filled(command: Command, *, memory_mb: int, file: str = "") -> list[str]:
    """A command of the table with its placeholders filled in; `memory_mb` is what the task grants."""
    return [part.replace("{built}", BUILT).replace("{memory_mb}", str(memory_mb)).replace("{file}", file) for part in command]
