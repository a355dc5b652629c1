"""Row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from . import Column, Figure, Metric, Prediction, mean_of
from .ranges import runs

__all__ = ["Counts", "correct", "counts", "point_adjusted", "point_adjusted_f1", "pooled", "positives", "predicted"]

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


def counts(column: Column) -> Counts:
    """The counts of one entity."""
    return Counts(column["predicted"], column["correct"], column["positives"])


def pooled(columns: Sequence[Column]) -> Counts:
    """Of several entities, added up."""
    return sum((counts(column) for column in columns), Counts(0, 0, 0))


def _count(name: str, *figures: Figure) -> Metric:
    return Metric(name, lambda made: getattr(Counts.of(made.predicted, made.truth), name), figures)


def _adjusted(made: Prediction) -> float:
    return Counts.of(point_adjusted(made.predicted, made.truth), made.truth).f1


predicted = _count(
    "predicted",
    Figure("F1, protocol 2", lambda columns: float(np.mean([counts(column).f1 for column in columns])), 0),
    Figure("F1, protocol 3", lambda columns: pooled(columns).f1, 1),
)
correct = _count("correct", Figure("precision", lambda columns: pooled(columns).precision, 10, "operator"))
positives = _count("positives", Figure("recall", lambda columns: pooled(columns).recall, 11, "operator"))
point_adjusted_f1 = Metric(
    "point_adjusted_f1",
    _adjusted,
    (Figure("point-adjusted F1 (misleading)", mean_of("point_adjusted_f1"), 90),),
    on_request=True,
)
