"""Row by row."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .ranges import runs

__all__ = ["Counts", "point_adjusted"]

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Counts:
    """Rows predicted anomalous, of these those that are, and all that are. Counts of several series add up."""

    predicted: int
    correct: int
    positives: int

    @classmethod
    def of(cls, predicted: Bools, truth: Bools) -> Self:
        return cls(int(predicted.sum()), int((predicted & truth).sum()), int(truth.sum()))

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.predicted + other.predicted, self.correct + other.correct, self.positives + other.positives)

    @property
    def precision(self) -> float:
        """0 where nothing was predicted."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """0 where there was nothing to find."""
        return self.correct / self.positives if self.positives else 0.0

    @property
    def f1(self) -> float:
        total = self.predicted + self.positives
        return 2 * self.correct / total if total else 0.0


def point_adjusted(predicted: Bools, truth: Bools) -> Bools:
    """The prediction with every true event filled in of which any row was hit.

    Misleading: a random score does well by it when events are long. Never shown unless asked for.
    """
    adjusted = predicted.copy()
    for first, last in zip(*runs(truth), strict=True):
        if predicted[first : last + 1].any():
            adjusted[first : last + 1] = True
    return adjusted
