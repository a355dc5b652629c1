"""Where rows are in time, and how that is written: the one place of a report that knows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..results import Detection
from ..wording import lasting, moment
from ..zones import walls

__all__ = ["Clock"]


@dataclass(frozen=True, eq=False)
class Clock:
    """Rows of a detection as moments, or as numbers where it has no times."""

    found: Detection

    @property
    def zone(self) -> str:
        """What times are given in; "" where there are none."""
        return "" if self.found.times is None else self.found.zone or "UTC"

    def x(self, rows: Any) -> Any:
        """Where rows are on an axis: milliseconds since 1970 by the clock on the wall, or their numbers."""
        where = np.asarray(rows, dtype=np.int64)
        if self.found.times is None:
            return where
        moments = self.found.times[where].astype(np.int64)
        return (moments if self.found.zone is None else walls(moments, self.found.zone)) / 1e6

    @property
    def axis(self) -> dict[str, Any]:
        """What an axis of time looks like."""
        if self.found.times is None:
            return {"tickformat": ",d", "hoverformat": ",d"}
        return {"type": "date", "hoverformat": "%Y-%m-%d %H:%M:%S"}

    def text(self, row: int) -> str:
        """To the second, or a row."""
        return moment(row, None if self.found.times is None else self.found.times[row], self.found.zone)

    def lasted(self, first: int, last: int) -> str:
        """From one row to another, in the units that read best."""
        if self.found.times is None or first == last:
            return f"{last - first + 1:,} row{'s' * (last != first)}"
        return lasting(float((self.found.times[last] - self.found.times[first]) / np.timedelta64(1, "s")))

    def delayed(self, rows: float) -> str:
        """So many rows, as a span of time where rows come evenly enough to say so."""
        period = self.found.learnt.period
        if self.found.times is None or period is None:
            return f"{rows:,.3g} row{'s' * (rows != 1)}"
        return lasting(rows * period)
