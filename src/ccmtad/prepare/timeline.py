"""Which rows count, and where the series breaks, from their times alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..record import NEVER

__all__ = [
    "FIELDS",
    "GAP",
    "LATE",
    "LONGEST",
    "SIGNED",
    "UNTIMED",
    "kept",
    "longest_pause",
    "median_period",
    "starts",
    "take",
]

Times = NDArray[np.datetime64]
Bools = NDArray[np.bool_]


# Live: what was odd about a row's time, as bits.
LATE, GAP, UNTIMED = 1, 2, 4
LONGEST = int(np.iinfo(np.int64).max)  # nanoseconds
FIELDS = {
    "last_time": NEVER,  # nanoseconds
    "untimed": False,  # the newest row came without a time
}
SIGNED = ("last_time",)


@kernel
def take(stream: Any, time: int, pause: int) -> tuple[int, int]:
    """The live form of `kept` and `starts`: what is odd about a row of this time, and how long it came after the last.

    A late row changes nothing. `pause` is the longest one, in nanoseconds, that does not restart the window.
    """
    if time == NEVER:
        odd = UNTIMED if stream.last_time != NEVER else 0
        stream.untimed = True
        return odd, 0
    last = stream.last_time
    if last != NEVER and time <= last:
        return LATE, 0
    waited = time - last if last != NEVER else 0
    if waited < 0:  # more than compiled numbers can hold
        waited = LONGEST
    odd = GAP if waited > pause and not stream.untimed else 0
    stream.last_time = time
    stream.untimed = False
    return odd, waited


def longest_pause(period: float | None, gap: float) -> float | None:
    """Seconds between two rows above which the window restarts; None where times are unknown."""
    return None if period is None else gap * period


def kept(times: Times | None, rows: int) -> Bools:
    """Rows later than every row before them; late and duplicate ones are ignored."""
    keep = np.ones(rows, dtype=np.bool_)
    if times is not None:
        latest = np.maximum.accumulate(times)
        keep[1:] = times[1:] > latest[:-1]
    return keep


def median_period(times: Times | None) -> float | None:
    """Median seconds between rows that are in order; None where times are unknown or there is one row."""
    if times is None or len(times) < 2:
        return None
    return float(np.median(np.diff(times).astype(np.int64))) * 1e-9


def starts(times: Times | None, rows: int, longest: float | None) -> Bools:
    """Rows at which a new stretch begins: the first, and each after a pause of more than `longest` seconds."""
    start = np.zeros(rows, dtype=np.bool_)
    start[:1] = True
    if times is not None and longest is not None:
        start[1:] = np.diff(times).astype(np.int64) > round(longest * 1e9)
    return start
