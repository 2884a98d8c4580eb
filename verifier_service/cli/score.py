"""`verifier-service score`: a file of groups in, a file of results out."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from verifier_service.cli.file_scoring.batches import Plan, score_lines
from verifier_service.cli.file_scoring.endpoint import Endpoint, Unreachable, in_process, remote
from verifier_service.cli.file_scoring.lines import BadLine, Line, digest_of, needs_sandbox, parse_line, read_raw_lines
from verifier_service.cli.file_scoring.results import Record, ResultFile, ResultFileError
from verifier_service.cli.file_scoring.summary import Summary
from verifier_service.cli.terminal import USAGE_ERROR, console, fail, load_settings, prepare_sandbox
from verifier_service.settings import Settings

SHOWN_BAD_LINES = 20
PLAIN_REPORT_S = 10.0
INTERRUPTED = 130


def score(
    file: Annotated[Path, typer.Argument(help="JSON lines, a group each.", exists=True, dir_okay=False, readable=True)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the results go; run again to go on where it was stopped.")],
    url: Annotated[str | None, typer.Option(help="Score at this service instead of in this process.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="VERIFIER_TOKEN", help="Bearer token for the service.", show_envvar=True)
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Groups a request at most; fewer where they hold programs.")] = 64,
    in_flight: Annotated[
        int | None, typer.Option(min=1, max=256, help="Requests at one time; 16 at a service, else two a core, 4 at least.")
    ] = None,
    deadline_s: Annotated[float, typer.Option(min=0.1, help="Deadline of each request, seconds.")] = 300.0,
    patience_s: Annotated[float, typer.Option(min=0.0, help="How long to wait for a service that is away or full.")] = 300.0,
    retry_unscored: Annotated[
        bool, typer.Option("--retry-unscored", help="Also score again what an earlier run left unscored.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Line after line, up to the first that can't be scored.")] = False,
    sandbox: Annotated[str | None, typer.Option(help="auto, docker, bubblewrap, executor or off (without --url).")] = None,
    slots: Annotated[int | None, typer.Option(help="Sandboxes that run at one time; 0: one a core (without --url).")] = None,
    math_workers: Annotated[int | None, typer.Option(help="Math worker processes; 0: one a core (without --url).")] = None,
) -> None:
    """Score a file of groups, in this process or at a service, and say what came out.

    A line is a group as in POST /score, or a short form:

        {"completions": ["...", "..."], "verifiers": [{"kind": "math", "gold": "42"}]}

        {"completion": "...", "gold": "42"}

    `id`, `labels` (true or false for each completion, compared in the summary) and `meta` may stand beside. A result
    is written as soon as it is there, in no particular order: `line` says whose it is. Exit status: 0 all scored, 1 some
    lines failed, 3 some completions unscored.
    """
    if url is not None and not url.startswith(("http://", "https://")):
        fail("--url begins with http:// or https://", USAGE_ERROR)
    settings = _offline_settings(sandbox, slots, math_workers) if url is None else None
    run = _Run(file)
    plan = Plan(batch, in_flight or _usual_in_flight(url), deadline_s, strict=strict)
    try:
        with ResultFile(out) as results:
            run.resume(results, retry_unscored=retry_unscored)
            if not run.finished:
                endpoint = remote(url or "", token, patience_s) if settings is None else _local(settings, run.needs_sandbox())
                asyncio.run(_until_stopped(run.score(results, endpoint, plan)))
    except ResultFileError as error:
        fail(f"--out {out}: {error}")
    except OSError as error:
        run.report()
        fail(f"{error.filename or out}: {error.strerror}; what was scored before is in {out}")
    except Unreachable as error:
        if not run.summary.groups:
            fail(f"{url}: {error}; nothing was scored")
        run.report()
        fail(f"{url}: {error}; what was scored is in {out}, run the same command again to go on")
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print(f"stopped; what was scored is in {escape(str(out))}, run the same command again to go on", soft_wrap=True)
        raise typer.Exit(INTERRUPTED) from None
    run.report()
    if run.failed and strict:
        console.print(f"stopped at line {run.first_failed}; mend it and run the same command again to go on")
    if run.failed:
        raise typer.Exit(1)
    if run.summary.without_reward:
        raise typer.Exit(3)


def _offline_settings(sandbox: str | None, slots: int | None, math_workers: int | None) -> Settings:
    from verifier_service.observability.logs import configure_logs

    settings = load_settings(sandbox=sandbox, sandbox_slots=slots, math_workers=math_workers)
    configure_logs(settings.model_copy(update={"log_level": "warning" if settings.log_level == "info" else settings.log_level}))
    return settings


def _usual_in_flight(url: str | None) -> int:
    """Batches of programs are small, so that little is lost when they are stopped; these keep the sandboxes busy."""
    return 16 if url is not None else max(4, 2 * len(os.sched_getaffinity(0)))


def _local(settings: Settings, with_sandbox: bool) -> AbstractAsyncContextManager[Endpoint]:
    """A scorer in this process; sandboxes, which take seconds to start, only where some line holds a program's tests."""
    if not with_sandbox:
        console.print("starting math workers …")
        return in_process(settings.model_copy(update={"sandbox": "off"}))
    prepare_sandbox(settings)
    console.print("starting math workers and sandboxes …")
    return in_process(settings)


async def _until_stopped(work: Coroutine[None, None, None]) -> None:
    """SIGTERM ends the work as Ctrl-C does, so that no sandbox is left behind."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await task


class _Run:
    """One call of the command: what is done already, what failed, what came out."""

    def __init__(self, file: Path) -> None:
        self.summary = Summary()
        self.failed = 0
        self.first_failed = 0
        self._file = file
        self._done: set[int] = set()
        self._lines = 0
        self._new_completions = 0
        self._seconds = 0.0

    def resume(self, results: ResultFile, *, retry_unscored: bool) -> None:
        """Take over what an earlier run wrote for these very lines."""
        digests = {number: digest_of(raw) for number, raw in read_raw_lines(self._file)}
        self._lines = len(digests)
        if not digests:
            fail(f"{self._file} has no lines", USAGE_ERROR)
        strange = 0

        def keep(record: Record) -> bool:
            nonlocal strange
            if digests.get(record.line) != record.hash:
                strange += 1
                return False
            if record.line in self._done or (retry_unscored and record.wants_retry()):
                return False
            self._done.add(record.line)
            self.summary.add(record)
            return True

        dropped = results.scan(keep)
        if strange and strange == dropped and not self._done:
            raise ResultFileError("it holds results of another input: choose another --out, or remove that file")
        results.settle()
        if self._done:
            console.print(f"{len(self._done):,} of {self._lines:,} lines were scored by an earlier run")
        if dropped:
            console.print(f"{dropped:,} earlier results are dropped ({strange:,} of them of lines that have changed since)")

    @property
    def finished(self) -> bool:
        return len(self._done) == self._lines

    def needs_sandbox(self) -> bool:
        return any(number not in self._done and needs_sandbox(raw) for number, raw in read_raw_lines(self._file))

    async def score(self, results: ResultFile, endpoint: AbstractAsyncContextManager[Endpoint], plan: Plan) -> None:
        with _progress() as progress:
            bar = progress.add_task("starting", total=self._lines, completed=len(self._done), info="")
            async with endpoint as scorer:
                start = last_report = time.monotonic()
                progress.update(bar, description="scoring")

                def take(records: list[Record | BadLine]) -> None:
                    nonlocal last_report
                    self._take(records, results)
                    self._seconds = time.monotonic() - start
                    progress.update(bar, completed=len(self._done) + self.failed, info=self._state())
                    if not console.is_terminal and time.monotonic() - last_report > PLAIN_REPORT_S:
                        last_report = time.monotonic()
                        console.print(f"{len(self._done) + self.failed:,} of {self._lines:,} lines, {self._state()}")

                await score_lines(self._pending(), scorer, plan, take)

    def report(self) -> None:
        console.print(self.summary.table(self._new_completions, self._seconds, self.failed))
        for kind, versions in self.summary.mixed_versions.items():
            console.print(
                f"[yellow]note:[/] verdicts of several versions of the verifier {escape(kind)} ({escape(', '.join(versions))}): "
                "they are not one reward function; remove --out to score all lines anew",
                soft_wrap=True,
            )

    def _pending(self) -> Iterator[Line | BadLine]:
        for number, raw in read_raw_lines(self._file):
            if number not in self._done:
                yield parse_line(number, raw)

    def _take(self, records: list[Record | BadLine], results: ResultFile) -> None:
        good = [record for record in records if isinstance(record, Record)]
        results.append(good)
        for record in good:
            self._done.add(record.line)
            self.summary.add(record)
            self._new_completions += len(record.rewards)
        for bad in records:
            if isinstance(bad, BadLine):
                self.failed += 1
                self.first_failed = self.first_failed or bad.number
                if self.failed <= SHOWN_BAD_LINES:
                    console.print(f"[red]{escape(str(self._file))}:{bad.number}:[/] {escape(bad.reason)}", soft_wrap=True)
                elif self.failed == SHOWN_BAD_LINES + 1:
                    console.print("further lines that fail are counted, not shown")

    def _state(self) -> str:
        rate = self._new_completions / self._seconds if self._seconds > 0 else 0.0
        share = f"{self.summary.full / self.summary.rewarded:.1%}" if self.summary.rewarded else "-"
        return f"{rate:,.0f} completions/s, pass rate {share}, unscored {self.summary.without_reward:,}"


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[info]}"),
        console=console,
        disable=not console.is_terminal,
    )
