"""A whole series judged at once, with the answer a stream would have given row by row."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .frame import Frame
from .model import Model, Series
from .network.engine import Reconstructor
from .prepare import timeline, windows
from .results import Detection, Event
from .score import events
from .score.combine import Combiner, Way
from .score.step import Judged
from .wording import span

log = logging.getLogger("ccmtad")

__all__ = ["blames", "compare", "detect", "in_order", "losses", "normal"]

Errors = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Progress = Callable[[float], object]

SHARE_OF_THE_NETWORK = 0.8  # of the work; the rest is scoring


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
    loss = np.full(len(series.rows), np.nan)
    loss[series.ends] = losses(
        engine,
        model.combiner,
        series.rows,
        series.ends,
        series.present,
        lambda share: tell(SHARE_OF_THE_NETWORK * share),
    )
    found = []
    for i, each in enumerate(models):
        scores = each.calibration.score(
            loss,
            lambda share, i=i: tell(SHARE_OF_THE_NETWORK + (1 - SHARE_OF_THE_NETWORK) * (i + share) / len(models)),  # type: ignore[misc]
        )
        found.append(_detection(each, engine, frame, series, scores))
    return found


def _detection(model: Model, engine: Reconstructor, frame: Frame, series: Series, scores: Judged) -> Detection:
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
        events=tuple(_event(span, model, engine, series, scores.alarm, frame.times) for span in spans),
        threshold=model.calibration.threshold,
        frame=frame,
        health=scores.health,
        learnt=model.learnt,
        _blame=partial(_blame, engine, model, series, len(frame)),
        _reconstruct=partial(_reconstruct, engine, model, series),
    )


def losses(
    engine: Reconstructor,
    combiner: Combiner,
    rows: Errors,
    ends: Ints,
    present: Bools | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """The loss of each row in `ends`."""
    out = np.empty(len(ends))
    for where, error in engine.errors(rows, ends):
        out[where] = combiner.loss(error, None if present is None else present[ends[where]])
        if progress is not None:
            progress(where.stop / len(ends))
    return out


def blames(engine: Reconstructor, model: Model, series: Series, ends: Ints) -> Errors:
    """(ends, channels): each channel's share of the loss of each row in `ends`."""
    out = np.empty((len(ends), series.rows.shape[1]), dtype=np.float32)
    for where, error in engine.errors(series.rows, ends):
        rows = ends[where]
        present = None if series.present is None else series.present[rows]
        out[where] = model.combiner.blame(error, model.blamable(series.rows[rows], present))
    return out


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
    engine: Reconstructor,
    series: Series,
    alarm: Bools,
    times: NDArray[np.datetime64] | None,
) -> Event:
    inside = np.arange(span.alarm, span.last + 1)
    blame = blames(engine, model, series, inside[alarm[inside]]).mean(axis=0)
    start, raised, offset = (int(series.kept[i]) for i in (span.onset, span.alarm, span.offset))
    rows = (start, raised, None if span.open else offset)
    stamps = tuple(None if times is None or row is None else times[row] for row in rows)
    return Event.of(rows, stamps, events.severity(span.peak, model.calibration.threshold), model.channels, blame)  # type: ignore[arg-type]


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
    out[series.kept[series.ends]] = blames(engine, model, series, series.ends)
    return out
