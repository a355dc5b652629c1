"""All that tells others, put together."""

import asyncio
import contextlib
import secrets
import time

import httpx
import orjson

from ...live.alert import Standing, Style, message_of
from ..lease import Lease
from ..metrics import Metrics
from ..settings import ServeSettings
from ..store import outbox
from ..store.outbox import Counts
from ..store.store import Store
from .alertmanager import Alertmanager
from .attempt import Answer, attempt
from .deliver import Deliveries
from .target import Targets
from .webhooks import Webhooks

__all__ = ["Alerting", "example"]


class Alerting:
    """Alertmanagers and webhooks of one process."""

    def __init__(self, settings: ServeSettings, store: Store, lease: Lease, metrics: Metrics) -> None:
        self.settings, self.store = settings, store
        self.style = Style(settings.url, settings.critical)
        self.targets = Targets(settings.webhook_targets)
        self.webhooks = Webhooks(store)
        # Nobody is sent elsewhere by a redirect, nor through a proxy that the environment names.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self.client = httpx.AsyncClient(
            trust_env=False, follow_redirects=False, timeout=settings.webhook_timeout, limits=limits
        )
        self.deliveries = Deliveries(settings, store, self.webhooks, lease, metrics, self.style, self.client)
        self.alertmanagers = [
            Alertmanager(url, settings, store, lease, metrics, self.style, self.client)
            for url in settings.alertmanagers
        ]
        metrics.watch_alerts(self.counts)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begins to tell."""
        work = [self.deliveries.run(), *(one.run() for one in self.alertmanagers)]
        self._tasks = [asyncio.create_task(one) for one in work]

    async def stop(self) -> None:
        """Ends; what was not delivered waits in the store. Alerts are not resolved: somebody may go on with them."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self.client.aclose()

    def counts(self) -> Counts:
        """What fires, waits and was given up."""
        with self.store.read() as connection:
            return outbox.counts(connection)

    async def try_out(self, number: str) -> tuple[str, Answer]:
        """One message to a webhook, of no event, now and once: its id, and what the receiver said."""
        webhook = await asyncio.to_thread(self.webhooks.__getitem__, number)
        message = f"msg_{secrets.token_hex(16)}"
        told = orjson.dumps(message_of(example(), self.style, webhook.name))
        timeout = self.settings.webhook_timeout
        return message, await attempt(self.client, self.targets, webhook, message, told, timeout)


def example() -> Standing:
    """No event: something to try a webhook out with."""
    now = time.time_ns()
    event = {
        "id": "test", "entity": "test", "kind": "test", "severity": 1.0, "channels": [], "start_time": None,
        "end_time": None, "sentence": "a message to try out a webhook: nothing has happened",
    }  # fmt: skip
    return Standing(event, True, "", now, now, "", 1.0)
