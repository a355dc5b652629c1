"""Alarms become events, with their start and end corrected.  eq. anomaly_onset, anomaly_offset"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Span", "find", "label"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Span:
    """The rows of one event, all inclusive."""

    onset: int  # last row with score 0 before the alarm
    alarm: int  # first row in alarm
    last: int  # last row in alarm
    offset: int  # last row with positive evidence, from alarm to last
    open: bool  # still in alarm at the end of the series


def find(score: Floats, evidence: Floats, alarm: Bools) -> list[Span]:
    """The events of a scored series: one for each excursion of the score from 0 with a row in alarm.

    Evidence is NaN where a row could not be judged; the score is 0 there.
    """
    if not alarm.any():
        return []
    excursion = np.cumsum(score <= 0.0)  # constant along one stretch of positive scores
    above = np.flatnonzero(alarm)
    first = above[np.r_[True, np.diff(excursion[above]) > 0]]
    last = above[np.r_[np.diff(excursion[above]) > 0, True]]

    row = np.arange(len(score))
    last_zero = np.maximum.accumulate(np.where(score <= 0.0, row, -1))
    last_positive = np.maximum.accumulate(np.where(evidence > 0.0, row, -1))
    # A row that could not be judged is no part of an event: then the onset is the first judged row after it.
    first_judged = np.maximum.accumulate(np.where(np.isnan(evidence), row + 1, 0))
    onset = np.maximum(last_zero, first_judged)
    return [
        Span(int(onset[a]), int(a), int(b), int(last_positive[b]), bool(b == len(score) - 1))
        for a, b in zip(first, last, strict=True)
    ]


def label(spans: Sequence[Span], rows: int) -> Bools:
    """The rows inside events, after boundary correction."""
    inside = np.zeros(rows, dtype=np.bool_)
    for span in spans:
        inside[span.onset : span.offset + 1] = True
    return inside
