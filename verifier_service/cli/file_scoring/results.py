"""The output file: a JSON line for each group that was scored, appended as results come.

A line is written with one write, so a process killed at any moment leaves at most one torn last line, which the next
run drops. A line counts as done when its number and its digest are those of the input. Lines that could not be scored
are not written: the next run tries them again.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterable
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from verifier_protocol import GroupResult, UnscoredVerdict


class ResultFileError(Exception):
    """The output file can't be used; the message says what to do."""


class Record(GroupResult):
    """A line of the output: the group's result as POST /score gives it, and which input line it belongs to."""

    line: int
    hash: str
    labels: list[bool | None] | None = None

    def wants_retry(self) -> bool:
        """Some verdict is unscored for a reason that may pass."""
        return any(isinstance(v, UnscoredVerdict) and v.retryable for row in self.verdicts for v in row)


class ResultFile:
    """Opened for one process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()  # a link stays one when the file behind it is replaced
        self._file: FileIO | None = None
        self._kept: list[tuple[int, int]] = []  # (position, length) of each record that stays

    def __enter__(self) -> Self:
        if self._path.exists() and not self._path.is_file():
            raise ResultFileError("it is no regular file, so that what was scored could not be read back")
        try:
            self._file = self._path.open("ab", buffering=0)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.__exit__(None, None, None)
            raise ResultFileError("it is being written by another process") from None
        except OSError as error:
            raise ResultFileError(f"can't write it: {error.strerror}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def scan(self, keep: Callable[[Record], bool]) -> int:
        """Read what an earlier run left, up to a torn last line; nothing is changed before `settle`.

        Returns: how many records `keep` refused.

        Raises:
            ResultFileError: the file holds something else than results.
        """
        assert self._file is not None
        dropped = position = 0
        self._kept = []
        with self._path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if not raw.endswith(b"\n"):
                    break  # torn by a kill
                try:
                    record = Record.model_validate_json(raw)
                except ValidationError:
                    raise ResultFileError(
                        f"line {number} is no result of this command: choose another --out, or remove that file"
                    ) from None
                if keep(record):
                    self._kept.append((position, len(raw)))
                else:
                    dropped += 1
                position += len(raw)
        return dropped

    def settle(self) -> None:
        """Leave in the file what `scan` kept, and nothing else."""
        assert self._file is not None
        end = self._kept[-1][0] + self._kept[-1][1] if self._kept else 0
        if end == sum(length for _, length in self._kept):  # all that was dropped stands at the end
            self._file.truncate(end)
        else:
            self._replace()

    def append(self, records: Iterable[Record]) -> None:
        assert self._file is not None
        data = b"".join(record.model_dump_json(exclude_none=True).encode() + b"\n" for record in records)
        while data:  # one write, except on a full disk or a signal
            data = data[self._file.write(data) :]

    def _replace(self) -> None:
        """Write what was kept beside the file and put it in its place at once."""
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(handle, "wb") as fresh, self._path.open("rb") as old:
                os.fchmod(handle, os.fstat(old.fileno()).st_mode)
                for position, length in self._kept:
                    old.seek(position)
                    fresh.write(old.read(length))
            Path(name).replace(self._path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        self.__exit__(None, None, None)
        self.__enter__()
