"""`python -m verifier_service.executor`: own Docker, serve programs over a Unix socket; `--check` asks one that runs."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from verifier_service.executor.server import Executor
from verifier_service.observability.logs import configure_logs
from verifier_service.sandbox.contract import SandboxFault
from verifier_service.sandbox.remote import RemoteBackend
from verifier_service.sandbox.select import make_docker_profiles
from verifier_service.settings import Settings


async def _serve(settings: Settings) -> int:
    assert settings.executor_socket is not None
    configure_logs(settings)
    executor = Executor(make_docker_profiles(settings), settings, settings.executor_socket)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await executor.start()
        await stop.wait()
    except SandboxFault as fault:
        print(fault, file=sys.stderr)  # noqa: T201 - a start that fails says why on the terminal
        return 1
    finally:
        await executor.aclose(settings.drain_timeout_s)
    return 0


async def _check(settings: Settings) -> int:
    """0 if the executor answers and its sandboxes stand."""
    assert settings.executor_socket is not None
    backend = RemoteBackend(settings.executor_socket)
    try:
        info = await backend.ask_info()
    except SandboxFault as fault:
        print(fault, file=sys.stderr)  # noqa: T201 - read by a health check
        return 1
    print(f"ready: {info.get('slots')} slots")  # noqa: T201
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verifier_service.executor", description=__doc__)
    parser.add_argument("--check", action="store_true", help="ask the executor at VERIFIER_EXECUTOR_SOCKET whether it is ready")
    arguments = parser.parse_args()
    settings = Settings()
    if settings.executor_socket is None:
        print("set VERIFIER_EXECUTOR_SOCKET to the path of the executor's Unix socket", file=sys.stderr)  # noqa: T201
        return 2
    return asyncio.run(_check(settings) if arguments.check else _serve(settings))


if __name__ == "__main__":
    sys.exit(main())
