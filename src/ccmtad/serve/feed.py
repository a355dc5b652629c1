"""Notices to all who listen: read from the store in the order of their numbers, whichever process told them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool

from ..errors import StoreError
from .store import notices
from .store.store import Store

__all__ = ["Feed", "LaggingError"]

LOOK = 1.0  # seconds between two looks for what other processes told
AT_ONCE = 1_000
WAITING = 1_000  # notices that a slow listener may leave lying


class LaggingError(Exception):
    """A listener was too slow; it may ask again from where it was."""


Item = tuple[int, str] | None


class Feed:
    """Follows the notices of the store, once for all listeners of this process."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.seq = 0  # the last that was handed out
        self._listeners: set[asyncio.Queue[Item]] = set()
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """From the newest notice on."""
        self._loop = asyncio.get_running_loop()
        self.seq = await run_in_threadpool(self._last)
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Every listener ends."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for listener in self._listeners:
            with contextlib.suppress(asyncio.QueueFull):
                listener.put_nowait(None)

    def wake(self) -> None:
        """Something was told; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def after(self, seq: int | None) -> AsyncIterator[tuple[int, str]]:
        """Notices that follow a number, or from now on, for ever."""
        mine: asyncio.Queue[Item] = asyncio.Queue(WAITING)
        self._listeners.add(mine)
        try:
            done = self.seq if seq is None else seq
            while done < self.seq:
                old = await run_in_threadpool(self._read, done)
                for number, body in old:
                    yield number, body
                    done = number
                if not old:
                    break
            while True:
                item = await mine.get()
                if item is None:
                    if mine not in self._listeners:
                        raise LaggingError
                    return
                if item[0] > done:
                    yield item
                    done = item[0]
        finally:
            self._listeners.discard(mine)

    async def _follow(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                # Not `wait_for`: in Python 3.11 it forgets that it was cancelled where the news come at that moment.
                async with asyncio.timeout(LOOK):
                    await self._news.wait()
            self._news.clear()
            with contextlib.suppress(StoreError):  # the engine says so
                while found := await run_in_threadpool(self._read, self.seq):
                    for item in found:
                        self._hand(item)

    def _hand(self, item: tuple[int, str]) -> None:
        self.seq = item[0]
        for listener in list(self._listeners):
            if listener.full():
                self._listeners.discard(listener)
                listener.get_nowait()
                listener.put_nowait(None)
            else:
                listener.put_nowait(item)

    def _last(self) -> int:
        with self.store.read() as connection:
            return notices.last(connection)

    def _read(self, seq: int) -> list[tuple[int, str]]:
        with self.store.read() as connection:
            return notices.after(connection, seq, AT_ONCE)
