"""Judging one fitted method on one test series: every column, side by side.

    online         rows in alarm when they arrived; nothing chosen with labels, no hindsight
    corrected      the same after boundary correction
    all kinds      as online, with events of other kinds: signals lost or frozen, excursions, data unlike training
    with an operator   as corrected, watched by somebody who dismisses every false event once it is over
    oracle         alpha and threshold chosen on the test labels
    oracle epoch   the epoch of training too, from the second on, by the best F1 of all (the authors' code goes by
                   the best point F1: another figure)
    point          no accumulation: rows whose loss is above what the budget allows by the validation losses
    point oracle   the same with the threshold chosen on the test labels
    oracle, authors   the evaluation of the authors' published code (`authors.py`): epoch by the best point F1 on the
                   test labels, from the second on, alpha and threshold by the best F1
    oracle, authors, uncorrected   the same without boundary correction
    oracle, authors, point   the same without accumulation
    own            a method's own threshold, where it has one

What is called oracle has seen the labels, and so has the operator. Nothing else here has: labels enter after the method
has spoken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calibrate.calibration import Calibration
from ..errors import InputError
from ..lanes import Lanes
from ..model import Model
from ..network.engine import Engine
from ..record import NEVER
from ..results import Detection
from ..score import events
from ..settings import Settings
from . import authors, metrics
from .methods import Fitted, Losses
from .metrics.point import Counts, counts
from .sweep import Best, Sweep, search, sweep

__all__ = ["COLUMNS", "Column", "judge"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COLUMNS = (
    "online",
    "corrected",
    "all kinds",
    "with an operator",
    "oracle",
    "oracle epoch",
    "point",
    "point oracle",
    "oracle, authors",
    "oracle, authors, uncorrected",
    "oracle, authors, point",
    "own",
)
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
    fitted: Fitted, truth: Bools, settings: Settings, rows_per_alarm: float, *, asked: Sequence[str] = (),
    every_epoch: bool = True, as_authors: bool = False,
) -> dict[str, Column]:  # fmt: skip
    """Every column that can be computed for this method; those of the epoch, and those of the authors, where asked."""
    losses = fitted.losses
    judged = ~np.isnan(losses.test)
    if not judged.any():
        raise InputError(f"test must hold {settings.window} rows in a row; got {len(judged)} rows, none of them judged")
    truth = truth & judged
    judge = Judge(truth, judged, asked)
    calibration = Calibration.fit(losses.validation, rows_per_alarm, settings)
    if fitted.detection is None:
        columns = _label_free(judge, calibration, losses.test)
    else:
        columns = _told(judge, fitted.detection)
        watching = fitted.watching
        if watching is not None and isinstance(watching.engine, Engine) and settings.online:
            columns["with an operator"] = _operated(judge, watching.model, fitted.detection)
    columns["oracle"] = _oracle(judge, _search(losses, calibration, truth))
    if fitted.epochs and every_epoch:
        by_epoch = [
            (_search(one, calibration.over(one.validation), truth), number)
            for number, one in enumerate(fitted.epochs, 1)
            if number >= min(FIRST_EPOCH_TO_CHOOSE, len(fitted.epochs))
        ]
        best, epoch = max(by_epoch, key=lambda pair: pair[0].f1)  # the earliest of equals
        columns["oracle epoch"] = _oracle(judge, best, epoch)
    columns |= _points(judge, losses, rows_per_alarm)
    if as_authors:
        columns |= _as_authors(judge, fitted, settings)
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


def _told(judge: Judge, found: Detection) -> dict[str, Column]:
    """What a user is told: anomalies alone, and events of every kind."""
    alarm, judged = found.alarms["anomaly"], judge.judged
    label = np.zeros(len(found), dtype=np.bool_)
    for event in found.events:
        if event.kind == "anomaly":
            label[event.start : (len(found) if event.end is None else event.end + 1)] = True
    evidence = np.where(judged, found.evidence, np.nan)
    chosen = {"alpha": found.learnt.alpha, "threshold": found.threshold}
    plain, corrected = (sweep(found.score, evidence, judge.truth, corrected=c) for c in (False, True))
    return {
        "online": judge.column(alarm, alarm, plain, found.score, **chosen),
        "corrected": judge.column(label & judged, alarm, corrected, found.score, **chosen),
        "all kinds": judge.column(found.alarm & judged, found.alarm & judged),
    }


def _operated(judge: Judge, model: Model, found: Detection) -> Column:
    """The same rows, watched by somebody who dismisses every anomaly that was none, once it is over."""
    lanes, rows, one = Lanes(model, 1), len(found), np.zeros(1, dtype=np.int64)
    alarm, label = np.zeros(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_)
    times = np.full(rows, NEVER) if found.times is None else found.times.astype("datetime64[ns]").astype(np.int64)
    for row, values in enumerate(found.frame.values):
        for _, change in lanes.update(one, values[None], times[row : row + 1]).changes():
            event = change.event
            if event.kind != "anomaly":
                continue
            last = row if event.end is None else event.end
            alarm[row] |= event.open
            label[event.start : last + 1] = True
            if change.what == "final" and not judge.truth[event.start : last + 1].any():
                lanes.heed([event.verdict("dismissed", f"{row:012d}")])
    return judge.column(label & judge.judged, alarm & judge.judged)


def _search(losses: Losses, calibration: Calibration, truth: Bools) -> Best:
    scores = calibration.score(losses.test)
    strength = scores.evidence - calibration.log_alpha
    return search(strength, truth, calibration.settings.patience, calibration.settings.reset)


def _oracle(judge: Judge, best: Best, epoch: int | None = None) -> Column:
    alarm = best.score > best.threshold
    label = events.label(events.find(best.score, best.evidence, alarm), len(alarm))
    return judge.column(label, alarm, best.sweep, best.score, alpha=best.alpha, threshold=best.threshold, epoch=epoch)


def _as_authors(judge: Judge, fitted: Fitted, settings: Settings) -> dict[str, Column]:
    """The evaluation of the authors' code, over the same losses."""
    truth, epochs = judge.truth[judge.judged], fitted.epochs or (fitted.losses,)
    chosen = range(min(FIRST_EPOCH_TO_CHOOSE, len(epochs)), len(epochs) + 1)
    # The earliest of equals.
    epoch = max(chosen, key=lambda number: authors.point(epochs[number - 1].test[judge.judged], truth).f1)
    losses = epochs[epoch - 1]
    normal = losses.validation[settings.window - 1 : -1]  # windows inside the last fifth, the last one left out
    normal, test = normal[~np.isnan(normal)], losses.test[judge.judged]

    def column(predicted: Bools, **more: Any) -> Column:
        rows = np.zeros(len(judge.judged), dtype=np.bool_)
        rows[judge.judged] = predicted
        return judge.column(rows, rows, epoch=epoch, **more)

    made = {}
    for name, corrected in (("oracle, authors", True), ("oracle, authors, uncorrected", False)):
        best = authors.judge(normal, test, truth, settings.patience, corrected=corrected, others=corrected)
        others = ("pr_auc", "range_f1", "affiliation_f1", "vus_roc", "vus_pr")
        more = {f"authors_{other}": getattr(best, other) for other in others}
        made[name] = column(best.predicted, alpha=best.alpha, threshold=best.threshold, **more)
    single = authors.point(test, truth)
    more = {"threshold": single.threshold, "authors_pr_auc": single.pr_auc}
    return made | {"oracle, authors, point": column(test >= single.threshold, **more)}


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
