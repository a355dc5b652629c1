"""Channels that stray: how far each is from what all the others tell of it, averaged over some fifty rows.

Sign and all: what is off now on one side, now on the other is noise, what stays on one side is not. A channel is astray
while that average is beyond its limit; but an average drags on, so it is back once the last few rows are.

`stray` goes channel by channel, to be compiled; `stray_at_once` is the same for the interpreter, by numpy.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from .channels import ASTRAY, FAR_ASTRAY, LATELY, OFF
from .signals import beyond_its_own

__all__ = ["averages", "explained", "off_by", "stray", "stray_at_once"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FADING = 0.02  # weight of a new row in the average
MOST_AT_ONCE = 15.0  # times its limit that one row can count, all channels alike: no single row leads one astray
NEARLY_MOST = 14.9  # below which no rounding can make it more
FADING_LATELY = 0.25  # weight of a new row in the average of the last few, of which none counts more than the other
BACK = 0.4  # share of the average: where the last few are off by less, the channel is back


@kernel
def off_by(x: Any, weight: Any, bias: Any, off: Any) -> None:
    """How far each channel of a row is from what the others tell."""
    for c in range(len(bias)):
        off[c] = bias[c]
    for k in range(len(bias)):
        for c in range(len(bias)):
            off[c] += x[k] * weight[k, c]
    for c in range(len(bias)):
        off[c] = x[c] - off[c]


@kernel
def stray(off: Any, present: Any, limits: Any, counts: Any, traces: Any, risen: float, row: int) -> float:
    """Takes how far off the channels of a row are. How many times its limit the farthest average is, or 0 where none
    is beyond. The limits rise with the level of all losses, in logarithms of squares, that has `risen` since training.
    """
    level, large, out = math.exp(0.5 * risen), False, False
    # Without a branch, so that it becomes vector instructions: what follows is spared on nearly every row.
    for c in range(len(off)):
        large |= present[c] & (abs(off[c]) > NEARLY_MOST * limits[ASTRAY, c] * level)
    counted = MOST_AT_ONCE / _largest(off, present, limits, level) if large else 1.0
    for c in range(len(off)):
        there, before, lately_before = present[c] & (off[c] == off[c]), traces[OFF, c], traces[LATELY, c]
        average = before + FADING * (counted * off[c] - before)
        size = abs(average)
        lately = lately_before + FADING_LATELY * (min(max(off[c], -size), size) - lately_before)
        traces[OFF, c] = average if there else before
        traces[LATELY, c] = lately if there else lately_before
        far = (size > limits[ASTRAY, c] * level) & (lately * average > BACK * size * size)
        out |= there & (far | (counts[FAR_ASTRAY, c] != 0))
    return _farthest(off, present, limits, counts, traces, level, row) if out else 0.0


@kernel
def _largest(off: Any, present: Any, limits: Any, level: float) -> float:
    """How many times its limit the farthest of the row is, but at least as much as counts whole."""
    largest = MOST_AT_ONCE
    for c in range(len(off)):
        if present[c] and not math.isnan(off[c]):
            largest = max(largest, abs(off[c]) / (limits[ASTRAY, c] * level))
    return largest


@kernel
def _farthest(off: Any, present: Any, limits: Any, counts: Any, traces: Any, level: float, row: int) -> float:
    farthest = 0.0
    for c in range(len(off)):
        if present[c] and not math.isnan(off[c]):
            limit, average = limits[ASTRAY, c] * level, traces[OFF, c]
            size = abs(average)
            if size > limit and traces[LATELY, c] * average > BACK * size * size:
                farthest = max(farthest, beyond_its_own(counts, traces, FAR_ASTRAY, c, size / limit, row))
            else:
                counts[FAR_ASTRAY, c] = 0
    return farthest


def stray_at_once(
    off: Floats, present: Bools, limits: Floats, counts: Any, traces: Floats, risen: float, row: int
) -> float:
    """The same without a loop over the channels that are as usual."""
    there = present & ~np.isnan(off)
    limit, average, lately = limits[ASTRAY] * math.exp(0.5 * risen), traces[OFF], traces[LATELY]
    largest = max(MOST_AT_ONCE, float(np.max(np.where(there, np.abs(off) / limit, 0.0), initial=0.0)))
    average += np.where(there, FADING * (MOST_AT_ONCE / largest * off - average), 0.0)
    size, farthest = np.abs(average), 0.0
    lately += np.where(there, FADING_LATELY * (np.clip(off, -size, size) - lately), 0.0)
    over = there & (size > limit) & (lately * average > BACK * size * size)
    for c in over.nonzero()[0].tolist():
        ratio = float(size[c] / limit[c])
        farthest = max(farthest, beyond_its_own(counts, traces, FAR_ASTRAY, c, ratio, row))
    np.putmask(counts[FAR_ASTRAY], there & ~over, 0)
    return farthest


def explained(average: Floats, limit: Floats, weight: Floats) -> Floats:
    """(channels,): how much less astray all of them are, in squares of limits, with each put back to its guess.

    Who strays takes the guesses of its neighbours along: they come back with it, and not the other way round.
    """
    before = np.square(average / limit)
    others = np.square((average + average[:, None] * weight) / limit)  # (put back, channel)
    np.fill_diagonal(others, 0.0)
    less: Floats = np.maximum(before.sum() - others.sum(axis=1), 0.0)
    return less


def averages(off: Floats, there: Bools, start: Bools) -> Floats:
    """(rows, channels): the averages along a whole series, each beginning anew at a start."""
    from scipy.signal import lfilter

    made = np.empty(off.shape)
    begins = np.r_[np.flatnonzero(np.r_[True, start[1:]]), len(off)]
    for first, end in pairwise(begins.tolist()):
        part = np.where(there[first:end], off[first:end], 0.0)
        made[first:end] = lfilter([FADING], [1.0, FADING - 1.0], part, axis=0)
    return made
