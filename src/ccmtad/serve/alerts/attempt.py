"""One attempt to deliver, what came of it, and when the next one is due."""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from .target import ForbiddenTargetError, Targets
from .webhooks import Webhook

__all__ = ["Answer", "attempt", "retry_after", "wait"]

GROWTH = 3.0  # each wait is so many times the one before
LONGEST_WAIT = 6 * 3600.0
LONGEST_ASKED = 24 * 3600.0  # that a receiver may ask for
LONGEST_TROUBLE = 300  # letters
GONE = 410


@dataclass(frozen=True)
class Answer:
    """What a receiver said."""

    status: int | None  # None: nothing
    trouble: str  # "": it has arrived
    seconds: float
    after: float | None = None  # seconds that it asks us to wait

    @property
    def gone(self) -> bool:
        """Whether it wants nothing more, ever."""
        return self.status == GONE


async def attempt(
    client: httpx.AsyncClient, targets: Targets, webhook: Webhook, message: str, body: bytes, timeout: float
) -> Answer:
    """Sends it once. Only a status from 200 to 299, in time, is a delivery."""
    began, status, after = time.perf_counter(), None, None
    try:
        async with asyncio.timeout(timeout):  # httpx' own limits are for each read: a trickle would pass them
            url, told = await targets.pinned(webhook.url)
            headers = {**webhook.headers(message, body, time.time()), **told.pop("headers", {})}
            async with client.stream("POST", url, content=body, headers=headers, **told) as answer:
                status, after = answer.status_code, retry_after(answer.headers, time.time())
        trouble = "" if 200 <= status < 300 else f"it answered {status}"
    except TimeoutError:
        trouble = f"no answer within {timeout:g} seconds"
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError, ForbiddenTargetError) as error:
        trouble = f"{type(error).__name__}: {error}".removesuffix(": ")[:LONGEST_TROUBLE]
    return Answer(status, trouble, time.perf_counter() - began, after)


def wait(attempts: int, first: float, after: float | None, chance: float | None = None) -> float:
    """Seconds until the next attempt, after so many: more each time, spread out, and no less than was asked for."""
    chance = random.random() if chance is None else chance
    grown = min(first * GROWTH ** min(attempts - 1, 50), LONGEST_WAIT)
    return max(grown * (0.5 + 0.5 * chance), min(after or 0.0, LONGEST_ASKED))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """What `Retry-After` says, in seconds: it has a number or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text[:12])
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max((date - datetime.fromtimestamp(now, UTC)).total_seconds(), 0.0)
