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


def prepare_sandbox(settings: Settings) -> None:
    """Build the sandboxes' image with a word about it; a failure leaves code unscored, and says what to do."""
    from verifier_service.sandbox.contract import SandboxFault
    from verifier_service.sandbox.oci_runtime import RuntimeMissing
    from verifier_service.sandbox.select import prepare_image

    try:
        prepare_image(settings, lambda what: console.print(what, soft_wrap=True))
    except SandboxFault as fault:
        console.print(f"[yellow]warning:[/] code can't be scored: {escape(str(fault))}", soft_wrap=True)
        if not isinstance(fault, RuntimeMissing):
            console.print("where no registry can be reached, sudo scripts/docker-engine.sh makes the base image", soft_wrap=True)
