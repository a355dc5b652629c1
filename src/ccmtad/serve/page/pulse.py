"""That something has changed, for all pages that are open: one look at the store, however many they are.

Events, words and windows are told of whichever process they came from, because all of them are in the store.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from sqlalchemy import func, select
from starlette.concurrency import run_in_threadpool

from ...errors import StoreError
from ..service import Service
from ..store.tables import entities, notices, windows, words

__all__ = ["Beat", "Pulse"]

LOOK = 0.4  # seconds between two looks


@dataclass(frozen=True)
class Beat:
    """How far everything has come; where one differs from the one before, something has changed."""

    notices: int
    words: int
    windows: str
    rows: int

    @property
    def line(self) -> bytes:
        """As a browser is told."""
        return b"event: beat\ndata: %s\n\n" % orjson.dumps(asdict(self))


class Pulse:
    """Looks while anybody listens."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.newest: Beat | None = None
        self._changed = asyncio.Condition()
        self._listeners = 0
        self._task: asyncio.Task[None] | None = None

    async def beats(self) -> AsyncIterator[Beat | None]:
        """Each change, and None where there was none for a while; until the service ends."""
        self._listeners += 1
        try:
            if self._task is None or self._task.done():
                self.newest = None
                self._task = asyncio.create_task(self._look())
            told: Beat | None = None
            while not self.service.stopping:
                async with self._changed:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(5.0):
                            await self._changed.wait() if told == self.newest else None
                beat = self.newest
                yield beat if beat != told else None
                told = beat
        finally:
            self._listeners -= 1

    async def _look(self) -> None:
        while self._listeners and not self.service.stopping:
            with contextlib.suppress(StoreError):  # the engine says so
                beat = await run_in_threadpool(self._read)
                if beat != self.newest:
                    async with self._changed:
                        self.newest = beat
                        self._changed.notify_all()
            await asyncio.sleep(LOOK)
        async with self._changed:
            self._changed.notify_all()

    def _read(self) -> Beat:
        ends = func.sum(windows.c.end // 1_000_000_000)  # seconds: nanoseconds would be too large to be summed
        changing: tuple[Any, ...] = (func.count(windows.c.id), func.count(windows.c.end), ends)
        with self.service.store.read() as connection:
            told = connection.execute(select(func.max(notices.c.seq))).scalar()
            said = connection.execute(select(func.max(words.c.id))).scalar()
            silenced = connection.execute(select(*changing)).one()
            rows = connection.execute(select(func.sum(entities.c.stepped))).scalar()
        return Beat(told or 0, said or 0, "-".join(str(one) for one in silenced), int(rows or 0))
