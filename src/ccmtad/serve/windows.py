"""Maintenance windows: what happens in one is recorded, and says what silenced it."""

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

    def silences(self, entity: str, blamed: Iterable[str], time: int) -> bool:
        """Whether an event of this time that blames these channels falls under it: all of them must."""
        if self.entity not in (None, entity) or time < self.start or (self.end is not None and time > self.end):
            return False
        return self.channels is None or set(blamed) <= set(self.channels)


def silencing(windows: Iterable[Window], entity: str, event: Event, at: int) -> Window | None:
    """The window that an event falls under by the time of its alarm, or by `at` where rows have no times."""
    time = at if event.alarm_time is None else int(event.alarm_time.astype("datetime64[ns]").astype("int64"))
    blamed = most_blamed(event.channels, event.blame)
    return next((one for one in windows if one.silences(entity, blamed, time)), None)


def most_blamed(channels: Sequence[str], blame: Sequence[float]) -> list[str]:
    """The channels that must all be under a window: those with a tenth of the blame, or the first."""
    found = [name for name, share in zip(channels, blame, strict=True) if share >= WORTH_A_WORD]
    return found or list(channels[:1])


def _iso(time: int | None) -> str | None:
    return None if time is None else iso(np.datetime64(time, "ns"))
