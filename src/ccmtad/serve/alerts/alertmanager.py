"""Tells an Alertmanager of open events, again and again while they are open, as it wants to be told.

An alert that is not sent again ends of itself, four intervals after the last time: were this service gone for good, no
alert would stay for ever. What is sent comes from the store and not from memory, so that a service that starts again,
or takes entities over, goes on where the other was.
"""

import asyncio
import logging
import time
from dataclasses import dataclass, field

import httpx
import orjson
from starlette.concurrency import run_in_threadpool

from ...errors import SettingError, StoreError
from ...live.alert import Alert, Style, alerts_of, distinct
from ..lease import Lease
from ..metrics import Metrics
from ..settings import ServeSettings
from ..store import outbox
from ..store.store import Store

__all__ = ["Alertmanager"]

log = logging.getLogger("ccmtad")

PATH = "/api/v2/alerts"
LOOK = 0.5  # seconds between two looks for what has changed
INTERVALS = 4  # after which an alert that was not sent again has ended
ENDED_KEPT = 15 * 60.0  # seconds in which it is told again that an alert has ended; four intervals at the least
AT_ONCE = 500  # alerts of one request
TIMEOUT = 10.0


@dataclass
class Alertmanager:
    """One of them, by its URL. A name and password in that are sent as such, and never shown."""

    url: str
    settings: ServeSettings
    store: Store
    lease: Lease
    metrics: Metrics
    style: Style
    client: httpx.AsyncClient
    _due: float = field(default=0.0, init=False)  # when all of it is to be sent
    _pulse: tuple[int, ...] = field(default=(), init=False)  # of what was sent last
    _failures: int = field(default=0, init=False)  # in a row

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise SettingError(f"alertmanager must be the URL of one; got {self.url!r}") from error
        if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
            raise SettingError(f"alertmanager must be the http or https URL of one; got {self.url!r}")
        self.shown = str(url.copy_with(username=None, password=None)).rstrip("/")
        self._to = url.copy_with(path=url.path.rstrip("/") + PATH)
        for result in ("taken", "failed"):
            self.metrics.posts.labels(self.shown, result)
        self.metrics.posted.labels(self.shown)

    async def run(self) -> None:
        """For ever. What has changed is sent at once, and everything once in each interval."""
        while True:
            try:
                await self._look()
            except StoreError:  # the engine says so
                self._due = 0.0
            except Exception:  # a defect: the next alert may be another
                log.exception("Alertmanager %s", self.shown)
            await asyncio.sleep(min(LOOK, self.settings.alert_interval / 4))

    async def _look(self) -> None:
        now = time.monotonic()
        if not self.lease.id or (self._failures and now < self._due):
            return
        pulse = await run_in_threadpool(self._read_pulse)
        if pulse == self._pulse and now < self._due:
            return
        alerts = await run_in_threadpool(self._read)
        if await self._post(alerts):
            self._failures, self._pulse = 0, pulse
            self._due = now + self.settings.alert_interval
        else:
            self._failures += 1
            self._due = now + min(2.0 ** min(self._failures - 1, 10), self.settings.alert_interval)

    @property
    def _recent(self) -> int:
        kept = max(ENDED_KEPT, INTERVALS * self.settings.alert_interval)
        return time.time_ns() - int(kept * 1e9)

    def _read_pulse(self) -> tuple[int, ...]:
        with self.store.read() as connection:
            return outbox.pulse(connection, self._recent)

    def _read(self) -> list[Alert]:
        with self.store.read() as connection:
            standings = outbox.current(connection, self.lease.id, self._recent)
        return distinct([alert for one in standings for alert in alerts_of(one, self.style)])

    async def _post(self, alerts: list[Alert]) -> bool:
        until = time.time_ns() + int(INTERVALS * self.settings.alert_interval * 1e9)
        for first in range(0, len(alerts), AT_ONCE):
            some = alerts[first : first + AT_ONCE]
            trouble = await self._send(orjson.dumps([one.posted(until) for one in some]))
            self.metrics.posts.labels(self.shown, "failed" if trouble else "taken").inc()
            if trouble:
                if not self._failures:
                    log.warning("Alertmanager %s takes no alerts: %s", self.shown, trouble)
                return False
            self.metrics.posted.labels(self.shown).inc(len(some))
            if self._failures:
                log.warning("Alertmanager %s takes alerts again", self.shown)
                self._failures = 0
        return True

    async def _send(self, body: bytes) -> str:
        """What went wrong."""
        try:
            async with asyncio.timeout(TIMEOUT):
                answer = await self.client.post(self._to, content=body, headers={"content-type": "application/json"})
        except TimeoutError:
            return f"no answer within {TIMEOUT:g} seconds"
        except (httpx.HTTPError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return "" if answer.is_success else f"it answered {answer.status_code}: {answer.text[:200]}"
