"""Each channel by itself: values and steps beyond anything seen, a signal that is lost, one that stands still.

What needs no network: the raw values of a row against limits that normal rows taught, channel by channel. A value or a
step beyond its limit is an anomaly on its first row. A channel that is missing, or stands still, for longer than its
limit is an event of its own kind: `kinds` tells of it.

`sense` goes channel by channel, to be compiled; `sense_at_once` is the same for the interpreter, by numpy.
"""

import math
from typing import Any

import numpy as np
from numpy import count_nonzero  # the quickest way to ask whether all, or any, of few are
from numpy.typing import NDArray

from ..compiled import hot_kernel, kernel
from .channels import (
    ABOVE,
    BELOW,
    BEYOND,
    ERROR,
    FAR_ASTRAY,
    FAR_ERROR,
    FAR_STEP,
    FAR_VALUE,
    FARTHEST,
    FORGOTTEN,
    GAP,
    GONE,
    GONE_LIMIT,
    GONE_ROW,
    GONE_TIME,
    KNOWN,
    KNOWN_STILL,
    LAST,
    LEEWAY,
    LEVEL,
    MIDDLE,
    NOTICED,
    OWN,
    SAME,
    SAME_ROW,
    SAME_TIME,
    STEP,
    STILL_LIMIT,
    STRAYED,
    WORSE,
    known_until,
    longest_still,
)  # fmt: skip

__all__ = ["beyond", "beyond_at_once", "beyond_its_own", "off_level", "sense", "sense_at_once", "within"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FADING = 0.02  # weight of a new error in the recent mean of a channel's
WORST = 1e6  # scaled error beyond which more is the same, in that mean
LASTING = 100  # rows that an excursion alarms by itself: what lasts longer is for the tracks that accumulate


@kernel
def _noticed(counts: Any, traces: Any, test: int, c: int, ratio: float, row: int) -> float:
    """How many times its limit, which is above 1, where that is something new: an excursion as far as others lately is
    not noticed, and one that has lasted for long no longer. Beyond some number, more is the same."""
    known, until = traces[test + KNOWN, c], known_until(row, ratio)
    if counts[test, c] > 0:
        counts[test, c] += 1
    else:
        counts[test, c] = 1 if until > known + FORGOTTEN * math.log(NOTICED) else -1
    traces[test + KNOWN, c] = max(known, until)
    return min(ratio, FARTHEST) if 0 < counts[test, c] <= LASTING else 0.0


@kernel
def beyond_its_own(counts: Any, traces: Any, test: int, c: int, ratio: float, row: int) -> float:
    """The same for what a channel does by itself, whatever became of its neighbours: who is to blame."""
    far, kept = _noticed(counts, traces, test, c, ratio, row), STRAYED if test == FAR_ASTRAY else OWN
    traces[kept, c] = max(traces[kept, c], far)
    if test != FAR_ASTRAY:
        traces[BEYOND, c] = max(traces[BEYOND, c], min(ratio, FARTHEST))
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
        traces[BEYOND, c] = 0.0
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
            if same + 1 > limits[STILL_LIMIT, c] and same + 1 > longest_still(traces, limits, c, met):
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
    traces[BEYOND] = 0.0


@kernel
def _got_used(traces: Any, limits: Any, c: int, still: int, row: int) -> None:
    """A channel moves again that had stood still for so long."""
    traces[KNOWN_STILL, c] = max(traces[KNOWN_STILL, c], known_until(row, still / limits[STILL_LIMIT, c]))


def sense_at_once(
    values: Floats, counts: Ints, since: Ints, traces: Floats, limits: Floats, row: int, met: int, time: int
) -> tuple[float, int, int]:
    """The same without a loop over the channels that are as usual."""
    there, last, same, number = np.isfinite(values), traces[LAST], counts[SAME], len(values)
    step = np.abs(values - last)
    usual = (step <= limits[STEP]) & within(values, limits) & there
    traces[STRAYED : OWN + 1] = 0.0
    traces[BEYOND] = 0.0
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
    return farthest, lost, sum(int(same[c]) > longest_still(traces, limits, c, met) for c in still)


def within(values: Floats, limits: Floats) -> Bools:
    """Which values are within their limits."""
    away = values - limits[MIDDLE]
    inside: Bools = (away <= limits[ABOVE]) & (-away <= limits[BELOW])
    return inside & (_beyond_leeway(values, limits) <= 1.0) if len(limits) > LEEWAY else inside


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
