"""Missing values: filled in training, held for a while in detection, never a silent zero."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["fill", "hold"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def fill(values: Floats) -> Floats:
    """Training data made whole: each gap takes the channel's last value, a leading one its median."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    age = _age(missing, _first_only(len(values)))
    filled = values[np.arange(len(values))[:, None] - np.maximum(age, 0), np.arange(values.shape[1])]
    return np.where(age < 0, np.nanmedian(values, axis=0), filled)


def hold(values: Floats, limit: int, start: Bools, fallback: Floats) -> tuple[Floats, Bools]:
    """Values with each missing one replaced by the channel's last, and which of them may be judged.

    A value is judged when it is there or at most `limit` rows old. Nothing is held across a start; before a first
    value the channel sits at `fallback`, unjudged.
    """
    missing = np.isnan(values)
    if not missing.any():
        return values, np.ones(values.shape, dtype=np.bool_)
    age = _age(missing, start)
    filled = values[np.arange(len(values))[:, None] - np.maximum(age, 0), np.arange(values.shape[1])]
    return np.where(age < 0, fallback, filled), (age >= 0) & (age <= limit)


def _age(missing: Bools, start: Bools) -> NDArray[np.int64]:
    """Rows since the channel's last value in its stretch: 0 where present, -1 where there was none yet."""
    row = np.arange(len(missing))[:, None]
    last = np.maximum.accumulate(np.where(missing, -1, row), axis=0)
    begin = np.maximum.accumulate(np.where(start, row[:, 0], 0))[:, None]
    return np.where(last >= begin, row - last, -1)


def _first_only(rows: int) -> Bools:
    start = np.zeros(rows, dtype=np.bool_)
    start[:1] = True
    return start
