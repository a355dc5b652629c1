"""Every threshold at once, exactly: no grid, no loop over thresholds.

Inside one excursion of the score (s > 0) the corrected prediction at threshold h runs from the onset to the last
positive evidence at or before the last row with s > h. It changes only where h passes a suffix maximum of it,
so sorting those gives the whole precision-recall curve in O(n log n). What is chosen with labels is an oracle's choice.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..score.accumulate import accumulate
from ..score.events import bounds

__all__ = ["Best", "Sweep", "alphas", "search", "sweep"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sweep:
    """One entry for each level at which the prediction (s > threshold, corrected) can change, highest first."""

    threshold: Floats
    predicted: Ints  # rows predicted anomalous
    correct: Ints  # of these, how many are
    positives: int  # rows that are anomalous

    @cached_property
    def precision(self) -> Floats:
        return self.correct / self.predicted

    @cached_property
    def recall(self) -> Floats:
        return self.correct / max(self.positives, 1)

    @cached_property
    def f1(self) -> Floats:
        return 2 * self.correct / (self.predicted + self.positives)

    @property
    def best(self) -> tuple[float, float]:
        """(F1, threshold) of the best F1: an oracle's choice. Nothing to predict: (0, infinity)."""
        if not len(self.f1):
            return 0.0, np.inf
        i = int(np.argmax(self.f1))
        return float(self.f1[i]), float(self.threshold[i])

    @property
    def pr_auc(self) -> float:
        """Trapezoid under precision against recall, from (recall 0, precision 1)."""
        recall, precision = np.r_[0.0, self.recall], np.r_[1.0, self.precision]
        return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


def sweep(score: Floats, evidence: Floats, truth: Bools, *, corrected: bool = True) -> Sweep:
    """All thresholds of one scored series. Evidence is NaN where a row could not be judged; such rows do not count."""
    judged = ~np.isnan(evidence)
    positives = int(truth[judged].sum())
    above = np.flatnonzero(score > 0.0)
    if not len(above):
        return Sweep(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), positives)
    if corrected:
        level, rows, correct = _excursions(score, evidence, truth & judged, above)
    else:
        level, rows, correct = score[above], np.ones(len(above), dtype=np.int64), truth[above].astype(np.int64)
    order = np.argsort(-level, kind="stable")
    level = level[order]
    last = np.flatnonzero(np.r_[level[1:] != level[:-1], True])  # of equal levels
    threshold = np.r_[level[last][1:], 0.0]  # anything from the next level up to below this one
    return Sweep(threshold, np.cumsum(rows[order])[last], np.cumsum(correct[order])[last], positives)


@dataclass(frozen=True, eq=False)
class Best:
    """The alpha and threshold with the best F1 on the labels given: an oracle's choice."""

    f1: float
    alpha: float
    threshold: float
    sweep: Sweep
    score: Floats
    evidence: Floats


def alphas(strength: Floats) -> Floats:
    """The alphas worth trying, in log space, for rows of evidence `strength` at alpha = 1 (-log p).

    Down to the smallest p-value: below it no row is evidence of anything. A fifth of a decade apart, and never more
    than 80 of them.
    """
    most = float(np.nanmax(strength, initial=0.0))
    count = int(np.clip(np.ceil(most / np.log(10) * 5), 1, 80))
    return np.exp(-most * (np.arange(count) + 0.02) / count)


def search(strength: Floats, truth: Bools, patience: int, reset: str) -> Best:
    """The exact sweep for every alpha of the grid. `strength` is the evidence at alpha = 1, NaN where not judged."""
    best = None
    for alpha in alphas(strength):
        evidence = strength + np.log(alpha)
        score = accumulate(evidence, patience, reset)
        found = sweep(score, evidence, truth)
        f1, threshold = found.best
        if best is None or f1 > best.f1:
            best = Best(f1, float(alpha), threshold, found, score, evidence)
    assert best is not None  # there is at least one alpha
    return best


def _excursions(score: Floats, evidence: Floats, truth: Bools, above: Ints) -> tuple[Floats, Ints, Ints]:
    """For each suffix maximum of an excursion: its score, and the rows and correct rows its passing adds."""
    zero = score <= 0.0
    excursion = np.cumsum(zero)[above]
    # By excursion, then score downwards, then latest first: a row is a suffix maximum if no row before it is later.
    order = above[np.lexsort((-above, -score[above], excursion))]
    tip = order[order > np.r_[-1, np.maximum.accumulate(order)[:-1]]]
    belongs = np.cumsum(zero)[tip]
    first = np.r_[True, belongs[1:] != belongs[:-1]]

    onset, offset = (rows[tip] for rows in bounds(score, evidence))
    begin = np.where(first, onset, np.r_[0, offset[:-1]] + 1)  # the first row that is new
    count = np.r_[0, np.cumsum(truth)]
    return score[tip], offset + 1 - begin, count[offset + 1] - count[begin]
