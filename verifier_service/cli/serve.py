"""`verifier-service serve`: the HTTP service, and the line to try once it is ready."""

from __future__ import annotations

import errno
import ipaddress
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from verifier_service.cli.terminal import console, fail, load_settings, prepare_sandbox
from verifier_service.settings import Settings

TRY_COMPLETION = "<think>7 times 6</think>\\boxed{42}"
READY_WAIT_S = 120.0
POLL_S = 0.1


def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind; 127.0.0.1 unless you say otherwise.")] = None,
    port: Annotated[int | None, typer.Option(help="TCP port; 8000.")] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, docker, bubblewrap, executor or off.")] = None,
    slots: Annotated[int | None, typer.Option(help="Sandboxes that run at one time; 0: one a core.")] = None,
    runtime: Annotated[str | None, typer.Option(help="OCI runtime of the sandboxes: runc, or runsc for gVisor.")] = None,
    minimum_isolation: Annotated[str | None, typer.Option(help="namespace, or container to refuse bubblewrap.")] = None,
    executor_socket: Annotated[Path | None, typer.Option(help="Unix socket of the executor process that owns Docker.")] = None,
    math_workers: Annotated[int | None, typer.Option(help="Math worker processes; 0: one a core.")] = None,
    tokens_file: Annotated[Path | None, typer.Option(help="SHA-256 digests of accepted bearer tokens (see hash-token).")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="auto, json or console.")] = None,
) -> None:
    """Serve POST /score on a port of this machine until SIGTERM or Ctrl-C; requests in flight are finished first.

    All other settings come from the environment, as VERIFIER_NAME (docs/configuration.md).
    """
    settings = load_settings(
        host=host,
        port=port,
        sandbox=sandbox,
        sandbox_slots=slots,
        sandbox_runtime=runtime,
        minimum_isolation=minimum_isolation,
        executor_socket=executor_socket,
        math_workers=math_workers,
        tokens_file=tokens_file,
        log_level=log_level,
        log_format=log_format,
    )
    _check_port(settings)
    if settings.tokens_file is None and not is_loopback(settings.host) and settings.log_format != "json":
        console.print(
            f"[yellow]warning:[/] {escape(settings.host)} is open to other machines and no token is asked for; "
            "set VERIFIER_TOKENS_FILE (verifier-service hash-token makes its lines)",
            soft_wrap=True,
        )
    _check_tokens(settings)
    prepare_sandbox(settings)
    if settings.log_format != "json":  # a log that a program reads holds nothing else
        threading.Thread(target=_announce, args=(settings,), daemon=True, name="announce").start()
    from verifier_service.server import run

    with suppress(KeyboardInterrupt):  # raised once all is shut down: Ctrl-C is how a person ends it, not a failure
        run(settings)


def base_url(settings: Settings) -> str:
    """Where this machine reaches the service: a wildcard address is reached by loopback."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def try_line(settings: Settings) -> str:
    """A curl line that works when pasted."""
    body = json.dumps({"completion": TRY_COMPLETION, "gold": "42"})
    return f"curl -s {base_url(settings)}/score -H 'content-type: application/json' -d '{body}'"


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_port(settings: Settings) -> None:
    """Say at once, in words, that the port is taken, before sandboxes are started for nothing."""
    try:
        address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        fail(f"can't resolve the address {settings.host}: {error.strerror}")
    with socket.socket(address[0], socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address[4])
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                fail(f"port {settings.port} on {settings.host} is taken; choose another with --port or PORT=")
            fail(f"can't bind {settings.host}:{settings.port}: {error.strerror}")


def _check_tokens(settings: Settings) -> None:
    from verifier_service.api.middleware import TokensFileError, read_digests

    if settings.tokens_file is None:
        return
    try:
        read_digests(settings.tokens_file)
    except TokensFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"can't read the tokens file {settings.tokens_file}: {error.strerror}")


def _get_json(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310  (our own http address)
            body = reply.read()
    except urllib.error.HTTPError as error:  # 503: not ready, with the reasons
        body = error.read()
    except OSError:
        return None
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _announce(settings: Settings) -> None:
    """Wait, as a client would, until the service answers; then print what to try."""
    give_up = time.monotonic() + READY_WAIT_S
    while (state := _get_json(f"{base_url(settings)}/readyz")) is None:
        if time.monotonic() > give_up:
            return
        time.sleep(POLL_S)
    console.print(f"\n[bold green]serving on {escape(base_url(settings))}[/]  (docs at /docs, stop with Ctrl-C)")
    for kind, ready in _kinds(state):
        console.print(f"  {kind}: {escape(ready)}", soft_wrap=True)
    console.print("try it; the answer has a reward of 1.0:")
    console.print(f"  {try_line(settings)}\n", markup=False, soft_wrap=True)


def _kinds(state: dict[str, Any]) -> list[tuple[str, str]]:
    kinds: dict[str, dict[str, Any]] = state.get("kinds", {})
    return [(kind, "ready" if facts.get("ready") else str(facts.get("detail", "not ready"))) for kind, facts in kinds.items()]
