"""A whole series judged at once, with the answer a stream would have given row by row."""

import logging
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import Settings
from ..frame import Frame
from ..method import events
from ..method.calibrate import Calibration, Scores
from ..method.combine import Combine, Combiner
from ..results import Detection, Event
from .engine import Reconstructor
from .model import Model, Series

log = logging.getLogger("ccmtad")

__all__ = ["blames", "calibrate", "detect", "in_order", "losses", "normal"]

Errors = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def detect(model: Model, engine: Reconstructor, frame: Frame) -> Detection:
    """Frame to rows to losses to scores to events."""
    frame = frame.align(model.channels, named=model.named, argument="recent")
    series = model.series(frame)
    ignored = len(frame) - len(series.kept)
    if ignored:
        log.warning(
            "recent: %d of %d rows are not later than the ones before them and are ignored", ignored, len(frame)
        )
    if not len(series.ends):
        log.warning("recent: no row can be judged: no %d rows follow each other without a gap", model.settings.window)
    loss = np.full(len(series.rows), np.nan)
    loss[series.ends] = losses(engine, model.combiner, series.rows, series.ends, series.present)
    scores = model.calibration.score(loss)
    threshold = model.calibration.threshold
    spans = events.find(scores.score, scores.evidence, scores.alarm)

    def spread(values: NDArray[Any], default: object) -> NDArray[Any]:
        """One value per input row; late and duplicate rows get the default."""
        out = np.full(len(frame), default, dtype=values.dtype)
        out[series.kept] = values
        return out

    return Detection(
        loss=spread(loss, np.nan),
        pvalue=spread(scores.pvalue, 1.0),
        evidence=spread(np.nan_to_num(scores.evidence, nan=0.0), 0.0),
        score=spread(scores.score, 0.0),
        alarm=spread(scores.alarm, False),
        label=spread(events.label(spans, len(loss)), False),
        events=tuple(_event(span, model, engine, series, scores, frame.times) for span in spans),
        threshold=threshold,
        channels=model.channels,
        times=frame.times,
        health=scores.health,
        _blame=partial(_blame, engine, model.combiner, series, len(frame)),
    )


def losses(
    engine: Reconstructor, combiner: Combiner, rows: Errors, ends: Ints, present: Bools | None = None
) -> NDArray[np.float64]:
    """The loss of each row in `ends`."""
    out = np.empty(len(ends))
    for where, error in engine.errors(rows, ends):
        out[where] = combiner.loss(error, None if present is None else present[ends[where]])
    return out


def blames(engine: Reconstructor, combiner: Combiner, rows: Errors, ends: Ints, present: Bools | None = None) -> Errors:
    """(ends, channels): each channel's share of the loss of each row in `ends`."""
    out = np.empty((len(ends), rows.shape[1]), dtype=np.float32)
    for where, error in engine.errors(rows, ends):
        out[where] = combiner.blame(error, None if present is None else present[ends[where]])
    return out


def normal(
    engine: Reconstructor, rows: Errors, ends: Ints, present: Bools | None, combine: Combine
) -> tuple[Combiner, NDArray[np.float64]]:
    """Learns from the normal rows `ends` how channels combine; their losses in order of time, NaN where it breaks."""
    there = None if present is None else present[ends]
    errors = np.concatenate([error for _, error in engine.errors(rows, ends)])
    combiner = Combiner.fit(errors, combine, there)
    return combiner, in_order(combiner.loss(errors, there), ends)


def in_order(losses: NDArray[np.float64], ends: Ints) -> NDArray[np.float64]:
    """The losses of the rows `ends` in order of time, NaN where the series breaks."""
    series = np.full(int(ends[-1] - ends[0]) + 1, np.nan)
    series[ends - ends[0]] = losses
    return series


def calibrate(losses: NDArray[np.float64], settings: Settings, rows_per_alarm: float) -> Calibration:
    """The reference that normal losses make, and the threshold of the budget."""
    return Calibration.fit(
        losses,
        rows_per_alarm,
        patience=settings.patience,
        reset=settings.reset,
        tail=settings.tail,
        alpha=settings.alpha,
        threshold=settings.threshold,
        persistence=settings.persistence,
        settle=settings.settle,
        drift=settings.drift,
        accept=settings.accept,
        duration=settings.duration,
        cooldown=settings.cooldown,
        seed=settings.seed,
    )


def _event(
    span: events.Span,
    model: Model,
    engine: Reconstructor,
    series: Series,
    scores: Scores,
    times: NDArray[np.datetime64] | None,
) -> Event:
    threshold = model.calibration.threshold
    inside = np.arange(span.alarm, span.last + 1)
    alarmed = inside[scores.alarm[inside]]
    blame = blames(engine, model.combiner, series.rows, alarmed, series.present).mean(axis=0)
    order = [i for i in np.argsort(-blame, kind="stable") if blame[i] > 0]
    start, alarm, offset = (int(series.kept[i]) for i in (span.onset, span.alarm, span.offset))
    end = None if span.open else offset
    return Event(
        start=start,
        alarm=alarm,
        end=end,
        severity=float(scores.score[alarmed].max()) / threshold,
        channels=tuple(model.channels[i] for i in order),
        blame=tuple(float(blame[i]) for i in order),
        start_time=None if times is None else times[start],
        alarm_time=None if times is None else times[alarm],
        end_time=None if times is None or end is None else times[end],
    )


def _blame(engine: Reconstructor, combiner: Combiner, series: Series, rows: int) -> Errors:
    out = np.zeros((rows, series.rows.shape[1]), dtype=np.float32)
    out[series.kept[series.ends]] = blames(engine, combiner, series.rows, series.ends, series.present)
    return out
