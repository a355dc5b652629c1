"""Missing values: filled in training, held for a while in detection, never a silent zero."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Holding", "fill", "hold"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def fill(values: Floats) -> Floats:
    """Training data made whole: each gap takes the channel's last value, a leading one its median."""
    if not np.isnan(values).any():
        return values
    nowhere = np.zeros(len(values), dtype=np.bool_)
    filled, _ = Holding(len(values), np.nanmedian(values, axis=0)).take(values, nowhere)
    return filled


def hold(values: Floats, limit: int, start: Bools, fallback: Floats) -> tuple[Floats, Bools]:
    """Values with each missing one replaced by the channel's last, and which of them may be judged: of a whole series
    at once."""
    filled, present = Holding(limit, fallback).take(values, start)
    return filled, np.ones(values.shape, dtype=np.bool_) if present is None else present


class Holding:
    """A series that comes piece by piece, each missing value replaced by the channel's last.

    A value is judged when it is there or at most `limit` rows old. Nothing is held across a start; before a first
    value the channel sits at `fallback`, unjudged.
    """

    def __init__(self, limit: int, fallback: Floats) -> None:
        self.limit, self.fallback = limit, fallback
        self.held, self.age = fallback, np.full(len(fallback), -1)  # at the end of the last piece; -1: no value yet

    def take(self, values: Floats, start: Bools) -> tuple[Floats, Bools | None]:
        """The next rows, made whole, and which of them may be judged; None: all."""
        missing = np.isnan(values)
        if not missing.any():
            self.held, self.age = values[-1], np.zeros(values.shape[1], dtype=np.int64)
            return values, None
        row = np.arange(len(values))[:, None]
        last = np.maximum.accumulate(np.where(missing, -1, row), axis=0)
        begin = np.maximum.accumulate(np.where(start, row[:, 0], -1))[:, None]  # -1: in an earlier piece
        here = (last >= 0) & (last >= begin)
        before = (last < 0) & (begin < 0) & (self.age >= 0)
        age = np.where(here, row - last, np.where(before, row + 1 + self.age, -1))
        filled = np.where(before, self.held, self.fallback)
        np.copyto(filled, np.take_along_axis(values, np.maximum(last, 0), axis=0), where=here)
        self.held, self.age = filled[-1], age[-1]
        return filled, (age >= 0) & (age <= self.limit)
