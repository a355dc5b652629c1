"""A whole series judged at once, with the answer a stream would have given row by row."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import available
from .frame import Frame
from .model import Model, Series
from .network.engine import Reconstructor
from .prepare import timeline, windows
from .results import Detection, Event
from .score import events
from .score.combine import Combiner, Way
from .score.step import Fold, Judged
from .wording import span

log = logging.getLogger("ccmtad")

__all__ = ["compare", "detect", "in_order", "losses", "normal"]

Errors = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Progress = Callable[[float], object]


def detect(model: Model, engine: Reconstructor, frame: Frame, progress: Progress | None = None) -> Detection:
    """Frame to rows to losses to scores to events. `progress` is told the share that is done."""
    (detection,) = compare([model], engine, frame, progress)
    return detection


def compare(
    models: Sequence[Model], engine: Reconstructor, frame: Frame, progress: Progress | None = None
) -> list[Detection]:
    """The answers of models that differ in nothing but their calibration: the network is asked once."""
    model, tell = models[0], progress or (lambda _: None)
    frame = frame.align(model.channels, named=model.named, argument="recent")
    series = model.series(frame)
    ignored = len(frame) - len(series.kept)
    if ignored:
        log.warning(
            "recent: %d of %d rows are not later than the ones before them and are ignored", ignored, len(frame)
        )
    period = timeline.median_period(None if frame.times is None else frame.times[series.kept])
    if period is not None and model.period is not None and not 0.5 <= period / model.period <= 2.0:
        log.warning(
            "recent: one row every %s, and every %s in training: the network counts rows; resample to the same step",
            span(period),
            span(model.period),
        )
    if not len(series.ends):
        log.warning("recent: no row can be judged: no %d rows follow each other without a gap", model.settings.window)
    loss, runs = np.full(len(series.rows), np.nan), [_Judging(each, series) for each in models]
    for where, error in engine.errors(series.rows, series.ends):
        rows = series.ends[where]
        loss[rows] = model.combiner.loss(error, None if series.present is None else series.present[rows])
        for run in runs:
            run.take(loss, rows, error)
        tell(where.stop / len(series.ends))
    return [run.detection(loss, engine, frame) for run in runs]


class _Judging:
    """One model on its way through a series."""

    def __init__(self, model: Model, series: Series) -> None:
        self.model, self.series = model, series
        self.fold = Fold(model.calibration.rules, len(series.rows), available())
        self.excursions = 0  # rows with score 0, up to the newest: constant along one excursion
        self.blame: dict[int, tuple[NDArray[np.float64], int]] = {}  # by excursion: summed over so many rows in alarm

    def take(self, loss: NDArray[np.float64], rows: Ints, error: NDArray[Any]) -> None:
        """The next rows, with their squared errors."""
        first, fold = self.fold.done, self.fold
        fold.take(loss, int(rows[-1]) + 1)
        excursion = np.cumsum(fold.score[first : fold.done] <= 0.0) + self.excursions
        self.excursions = int(excursion[-1])
        alarmed = np.flatnonzero(fold.alarm[rows])
        if not len(alarmed):
            return
        share = _shares(self.model, self.series, rows[alarmed], error[alarmed])
        of = excursion[rows[alarmed] - first]
        for one in np.unique(of).tolist():
            before, count = self.blame.get(one, (0.0, 0))
            self.blame[one] = before + share[of == one].sum(axis=0, dtype=np.float64), count + int((of == one).sum())

    def detection(self, loss: NDArray[np.float64], engine: Reconstructor, frame: Frame) -> Detection:
        """The answer, once all rows are taken."""
        self.fold.take(loss, len(loss))
        return _detection(self.model, engine, frame, self.series, self.fold.judged(loss), self._blame_of)

    def _blame_of(self, span: events.Span) -> NDArray[np.float64]:
        """What each channel is blamed for in an event."""
        score = self.fold.score
        excursion = int((score[: span.alarm + 1] <= 0.0).sum())
        total, count = self.blame[excursion]
        return total / count


def _detection(
    model: Model,
    engine: Reconstructor,
    frame: Frame,
    series: Series,
    scores: Judged,
    blame_of: Callable[[events.Span], NDArray[np.float64]],
) -> Detection:
    """Scores to events."""
    spans = events.find(scores.score, scores.evidence, scores.alarm)

    def spread(values: NDArray[Any], default: object) -> NDArray[Any]:
        """One value per input row; late and duplicate rows get the default."""
        out = np.full(len(frame), default, dtype=values.dtype)
        out[series.kept] = values
        return out

    return Detection(
        loss=spread(scores.loss, np.nan),
        pvalue=spread(scores.pvalue, 1.0),
        evidence=spread(np.nan_to_num(scores.evidence, nan=0.0), 0.0),
        score=spread(scores.score, 0.0),
        alarm=spread(scores.alarm, False),
        label=spread(events.label(spans, len(scores.loss)), False),
        own_pvalue=spread(scores.alone, 1.0),
        events=tuple(_event(span, model, series, frame.times, blame_of(span)) for span in spans),
        threshold=model.calibration.threshold,
        frame=frame,
        health=scores.health,
        learnt=model.learnt,
        _blame=partial(_blame, engine, model, series, len(frame)),
        _reconstruct=partial(_reconstruct, engine, model, series),
    )


def losses(
    engine: Reconstructor, combiner: Combiner, rows: Errors, ends: Ints, present: Bools | None = None
) -> NDArray[np.float64]:
    """The loss of each row in `ends`."""
    out = np.empty(len(ends))
    for where, error in engine.errors(rows, ends):
        out[where] = combiner.loss(error, None if present is None else present[ends[where]])
    return out


def _shares(model: Model, series: Series, rows: Ints, error: NDArray[Any]) -> Errors:
    """(rows, channels): each channel's share of the loss of some rows."""
    present = None if series.present is None else series.present[rows]
    share: Errors = model.combiner.blame(error, model.blamable(series.rows[rows], present)).astype(np.float32)
    return share


def normal(
    engine: Reconstructor, rows: Errors, ends: Ints, present: Bools | None, way: Way
) -> tuple[Combiner, NDArray[np.float64]]:
    """Learns from the normal rows `ends` how channels combine; their losses in order of time, NaN where it breaks."""
    there = None if present is None else present[ends]
    errors = np.concatenate([error for _, error in engine.errors(rows, ends)])
    combiner = Combiner.fit(errors, way, there)
    return combiner, in_order(combiner.loss(errors, there), ends)


def in_order(losses: NDArray[np.float64], ends: Ints) -> NDArray[np.float64]:
    """The losses of the rows `ends` in order of time, NaN where the series breaks."""
    series = np.full(int(ends[-1] - ends[0]) + 1, np.nan)
    series[ends - ends[0]] = losses
    return series


def _event(
    span: events.Span,
    model: Model,
    series: Series,
    times: NDArray[np.datetime64] | None,
    blame: NDArray[np.float64],
) -> Event:
    start, raised, offset = (int(series.kept[i]) for i in (span.onset, span.alarm, span.offset))
    rows = (start, raised, None if span.open else offset)
    stamps = tuple(None if times is None or row is None else times[row] for row in rows)
    measured = events.measures(span, model.calibration.threshold)
    return Event.of(rows, stamps, model.channels, blame, **measured)  # type: ignore[arg-type]


def _reconstruct(engine: Reconstructor, model: Model, series: Series, first: int, last: int) -> NDArray[np.float64]:
    """(rows, channels) of the input rows `first` to `last`, in the input's units; NaN where they are not judged."""
    out = np.full((last - first + 1, series.rows.shape[1]), np.nan)
    judged = series.ends[(series.kept[series.ends] >= first) & (series.kept[series.ends] <= last)]
    for run_first, run_last in windows.runs(judged):
        back = engine.reconstruct(series.rows[run_first - engine.window + 1 : run_last + 1])
        out[series.kept[run_first : run_last + 1] - first] = model.scaler.undo(back)
    return out


def _blame(engine: Reconstructor, model: Model, series: Series, rows: int) -> Errors:
    out = np.zeros((rows, series.rows.shape[1]), dtype=np.float32)
    for where, error in engine.errors(series.rows, series.ends):
        judged = series.ends[where]
        out[series.kept[judged]] = _shares(model, series, judged, error)
    return out
