"""Many callers with one completion each, few requests.

verl, slime and an overlapped rollout ask for one completion at a time. Whatever is asked within a few milliseconds goes
out as one call of the client, and each caller gets its own result. A group that the service refuses fails alone: its
companions are then scored without it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from dataclasses import dataclass, field

from trainer_client.answers import ScoredGroup
from trainer_client.batching import GroupLike, checked_groups
from trainer_client.client import VerifierClient
from trainer_client.client_errors import RequestRefused
from trainer_client.client_transport import Live
from trainer_client.retry import Deadline
from verifier_protocol import Group

WINDOW_S = 0.003
Answers = list[ScoredGroup | RequestRefused]


@dataclass(slots=True, eq=False)
class _Batch:
    live: Live
    deadline: Deadline
    groups: list[Group] = field(default_factory=list)
    task: asyncio.Task[Answers] | None = None


class Coalescer:
    """Collects groups for `window_s`, then scores them together. Safe to call from any thread and to pickle."""

    def __init__(self, client: VerifierClient, *, deadline_s: float | None = None, window_s: float = WINDOW_S) -> None:
        self.client = client
        self.deadline_s = deadline_s if deadline_s is not None else client.settings.deadline_s
        self.window_s = window_s
        self._open: _Batch | None = None  # touched on the client's own loop only

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": None}

    def submit(self, group: GroupLike) -> concurrent.futures.Future[ScoredGroup]:
        """Start scoring one group; its deadline counts from the first of those that it travels with.

        Raises RequestRefused at once for what is no group; the future raises it for what the service refuses.
        """
        (checked,) = checked_groups([group])
        return self.client.run_on_portal(lambda live: self._one(live, checked))

    async def score_one(self, group: GroupLike) -> ScoredGroup:
        return await asyncio.wrap_future(self.submit(group))

    async def _one(self, live: Live, group: Group) -> ScoredGroup:
        batch = self._open
        if batch is None or batch.live is not live:
            batch = self._open = _Batch(live, Deadline.after(self.deadline_s))
            batch.task = asyncio.create_task(self._flush(batch))
        position = len(batch.groups)
        batch.groups.append(group)
        assert batch.task is not None
        answer = (await asyncio.shield(batch.task))[position]
        if isinstance(answer, RequestRefused):
            raise answer
        return answer

    async def _flush(self, batch: _Batch) -> Answers:
        await asyncio.sleep(self.window_s)
        if self._open is batch:
            self._open = None
        return await self._answers(batch.live, batch.groups, batch.deadline)

    async def _answers(self, live: Live, groups: list[Group], deadline: Deadline) -> Answers:
        try:
            return [*await self.client.score_on_portal(live, groups, deadline)]
        except RequestRefused as error:
            if len(groups) == 1:
                return [error]
        alone = await asyncio.gather(*(self._answers(live, [group], deadline) for group in groups))
        return [answer for answers in alone for answer in answers]
