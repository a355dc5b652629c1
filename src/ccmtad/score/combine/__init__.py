"""Squared errors of many channels become one loss, and the loss is shared out as blame. Ways by name, one file each."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compiled import kernel
from ...registry import gather

__all__ = ["LARGEST_LOSS", "Combiner", "Way", "find", "loss_of"]

Floats = NDArray[np.float64]
Errors = NDArray[Any]  # squared, single or double precision
Bools = NDArray[np.bool_]

LARGEST_LOSS = 1e300  # no size of an error is larger
FINEST_UNIT = 0.03  # of the mean normal error: no channel, however well reconstructed, is judged more finely than that


@dataclass(frozen=True)
class Way:
    """The loss of a row is the mean of its largest errors."""

    name: str
    scaled: bool  # whether errors are taken in units of the channel's normal one
    most: int  # how many of the largest; 0: all


def find(name: str) -> Way:
    """The way of this name."""
    way: Way = gather("score.combine")[name]
    return way


@dataclass(frozen=True, eq=False)
class Combiner:
    """How channels combine. Each error is taken in units of the channel's normal one."""

    unit: Floats  # (channels,) normal squared error; 1 where a way does not scale
    way: Way

    @classmethod
    def fit(cls, error: Errors, way: Way, present: Bools | None = None) -> "Combiner":
        """Learns the units from the errors of normal rows, over the channels present in each."""
        there = np.ones(error.shape, dtype=np.bool_) if present is None else present
        count = there.sum(axis=0)
        total = np.where(there, error, 0.0).sum(axis=0, dtype=np.float64)
        normal = np.where(count > 0, total / np.maximum(count, 1), total.sum() / max(int(count.sum()), 1))
        finest = max(FINEST_UNIT * float(normal.mean()), 1e-12)  # above 0 even if everything is reconstructed exactly
        return cls(np.maximum(normal, finest) if way.scaled else np.ones_like(normal), way)

    def loss(self, error: Errors, present: Bools | None = None) -> Floats:
        """One value per row, over the channels present; NaN where none is. The array form of `loss_of`."""
        scaled: Floats = (error / self.unit).astype(np.float64, copy=False)
        if present is None:
            return self._of_largest(scaled, np.full(1, scaled.shape[1]))
        count = present.sum(axis=1)
        return np.where(count > 0, self._of_largest(np.where(present, scaled, 0.0), count), np.nan)

    def _of_largest(self, scaled: Floats, count: NDArray[np.int64]) -> Floats:
        most = self.way.most
        loss: Floats
        if most == 1:
            loss = scaled.max(axis=1)
        elif most == 0:
            loss = scaled.sum(axis=1) / np.maximum(count, 1)
        else:
            loss = np.sort(scaled, axis=1)[:, -most:].sum(axis=1) / np.clip(count, 1, most)
        return loss

    def blame(self, error: Errors, present: Bools | None = None) -> Errors:
        """(rows, channels): each channel's share of the scaled errors; 0 where it was not judged."""
        scaled = error / self.unit
        if present is not None:
            scaled = np.where(present, scaled, 0.0)
        total = scaled.sum(axis=1, keepdims=True)
        share: Errors = np.divide(scaled, total, out=np.zeros_like(scaled), where=total > 0)
        return share


@kernel
def loss_of(error: Any, unit: Any, present: Any, most: int) -> float:
    """The loss of one row, over the channels present; NaN where none is."""
    count, total, largest = 0, 0.0, 0.0
    for i in range(len(error)):
        if present[i]:
            scaled = error[i] / unit[i]
            count += 1
            total += scaled
            largest = max(largest, scaled)
    if count == 0 or math.isnan(total):
        return np.nan
    if most == 1:
        return largest
    if most == 0 or most >= count:
        return total / count
    chosen = np.zeros(most)  # the largest so far, ascending
    for i in range(len(error)):
        if present[i] and error[i] / unit[i] > chosen[0]:
            place = 0
            while place + 1 < most and chosen[place + 1] < error[i] / unit[i]:
                chosen[place] = chosen[place + 1]
                place += 1
            chosen[place] = error[i] / unit[i]
    return chosen.sum() / most  # type: ignore[no-any-return]
