"""`verifier-service hash-token`: lines for the tokens file, which holds digests only."""

from __future__ import annotations

import hashlib
import secrets
import sys
from typing import Annotated

import typer

from verifier_service.cli.terminal import USAGE_ERROR, console, fail

TOKEN_BYTES = 32


def hash_token(
    generate: Annotated[bool, typer.Option("--generate", help="Make a new random token and print it on stderr, once.")] = False,
) -> None:
    """Print the SHA-256 digest of a bearer token, a line for VERIFIER_TOKENS_FILE.

    The token is read from standard input (hidden, on a terminal), never from the arguments, where others could see it:

        verifier-service hash-token --generate >> tokens.txt
    """
    if generate:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        console.print(f"token (keep it, it can't be shown again): {token}", soft_wrap=True)
    elif sys.stdin.isatty():
        token = typer.prompt("token", hide_input=True, err=True)
    else:
        token = sys.stdin.readline().rstrip("\r\n")
    if not token:
        fail("the token is empty", USAGE_ERROR)
    typer.echo(hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest())
