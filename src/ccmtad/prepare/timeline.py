"""Which rows count, and where the series breaks, from their times alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import Entry, available, kernel
from ..record import NEVER, Layout

__all__ = [
    "BACK",
    "FIELDS",
    "GAP",
    "JUMP",
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
LATE, GAP, UNTIMED, JUMP, BACK = 1, 2, 4, 8, 16
LONGEST = int(np.iinfo(np.int64).max)  # nanoseconds
USUAL_GAP = 10.0  # periods
A_JUMP = 1_000  # times the longest pause: more likely a wrong clock
AGREEING = 3  # rows that go on from before a pause, one after the other, show that the clock was wrong meanwhile
FIELDS = {
    "last_time": NEVER,  # nanoseconds
    "untimed": False,  # the newest row came without a time
    "before": NEVER, "after": NEVER,  # times on both sides of the longest pause since the clock was known to be right
    "agreed": NEVER, "agreeing": 0,  # the newest of so many rows that go on from before it
}  # fmt: skip
SIGNED = ("last_time", "before", "after", "agreed")


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
        return _late(stream, time, pause)
    waited = _between(last, time) if last != NEVER else 0
    odd = 0
    if waited > pause and not stream.untimed:
        odd = GAP | JUMP if waited // A_JUMP > pause else GAP
        if stream.before == NEVER or waited > _between(stream.before, stream.after):
            stream.before = last
            stream.after = time
    stream.last_time = time
    stream.untimed = False
    stream.agreed = NEVER
    stream.agreeing = 0
    return odd, waited


@kernel
def _late(stream: Any, time: int, pause: int) -> tuple[int, int]:
    """A row that is not later than the last. It is ignored, unless it is one of several that go on from before a pause,
    as if there had been none: then the clock was wrong meanwhile, and is right again."""
    if stream.before == NEVER or not stream.before < time < stream.after:
        stream.agreed = NEVER
        stream.agreeing = 0
        return LATE, 0
    agrees = stream.agreed != NEVER and 0 < time - stream.agreed <= pause
    stream.agreeing = stream.agreeing + 1 if agrees else 1
    stream.agreed = time
    if stream.agreeing < AGREEING:
        return LATE, 0
    stream.last_time = time
    stream.before = NEVER
    stream.after = NEVER
    stream.agreed = NEVER
    stream.agreeing = 0
    return GAP | BACK, 0


@kernel
def _between(first: int, second: int) -> int:
    waited = second - first
    return waited if waited >= 0 else LONGEST  # more than compiled numbers can hold


def longest_pause(period: float | None, gap: float) -> float | None:
    """Seconds between two rows above which the window restarts; None where times are unknown."""
    return None if period is None else gap * period


def _keep(records: Any, times: Any, pause: int, keep: Any) -> None:
    for t in range(len(times)):
        odd, _ = take(records[0], times[t], pause)
        keep[t] = not odd & LATE


KEEP = Entry(_keep)


def kept(times: Times | None, rows: int, longest: float | None = None) -> Bools:
    """Rows later than every row before them; late and duplicate ones are ignored.

    A clock that was ahead for a while is known when it comes back, after a pause of more than `longest` seconds (ten
    periods, where that is not known).
    """
    keep = np.ones(rows, dtype=np.bool_)
    if times is None or bool((times[1:] > times[:-1]).all()):
        return keep
    fast, longest = available(), longest_pause(median_period(times), USUAL_GAP) if longest is None else longest
    pause = LONGEST if longest is None else min(round(longest * 1e9), LONGEST)
    moments = times.astype("datetime64[ns]").astype(np.int64)
    run, given = (KEEP.fast, moments) if fast else (KEEP.plain, moments.tolist())
    run(Layout(FIELDS).many(1, fast), given, pause, keep)
    return keep


def median_period(times: Times | None) -> float | None:
    """Median seconds between rows and later ones; None where times are unknown or there are none."""
    if times is None or len(times) < 2:
        return None
    steps = np.diff(times).astype(np.int64)
    steps = steps[steps > 0]
    return float(np.median(steps)) * 1e-9 if len(steps) else None


def starts(times: Times | None, rows: int, longest: float | None) -> Bools:
    """Rows at which a new stretch begins: the first, and each after a pause of more than `longest` seconds."""
    start = np.zeros(rows, dtype=np.bool_)
    start[:1] = True
    if times is not None and longest is not None:
        steps = np.diff(times).astype(np.int64)
        start[1:] = (steps > round(longest * 1e9)) | (steps <= 0)  # back to a clock that was right
    return start
