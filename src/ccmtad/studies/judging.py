"""One kept training, judged: by the authors' evaluation, and by what needs no labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bench import authors
from ..bench.methods import Losses
from ..calibrate.calibration import Calibration
from ..errors import InputError
from ..score import events
from .keep import Kept

__all__ = ["Judged", "Outcome", "Rows", "difference", "judged", "mean_of", "pooled", "rows_of"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """Rows counted at one operating point."""

    tp: int
    fp: int
    fn: int
    pr_auc: float | None = None  # the authors'
    alpha: float | None = None
    threshold: float | None = None

    @property
    def f1(self) -> float:
        return 2 * self.tp / max(2 * self.tp + self.fp + self.fn, 1)


@dataclass(frozen=True)
class Judged:
    """The three ways to score, as the paper compares them: alpha, threshold and epoch by the authors' rule, on the
    test labels; and `free` of labels: the epoch of the lowest validation loss, the budget's threshold."""

    point: Outcome
    uncorrected: Outcome
    corrected: Outcome
    free_point: Outcome
    free_uncorrected: Outcome
    free: Outcome
    validation_loss: float  # the lowest


@dataclass(frozen=True, eq=False)
class Rows:
    """The losses of one epoch as the authors' evaluation takes them, and what is true of the test rows."""

    normal: Floats
    test: Floats
    truth: Bools


def rows_of(kept: Kept, epoch: str = "authors") -> Rows:
    losses, window = kept.losses[epoch], kept.full_settings.window
    there = ~np.isnan(losses.test)
    normal = losses.validation[window - 1 : -1]  # windows inside the last fifth, the last one left out
    return Rows(normal[~np.isnan(normal)], losses.test[there], kept.truth[there])


def judged(kept: Kept) -> Judged:
    """Every way at once."""
    settings, rows = kept.full_settings, rows_of(kept)
    positives = int(rows.truth.sum())
    single = authors.point(rows.test, rows.truth)
    above = rows.test >= single.threshold
    found = int((above & rows.truth).sum())
    both = [
        authors.judge(rows.normal, rows.test, rows.truth, settings.patience, corrected=corrected)
        for corrected in (False, True)
    ]
    uncorrected, corrected = (Outcome(b.tp, b.fp, b.fn, b.pr_auc, b.alpha, b.threshold) for b in both)
    return Judged(
        Outcome(found, int(above.sum()) - found, positives - found, single.pr_auc, threshold=single.threshold),
        uncorrected,
        corrected,
        *_label_free(kept.losses["validation"], kept),
        float(kept.history[:, 1].min()),
    )


def _label_free(losses: Losses, kept: Kept) -> tuple[Outcome, Outcome, Outcome]:
    """Point, uncorrected, corrected; nothing is predicted where there are too few losses for an alpha."""
    settings, there = kept.full_settings, ~np.isnan(losses.test)
    truth, allowed = kept.truth & there, settings.rows_per_alarm(None)
    normal = losses.validation[~np.isnan(losses.validation)]
    limit = float(np.quantile(normal, 1 - 1 / allowed, method="higher"))
    point = _counted(there & (losses.test > limit), truth, threshold=limit)
    nothing = np.zeros(len(truth), dtype=np.bool_)
    try:
        calibration = Calibration.fit(losses.validation, allowed, settings)
    except InputError:
        return point, _counted(nothing, truth), _counted(nothing, truth)
    scores = calibration.score(losses.test)
    label = events.label(events.find(scores.score, scores.evidence, scores.alarm), len(truth))
    chosen = {"alpha": calibration.alpha, "threshold": calibration.threshold}
    return point, _counted(scores.alarm & there, truth, **chosen), _counted(label & there, truth, **chosen)


def _counted(predicted: Bools, truth: Bools, **chosen: float) -> Outcome:
    tp = int((predicted & truth).sum())
    return Outcome(tp, int(predicted.sum()) - tp, int(truth.sum()) - tp, **chosen)


def pooled(outcomes: Sequence[Outcome], chosen: Ints | None = None) -> float:
    """Protocol 3: F1 of the summed counts, of all or of those chosen."""
    table = np.array([[2 * one.tp, 2 * one.tp + one.fp + one.fn] for one in outcomes], dtype=np.float64)
    total = (table if chosen is None else table[chosen]).sum(axis=0)
    return float(total[0] / max(total[1], 1.0))


def difference(one: Sequence[Outcome], other: Sequence[Outcome]) -> Callable[[Ints], float]:
    """One F1 less another, of the entities chosen."""
    return lambda chosen: pooled(one, chosen) - pooled(other, chosen)


def mean_of(values: Sequence[float] | Floats) -> Callable[[Ints], float]:
    """The mean of those chosen; what is not a number is left out."""
    known = np.asarray(values, dtype=np.float64)

    def mean(chosen: Ints) -> float:
        there = known[chosen][np.isfinite(known[chosen])]
        return float(there.mean()) if len(there) else np.nan

    return mean
