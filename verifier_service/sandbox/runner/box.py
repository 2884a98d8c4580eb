"""The writable places of a sandbox, made fresh for each case and proven empty after it.

/box is a tmpfs of the runner's; /box/work, the only thing in it, is the submission's, and /tmp leads there. /dev/shm
is a tmpfs of its own where shared memory must be. Counting inodes proves emptiness even of files without a name.
"""

from __future__ import annotations

import _socket
import os
import stat
import time

from . import build
from .zygote import WORK

BOX = "/box"
SHM = "/dev/shm"  # noqa: S108 - the mount itself
QUEUES = "/dev/mqueue"
LET_GO_S = 2.0


class NotEmpty(Exception):
    """A writable place could not be brought back to empty."""


class Box:
    """Makes and resets the work folder of uid `owner`."""

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self._self = os.getuid()
        self.made = False
        if os.path.isdir(QUEUES):
            try:
                os.chmod(QUEUES, 0o700)
            except OSError:
                pass  # bubblewrap mounts none
        self._shm = os.path.isdir(SHM)
        if self._shm:
            wipe(SHM)
        wipe(BOX)
        self._empty_inodes = self._box_inodes = _inodes(BOX)
        self._built: list[build.BuiltFile] = []
        self._shm_inodes = _inodes(SHM) if self._shm else 0

    def make(self) -> None:
        """A fresh work folder."""
        os.mkdir(WORK, 0o700)
        if self.owner != self._self:
            os.chown(WORK, self.owner, self.owner)
        self.made = True

    def install(self, files: list[build.BuiltFile]) -> None:
        """Lay a build beside the work folder, to stay there over resets until `uninstall`."""
        self._built = files
        before = _inodes(BOX)
        build.install(files)
        self._box_inodes += _inodes(BOX) - before

    def uninstall(self) -> None:
        """Remove the build; the work folder is fresh. Raises NotEmpty when something stays."""
        if not self._built:
            return
        self._built = []
        if wipe(build.BUILT):
            os.rmdir(build.BUILT)
        self._box_inodes = self._empty_inodes
        if not _comes_back_to(self._box_inodes + self.made, BOX):
            raise NotEmpty("files of a build that stay")

    def _wipe(self) -> None:
        """Empty the box but for the build."""
        wipe(BOX)
        if self._built:
            expected, self._box_inodes = self._box_inodes, _inodes(BOX)
            self.install(self._built)
            self._box_inodes = expected

    def disk_full(self, file_bytes: int) -> bool:
        """Whether a file has reached its limit, or the disk is full; called while the files are still there."""
        space = os.statvfs(BOX)
        if space.f_bavail == 0 or (space.f_files and space.f_favail == 0):
            return True
        if self._shm and os.statvfs(SHM).f_bavail == 0:
            return True
        return any(size >= file_bytes for size in _sizes(WORK))

    def reset(self) -> list[str]:
        """Remove the work folder and all in it; tamper signs. Raises NotEmpty when something stays."""
        signs = []
        if self.owner == self._self:  # where all share a uid, a program may have changed the places themselves
            _restore(BOX, 0o711)
            if self._shm:
                _restore(SHM, 0o1777)
        if self.made:
            try:
                os.rmdir(WORK)
            except OSError:
                self._wipe()
            self.made = False
        if self._shm and _inodes(SHM) != self._shm_inodes:
            if wipe(SHM):
                signs.append("left files in /dev/shm")
            if not _comes_back_to(self._shm_inodes, SHM):
                raise NotEmpty("shared memory that has no name")
        if _inodes(BOX) != self._box_inodes:
            self._wipe()
            signs.append("left files outside the work folder")
            if not _comes_back_to(self._box_inodes, BOX):
                raise NotEmpty("files that have no name")
        if self._shm:
            os.utime(SHM)  # when the last file in it went is nobody's business
        return signs


def files_bytes() -> int:
    """Memory that the files in the writable places take."""
    used = 0
    for place in (BOX, SHM):
        if os.path.isdir(place):
            space = os.statvfs(place)
            used += (space.f_blocks - space.f_bfree) * space.f_frsize
    return used


def files_count(most: int) -> int:
    """Files and folders in the writable places; where the kernel counts none, a walk that ends soon after `most`."""
    return sum(_files_below(place, most) for place in (BOX, SHM) if os.path.isdir(place))


def _files_below(place: str, most: int) -> int:
    if os.statvfs(place).f_files:
        return _inodes(place)
    count, folders = 0, [place]
    while folders and count <= most:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    count += 1
                    if count > most:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue  # gone meanwhile, or too deep for a path
    return count


def _inodes(path: str) -> int:
    """Inodes in use. Where the kernel counts none (gVisor), entries and blocks in use: more of those, too, when anything
    stays that holds a byte or has a name."""
    space = os.statvfs(path)
    if not space.f_files:
        return len(os.listdir(path)) + space.f_blocks - space.f_bfree
    return space.f_files - space.f_ffree


def _restore(place: str, mode: int) -> None:
    os.chmod(place, mode)
    for name in os.listxattr(place):
        os.removexattr(place, name)


def _comes_back_to(inodes: int, path: str) -> bool:
    """Descriptors that were on their way over sockets outlive all processes until the kernel collects them, which it
    begins to do whenever a socket is closed."""
    deadline = time.monotonic() + LET_GO_S
    while _inodes(path) != inodes:
        if time.monotonic() > deadline:
            return False
        for end in _socket.socketpair():
            end.close()
        time.sleep(0.001)
    return True


def _sizes(path: str) -> list[int]:
    sizes = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    sizes.append(entry.stat(follow_symlinks=False).st_size)
                if len(sizes) > 10_000:
                    break
    except OSError:
        return []
    return sizes


def wipe(top: str) -> int:
    """Remove everything below `top`, however deep or oddly named; how many entries there were.

    Folders inside folders are moved up to `top` first, so that depth costs neither recursion nor long paths.
    """
    top_fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    removed = 0
    moved = 0
    prefix = f".wipe-{os.urandom(8).hex()}"  # a name that nobody can have taken
    try:
        while names := os.listdir(top_fd):
            for name in names:
                removed += 1
                if not _is_folder(name, top_fd):
                    os.unlink(name, dir_fd=top_fd)
                    continue
                os.chmod(name, 0o700, dir_fd=top_fd)
                inner_fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top_fd)
                try:
                    for inner in os.listdir(inner_fd):
                        if _is_folder(inner, inner_fd):
                            moved += 1
                            os.chmod(inner, 0o700, dir_fd=inner_fd)
                            os.rename(inner, f"{prefix}-{moved}", src_dir_fd=inner_fd, dst_dir_fd=top_fd)
                        else:
                            os.unlink(inner, dir_fd=inner_fd)
                            removed += 1
                finally:
                    os.close(inner_fd)
                os.rmdir(name, dir_fd=top_fd)
    except OSError as error:
        raise NotEmpty(f"{top}: {error.strerror}") from error
    finally:
        os.close(top_fd)
    return removed


def _is_folder(name: str, dir_fd: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
