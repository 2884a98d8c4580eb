"""What compilers made of sources, kept by source: each is compiled once, whoever asks and however often.

A build depends on nothing but the language's row, the source and the files that came with it, so whoever asks for the
same has the same. A compiler that ran into a limit may have been unlucky: that is told to those who wait, and not kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256

from cachetools import LRUCache

from verifier_service.sandbox.runner import build, wire

ENTRY_BYTES = 200


class Builds:
    """Used from one event loop."""

    def __init__(self, max_bytes: int) -> None:
        self._kept: LRUCache[bytes, bytes] = LRUCache(max(1, max_bytes), getsizeof=lambda built: len(built) + ENTRY_BYTES)
        self._flights: dict[bytes, asyncio.Future[bytes | None]] = {}
        self.made = 0

    async def get(self, key: bytes, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """The build of this key, made if need be; whatever `make` raises reaches its caller alone, the next one tries."""
        while True:
            if (kept := self._kept.get(key)) is not None:
                return kept
            flight = self._flights.get(key)
            if flight is None:
                break
            shared = await asyncio.shield(flight)
            if shared is not None:
                return shared
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        built: bytes | None = None
        try:
            built = await make()
        finally:
            del self._flights[key]
            flight.set_result(built)
        self.made += 1
        if not build.depends_on_load(built) and len(built) + ENTRY_BYTES <= self._kept.maxsize:
            self._kept[key] = built
        return built


def compiled_with(program: wire.RunBody | wire.JudgeBody) -> list[tuple[bytes, bytes]]:
    """The files that a compiler is given beside the source."""
    return [] if program.flags & wire.FILES_ARE_DATA else program.files


def key_of(program: wire.RunBody | wire.JudgeBody) -> bytes:
    """SHA-256 over all that a compiler is given."""
    digest = sha256()
    for part in (program.language, program.source, *(item for file in compiled_with(program) for item in file)):
        digest.update(len(part).to_bytes(8) + part)
    return digest.digest()
