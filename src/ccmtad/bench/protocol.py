"""Judging one fitted method on one test series: every column, side by side.

    online         rows in alarm when they arrived; nothing chosen with labels, no hindsight
    corrected      the same after boundary correction
    oracle         alpha and threshold chosen on the test labels
    oracle epoch   the epoch of training too, from the second on, by the best F1 of all (the authors' code goes by
                   the best point F1: another figure)
    point          no accumulation: rows whose loss is above what the budget allows by the validation losses
    point oracle   the same with the threshold chosen on the test labels
    own            a method's own threshold, where it has one

What is called oracle has seen the labels. Nothing else here has: labels enter after the method has spoken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calibrate.calibration import Calibration
from ..errors import InputError
from ..score import events
from ..settings import Settings
from . import metrics
from .methods import Fitted, Losses
from .metrics.point import Counts, counts
from .sweep import Best, Sweep, search, sweep

__all__ = ["COLUMNS", "Column", "judge"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COLUMNS = ("online", "corrected", "oracle", "oracle epoch", "point", "point oracle", "own")
FIRST_EPOCH_TO_CHOOSE = 2


@dataclass(frozen=True)
class Column:
    """One prediction of one test series, judged: every metric by its name, and what was chosen for it.

    Counts are of rows that could be judged.
    """

    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def counts(self) -> Counts:
        return counts(self.values)


@dataclass(frozen=True, eq=False)
class Judge:
    """The truth of one test series, and what to compare with it."""

    truth: Bools  # (rows,) False where a row could not be judged
    judged: Bools
    asked: Sequence[str] = ()  # metrics that are measured on request only

    def column(
        self,
        predicted: Bools,
        alarm: Bools,
        curve: Sweep | None = None,
        score: Floats | None = None,
        **chosen: float | int | None,
    ) -> Column:
        where = slice(*np.flatnonzero(self.judged)[[0, -1]] + [0, 1])
        cut = None if score is None else score[where]
        made = metrics.Prediction(predicted[where], alarm[where], self.truth[where], cut, curve)
        return Column({"rows": int(self.judged.sum()), **metrics.measure(made, self.asked), **chosen})


def judge(
    fitted: Fitted, truth: Bools, settings: Settings, rows_per_alarm: float, *, asked: Sequence[str] = ()
) -> dict[str, Column]:
    """Every column that can be computed for this method."""
    losses = fitted.losses
    judged = ~np.isnan(losses.test)
    if not judged.any():
        raise InputError(f"test must hold {settings.window} rows in a row; got {len(judged)} rows, none of them judged")
    truth = truth & judged
    judge = Judge(truth, judged, asked)
    calibration = Calibration.fit(losses.validation, rows_per_alarm, settings)
    columns = _label_free(judge, calibration, losses.test)
    columns["oracle"] = _oracle(judge, _search(losses, calibration, truth))
    if fitted.epochs:
        by_epoch = [
            (_search(one, calibration.over(one.validation), truth), number)
            for number, one in enumerate(fitted.epochs, 1)
            if number >= min(FIRST_EPOCH_TO_CHOOSE, len(fitted.epochs))
        ]
        best, epoch = max(by_epoch, key=lambda pair: pair[0].f1)  # the earliest of equals
        columns["oracle epoch"] = _oracle(judge, best, epoch)
    columns |= _points(judge, losses, rows_per_alarm)
    if fitted.own is not None:
        columns["own"] = judge.column(fitted.own & judged, fitted.own & judged)
    return columns


def _label_free(judge: Judge, calibration: Calibration, loss: Floats) -> dict[str, Column]:
    scores, threshold = calibration.score(loss), calibration.threshold
    alarm = scores.alarm
    label = events.label(events.find(scores.score, scores.evidence, alarm), len(loss))
    chosen = {"alpha": calibration.alpha, "threshold": threshold}
    plain, corrected = (sweep(scores.score, scores.evidence, judge.truth, corrected=c) for c in (False, True))
    return {
        "online": judge.column(alarm, alarm, plain, scores.score, **chosen),
        "corrected": judge.column(label, alarm, corrected, scores.score, **chosen),
    }


def _search(losses: Losses, calibration: Calibration, truth: Bools) -> Best:
    scores = calibration.score(losses.test)
    strength = scores.evidence - calibration.log_alpha
    return search(strength, truth, calibration.settings.patience, calibration.settings.reset)


def _oracle(judge: Judge, best: Best, epoch: int | None = None) -> Column:
    alarm = best.score > best.threshold
    label = events.label(events.find(best.score, best.evidence, alarm), len(alarm))
    return judge.column(label, alarm, best.sweep, best.score, alpha=best.alpha, threshold=best.threshold, epoch=epoch)


def _points(judge: Judge, losses: Losses, rows_per_alarm: float) -> dict[str, Column]:
    """The loss itself as the score."""
    normal = losses.validation[~np.isnan(losses.validation)]
    limit = float(np.quantile(normal, 1 - 1 / rows_per_alarm, method="higher"))
    _, rank = np.unique(losses.test, return_inverse=True)
    score = np.where(judge.judged, rank + 1.0, 0.0)  # only its order matters
    curve = sweep(score, np.where(judge.judged, 1.0, np.nan), judge.truth, corrected=False)
    alarm = judge.judged & (losses.test > limit)
    best = score > curve.best[1]
    return {
        "point": judge.column(alarm, alarm, curve, score, threshold=limit),
        "point oracle": judge.column(best, best, curve, score),
    }
