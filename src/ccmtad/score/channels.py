"""What is remembered of each channel by itself, and the limits that it is held against.

Rows of tables, by name: `signals` fills them from values and errors, `astray` from what the others tell, and `kinds`
makes events of them.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..record import NEVER, Layout, Records

__all__ = [
    "ABOVE", "ASTRAY", "BELOW", "BEYOND", "BLAME", "CONDITION", "DISTANT", "ERROR", "EXCURSION", "FARTHEST",
    "FARTHEST_STEP", "FARTHEST_VALUE", "FAR_ASTRAY", "FAR_ERROR", "FAR_STEP", "FAR_VALUE", "FORGOTTEN", "FROZEN", "GAP",
    "GONE", "GONE_LIMIT", "GONE_ROW", "GONE_TIME", "KINDS", "KNOWN", "KNOWN_STILL", "KNOWN_VALUE", "LAST", "LATELY",
    "LEEWAY", "LEVEL", "LIMITS", "LOST", "MIDDLE", "NOTICED", "OFF", "OWN", "PART", "SAME", "SAME_ROW", "SAME_TIME",
    "STEP", "STILL_LIMIT", "STOOD", "STRAYED", "TOLD", "TO_BLAME", "UNLIKE", "WORSE", "Signals", "forget",
    "known_until", "longest_still", "possible",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("signal lost", "frozen", "unlike training", "excursion")  # of events, beside anomalies
LOST, FROZEN, UNLIKE, EXCURSION = range(4)
# Rows of the table of limits: where the middle of a channel is, and how far is too far, or how long too long.
LIMITS = ("middle", "above", "below", "step", "error", "astray", "lost", "still")
MIDDLE, ABOVE, BELOW, STEP, ERROR, ASTRAY, GONE_LIMIT, STILL_LIMIT = range(8)
# Of a switch: its lower value, how far the other is above it, and how far off, in shares of that, is too far. The table
# has these rows where there is one.
LEVEL, GAP, LEEWAY = range(8, 11)
# What is remembered of each channel: counts of rows, since which row and time, and numbers.
GONE, SAME, FAR_VALUE, FAR_STEP, FAR_ERROR, FAR_ASTRAY = range(6)
GONE_ROW, SAME_ROW, GONE_TIME, SAME_TIME = range(4)
LAST, WORSE, STOOD, OFF, LATELY, STRAYED, OWN = range(7)
KNOWN_STILL, KNOWN_VALUE, KNOWN_STEP, KNOWN_ERROR, KNOWN_ASTRAY, BLAME = range(7, 13)  # and the blame of each kind
FARTHEST_VALUE, PART, BEYOND, FARTHEST_STEP, TOLD, DISTANT = range(BLAME + len(KINDS), BLAME + len(KINDS) + 6)
TRACES = DISTANT + 1
TO_BLAME = (OFF, STRAYED, OWN, DISTANT)  # what tells who did it, whatever became of the neighbours
KNOWN = KNOWN_VALUE - FAR_VALUE  # from a count to the row up to which excursions as far as the limit are nothing new

FORGOTTEN = 2_000.0  # rows after which an excursion e times as far as its limit is forgotten
NOTICED = 1.5  # times as far as what one got used to, an excursion is noticed again
FARTHEST = 1e300  # times its limit, beyond which more is the same
FARTHEST_OFF = 1e120  # that clipped rows and the largest weights come to

CONDITION = Layout(
    {
        "open": False, "channels": 0,  # of them beyond their limit at a time, at most
        "start": -1, "start_time": NEVER, "alarm": -1, "alarm_time": NEVER, "end": -1, "end_time": NEVER,
        "peak": 0.0,  # how many times as far, or as long, as the limit
    },
    signed=("start", "start_time", "alarm", "alarm_time", "end", "end_time"),
    within={"peak": (0.0, math.inf)},
)  # fmt: skip


@dataclass(eq=False)
class Signals:
    """What is remembered of the channels of streams side by side."""

    counts: Ints  # (streams, 6, channels) rows in a row: missing, the same value, beyond each limit (-1: not noticed)
    since: Ints  # (streams, 4, channels) the row and the time it has been missing, and the same, since
    traces: Floats  # (streams, 18 + kinds, channels) last value, recent mean of scaled errors, last value of a channel
    # that was lost or frozen, recent mean of how far it is from what the others tell, and that of the last few rows,
    # how far astray in the newest row, how far beyond its values and steps there, up to which row an excursion beyond
    # each limit is known, blame of each kind, the value farthest beyond its limits in an excursion (NaN: none was), the
    # newest row in which it had a part in the anomaly that is going on, how far beyond its values and steps it is in
    # the newest row, news or not, how large a step would have been as far in an excursion, and how far beyond it was
    # at most when an excursion was told in the anomaly that is going on, and how many times as far as is no evidence it
    # was from the middle of its range in the newest row in alarm (below 0: that is not what alarmed)
    conditions: Records  # (streams, kinds) whether an event of each kind is going on

    @classmethod
    def fresh(cls, streams: int, channels: int, compiled: bool) -> "Signals":
        kinds = len(KINDS)
        made = cls(
            np.zeros((streams, FAR_ASTRAY + 1, channels), dtype=np.int64),
            np.full((streams, 4, channels), NEVER),
            np.zeros((streams, TRACES, channels)),
            CONDITION.array((streams, kinds))
            if compiled
            else [CONDITION.many(kinds, compiled) for _ in range(streams)],
        )
        made.traces[:, LAST] = np.nan
        made.traces[:, KNOWN_STILL:BLAME] = -np.inf
        return made

    @property
    def all(self) -> tuple[Any, ...]:
        return self.counts, self.since, self.traces, self.conditions


def possible(traces: Floats, row: int) -> bool:
    """Whether a stream of so many rows can have come to these."""
    known, told = traces[KNOWN_STILL:BLAME], np.delete(traces, slice(KNOWN_STILL, BLAME), axis=0)
    latest = row + FORGOTTEN * math.log(FARTHEST)
    sums = np.vstack([traces[WORSE], traces[STRAYED], traces[OWN], traces[BLAME:FARTHEST_VALUE], traces[PART:DISTANT]])
    near = bool((np.abs(traces[[OFF, LATELY]]) <= FARTHEST_OFF).all())
    blame = bool((traces[BLAME:FARTHEST_VALUE] <= FARTHEST).all() and (np.abs(traces[BEYOND:]) <= FARTHEST).all())
    return near and blame and bool((known <= latest).all() and not np.isinf(told).any() and (sums >= 0.0).all())


@kernel
def known_until(row: int, ratio: float) -> float:
    """The row up to which an excursion so many times as far as its limit makes one to the limit nothing new."""
    return row + FORGOTTEN * math.log(min(ratio, FARTHEST))


@kernel
def longest_still(traces: Any, limits: Any, c: int, row: int) -> float:
    """Rows that a channel may stand still."""
    used = math.exp((traces[KNOWN_STILL, c] - row) / FORGOTTEN)
    return limits[STILL_LIMIT, c] * max(1.0, NOTICED * used)  # type: ignore[no-any-return]


@kernel
def forget(traces: Any) -> None:
    """At a start: no step is measured across it, and nothing has stood still, or strayed."""
    for c in range(traces.shape[1]):
        traces[LAST, c] = math.nan
        traces[OFF, c] = 0.0
        traces[LATELY, c] = 0.0
