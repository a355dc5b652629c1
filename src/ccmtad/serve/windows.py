"""Maintenance windows: what happens in one is recorded, and says what silenced it, unless it outlasts it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Row

from ..results import WORTH_A_WORD, Event
from ..wording import iso

__all__ = ["Window", "most_blamed", "silencing"]


@dataclass(frozen=True)
class Window:
    """A span in which an entity, or channels of it, are worked on. Times are nanoseconds."""

    id: int
    entity: str | None  # None: every one
    channels: tuple[str, ...] | None  # None: every one
    start: int
    end: int | None  # None: until it is ended
    comment: str
    by: str
    made: int

    @classmethod
    def of(cls, row: Row[Any]) -> "Window":
        """From the store."""
        channels = None if row.channels is None else tuple(orjson.loads(row.channels))
        return cls(row.id, row.entity, channels, row.start, row.end, row.comment, row.made_by, row.made)

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON knows it."""
        times = {name: _iso(getattr(self, name)) for name in ("start", "end", "made")}
        channels = None if self.channels is None else list(self.channels)
        return {**asdict(self), "channels": channels, **times}

    @property
    def short(self) -> dict[str, Any]:
        """What an event says of it."""
        return {"id": self.id, "comment": self.comment, "by": self.by}

    def silences(self, entity: str, blamed: Iterable[str], alarm: int, until: int) -> bool:
        """Whether an event that blames these channels falls under it, all of them: from its alarm until where it is
        known to go on."""
        if self.entity not in (None, entity) or alarm < self.start:
            return False
        if self.end is not None and max(alarm, until) > self.end:
            return False
        return self.channels is None or set(blamed) <= set(self.channels)


def silencing(windows: Iterable[Window], entity: str, event: Event, at: int, newest: int) -> Window | None:
    """The window that an event falls under as of a row of the time `newest`; `at` is when that came, for rows without
    times."""
    alarm, end = (
        None if time is None else int(time.astype("datetime64[ns]").astype("int64"))
        for time in (event.alarm_time, event.end_time)
    )
    until = at if alarm is None else newest if end is None else end
    blamed = most_blamed(event.channels, event.blame)
    return next((one for one in windows if one.silences(entity, blamed, at if alarm is None else alarm, until)), None)


def most_blamed(channels: Sequence[str], blame: Sequence[float]) -> list[str]:
    """The channels that must all be under a window: those with a tenth of the blame, or the first."""
    found = [name for name, share in zip(channels, blame, strict=True) if share >= WORTH_A_WORD]
    return found or list(channels[:1])


def _iso(time: int | None) -> str | None:
    return None if time is None else iso(np.datetime64(time, "ns"))
