"""Events as people count them: found or missed, false, how late."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .ranges import runs

__all__ = ["EventCounts", "delay_at", "delay_curve", "event_counts"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

LEVELS = 200  # thresholds of a delay curve


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
