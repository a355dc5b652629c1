"""Events as people count them: found or missed, false, how late."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from . import Column, Figure, Metric, Prediction
from .ranges import runs

__all__ = [
    "FALSE_EVENTS",
    "PERIODS",
    "EventCounts",
    "delay_at",
    "delay_curve",
    "delays",
    "event_counts",
    "events",
    "false",
    "found",
    "late",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

LEVELS = 200  # thresholds of a delay curve
PERIODS = (100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)  # rows between false alarms at which delays are given
FALSE_EVENTS = "false events per 10,000 rows"


@dataclass(frozen=True)
class EventCounts:
    """True events, those found, false events, and the delay of each found one in rows."""

    true: int
    found: int  # overlapped by a prediction
    false: int  # predicted stretches that touch no true event
    delays: tuple[int, ...]  # from an event's start to the first row in alarm inside it


def event_counts(predicted: Bools, alarm: Bools, truth: Bools) -> EventCounts:
    """Judges predicted stretches; delays are those of `alarm`, which no hindsight has corrected."""
    first, last = runs(truth)
    rows = np.r_[0, np.cumsum(predicted)]
    found = rows[last + 1] > rows[first]
    begin, end = runs(predicted)
    anomalous = np.r_[0, np.cumsum(truth)]
    false = anomalous[end + 1] == anomalous[begin]
    alarms = np.flatnonzero(alarm)
    position = np.searchsorted(alarms, first)
    earliest = np.r_[alarms, len(truth)][position]
    delays = tuple(int(d) for d in (earliest - first)[earliest <= last])
    return EventCounts(len(first), int(found.sum()), int(false.sum()), delays)


def delay_curve(score: Floats, truth: Bools) -> tuple[Floats, Floats]:
    """(mean rows between false alarms, average delay) at falling thresholds of the score: the ADD-FAP curve.

    A false alarm is a row outside every event at which the score comes to exceed the threshold. An event that is missed
    counts as its whole length. Without false alarms the period is all normal rows; without events delays are NaN.
    """
    positive = np.unique(score[score > 0])
    levels = np.r_[positive[np.linspace(0, len(positive) - 1, min(LEVELS, len(positive))).astype(np.int64)][::-1], 0.0]
    if not len(positive):
        levels = np.zeros(1)
    before = np.r_[0.0, score[:-1]]
    rises = np.flatnonzero(~truth & (score > before))
    # A rise from u to v is an alarm at every threshold in [u, v).
    low, high = np.sort(before[rises]), np.sort(score[rises])
    false = np.searchsorted(low, levels, "right") - np.searchsorted(high, levels, "right")
    period = (~truth).sum() / np.maximum(false, 1)
    delay = np.full(len(levels), np.nan)
    first, last = runs(truth)
    if len(first):
        delay = np.zeros(len(levels))
        for a, b in zip(first, last, strict=True):
            highest = np.maximum.accumulate(score[a : b + 1])
            delay += np.searchsorted(highest, levels, "right")  # rows that are not above the threshold yet
        delay /= len(first)
    return period, delay


def delay_at(score: Floats, truth: Bools, periods: tuple[float, ...]) -> tuple[float, ...]:
    """The smallest average delay among thresholds with at least that many rows between false alarms; NaN for none."""
    period, delay = delay_curve(score, truth)
    return tuple(float(np.min(delay[period >= p], initial=np.inf)) if (period >= p).any() else np.nan for p in periods)


def _counted(made: Prediction) -> EventCounts:
    return event_counts(made.predicted, made.alarm, made.truth)


def _late(made: Prediction) -> tuple[float, ...] | None:
    return None if made.score is None else delay_at(made.score, made.truth, PERIODS)


def _total(columns: Sequence[Column], name: str) -> int:
    return sum(column[name] for column in columns)


def _median_delay(columns: Sequence[Column]) -> float:
    delays = [delay for column in columns for delay in column["delays"]]
    return float(median(delays)) if delays else np.nan


def _share_found(columns: Sequence[Column]) -> float:
    return _total(columns, "found") / max(_total(columns, "events"), 1)


def _false_often(columns: Sequence[Column]) -> float:
    return 1e4 * _total(columns, "false") / _total(columns, "rows")


events = Metric("events", lambda made: _counted(made).true)
found = Metric("found", lambda made: _counted(made).found, (Figure("event recall", _share_found, 12, "operator"),))
false = Metric(
    "false", lambda made: _counted(made).false, (Figure(FALSE_EVENTS, _false_often, 13, "operator", digits=1),)
)
delays = Metric(
    "delays", lambda made: _counted(made).delays, (Figure("median delay", _median_delay, 14, "operator", digits=1),)
)
late = Metric("delay_at", _late)
