"""Each channel by itself: values and steps beyond anything seen, a signal that is lost, one that stands still.

What needs no network: the raw values of a row against limits that normal rows taught, channel by channel. A value or a
step beyond its limit is an anomaly on its first row. A channel that is missing, or stands still, for longer than its
limit is an event of its own kind, and so are losses that have settled far above those of training.

`sense` goes channel by channel, to be compiled; `sense_at_once` is the same for the interpreter, by numpy.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..record import NEVER, Layout, Records
from .events import FINAL, NONE, OPENED, UPDATED

__all__ = [
    "ABOVE", "BELOW", "BLAME", "CONDITION", "ERROR", "GONE_LIMIT", "KINDS", "LAST", "LIMITS", "LOST", "MIDDLE", "STEP",
    "STILL_LIMIT", "STOOD", "UNLIKE", "Signals", "beyond", "beyond_at_once", "conditions", "forget", "sense",
    "sense_at_once", "unlike",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KINDS = ("signal lost", "frozen", "unlike training")
LOST, FROZEN, UNLIKE = range(3)
# Rows of the table of limits: where the middle of a channel is, and how far is too far, or how long too long.
LIMITS = ("middle", "above", "below", "step", "error", "lost", "still")
MIDDLE, ABOVE, BELOW, STEP, ERROR, GONE_LIMIT, STILL_LIMIT = range(7)
# What is remembered of each channel: counts of rows, since which row and time, and numbers.
GONE, SAME, FAR_VALUE, FAR_STEP, FAR_ERROR = range(5)
GONE_ROW, SAME_ROW, GONE_TIME, SAME_TIME = range(4)
LAST, WORSE, STOOD, USED_SAME, USED_VALUE, USED_STEP, USED_ERROR, BLAME = range(8)  # and the blame of each kind
USED = USED_VALUE - FAR_VALUE  # from a count to what one has got used to

FADING = 0.02  # weight of a new error in the recent mean of a channel's
WORST = 1e6  # scaled error beyond which more is the same, in that mean
FORGETS = 1.0 - 1.0 / 2_000  # how much of what one got used to is left after a row
NOTICED = 1.5  # times as far as what one got used to, an excursion is noticed again
LASTING = 100  # rows that an excursion alarms by itself: what lasts longer is for the tracks that accumulate
RETURNED = 0.8  # share of its limit that the level must come back to, for an event to be over

CONDITION = Layout(
    {
        "open": False, "channels": 0,  # of them beyond their limit at a time, at most
        "start": -1, "start_time": NEVER, "alarm": -1, "alarm_time": NEVER, "end": -1, "end_time": NEVER,
        "peak": 0.0,  # how many times as far, or as long, as the limit
    },
    signed=("start", "start_time", "alarm", "alarm_time", "end", "end_time"),
)  # fmt: skip


@dataclass(eq=False)
class Signals:
    """What is remembered of the channels of streams side by side."""

    counts: Ints  # (streams, 5, channels) rows in a row: missing, the same value, beyond each limit (-1: not noticed)
    since: Ints  # (streams, 4, channels) the row and the time it has been missing, and the same, since
    traces: Floats  # (streams, 7 + kinds, channels) last value, recent mean of scaled errors, last value of a channel
    # that was lost or frozen, what one got used to beyond each limit, blame of each kind
    conditions: Records  # (streams, kinds) whether an event of each kind is going on

    @classmethod
    def fresh(cls, streams: int, channels: int, compiled: bool) -> "Signals":
        kinds = len(KINDS)
        made = cls(
            np.zeros((streams, FAR_ERROR + 1, channels), dtype=np.int64),
            np.full((streams, 4, channels), NEVER),
            np.zeros((streams, BLAME + kinds, channels)),
            CONDITION.array((streams, kinds))
            if compiled
            else [CONDITION.many(kinds, compiled) for _ in range(streams)],
        )
        made.traces[:, LAST] = np.nan
        return made

    @property
    def all(self) -> tuple[Any, ...]:
        return self.counts, self.since, self.traces, self.conditions


@kernel
def _noticed(counts: Any, traces: Any, test: int, c: int, ratio: float) -> float:
    """How many times its limit, where that is something new: an excursion as far as others lately is not noticed, and
    one that has lasted for long no longer."""
    used = traces[test + USED, c] * FORGETS
    traces[test + USED, c] = used
    if not ratio > 1.0:
        counts[test, c] = 0
        return 0.0
    if counts[test, c] > 0:
        counts[test, c] += 1
    else:
        counts[test, c] = 1 if ratio > NOTICED * used else -1
    traces[test + USED, c] = max(used, ratio)
    return ratio if 0 < counts[test, c] <= LASTING else 0.0


def _noticed_at_once(counts: Ints, traces: Floats, test: int, ratio: Floats, there: Bools) -> float:
    """The farthest of all channels that are there, without a loop."""
    used, count = traces[test + USED], counts[test]
    used[there] *= FORGETS
    over = there & (ratio > 1.0)
    if not over.any():
        count[there] = 0
        return 0.0
    new = np.where(count > 0, count + 1, np.where(ratio > NOTICED * used, 1, -1))
    count[:] = np.where(there, np.where(over, new, 0), count)
    used[over] = np.maximum(used, ratio)[over]
    noticed = over & (count > 0) & (count <= LASTING)
    return float(ratio[noticed].max(initial=0.0))


@kernel
def sense(
    values: Any, counts: Any, since: Any, traces: Any, limits: Any, row: int, time: int
) -> tuple[float, int, int]:
    """Takes the values of a row. How many times its limit the farthest of them is, or 0 where none is beyond; how many
    channels have been missing, and how many have stood still, for too long.
    """
    farthest, lost, frozen = 0.0, 0, 0
    for c in range(len(values)):
        value = values[c]
        if math.isfinite(value):
            last = traces[LAST, c]
            used = traces[USED_SAME, c] * FORGETS
            if value == last:
                counts[SAME, c] += 1
            else:
                used = max(used, counts[SAME, c] / limits[STILL_LIMIT, c])
                counts[SAME, c] = 1
                since[SAME_ROW, c] = row
                since[SAME_TIME, c] = time
            traces[USED_SAME, c] = used
            step = abs(value - last) / limits[STEP, c] if counts[GONE, c] == 0 else 0.0
            farthest = max(farthest, _noticed(counts, traces, FAR_STEP, c, step))
            counts[GONE, c] = 0
            away = value - limits[MIDDLE, c]
            away = away / limits[ABOVE, c] if away > 0.0 else -away / limits[BELOW, c]
            farthest = max(farthest, _noticed(counts, traces, FAR_VALUE, c, away))
            traces[LAST, c] = value
        else:
            if counts[GONE, c] == 0:
                since[GONE_ROW, c] = row
                since[GONE_TIME, c] = time
            counts[GONE, c] += 1
        if counts[GONE, c] > limits[GONE_LIMIT, c]:
            lost += 1
        elif counts[GONE, c] == 0 and counts[SAME, c] > _longest_still(traces, limits, c):
            frozen += 1
    return farthest, lost, frozen


@kernel
def _longest_still(traces: Any, limits: Any, c: int) -> float:
    """Rows that a channel may stand still."""
    return limits[STILL_LIMIT, c] * max(1.0, NOTICED * traces[USED_SAME, c])  # type: ignore[no-any-return]


def sense_at_once(
    values: Floats, counts: Ints, since: Ints, traces: Floats, limits: Floats, row: int, time: int
) -> tuple[float, int, int]:
    """The same without a loop."""
    there = np.isfinite(values)
    whole = bool(there.all())
    last = traces[LAST]
    moved = there & (values != last)
    with np.errstate(invalid="ignore", over="ignore"):
        step = np.abs(values - last) / limits[STEP]
        away = values - limits[MIDDLE]
        away = np.where(away > 0.0, away / limits[ABOVE], -away / limits[BELOW])
    step[counts[GONE] > 0] = 0.0
    used = traces[USED_SAME]
    used[there] *= FORGETS
    used[moved] = np.maximum(used, counts[SAME] / limits[STILL_LIMIT])[moved]
    counts[SAME] += there
    counts[SAME][moved] = 1
    since[SAME_ROW][moved] = row
    since[SAME_TIME][moved] = time
    farthest = max(
        _noticed_at_once(counts, traces, FAR_STEP, step, there),
        _noticed_at_once(counts, traces, FAR_VALUE, away, there),
    )
    if whole:
        counts[GONE] = 0
        last[:] = values
    else:
        begins = ~there & (counts[GONE] == 0)
        since[GONE_ROW][begins] = row
        since[GONE_TIME][begins] = time
        counts[GONE] = np.where(there, 0, counts[GONE] + 1)
        last[there] = values[there]
    lost = counts[GONE] > limits[GONE_LIMIT]
    frozen = (counts[SAME] > limits[STILL_LIMIT] * np.maximum(1.0, NOTICED * used)) & (counts[GONE] == 0)
    return farthest, int(lost.sum()), int(frozen.sum())


@kernel
def forget(traces: Any) -> None:
    """At a start: no step is measured across it, and nothing has stood still."""
    for c in range(traces.shape[1]):
        traces[LAST, c] = math.nan


@kernel
def conditions(
    kinds: Any, counts: Any, since: Any, traces: Any, limits: Any, lost: int, frozen: int, row: int, time: int
) -> tuple[int, int]:
    """What so many lost and frozen channels change; nothing to do where there are none, and no event is open."""
    changes = (NONE, NONE)
    if lost > 0 or kinds[LOST].open:
        changes = (_beyond(kinds, LOST, counts, since, traces, limits, lost, row, time), NONE)
    if frozen > 0 or kinds[FROZEN].open:
        still = _beyond(kinds, FROZEN, counts, since, traces, limits, frozen, row, time)
        changes = (changes[0], still)
    return changes


@kernel
def _beyond(
    kinds: Any, kind: int, counts: Any, since: Any, traces: Any, limits: Any, number: int, row: int, time: int
) -> int:
    """Channels that have been in a state for too long: which, since when, and by how much."""
    start, start_time, farthest, blame = row, time, 0.0, BLAME + kind
    count = GONE if kind == LOST else SAME
    if number > 0:
        for c in range(traces.shape[1]):
            if not kinds[kind].open:
                traces[blame, c] = 0.0
            longest = limits[GONE_LIMIT, c] if kind == LOST else _longest_still(traces, limits, c)
            if counts[count, c] > longest and (kind == LOST or counts[GONE, c] == 0):
                traces[blame, c] += 1.0
                traces[STOOD, c] = traces[LAST, c]
                farthest = max(farthest, counts[count, c] / longest)
                if since[count, c] < start:
                    start, start_time = since[count, c], since[count + 2, c]
    return _follow(kinds[kind], number, row, time, start, start_time, farthest)


@kernel
def unlike(kinds: Any, traces: Any, risen: float, limit: float, row: int, time: int) -> int:
    """What a level that has risen so far, in logarithms, above that of training changes."""
    condition = kinds[UNLIKE]
    number = 1 if risen > (limit * RETURNED if condition.open else limit) else 0
    if number > 0 and not condition.open:
        for c in range(traces.shape[1]):
            traces[BLAME + UNLIKE, c] = traces[WORSE, c]
    return _follow(condition, number, row, time, row, time, math.exp(min(risen, 600.0) / 2.0) if number > 0 else 0.0)


@kernel
def _follow(condition: Any, number: int, row: int, time: int, start: int, start_time: int, farthest: float) -> int:
    if number == 0:
        if not condition.open:
            return NONE
        condition.open = False
        return FINAL
    change = NONE
    if not condition.open:
        change = OPENED
        condition.open = True
        condition.channels = 0
        condition.start = start
        condition.start_time = start_time
        condition.alarm = row
        condition.alarm_time = time
        condition.peak = 0.0
    elif number > condition.channels:
        change = UPDATED
    condition.channels = max(condition.channels, number)
    condition.end = row
    condition.end_time = time
    condition.peak = max(condition.peak, farthest)
    return change


@kernel
def beyond(error: Any, present: Any, unit: Any, limits: Any, counts: Any, traces: Any, risen: float) -> float:
    """How many times its limit the farthest squared error is (in errors, not squares), or 0; keeps their means.

    The limits rise with the level of all losses, in logarithms, that has `risen` since training.
    """
    farthest, level = 0.0, math.exp(risen)
    for c in range(len(unit)):
        if present[c]:
            ratio = error[c] / (limits[ERROR, c] * level)
            farthest = max(farthest, _noticed(counts, traces, FAR_ERROR, c, ratio))
            traces[WORSE, c] += FADING * (min(error[c] / unit[c], WORST) - traces[WORSE, c])
    return math.sqrt(farthest)


def beyond_at_once(
    error: Floats, present: Any, unit: Floats, limits: Floats, counts: Ints, traces: Floats, risen: float
) -> float:
    """The same without a loop."""
    ratio = error / (limits[ERROR] * math.exp(risen))
    traces[WORSE] += np.where(present, FADING * (np.minimum(error / unit, WORST) - traces[WORSE]), 0.0)
    return math.sqrt(_noticed_at_once(counts, traces, FAR_ERROR, ratio, present))
