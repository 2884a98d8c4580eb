"""`verifier-service doctor`: what works on this machine, what doesn't, and how to mend it.

Nothing is believed that can be tried: the math workers score, the sandbox is started and each of its limits has to bite.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from verifier_service.cli.examinations import Finding, Status, examine
from verifier_service.cli.terminal import console, load_settings, prepare_sandbox
from verifier_service.settings import Settings

MARKS = {Status.OK: "[green]ok[/]", Status.NOTE: "[yellow]note[/]", Status.BROKEN: "[bold red]broken[/]"}

PART_WIDTH = 20


def doctor(
    sandbox: Annotated[
        str | None, typer.Option(help="auto, docker, bubblewrap, executor or off; auto is what serve does.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address that serve would bind.")] = None,
    port: Annotated[int | None, typer.Option(help="Port that serve would bind.")] = None,
) -> None:
    """Try every part of the service on this machine and say how to mend what doesn't work.

    Exit status 0: math, format and code all score here. A `note` is something to know, not a fault.
    """
    settings = load_settings(sandbox=sandbox, host=host, port=port)
    prepare_sandbox(settings)
    findings = asyncio.run(_all(settings))
    broken = [finding for finding in findings if finding.status is Status.BROKEN]
    if broken:
        console.print(f"\n[bold red]{len(broken)} of {len(findings)} parts don't work[/]; how to mend each stands beside it")
        raise typer.Exit(1)
    console.print("\n[bold green]math, format and code score on this machine[/]")


async def _all(settings: Settings) -> list[Finding]:
    from verifier_service.observability.logs import configure_logs

    configure_logs(settings.model_copy(update={"log_level": "error"}))
    findings = []
    with console.status("examining") as status:
        async for finding in examine(settings, status.update):
            findings.append(finding)
            console.print(_row(finding))
    return findings


def _row(finding: Finding) -> Table:
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(width=6)
    row.add_column(width=PART_WIDTH)
    row.add_column()
    seen = escape(finding.seen) + (f"\n[cyan]→ {escape(finding.remedy)}[/]" if finding.remedy else "")
    row.add_row(MARKS[finding.status], escape(finding.part), seen)
    return row
