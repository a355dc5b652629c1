"""The optional moving average. Trailing is online; centred looks ahead and serves reproduction only."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["centred", "trailing"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def trailing(rows: Floats, length: int, start: Bools) -> Floats:
    """Mean of the last `length` rows of the stretch; before it is that long, the mean of what has been seen."""
    if length == 1:
        return rows
    out = np.empty_like(rows)
    edges = [*np.flatnonzero(start), len(rows)]
    for begin, stop in pairwise(edges):
        stretch = rows[begin:stop]
        seen = np.arange(1, min(length, len(stretch) + 1))[:, None]
        out[begin : begin + len(seen)] = np.cumsum(stretch[: len(seen)], axis=0) / seen
        if len(stretch) >= length:
            out[begin + length - 1 : stop] = _window_sum(stretch, length) / length
    return out


def centred(rows: Floats, length: int, start: Bools) -> Floats:
    """Mean of `length` rows around each, of an even number one more before it than after, zeros beyond the ends of the
    stretch: what the authors' code does."""
    if length == 1:
        return rows
    out = np.empty_like(rows)
    edges = [*np.flatnonzero(start), len(rows)]
    for begin, stop in pairwise(edges):
        padded = np.pad(rows[begin:stop], ((length // 2, (length - 1) // 2), (0, 0)))
        out[begin:stop] = _window_sum(padded, length) / length
    return out


def _window_sum(rows: Floats, length: int) -> Floats:
    """Sums of `length` successive rows, by doubling.

    Each sum adds only its own rows, so a huge outlier leaves no rounding error behind it, as a running sum would.
    """
    total: Floats | None = None
    power, span = rows, 1  # power[t] is the sum of rows t .. t + span - 1
    covered = 0
    while True:
        if length & span:
            part = power[covered:]
            total = part if total is None else total[: len(part)] + part
            covered += span
        if 2 * span > length:
            break
        power = power[:-span] + power[span:]
        span *= 2
    assert total is not None  # length is at least 1
    return total[: len(rows) - length + 1]
