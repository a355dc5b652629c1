"""Alarms become events, with their start and end corrected.  eq. anomaly_onset, anomaly_offset

The start of an event is the last row with score 0 before its alarm; its end the last row with positive evidence up to
its last row in alarm, though not before its first; its severity how large an error came, in units of the usual one,
however long it lasted. This file alone decides these: live in `follow`, over a whole series in `find`, and for every
threshold at once in `bounds`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..record import NEVER

__all__ = [
    "CHANGES", "FIELDS", "FINAL", "NONE", "OPENED", "SIGNED", "UPDATED", "WITHIN", "Span", "What", "bounds", "find",
    "follow", "label", "measures", "unjudged",
]  # fmt: skip

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

What = Literal["opened", "updated", "resolved", "reopened", "final"]
CHANGES: tuple[What | None, ...] = (None, "opened", "updated", "resolved", "reopened", "final")
NONE, OPENED, UPDATED, RESOLVED, REOPENED, FINAL = range(6)

LARGEST_SEVERITY = 1e150  # its square is a number

# The event as it stands. Rows are -1 and times NEVER where there is none.
FIELDS = {
    "onset": -1, "onset_time": NEVER,  # last judged row with score 0, or the first judged row
    "positive": -1, "positive_time": NEVER,  # last row with positive evidence
    "active": False,  # an event exists whose excursion is not over
    "in_alarm": False,
    "start": -1, "start_time": NEVER,
    "alarm": -1, "alarm_time": NEVER,
    "end": -1, "end_time": NEVER,
    "peak": 0.0,  # largest loss in alarm
    "rising": 0,  # judged rows since the last one with score 0
    "alarmed": 0,  # rows in alarm
}  # fmt: skip
WITHIN = {"peak": (0.0, math.inf)}
SIGNED = tuple(name for name, value in FIELDS.items() if type(value) is int and value < 0)


@dataclass(frozen=True)
class Span:
    """The rows of one event, all inclusive."""

    onset: int  # last row with score 0 before the alarm
    alarm: int  # first row in alarm
    last: int  # last row in alarm
    offset: int  # last row with positive evidence, from alarm to last; the alarm, where there is none
    peak: float  # largest loss in alarm
    open: bool  # still in alarm at the end of the series


def measures(event: Any, typical: float) -> dict[str, float]:
    """What an event is measured by, from its span or its live record: its largest error, in units of the usual one.

    Losses are squared errors, and distances in their measure; `typical` is the loss of a usual normal row.
    """
    return {"severity": min(math.sqrt(max(float(event.peak), 0.0) / typical), LARGEST_SEVERITY)}


@kernel
def follow(event: Any, row: int, time: int, evidence: float, score: float, alarm: bool, loss: float) -> int:
    """One judged row; what it changed."""
    change = NONE
    event.rising = event.rising + 1 if score > 0.0 else 0
    if event.onset < 0 or score == 0.0:
        event.onset = row
        event.onset_time = time
    if alarm:
        change = UPDATED if event.in_alarm else REOPENED
        if not event.active:
            change = OPENED
            event.active = True
            event.start = event.onset
            event.start_time = event.onset_time
            event.alarm = row
            event.alarm_time = time
            event.peak = 0.0
            event.alarmed = 0
        event.in_alarm = True
        event.peak = max(event.peak, loss)
        event.alarmed = event.alarmed + 1
    elif event.in_alarm:
        change = RESOLVED
        _ends(event)
    if evidence > 0.0:
        event.positive = row
        event.positive_time = time
    if event.active and score == 0.0:
        change = FINAL
        event.active = False
    return change


@kernel
def unjudged(event: Any) -> int:
    """A row that could not be judged ends everything: the next judged one starts afresh."""
    event.onset = -1
    event.onset_time = NEVER
    event.rising = 0
    if not event.active:
        return NONE
    if event.in_alarm:
        _ends(event)
    event.active = False
    return FINAL


@kernel
def _ends(event: Any) -> None:
    event.in_alarm = False
    late = event.positive < event.alarm  # an alarm may have to wait, until the evidence has gone
    event.end = event.alarm if late else event.positive
    event.end_time = event.alarm_time if late else event.positive_time


def bounds(score: Floats, evidence: Floats) -> tuple[Ints, Ints]:
    """(onset, offset) of an event with an alarm at each row, and with its last row in alarm there.

    Evidence is NaN where a row could not be judged; the score is 0 there, and no event reaches over it.
    """
    row = np.arange(len(score))
    last_zero = np.maximum.accumulate(np.where(score <= 0.0, row, -1))
    first_judged = np.maximum.accumulate(np.where(np.isnan(evidence), row + 1, 0))
    return np.maximum(last_zero, first_judged), np.maximum.accumulate(np.where(evidence > 0.0, row, -1))


def find(score: Floats, evidence: Floats, alarm: Bools, loss: Floats | None = None) -> list[Span]:
    """The events of a scored series: one for each excursion of the score from 0 with a row in alarm.

    `loss` is what they are measured by; without it their peak is that of the score.
    """
    if not alarm.any():
        return []
    above, quiet = np.flatnonzero(alarm), score <= 0.0
    apart = np.flatnonzero(
        np.diff(above) > 1
    )  # rows in alarm that do not follow each other: was it quiet between them?
    between = [i + 1 for i in apart.tolist() if quiet[above[i] + 1 : above[i + 1] + 1].any()]
    begins = np.array([0, *between])
    first, last = above[begins], above[np.r_[begins[1:] - 1, len(above) - 1]]
    peak = np.maximum.reduceat((score if loss is None else loss)[above], begins)
    return [
        Span(_onset(quiet, evidence, a), a, b, max(_offset(evidence, b), a), float(top), b == len(score) - 1)
        for a, b, top in zip(first.tolist(), last.tolist(), peak, strict=True)
    ]


def _onset(quiet: Bools, evidence: Floats, alarm: int) -> int:
    """What `bounds` says of one row: the last one up to it with score 0, or the first since one that was not judged."""
    last_zero = _latest(lambda part: quiet[part], alarm)
    return max(last_zero, _latest(lambda part: np.isnan(evidence[part]), alarm, last_zero) + 1)


def _offset(evidence: Floats, last: int) -> int:
    """The last row up to this one with positive evidence."""
    return _latest(lambda part: evidence[part] > 0.0, last)


def _latest(true: Callable[[slice], Bools], row: int, least: int = 0) -> int:
    """The last row, from `least` up to this one, where something is true; -1 where there is none. Looks back no further
    than it must."""
    end, size = row + 1, 64
    while end > max(least, 0):
        begin = max(end - size, least, 0)
        found = np.flatnonzero(true(slice(begin, end)))
        if len(found):
            return begin + int(found[-1])
        end, size = begin, 2 * size
    return -1


def label(spans: Sequence[Span], rows: int) -> Bools:
    """The rows inside events, after boundary correction."""
    inside = np.zeros(rows, dtype=np.bool_)
    for span in spans:
        inside[span.onset : span.offset + 1] = True
    return inside
