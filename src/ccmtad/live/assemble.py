"""Single values become rows: one row for each period in which a value came, once no more of its values are expected.

A value belongs to the period that its time lies in; a row has the time of its period's start. A row is made when a
value has come that is later than its period's end by the grace, so that any order of arrival within the grace gives the
same rows. Of several values of a channel in one period the latest counts; of two at the same time, the larger. A
channel without one is NaN. Values for a row that was made already are late: they are counted, and left out.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, SettingError

__all__ = ["Assembled", "Assembler"]

SECOND = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Assembled:
    """One row, whole or with gaps."""

    time: int  # nanoseconds since 1970: the start of its period
    values: NDArray[np.float64]  # in the order of the channels, NaN where none came


@dataclass
class Assembler:
    """Rows of some channels, of a period, with a grace for late values; both in seconds.

    assembler = Assembler(("flow", "level"), period=1.0, grace=5.0)
    rows = assembler.take("flow", 2.4, time)
    """

    channels: Sequence[str]
    period: float
    grace: float = 0.0
    late: int = field(default=0, init=False)  # values that came after their row was made
    _newest: int | None = field(default=None, init=False)  # time of the latest value
    _made: int | None = field(default=None, init=False)  # the last period that was made a row, or passed over
    _open: dict[int, dict[int, tuple[int, float]]] = field(default_factory=dict, init=False)  # period: channel: latest

    def __post_init__(self) -> None:
        for name, value, least in (("period", self.period, 1e-6), ("grace", self.grace, 0.0)):
            if not (math.isfinite(value) and value >= least):
                raise SettingError(f"{name} must be at least {least:g} seconds; got {value!r}")
        self._place = {name: i for i, name in enumerate(self.channels)}
        self._length, self._wait = round(self.period * SECOND), round(self.grace * SECOND)

    def take(self, channel: str, value: float, time: int) -> list[Assembled]:
        """One value, of a time in nanoseconds; the rows that are whole now, in order of time."""
        place = self._place.get(channel)
        if place is None:
            raise InputError(f"channel must be one of the fitted data; got {channel!r}")
        period = time // self._length
        if self._made is not None and period <= self._made:
            self.late += 1
            return []
        kept = self._open.setdefault(period, {})
        value = float(value) if math.isfinite(value) else math.nan
        if place not in kept or _key(time, value) > _key(*kept[place]):
            kept[place] = (time, value)
        if self._newest is not None and time <= self._newest:
            return []
        self._newest = time
        return list(self._rows((time - self._wait) // self._length - 1))

    def flush(self) -> list[Assembled]:
        """The rows that wait, as they are: nothing more is expected."""
        return list(self._rows(max(self._open))) if self._open else []

    @property
    def waiting(self) -> int:
        """Rows that are not made yet."""
        return len(self._open)

    def _rows(self, last: int) -> Iterator[Assembled]:
        """Those of the periods up to the last one that is over."""
        for period in sorted(one for one in self._open if one <= last):
            values = np.full(len(self.channels), np.nan)
            for place, (_, value) in self._open.pop(period).items():
                values[place] = value
            yield Assembled(period * self._length, values)
        self._made = last if self._made is None else max(last, self._made)

    def state(self) -> dict[str, Any]:
        """All it remembers, as JSON knows it."""
        waiting = [
            [period, [[place, time, None if math.isnan(value) else value] for place, (time, value) in kept.items()]]
            for period, kept in sorted(self._open.items())
        ]
        return {"late": self.late, "newest": self._newest, "made": self._made, "open": waiting}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on with what it remembered."""
        self.late, self._newest, self._made = int(state["late"]), state["newest"], state["made"]
        self._open = {
            int(period): {
                int(place): (int(time), math.nan if value is None else float(value)) for place, time, value in kept
            }
            for period, kept in state["open"]
        }

    def copy(self) -> "Assembler":
        """Another one in the same state."""
        other = Assembler(self.channels, self.period, self.grace)
        other.restore(self.state())
        return other


def _key(time: int, value: float) -> tuple[int, float]:
    """What counts more is larger."""
    return time, -math.inf if math.isnan(value) else value
