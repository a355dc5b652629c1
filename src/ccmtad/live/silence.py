"""A source that has gone silent: an event that no row can tell of, by the clock on the wall."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..results import Change, Event

__all__ = ["SILENT", "Silence"]

TROUBLED = 60.0  # seconds that a source which is gone may be so, where the period of the rows is unknown
SILENT = "silence"  # what the journal knows it by: channels may be lost at the same time


@dataclass
class Silence:
    """Seconds without a row that are too many; None where the period of the rows is unknown."""

    longest: float | None
    clock: Callable[[], float] = time.monotonic
    open: int | None = None  # the row that did not come
    since: int | None = None  # time of the last one that did, in nanoseconds
    _heard: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._heard = self.clock()

    def heard(self, at: int | None) -> Change | None:
        """A row has come, of this time: whether that ends a silence."""
        change = None if self.open is None else Change("final", self._event(self.open, at))
        self.open, self._heard = None, self.clock()
        return change

    @property
    def limit(self) -> float:
        """Seconds without a row that begin a silence."""
        return TROUBLED if self.longest is None else self.longest

    def look(self, rows: int, last: int | None, *, troubled: bool = False) -> Change | None:
        """No row has come after so many, the last of this time: whether that begins a silence.

        Where the period is unknown, only a source that is `troubled`, gone or unreadable, can be silent.
        """
        known = self.longest is not None or troubled
        if not known or self.open is not None or self.clock() - self._heard <= self.limit:
            return None
        self.open, self.since = rows, last
        return Change("opened", self._event(None, None))

    def _event(self, end: int | None, ended: int | None) -> Event:
        assert self.open is not None
        began = None if self.since is None else np.datetime64(self.since, "ns")
        waited = max(self.clock() - self._heard, self.limit)
        if ended is not None and self.since is not None:
            ended = max(ended, self.since + round(waited * 1e9))  # rows kept back meanwhile were silent all the same
        over = None if ended is None else np.datetime64(ended, "ns")
        return Event(
            start=self.open, alarm=self.open, end=end, severity=waited / self.limit, channels=(), blame=(),
            start_time=began, alarm_time=None, end_time=over, kind="signal lost",
        )  # fmt: skip

    def state(self) -> list[int | None]:
        """All it remembers, as JSON knows it."""
        return [self.open, self.since]

    def restore(self, state: Any) -> None:
        """Goes on with what it remembered."""
        self.open, self.since = (None if one is None else int(one) for one in state)
