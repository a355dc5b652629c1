"""So many requests a second for each key, with room for a burst."""

import time
from collections.abc import Callable

from .refusal import Refusal

__all__ = ["Limits"]

BURST = 2.0  # seconds' worth of requests that may come at once
MOST_KNOWN = 10_000  # who is remembered


class Limits:
    """A bucket of tokens for each, filled at a steady rate."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.clock = rate, clock
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens, and when they were counted

    def take(self, who: str) -> None:
        """One request; a `Refusal` where there are too many."""
        now, most = self.clock(), max(self.rate * BURST, 1.0)
        tokens, at = self._buckets.get(who, (most, now))
        tokens = min(most, tokens + (now - at) * self.rate)
        if tokens < 1.0:
            self._buckets[who] = (tokens, now)
            wait = (1.0 - tokens) / self.rate
            raise Refusal(429, "too-many-requests", f"at most {self.rate:g} requests a second", retry=wait)
        if len(self._buckets) >= MOST_KNOWN and who not in self._buckets:
            self._buckets.clear()
        self._buckets[who] = (tokens - 1.0, now)
