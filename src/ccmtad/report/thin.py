"""Fewer points, the same extremes."""

import numpy as np
from numpy.typing import NDArray

from ..prepare import timeline
from ..results import Detection

__all__ = ["blocks", "drawable", "extremes"]


def drawable(found: Detection) -> NDArray[np.int64]:
    """The rows in order of time: late and duplicate ones, which were ignored, are not drawn."""
    longest = timeline.longest_pause(found.learnt.period, found.learnt.settings.gap)
    return np.flatnonzero(timeline.kept(found.times, len(found), longest))


def blocks(length: int, most: int) -> NDArray[np.int64]:
    """The first row of each of at most `most` blocks of nearly equal size."""
    return np.unique(np.linspace(0, length, min(most, length) + 1)[:-1].astype(np.int64))


def extremes(values: NDArray[np.floating], most: int) -> NDArray[np.int64]:
    """At most `most` rows to draw: the smallest and the largest of every block, the first and the last of all.

    Where a block holds a NaN, one of them is kept too, so that a line that is broken stays broken.
    """
    length = len(values)
    if length <= most:
        return np.arange(length)
    first = blocks(length, max((most - 2) // 3, 1))
    last = np.append(first[1:], length)
    chosen = {0, length - 1}
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        part = values[a:b]
        gone = np.isnan(part)
        if gone.any():
            chosen.add(a + int(np.argmax(gone)))
        if not gone.all():
            chosen.add(a + int(np.nanargmin(part)))
            chosen.add(a + int(np.nanargmax(part)))
    return np.array(sorted(chosen))
