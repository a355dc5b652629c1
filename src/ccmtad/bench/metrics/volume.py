"""VUS-ROC and VUS-PR, as TSB-AD defines them.

For every window 0..W the labels get slopes sqrt(1 - d / window) up to window // 2 rows on both sides of an event (two
slopes that meet count as 1). At each of 250 thresholds, taken at even ranks of the score, true positives are the sum of
the labels predicted; the positives are the mean of the plain ones and those plus the predicted slopes; the recall is
also multiplied by the share of (widened) events that were hit. The area under each curve is averaged over windows.

A row is predicted from some threshold on, so everything is a cumulative sum over that threshold's number: no loop over
thresholds.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from . import Figure, Metric, Prediction, mean_of
from .ranges import runs

__all__ = ["Volumes", "volumes", "vus_pr", "vus_roc"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WINDOW = 100  # TSB-AD's for multivariate series
THRESHOLDS = 250


@dataclass(frozen=True)
class Volumes:
    """Volumes under the surface; NaN where there is no event, or nothing else."""

    roc: float
    pr: float


def volumes(score: Floats, truth: Bools, window: int = WINDOW, thresholds: int = THRESHOLDS) -> Volumes:
    """The volumes of a score (higher is worse)."""
    first, last = runs(truth)
    if not len(first) or truth.all():
        return Volumes(np.nan, np.nan)
    rows = len(score)
    level = np.sort(score)[::-1][np.linspace(0, rows - 1, thresholds).astype(np.int64)]
    since = np.searchsorted(-level, -score, "left")  # number of the first threshold that predicts each row

    def predicted(which: Ints, weight: Floats | None = None) -> Floats:
        """The sum of the weights that each threshold predicts."""
        return np.cumsum(np.bincount(since[which], weight, thresholds))

    positives = float(truth.sum())
    chosen = np.cumsum(np.bincount(since, None, thresholds))
    hits = predicted(np.flatnonzero(truth))
    areas = np.zeros((window + 1, 2))
    for width in range(window + 1):
        half = width // 2
        slope, weight = _slopes(first, last, truth, width)
        on_slopes = predicted(slope, weight)
        true = hits + on_slopes
        all_positives = positives + on_slopes / 2
        recall = np.minimum(true / all_positives, 1.0) * _hit(since, first, last, half, thresholds)
        areas[width] = _areas(recall, (chosen - true) / (rows - all_positives), true / chosen)
    roc, pr = areas.mean(axis=0)
    return Volumes(float(roc), float(pr))


def _slopes(first: Ints, last: Ints, truth: Bools, width: int) -> tuple[Ints, Floats]:
    """Rows beside events, and their labels."""
    away = np.arange(1, width // 2 + 1)
    rows = np.concatenate([(last[:, None] + away).ravel(), (first[:, None] - away).ravel()])
    label = np.tile(np.sqrt(1 - away / max(width, 1)), 2 * len(first))
    there = (rows >= 0) & (rows < len(truth))
    rows, label = rows[there], label[there]
    normal = ~truth[rows]
    rows, where = np.unique(rows[normal], return_inverse=True)
    return rows, np.minimum(np.bincount(where, label[normal], len(rows)), 1.0)


def _hit(since: Ints, first: Ints, last: Ints, half: int, thresholds: int) -> Floats:
    """The share of events, widened by `half` and merged where they meet, of which each threshold predicts a row."""
    apart = last[:-1] + half < first[1:] - half
    begin = np.maximum(first[np.r_[True, apart]] - half, 0)
    end = np.minimum(last[np.r_[apart, True]] + half, len(since) - 1)
    bounds = np.c_[begin, end + 1].ravel()
    earliest = np.minimum.reduceat(np.r_[since, thresholds], bounds)[::2]
    return np.cumsum(np.bincount(earliest, None, thresholds)[:thresholds]) / len(begin)


def _areas(recall: Floats, false: Floats, precision: Floats) -> tuple[float, float]:
    """Under recall against false-positive rate (trapezoid, to (1, 1)) and precision against recall (steps)."""
    up, along = np.r_[0.0, recall, 1.0], np.r_[0.0, false, 1.0]
    roc = np.sum(np.diff(along) * (up[1:] + up[:-1]) / 2)
    return float(roc), float(np.sum(np.diff(up[:-1]) * precision))


def _volume(kind: str) -> Metric:
    name = f"vus_{kind}"

    def of(made: Prediction) -> float | None:
        return None if made.score is None else getattr(_volumes(made), kind)

    return Metric(name, of, (Figure(f"VUS-{kind.upper()}", mean_of(name), 61 if kind == "pr" else 62, "other"),))


@lru_cache(maxsize=4)
def _volumes(made: Prediction) -> Volumes:
    assert made.score is not None
    return volumes(made.score, made.truth)


vus_pr, vus_roc = _volume("pr"), _volume("roc")
