"""Range-based precision and recall (Tatbul et al., NeurIPS 2018).

A range scores the share of it that overlaps the other side (no positional bias), divided by the number of ranges it
overlaps there; a true range also earns `existence` for being hit at all. Precision and recall are means over ranges.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import Figure, Metric, mean_of

__all__ = ["EXISTENCE", "Ratios", "range_based", "range_f1", "runs"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

EXISTENCE = 0.2  # weight of being hit at all, in recall, as in TSB-UAD and the results published with it


@dataclass(frozen=True)
class Ratios:
    """Precision and recall."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def runs(mask: Bools) -> tuple[Ints, Ints]:
    """First and last rows of the stretches of True, both inclusive."""
    edges = np.diff(np.r_[False, mask, False].astype(np.int8))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1


def range_based(predicted: Bools, truth: Bools, existence: float = EXISTENCE) -> Ratios:
    """Means over predicted and over true ranges; 0 where there are none."""
    return Ratios(_reward(predicted, truth, 0.0), _reward(truth, predicted, existence))


def _reward(ranges: Bools, other: Bools, existence: float) -> float:
    first, last = runs(ranges)
    if not len(first):
        return 0.0
    rows = np.r_[0, np.cumsum(other)]
    overlap = (rows[last + 1] - rows[first]) / (last + 1 - first)
    begins, ends = runs(other)
    touched = np.searchsorted(begins, last, "right") - np.searchsorted(ends, first, "left")
    rewards = existence * (touched > 0) + (1 - existence) * overlap / np.maximum(touched, 1)
    return float(rewards.mean())


range_f1 = Metric(
    "range_f1",
    lambda made: range_based(made.predicted, made.truth).f1,
    (Figure("range F1", mean_of("range_f1"), 63, "other"),),
)
