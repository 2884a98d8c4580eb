"""Calls in a child process that can be killed: mathematics of unknown cost never hangs a command."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

START_TIMEOUT_S = 60.0


class TookTooLong(Exception):
    """The call was killed at its time limit."""


class Killable:
    """One child that answers calls in turn; killed and replaced when a call exceeds its time.

    Functions, arguments and results have to be picklable. A function's own exceptions come back as they are.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._context = multiprocessing.get_context("spawn")
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._kill()

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        """The function's result.

        Raises:
            TookTooLong: it did not end in time, or the child died over it.
        """
        pipe = self._pipe or self._start()
        pipe.send((function, args))
        try:
            if not pipe.poll(self._timeout_s):
                raise TookTooLong(f"not done within {self._timeout_s:g} s")
            failed, value = pipe.recv()
        except (TookTooLong, EOFError, ConnectionError) as error:
            self._kill()
            raise error if isinstance(error, TookTooLong) else TookTooLong("the process died over it") from None
        if failed:
            raise value
        return value

    def _start(self) -> Connection:
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        if not ours.poll(START_TIMEOUT_S):  # imports don't count against the first call
            self._kill()
            raise TookTooLong(f"the process did not start within {START_TIMEOUT_S:g} s")
        ours.recv()
        return ours

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which then kills this
    from verifier_service.verifiers.math import explain

    assert explain
    pipe.send("ready")
    while True:
        try:
            function, args = pipe.recv()
        except EOFError:
            return
        try:
            answer = (False, function(*args))
        except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
            answer = (True, ValueError(f"{type(error).__name__} while judging; please report it"))
        pipe.send(answer)
