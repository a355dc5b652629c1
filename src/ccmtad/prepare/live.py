"""The newest row of a stream, prepared: missing values held, scaled, smoothed, clipped. The live form of the others.

`take_row` goes channel by channel, to be compiled; `take_row_at_once` is the same for the interpreter, by numpy.
"""

import math
from typing import Any

import numpy as np

from ..compiled import kernel
from .scale import CLIP, clip

__all__ = ["forget", "take_row", "take_row_at_once"]


@kernel
def take_row(
    values: Any, held: Any, age: Any, ring: Any, before: int, low: Any, gain: Any, hold: int, x: Any, present: Any
) -> int:
    """Takes a row into the last values and their ages (-1 before a first value); how many of it are missing.

    `x` becomes the row as the network takes it, `present` which channels may be judged. `ring` keeps the newest scaled
    rows, of which `before` came since a start. An infinite value is a missing one.
    """
    gone, length = 0, len(ring)
    there = min(before + 1, length)
    for c in range(len(values)):
        if math.isfinite(values[c]):
            held[c] = values[c]
            age[c] = 0
        else:
            gone += 1
            age[c] = age[c] + 1 if age[c] >= 0 else -1
        present[c] = 0 <= age[c] <= hold
        scaled = (held[c] - low[c]) * gain[c] - 1.0
        if length > 1:
            ring[before % length, c] = scaled
            scaled = 0.0
            for i in range(there):
                scaled += ring[i, c]
            scaled /= there
        x[c] = min(max(scaled, -CLIP), CLIP)
    return gone


def take_row_at_once(
    values: Any, held: Any, age: Any, ring: Any, before: int, low: Any, gain: Any, hold: int, x: Any, present: Any
) -> int:
    """The same without a loop."""
    there = np.isfinite(values)
    missing = int(len(there) - np.count_nonzero(there))
    if missing:
        gone = ~there
        held[:] = np.where(gone, held, values)
        age[:] = np.where(gone, np.where(age < 0, -1, age + 1), 0)
        present[:] = (age >= 0) & (age <= hold)
    else:
        held[:] = values
        age[:] = 0
        present[:] = True
    scaled = (held - low) * gain - 1.0
    if len(ring) > 1:
        ring[before % len(ring)] = scaled
        filled = min(before + 1, len(ring))
        scaled = ring[:filled].sum(axis=0) / filled
    x[:] = clip(scaled)
    return missing


@kernel
def forget(held: Any, age: Any, fallback: Any) -> None:
    """At a start, across which nothing is held."""
    for c in range(len(held)):
        held[c] = fallback[c]
        age[c] = -1
