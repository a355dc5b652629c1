"""The evaluation of the authors' published code, step by step: what their printed figures were computed by.

Everything here has seen the test labels: alpha and threshold, and the epoch where there are several, are those with the
best F1 on them. It differs from ours, which is the paper's text, in many small ways, and each moves a figure: p-values
count what is strictly larger; a score is dropped one row later, and the newest evidence is kept; a row is predicted at
or above the threshold, 0 included; alphas come from a list and from the test scores; thresholds are 1,000 quantiles;
the curves go on to where everything is predicted; VUS is that of corrected predictions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .metrics.affiliation import affiliation
from .metrics.ranges import range_based, runs
from .sweep import sweep

__all__ = [
    "FIXED_ALPHAS", "PVALUE_FLOOR", "THRESHOLDS", "Authors", "Point", "accumulated", "alphas_of", "counted", "judge",
    "larger", "point", "point_as_published",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FIXED_ALPHAS = (0.0001, 0.0002, 0.005, 0.05, 0.1, 0.2, 0.5)
THRESHOLDS = 1_000
BEFORE, AFTER = 10, 9  # ranks around the best point threshold that become alphas
PVALUE_FLOOR, ALPHA_FLOOR = 1e-8, 1e-9
VUS_WINDOW, VUS_THRESHOLDS = 100, 250


@dataclass(frozen=True)
class Point:
    """The loss itself as the score, at its best threshold."""

    f1: float
    pr_auc: float
    threshold: float


@dataclass(frozen=True)
class Authors:
    """The best F1 over alphas and thresholds, and what stands beside it in their tables."""

    f1: float
    alpha: float
    threshold: float
    tp: int
    fp: int
    fn: int
    pr_auc: float  # at that alpha
    range_f1: float | None = None  # the best of all alphas and thresholds by itself, and so
    affiliation_f1: float | None = None
    vus_roc: float | None = None  # at that alpha
    vus_pr: float | None = None
    predicted: Bools = field(default_factory=lambda: np.empty(0, dtype=np.bool_), repr=False, compare=False)


def point(test: Floats, truth: Bools) -> Point:
    """Every loss of the test part as the threshold, which predicts what is at or above it."""
    levels, counts = np.unique(test, return_counts=True)
    hits = np.bincount(np.searchsorted(levels, test[truth]), minlength=len(levels))
    tp, chosen = (np.cumsum(each[::-1])[::-1] for each in (hits, counts))
    return _point(tp, chosen, int(truth.sum()), levels)


def point_as_published(test: Floats, truth: Bools) -> Point:
    """The same as their code has it: rows one by one, in the order of numpy's sorting.

    Where losses are equal, that splits them, and the figure depends on the processor: one with AVX-512 sorts equal
    losses otherwise than one without. Nothing is chosen by it here.
    """
    order = np.argsort(test)
    tp = np.cumsum(truth[order][::-1], dtype=np.int64)[::-1]
    return _point(tp, len(test) - np.arange(len(test)), int(truth.sum()), test[order])


def _point(tp: Ints, chosen: Ints, positives: int, levels: Floats) -> Point:
    f1 = 2 * tp / (chosen + positives)
    best = int(np.argmax(f1))
    return Point(float(f1[best]), _area(tp / max(positives, 1), tp / chosen), float(levels[best]))


def alphas_of(validation: Floats, test: Floats, truth: Bools) -> Floats:
    """Those that thresholds around the best one of the loss itself amount to, by the validation losses."""
    ordered = np.sort(test)
    levels = ordered[np.linspace(0, len(test) - 1, THRESHOLDS).astype(np.int64)]
    chosen = len(test) - np.searchsorted(ordered, levels, "left")
    tp = int(truth.sum()) - np.searchsorted(np.sort(test[truth]), levels, "left")
    precision, recall = tp / (chosen + 1e-8), tp / (int(truth.sum()) + 1e-8)
    best = int(np.argmax(2 * precision * recall / (precision + recall + 1e-8)))
    around = levels[max(best - BEFORE, 0) : best + AFTER + 1]
    return larger(validation, around) + ALPHA_FLOOR


def judge(
    validation: Floats, test: Floats, truth: Bools, delta: int = 5, *, corrected: bool = True, others: bool = False,
    every_level: bool = False,
) -> Authors:  # fmt: skip
    """The best over all alphas and thresholds. `others`: range and affiliation F1 and VUS too, which is slow.

    `every_level` takes every score for a threshold instead of their quantiles: what the grid costs.
    """
    p = larger(validation, test) + PVALUE_FLOOR
    positives, best, of_best = int(truth.sum()), None, (test, test)
    range_f1 = affiliation_f1 = 0.0
    for alpha in np.sort(np.r_[FIXED_ALPHAS, alphas_of(validation, test, truth)]):
        b = np.log(alpha / p)
        score = accumulated(b, delta)
        levels = np.unique(score)
        if len(levels) < 2:
            continue
        thresholds = levels if every_level else np.quantile(levels, np.linspace(0, 1, THRESHOLDS))
        tp, chosen = counted(score, b, thresholds, truth, corrected=corrected)
        before = np.empty(0, dtype=np.bool_)
        for predicted in _predictions(score, b, thresholds, corrected) if others else ():
            if not np.array_equal(predicted, before):
                before = predicted
                range_f1 = max(range_f1, range_based(predicted, truth).f1)
                affiliation_f1 = max(affiliation_f1, affiliation(predicted, truth).f1)
        f1 = 2 * tp / np.maximum(chosen + positives, 1)
        i = int(np.argmax(f1))
        if best is None or f1[i] > best.f1:
            area = _area(tp / max(positives, 1), tp / np.maximum(chosen, 1))
            fp, fn = int(chosen[i] - tp[i]), int(positives - tp[i])
            best = Authors(float(f1[i]), float(alpha), float(thresholds[i]), int(tp[i]), fp, fn, area)
            of_best = score, b
    if best is None:
        nothing = np.zeros(len(test), dtype=np.bool_)
        return Authors(0.0, FIXED_ALPHAS[0], np.inf, 0, 0, positives, 0.0, predicted=nothing)
    (predicted,) = _predictions(*of_best, np.array([best.threshold]), corrected)
    best = replace(best, predicted=predicted)
    if not others:
        return best
    roc, pr = _volumes(*of_best, truth)
    return replace(best, range_f1=range_f1, affiliation_f1=affiliation_f1, vus_roc=roc, vus_pr=pr)


def accumulated(b: Floats, delta: int) -> Floats:
    """The score: what was carried is dropped with the row after `delta` rows without evidence, which itself counts."""
    score, quiet, made = 0.0, 0, []
    for new in b.tolist():
        quiet = 0 if new > 0.0 else quiet + 1
        score = max((0.0 if quiet > delta else score) + new, 0.0)
        made.append(score)
    return np.array(made)


def counted(score: Floats, b: Floats, thresholds: Floats, truth: Bools, *, corrected: bool = True) -> tuple[Ints, Ints]:
    """Rows found, and rows predicted, at each threshold: of all of them at once, as `sweep` has it.

    At 0 and below every row is at or above the threshold; above it, an excursion of the score is one run.
    """
    curve = sweep(score, b, truth, corrected=corrected)
    # An entry of the curve predicts what is above its threshold, and so at or above anything up to the one before.
    place = np.searchsorted(-curve.threshold, -thresholds, "right")
    tp, chosen = (np.r_[each, 0][np.minimum(place, len(each))] for each in (curve.correct, curve.predicted))
    beyond = thresholds > score.max(initial=0.0)
    tp[beyond], chosen[beyond] = 0, 0
    low = np.flatnonzero(thresholds <= 0.0)
    if len(low):
        (everything,) = _predictions(score, b, np.zeros(1), corrected)
        tp[low], chosen[low] = (everything & truth).sum(), everything.sum()
    return tp, chosen


def larger(validation: Floats, losses: Floats) -> Floats:
    """The share of validation losses that is strictly larger than each."""
    ordered = np.sort(validation)
    return (len(ordered) - np.searchsorted(ordered, losses, "right")) / len(ordered)


def _predictions(score: Floats, b: Floats, thresholds: Floats, corrected: bool) -> Iterator[Bools]:
    """At or above each threshold; corrected: each run from the last score of 0 before it to its last positive
    evidence."""
    rows = np.arange(len(score))
    begin = np.maximum.accumulate(np.where(score == 0.0, rows, 0))
    positive = np.maximum.accumulate(np.where(b > 0.0, rows, -1))
    for threshold in thresholds:
        above = score >= threshold
        if not corrected:
            yield above
            continue
        first, last = runs(above)
        end = np.where(positive[last] >= first, positive[last], last)
        edges = np.zeros(len(score) + 1, dtype=np.int64)
        np.add.at(edges, begin[first], 1)
        np.add.at(edges, end + 1, -1)
        yield np.cumsum(edges[:-1]) > 0


def _area(recall: Floats, precision: Floats) -> float:
    """Trapezoid, from the lowest threshold to the highest and on to (0, 1)."""
    along, up = np.r_[recall, 0.0], np.r_[precision, 1.0]
    return float(-np.sum(np.diff(along) * (up[1:] + up[:-1]) / 2))


def _volumes(score: Floats, b: Floats, truth: Bools) -> tuple[float, float]:
    """VUS-ROC and VUS-PR of corrected predictions."""
    rows = len(score)
    levels = np.sort(score)[::-1][np.linspace(0, rows - 1, VUS_THRESHOLDS).astype(np.int64)]
    predicted = np.array(list(_predictions(score, b, levels, True)))
    chosen, positives = predicted.sum(axis=1), int(truth.sum())
    so_far = np.c_[np.zeros(len(predicted), dtype=np.int64), predicted.cumsum(axis=1)]
    areas = np.zeros((VUS_WINDOW + 1, 2))
    for width in range(VUS_WINDOW + 1):
        label = _widened(truth, width)
        tp = predicted @ label
        first, last = runs(label > 0)
        touched = so_far[:, last + 1] > so_far[:, first]
        p = (positives + label.sum()) / 2
        recall = np.minimum(tp / p, 1.0) * touched.mean(axis=1)
        false = (chosen - tp) / (rows - p)
        precision = tp / np.maximum(chosen, 1)
        along, up = np.r_[0.0, false, 1.0], np.r_[0.0, recall, 1.0]
        roc = np.sum(np.diff(along) * (up[1:] + up[:-1]) / 2)
        along, up = np.r_[0.0, recall], np.r_[1.0, precision]
        areas[width] = roc, np.sum(np.diff(along) * (up[1:] + up[:-1]) / 2)
    roc, pr = areas.mean(axis=0)
    return float(roc), float(pr)


def _widened(truth: Bools, width: int) -> Floats:
    """Labels with slopes beside each event; on its right they begin at its last row itself."""
    label = truth.astype(np.float64)
    half, rows = width // 2, len(truth)
    for first, last in zip(*runs(truth), strict=True):
        right = np.arange(last, min(last + half, rows))
        label[right] += np.sqrt(1 - (right - last) / max(width, 1))
        left = np.arange(max(first - half, 0), first)
        label[left] += np.sqrt(1 - (first - left) / max(width, 1))
    return np.minimum(label, 1.0)
