"""The command line `verifier-service`.

Each command imports what it needs when it runs, so that `--help` is instant and a broken part doesn't take the others
down. What a person reads goes to stderr, what a program reads to stdout or to a file. Exit status: 0 all is well,
1 something could not be done, 2 the call itself is wrong, 3 done, but some completions are unscored.
"""

from __future__ import annotations

from typing import Annotated

import typer

from verifier_service.cli import doctor, mathematics, score, serve, tokens

app = typer.Typer(
    name="verifier-service",
    help="Verified rewards for RL on language models: maths, code and format.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.command("score")(score.score)
app.command("doctor")(doctor.doctor)
app.command("explain")(mathematics.explain)
app.command("check-golds")(mathematics.check_golds)
app.command("hash-token")(tokens.hash_token)


def _print_version(wanted: bool) -> None:
    if wanted:
        from verifier_service import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Every setting can also come from the environment, as VERIFIER_NAME (see docs/configuration.md)."""


def main() -> None:
    """Entry point of the console script."""
    app()
