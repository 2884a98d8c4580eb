"""What the commands share: the console for people (stderr), and settings read with errors that say what to do."""

from __future__ import annotations

from typing import NoReturn

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from verifier_service.settings import Settings

USAGE_ERROR = 2

console = Console(stderr=True, highlight=False)


def fail(message: str, status: int = 1) -> NoReturn:
    """End the command with one plain line."""
    console.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    raise typer.Exit(status)


def load_settings(**overrides: object) -> Settings:
    """The settings of the environment, with the options of the command line (those not None) above them."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            name = "_".join(str(part) for part in fault["loc"])
            console.print(f"[bold red]error:[/] VERIFIER_{escape(name.upper())}: {escape(fault['msg'])}", soft_wrap=True)
        raise typer.Exit(USAGE_ERROR) from None
