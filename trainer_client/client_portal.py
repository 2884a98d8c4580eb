"""One thread with one event loop for all of a client's connections.

An HTTP pool belongs to the loop that made it. Trainers call from many: TRL from a daemon loop, a script from
`asyncio.run` (a new loop each time), a data loader from a thread, a worker from a forked child. So the client does its
work on a loop of its own and callers await it from wherever they are. Connections stay open between calls, limits hold
for the whole process, and state is touched by one thread only.

After a fork the child has no such thread: the portal is left as it is (its sockets are the parent's to close) and a
new one is made.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")
LiveT = TypeVar("LiveT")

STOP_TIMEOUT_S = 2.0


class Portal(Generic[LiveT]):
    """Runs coroutines on a loop in a daemon thread, between `open_live`'s entry and exit.

    `submit` may be called from any thread of the process that made it, except the portal's own.
    """

    def __init__(self, open_live: Callable[[], AbstractAsyncContextManager[LiveT]]) -> None:
        self.pid = os.getpid()
        self._open_live = open_live
        self._started: concurrent.futures.Future[tuple[LiveT, asyncio.AbstractEventLoop]] = concurrent.futures.Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="verifier-client", daemon=True)
        self._thread.start()
        self.live, self._loop = self._started.result()

    @property
    def usable(self) -> bool:
        return self.pid == os.getpid() and self._thread.is_alive()

    def submit(self, work: Callable[[LiveT], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Start `work(live)` on the portal's loop. Cancelling the future cancels the work."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a client can't be called from its own thread (from a progress callback?)")
        return asyncio.run_coroutine_threadsafe(work(self.live), self._loop)

    def close(self) -> None:
        """End what is running, close the connections, end the thread. Safe to call twice, and in a forked child."""
        if not self.usable:
            return
        try:
            self._loop.call_soon_threadsafe(self._stop.set)
        except RuntimeError:  # the loop closed between the two lines
            return
        if threading.current_thread() is not self._thread:
            self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        try:
            async with self._open_live() as live:
                self._started.set_result((live, asyncio.get_running_loop()))
                await self._stop.wait()
                await _cancel_others()
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)


async def _cancel_others() -> None:
    """Cancel every other task, so that none uses the connections while they close and each waiter is told."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
