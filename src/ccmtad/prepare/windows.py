"""Which windows exist: a window is named by its last row, and never straddles a break or a bad row."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["ends", "runs"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def ends(start: Bools, window: int, bad: Bools | None = None) -> Ints:
    """Last rows of all windows that lie in one stretch and contain no bad row."""
    row = np.arange(len(start))
    clean_from = np.maximum.accumulate(np.where(start, row, 0))
    if bad is not None:
        clean_from = np.maximum(clean_from, np.maximum.accumulate(np.where(bad, row + 1, 0)))
    return np.flatnonzero(row - clean_from >= window - 1)


def runs(ends: Ints) -> list[tuple[int, int]]:
    """The stretches of consecutive ends, as (first, last) rows."""
    if not len(ends):
        return []
    split = np.flatnonzero(np.diff(ends) > 1)
    first = ends[np.r_[0, split + 1]]
    last = ends[np.r_[split, len(ends) - 1]]
    return [(int(a), int(b)) for a, b in zip(first, last, strict=True)]
