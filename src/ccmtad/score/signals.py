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
from numpy import count_nonzero  # the quickest way to ask whether all, or any, of few are
from numpy.typing import NDArray

from ..compiled import hot_kernel, kernel
from ..record import NEVER, Layout, Records
from .events import FINAL, NONE, OPENED, UPDATED

__all__ = [
    "ABOVE", "ASTRAY", "BELOW", "BLAME", "CONDITION", "ERROR", "FAR_ASTRAY", "GAP", "GONE_LIMIT", "KINDS",
    "KNOWN_VALUE", "LAST", "LATELY", "LEEWAY", "LEVEL", "LIMITS", "LOST", "MIDDLE", "OFF", "OWN", "STEP", "STILL_LIMIT",
    "STOOD", "STRAYED", "TO_BLAME", "UNLIKE", "Signals", "beyond", "beyond_at_once", "beyond_its_own", "conditions",
    "forget", "off_level", "possible", "sense", "sense_at_once", "unlike",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KINDS = ("signal lost", "frozen", "unlike training")
LOST, FROZEN, UNLIKE = range(3)
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
TO_BLAME = (OFF, STRAYED, OWN)  # what tells who did it, whatever became of the neighbours
KNOWN = KNOWN_VALUE - FAR_VALUE  # from a count to the row up to which excursions as far as the limit are nothing new

FADING = 0.02  # weight of a new error in the recent mean of a channel's
WORST = 1e6  # scaled error beyond which more is the same, in that mean
FORGOTTEN = 2_000.0  # rows after which an excursion e times as far as its limit is forgotten
NOTICED = 1.5  # times as far as what one got used to, an excursion is noticed again
LASTING = 100  # rows that an excursion alarms by itself: what lasts longer is for the tracks that accumulate
RETURNED = 0.8  # share of its limit that the level must come back to, for an event to be over
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
    traces: Floats  # (streams, 12 + kinds, channels) last value, recent mean of scaled errors, last value of a channel
    # that was lost or frozen, recent mean of how far it is from what the others tell, and that of the last few rows,
    # how far astray in the newest row, how far beyond its values and steps there, up to which row an excursion beyond
    # each limit is known, blame of each kind
    conditions: Records  # (streams, kinds) whether an event of each kind is going on

    @classmethod
    def fresh(cls, streams: int, channels: int, compiled: bool) -> "Signals":
        kinds = len(KINDS)
        made = cls(
            np.zeros((streams, FAR_ASTRAY + 1, channels), dtype=np.int64),
            np.full((streams, 4, channels), NEVER),
            np.zeros((streams, BLAME + kinds, channels)),
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
    sums = np.vstack([traces[WORSE], traces[STRAYED], traces[OWN], traces[BLAME:]])
    near = bool((np.abs(traces[[OFF, LATELY]]) <= FARTHEST_OFF).all())
    return near and bool((known <= latest).all() and not np.isinf(told).any() and (sums >= 0.0).all())


@kernel
def _known_until(row: int, ratio: float) -> float:
    """The row up to which an excursion so many times as far as its limit makes one to the limit nothing new."""
    return row + FORGOTTEN * math.log(min(ratio, FARTHEST))


@kernel
def _noticed(counts: Any, traces: Any, test: int, c: int, ratio: float, row: int) -> float:
    """How many times its limit, which is above 1, where that is something new: an excursion as far as others lately is
    not noticed, and one that has lasted for long no longer."""
    known, until = traces[test + KNOWN, c], _known_until(row, ratio)
    if counts[test, c] > 0:
        counts[test, c] += 1
    else:
        counts[test, c] = 1 if until > known + FORGOTTEN * math.log(NOTICED) else -1
    traces[test + KNOWN, c] = max(known, until)
    return ratio if 0 < counts[test, c] <= LASTING else 0.0


@kernel
def beyond_its_own(counts: Any, traces: Any, test: int, c: int, ratio: float, row: int) -> float:
    """The same for what a channel does by itself, whatever became of its neighbours: who is to blame."""
    far, kept = _noticed(counts, traces, test, c, ratio, row), STRAYED if test == FAR_ASTRAY else OWN
    traces[kept, c] = max(traces[kept, c], far)
    return far


@kernel
def off_level(value: Any, low: Any, gap: Any) -> Any:
    """How far a value is, in shares of the gap between the two that a switch takes, from either, or from whole steps
    beyond: a count, or a sensor of few digits, may take those."""
    place = min(max((value - low) / gap, -FARTHEST), FARTHEST)
    return abs(place - np.floor(place + 0.5))


@hot_kernel
def sense(
    values: Any, counts: Any, since: Any, traces: Any, limits: Any, row: int, met: int, time: int
) -> tuple[float, int, int]:
    """Takes the values of a row. How many times its limit the farthest of them is, or 0 where none is beyond; how many
    channels have been missing, and how many have stood still, for too long. `met` are the rows before it that were not
    late: a late row ages nothing.
    """
    if _as_usual(values, counts, traces, limits):
        _take_usual(values, counts, since, traces, row, time)
        return 0.0, 0, 0
    return _sense_each(values, counts, since, traces, limits, row, met, time)


@kernel
def _sense_each(
    values: Any, counts: Any, since: Any, traces: Any, limits: Any, row: int, met: int, time: int
) -> tuple[float, int, int]:
    farthest, lost, frozen = 0.0, 0, 0
    for c in range(len(values)):
        value = values[c]
        traces[STRAYED, c] = 0.0
        traces[OWN, c] = 0.0
        if not math.isfinite(value):
            if counts[GONE, c] == 0:
                since[GONE_ROW, c] = row
                since[GONE_TIME, c] = time
            counts[GONE, c] += 1
            if counts[GONE, c] > limits[GONE_LIMIT, c]:
                lost += 1
            continue
        last, same = traces[LAST, c], counts[SAME, c]
        if value == last:
            counts[SAME, c] = same + 1
            if same + 1 > limits[STILL_LIMIT, c] and same + 1 > _longest_still(traces, limits, c, met):
                frozen += 1
        else:
            if same * NOTICED > limits[STILL_LIMIT, c]:
                _got_used(traces, limits, c, same, met)
            counts[SAME, c] = 1
            since[SAME_ROW, c] = row
            since[SAME_TIME, c] = time
            traces[LAST, c] = value
        step = abs(value - last)
        if step > limits[STEP, c] and counts[GONE, c] == 0:
            farthest = max(farthest, beyond_its_own(counts, traces, FAR_STEP, c, step / limits[STEP, c], met))
        else:
            counts[FAR_STEP, c] = 0
        counts[GONE, c] = 0
        away = value - limits[MIDDLE, c]
        ratio = away / limits[ABOVE, c] if away > 0.0 else -away / limits[BELOW, c]
        if len(limits) > LEEWAY:
            ratio = max(ratio, 1.0 + off_level(value, limits[LEVEL, c], limits[GAP, c]) - limits[LEEWAY, c])
        if ratio > 1.0:
            farthest = max(farthest, beyond_its_own(counts, traces, FAR_VALUE, c, ratio, met))
        else:
            counts[FAR_VALUE, c] = 0
    return farthest, lost, frozen


@kernel
def _as_usual(values: Any, counts: Any, traces: Any, limits: Any) -> bool:
    """Whether all are there, move, and are within their limits. Without a branch, so that it becomes vector
    instructions: what follows is spared on nearly every row."""
    usual = True
    for c in range(len(values)):
        value, last, same = values[c], traces[LAST, c], counts[SAME, c]
        away, still = value - limits[MIDDLE, c], (same + 1.0 if value == last else same * NOTICED)
        usual &= (abs(value) < math.inf) & (counts[GONE, c] == 0) & (still <= limits[STILL_LIMIT, c])
        usual &= (away <= limits[ABOVE, c]) & (-away <= limits[BELOW, c]) & (abs(value - last) <= limits[STEP, c])
    if len(limits) > LEEWAY:
        for c in range(len(values)):
            usual &= 1.0 + off_level(values[c], limits[LEVEL, c], limits[GAP, c]) - limits[LEEWAY, c] <= 1.0
    return usual


@kernel
def _take_usual(values: Any, counts: Any, since: Any, traces: Any, row: int, time: int) -> None:
    for c in range(len(values)):
        still = values[c] == traces[LAST, c]
        counts[SAME, c] = counts[SAME, c] + 1 if still else 1
        since[SAME_ROW, c] = since[SAME_ROW, c] if still else row
        since[SAME_TIME, c] = since[SAME_TIME, c] if still else time
        traces[LAST, c] = values[c]
    counts[FAR_VALUE : FAR_STEP + 1] = 0
    traces[STRAYED : OWN + 1] = 0.0


@kernel
def _got_used(traces: Any, limits: Any, c: int, still: int, row: int) -> None:
    """A channel moves again that had stood still for so long."""
    traces[KNOWN_STILL, c] = max(traces[KNOWN_STILL, c], _known_until(row, still / limits[STILL_LIMIT, c]))


@kernel
def _longest_still(traces: Any, limits: Any, c: int, row: int) -> float:
    """Rows that a channel may stand still."""
    used = math.exp((traces[KNOWN_STILL, c] - row) / FORGOTTEN)
    return limits[STILL_LIMIT, c] * max(1.0, NOTICED * used)  # type: ignore[no-any-return]


def sense_at_once(
    values: Floats, counts: Ints, since: Ints, traces: Floats, limits: Floats, row: int, met: int, time: int
) -> tuple[float, int, int]:
    """The same without a loop over the channels that are as usual."""
    there, last, same, number = np.isfinite(values), traces[LAST], counts[SAME], len(values)
    step, away = np.abs(values - last), values - limits[MIDDLE]
    usual = (step <= limits[STEP]) & (away <= limits[ABOVE]) & (-away <= limits[BELOW]) & there
    if len(limits) > LEEWAY:
        usual &= _beyond_leeway(values, limits) <= 1.0
    traces[STRAYED : OWN + 1] = 0.0
    if count_nonzero(usual) == number and not count_nonzero(counts[GONE]):
        farthest, lost = 0.0, 0
        counts[FAR_VALUE : FAR_STEP + 1] = 0
    else:
        farthest, lost = _unusual(values, there, step, counts, since, traces, limits, row, met, time)
    moved = there & (values != last)
    long = same * NOTICED > limits[STILL_LIMIT]
    if count_nonzero(long):
        for c in (moved & long).nonzero()[0].tolist():
            _got_used(traces, limits, c, int(same[c]), met)
    if count_nonzero(moved) == number:
        same[:] = 1
        since[SAME_ROW], since[SAME_TIME] = row, time
        last[:] = values
        return farthest, lost, 0
    same += there
    for kept, new in ((same, 1), (since[SAME_ROW], row), (since[SAME_TIME], time), (last, values)):
        np.putmask(kept, moved, new)
    still = (there & (same > limits[STILL_LIMIT])).nonzero()[0].tolist()
    return farthest, lost, sum(int(same[c]) > _longest_still(traces, limits, c, met) for c in still)


def _beyond_leeway(values: Floats, limits: Floats) -> Floats:
    """Above 1 where a switch is off its level. Never far above: that it is off is all there is to say, and what is told
    of its range and its steps shall not drown in it."""
    place = np.clip((values - limits[LEVEL]) / limits[GAP], -FARTHEST, FARTHEST)
    off: Floats = 1.0 + np.abs(place - np.floor(place + 0.5)) - limits[LEEWAY]
    return off


def _unusual(
    values: Floats, there: Bools, step: Floats, counts: Ints, since: Ints, traces: Floats, limits: Floats, row: int,
    met: int, time: int,
) -> tuple[float, int]:  # fmt: skip
    """Where a channel is missing, or is back, or is beyond a limit: how far the farthest is, how many are lost."""
    gone = counts[GONE]
    farthest = _farthest(counts, traces, FAR_STEP, np.where(gone > 0, 0.0, step), limits[STEP], there, met)
    begins = ~there & (gone == 0)
    since[GONE_ROW][begins] = row
    since[GONE_TIME][begins] = time
    gone[:] = np.where(there, 0, gone + 1)
    away = values - limits[MIDDLE]
    ratio = np.abs(away) / np.where(away > 0.0, limits[ABOVE], limits[BELOW])
    if len(limits) > LEEWAY:
        ratio = np.maximum(ratio, _beyond_leeway(values, limits))
    farthest = max(farthest, _farthest(counts, traces, FAR_VALUE, ratio, np.ones(len(ratio)), there, met))
    return farthest, int((gone > limits[GONE_LIMIT]).sum())


def _farthest(counts: Ints, traces: Floats, test: int, size: Floats, limit: Floats, there: Bools, row: int) -> float:
    """How many times its limit the farthest is of those noticed, or 0."""
    over, farthest, told = there & (size > limit), 0.0, _noticed if test == FAR_ERROR else beyond_its_own
    for c in over.nonzero()[0].tolist():
        farthest = max(farthest, told(counts, traces, test, c, float(size[c] / limit[c]), row))
    np.putmask(counts[test], there & ~over, 0)
    return farthest


@kernel
def forget(traces: Any) -> None:
    """At a start: no step is measured across it, and nothing has stood still, or strayed."""
    for c in range(traces.shape[1]):
        traces[LAST, c] = math.nan
        traces[OFF, c] = 0.0
        traces[LATELY, c] = 0.0


@hot_kernel
def conditions(
    kinds: Any, counts: Any, since: Any, traces: Any, limits: Any, lost: int, frozen: int, row: int, met: int, time: int
) -> tuple[int, int]:
    """What so many lost and frozen channels change; nothing to do where there are none, and no event is open."""
    changes = (NONE, NONE)
    if lost > 0 or kinds[LOST].open:
        changes = (_beyond(kinds, LOST, counts, since, traces, limits, lost, row, met, time), NONE)
    if frozen > 0 or kinds[FROZEN].open:
        still = _beyond(kinds, FROZEN, counts, since, traces, limits, frozen, row, met, time)
        changes = (changes[0], still)
    return changes


@kernel
def _beyond(
    kinds: Any, kind: int, counts: Any, since: Any, traces: Any, limits: Any, number: int, row: int, met: int, time: int
) -> int:
    """Channels that have been in a state for too long: which, since when, and by how much."""
    start, start_time, farthest, blame = row, time, 0.0, BLAME + kind
    count = GONE if kind == LOST else SAME
    if number > 0:
        for c in range(traces.shape[1]):
            if not kinds[kind].open:
                traces[blame, c] = 0.0
            longest = limits[GONE_LIMIT, c] if kind == LOST else _longest_still(traces, limits, c, met)
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


@hot_kernel
def beyond(error: Any, present: Any, unit: Any, limits: Any, counts: Any, traces: Any, risen: float, row: int) -> float:
    """How many times its limit the farthest squared error is (in errors, not squares), or 0; keeps their means.

    The limits rise with the level of all losses, in logarithms, that has `risen` since training.
    """
    level, over = math.exp(risen), False
    for c in range(len(unit)):
        over |= present[c] & ((error[c] > limits[ERROR, c] * level) | (counts[FAR_ERROR, c] != 0))
    for c in range(len(unit)):
        worse = traces[WORSE, c]
        new = worse + FADING * (min(error[c] / unit[c], WORST) - worse)
        traces[WORSE, c] = new if present[c] else worse
    return _farthest_error(error, present, limits, counts, traces, level, row) if over else 0.0


@kernel
def _farthest_error(error: Any, present: Any, limits: Any, counts: Any, traces: Any, level: float, row: int) -> float:
    farthest = 0.0
    for c in range(len(error)):
        if present[c]:
            limit = limits[ERROR, c] * level
            if error[c] > limit:
                farthest = max(farthest, _noticed(counts, traces, FAR_ERROR, c, error[c] / limit, row))
            else:
                counts[FAR_ERROR, c] = 0
    return math.sqrt(farthest)


def beyond_at_once(
    error: Floats, present: Any, unit: Floats, limits: Floats, counts: Ints, traces: Floats, risen: float, row: int
) -> float:
    """The same without a loop over the channels that are as usual."""
    worse, limit = traces[WORSE], limits[ERROR] * math.exp(risen)
    new = FADING * (np.minimum(error / unit, WORST) - worse)
    worse += new if count_nonzero(present) == len(unit) else np.where(present, new, 0.0)
    if count_nonzero(present & (error > limit)):
        return math.sqrt(_farthest(counts, traces, FAR_ERROR, error, limit, present, row))
    np.putmask(counts[FAR_ERROR], present, 0)
    return 0.0
