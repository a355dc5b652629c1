"""Empties the outbox: letters to webhooks, each until it has arrived or was given up.

A letter leaves the outbox only after its receiver has taken it: who dies in between sends it again, with the same id.
Nothing here is waited for by anybody: a receiver that is slow or dead holds up its own letters alone, a few at a time.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx
import orjson
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from ...errors import StoreError
from ...live.alert import Style, message_of
from ..lease import Lease
from ..metrics import Metrics
from ..settings import ServeSettings
from ..store import notices, outbox
from ..store.outbox import Letter, read_standing
from ..store.store import Store
from .attempt import Answer, attempt, wait
from .target import Targets
from .webhooks import Webhook, Webhooks

__all__ = ["Deliveries"]

log = logging.getLogger("ccmtad")

LOOK = 0.5  # seconds between two looks into the outbox, at the most
LEAST = 0.1  # and at the least: what comes of several attempts is written down together
AT_ONCE = 4  # letters on their way to one webhook
KEEP_DEAD = 30 * 86_400 * 10**9  # nanoseconds that what was given up is kept
LONGEST_HOLD = 3_600.0  # seconds that a receiver can hold up all letters to it, by asking
CLEAN = 3_600.0  # seconds between two looks for what was given up long ago


@dataclass
class Deliveries:
    """Of one process. Several on one store share the work: each letter is held by one of them."""

    settings: ServeSettings
    store: Store
    webhooks: Webhooks
    lease: Lease
    metrics: Metrics
    style: Style
    client: httpx.AsyncClient
    _under_way: dict[int, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _to: Counter[str] = field(default_factory=Counter, init=False)  # letters under way, by webhook
    _done: list[tuple[Letter, Answer]] = field(default_factory=list, init=False)  # not written down yet
    _not_before: dict[str, float] = field(default_factory=dict, init=False)  # receivers that asked us to wait
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _cleaned: float = field(default=0.0, init=False)

    async def run(self) -> None:
        """For ever; when it is cancelled, what has come of attempts is written down."""
        pause = 0.0
        try:
            while True:
                await asyncio.sleep(LEAST)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(pause - LEAST, 0.0)):  # `wait_for` may forget a cancellation
                        await self._news.wait()
                self._news.clear()
                try:
                    pause = await self._round()
                except StoreError:  # the engine says so
                    pause = LOOK
                except Exception:  # a defect: the next letter may be another
                    log.exception("deliveries")
                    pause = LOOK
        finally:
            await self._end()

    async def _round(self) -> float:
        """Writes down what came of attempts, and begins new ones; seconds until there may be more to do."""
        if not self.lease.id:
            return LOOK
        done, self._done = self._done, []
        try:
            letters, pause = await run_in_threadpool(self._exchange, done)
        except Exception:
            self._done += done
            raise
        for letter, webhook in letters:
            self._to[letter.webhook] += 1
            self._under_way[letter.id] = asyncio.create_task(self._send(letter, webhook))
        return pause

    async def _send(self, letter: Letter, webhook: Webhook) -> None:
        answer = Answer(None, "it could not be written", 0.0)
        try:
            body = orjson.dumps(message_of(read_standing(letter.body), self.style, webhook.name))
            timeout = self.settings.webhook_timeout
            answer = await attempt(self.client, self._targets, webhook, letter.message, body, timeout)
        except Exception:  # a defect, or a letter that no version wrote: it is a failed attempt
            log.exception("letter %d to webhook %r", letter.id, webhook.name)
        self._done.append((letter, answer))
        self._to[letter.webhook] -= 1
        self._news.set()

    @property
    def _targets(self) -> Targets:
        return Targets(self.settings.webhook_targets)

    def _exchange(self, done: list[tuple[Letter, Answer]]) -> tuple[list[tuple[Letter, Webhook]], float]:
        now, process = time.time_ns(), self.lease.id
        busy = set(self._under_way)
        clean = time.monotonic() - self._cleaned > CLEAN or not self._cleaned
        with self.store.read() as connection:
            letters = self._room_for(outbox.due(connection, process, busy, AT_ONCE, now))
            later = outbox.next_due(connection, now)
            release = notices.outlasting(connection, now)
        if done or letters or clean or release:  # else nothing is written, and no row waits for the turn to write
            with self.store.write() as connection:
                if release:  # first: it takes the turn to tell
                    notices.release(self.store, connection, now)
                for letter, answer in done:
                    self._settle(connection, letter, answer, now)
                letters = outbox.hold(connection, process, busy, letters)
                if clean:
                    outbox.forget(connection, now - KEEP_DEAD)
                    self._cleaned = time.monotonic()
            for letter, answer in done:
                self._under_way.pop(letter.id, None)
                self._count(letter, answer)
        known = {one.id: one for one in self.webhooks.all()} if letters else {}
        pause = LOOK if later is None else min((later - now) / 1e9, LOOK)
        return [(one, known[one.webhook]) for one in letters if one.webhook in known], pause

    def _room_for(self, letters: list[Letter]) -> list[Letter]:
        """As many of them as may be under way at a time."""
        there, taken = Counter(self._to), []
        for letter in letters:
            if there[letter.webhook] < AT_ONCE and self._open(letter.webhook):
                there[letter.webhook] += 1
                taken.append(letter)
        return taken

    def _open(self, webhook: str) -> bool:
        return time.monotonic() >= self._not_before.get(webhook, 0.0)

    def _last(self, letter: Letter, answer: Answer) -> bool:
        return answer.gone or letter.attempts + 1 >= self.settings.webhook_attempts

    def _settle(self, connection: Connection, letter: Letter, answer: Answer, now: int) -> None:
        if not answer.trouble:
            outbox.delivered(connection, letter.id)
            return
        rest = wait(letter.attempts + 1, self.settings.webhook_wait, answer.after)
        dead = now if self._last(letter, answer) else None
        if answer.gone:
            outbox.pause(connection, letter.webhook, "its receiver answered 410, gone")
        outbox.failed(connection, letter.id, answer.trouble, now + int(rest * 1e9), dead)

    def _count(self, letter: Letter, answer: Answer) -> None:
        result = "delivered" if not answer.trouble else "dead" if self._last(letter, answer) else "failed"
        self.metrics.deliveries.labels(result).inc()
        self.metrics.delivery.observe(answer.seconds)
        if answer.trouble and answer.after:
            self._not_before[letter.webhook] = time.monotonic() + min(answer.after, LONGEST_HOLD)
        if result == "dead":
            log.warning("a letter to webhook %s was given up: %s", letter.webhook, answer.trouble)

    async def _end(self) -> None:
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        done, self._done = self._done, []
        with contextlib.suppress(StoreError):
            await run_in_threadpool(self._write_last, done)

    def _write_last(self, done: list[tuple[Letter, Answer]]) -> None:
        if done:
            with self.store.write() as connection:
                for letter, answer in done:
                    self._settle(connection, letter, answer, time.time_ns())
