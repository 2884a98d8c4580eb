"""Progress of a long job: a callback, or a bar where rich is installed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

ProgressCallback = Callable[[int, int], None]
LOG_PERIOD_S = 10.0


class Progress:
    """Counts completions that have all their verdicts; `report` tells the callback `(done, total)`."""

    def __init__(self, total: int, callback: ProgressCallback | None = None) -> None:
        self.total = total
        self.done = 0
        self._callback = callback

    def advance(self, completions: int) -> None:
        self.done += completions

    def report(self) -> None:
        if self._callback is not None:
            self._callback(self.done, self.total)


@contextmanager
def progress_callback(progress: bool | ProgressCallback, total: int) -> Iterator[ProgressCallback | None]:
    """What the caller asked for as a callback: its own, a bar (True), lines in the log (True, without rich), nothing."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
    except ImportError:
        yield _log_lines()
        return
    columns = (TextColumn("scoring"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:  # stdout is for what a program prints
        task = bar.add_task("scoring", total=total)
        yield lambda done, _total: bar.update(task, completed=done)


def _log_lines() -> ProgressCallback:
    last = time.monotonic()

    def line(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LOG_PERIOD_S or done == total:
            last = now
            log.info("scored %d of %d completions", done, total)

    return line
