"""Squared errors of many channels become one loss, and the loss is shared out as blame."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Combine", "Combiner"]

Floats = NDArray[np.float64]
Errors = NDArray[Any]  # squared, single or double precision
Bools = NDArray[np.bool_]
Combine = Literal["mean", "scaled mean", "largest"]

LEAST = 0.03  # of the mean normal error: no channel, however well reconstructed, is judged more finely than that


@dataclass(frozen=True, eq=False)
class Combiner:
    """How channels combine. Each error is taken in units of the channel's normal one.

    `mean` is the paper's: units of 1. `largest` takes the worst channel, so that one broken sensor among many shows.
    """

    unit: Floats  # (channels,) normal squared error
    how: Combine

    @classmethod
    def fit(cls, error: Errors, how: Combine, present: Bools | None = None) -> Self:
        """Learns the units from the errors of normal rows, over the channels present in each."""
        there = np.ones(error.shape, dtype=np.bool_) if present is None else present
        seen = there.sum(axis=0)
        total = np.where(there, error, 0.0).sum(axis=0, dtype=np.float64)
        normal = np.where(seen > 0, total / np.maximum(seen, 1), total.sum() / max(int(seen.sum()), 1))
        least = max(LEAST * float(normal.mean()), 1e-12)  # above 0 even if everything is reconstructed exactly
        return cls(np.ones_like(normal) if how == "mean" else np.maximum(normal, least), how)

    def loss(self, error: Errors, present: Bools | None = None) -> Floats:
        """One value per row, over the channels present; NaN where none is."""
        scaled = error / self.unit
        if present is None:
            loss: Floats = (scaled.max(axis=1) if self.how == "largest" else scaled.mean(axis=1)).astype(np.float64)
            return loss
        count = present.sum(axis=1)
        scaled = np.where(present, scaled, 0.0)
        total = scaled.max(axis=1) if self.how == "largest" else scaled.sum(axis=1) / np.maximum(count, 1)
        return np.where(count > 0, total, np.nan)

    def blame(self, error: Errors, present: Bools | None = None) -> Errors:
        """(rows, channels): each channel's share of the scaled errors; 0 where it was not judged."""
        scaled = error / self.unit
        if present is not None:
            scaled = np.where(present, scaled, 0.0)
        total = scaled.sum(axis=1, keepdims=True)
        share: Errors = np.divide(scaled, total, out=np.zeros_like(scaled), where=total > 0)
        return share
