"""Events of other kinds than anomalies, from the record that the step keeps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibrate.feedback import LARGEST_SIZE
from .model import Model
from .record import NEVER
from .results import Event
from .score.channels import BLAME, EXCURSION, FARTHEST_STEP, FARTHEST_VALUE, KINDS, MIDDLE, STOOD, UNLIKE

__all__ = ["condition_event"]

Floats = NDArray[np.float64]


def condition_event(condition: Any, kind: int, model: Model, traces: Floats) -> Event:
    """An event of another kind than an anomaly, from its record and what is remembered of each channel."""
    ended = None if condition.open else int(condition.end)
    times = (condition.start_time, condition.alarm_time, NEVER if condition.open else condition.end_time)
    blame = traces[BLAME + kind]
    total = float(blame.sum())
    return Event.of(
        (int(condition.start), int(condition.alarm), ended),
        tuple(None if time == NEVER else np.datetime64(int(time), "ns") for time in times),  # type: ignore[arg-type]
        model.channels,
        blame / total if total > 0 else blame,
        _peaks(kind, model, traces),
        None if kind == UNLIKE else blame > 0,
        severity=min(float(condition.peak), LARGEST_SIZE),
        kind=KINDS[kind],
    )


def _peaks(kind: int, model: Model, traces: Floats) -> Floats:
    """(7, channels): what each did, as far as that is told of such an event."""
    peaks = np.full((7, len(model.channels)), np.nan)
    if kind == EXCURSION:
        # What went too far in one step alone was not beyond any value: there is none that it should have had.
        value, step = traces[FARTHEST_VALUE], np.minimum(traces[FARTHEST_STEP], LARGEST_SIZE)
        peaks[[1, 2, 4]] = value, np.where(np.isnan(value), np.nan, model.limits[MIDDLE]), step
    elif kind != UNLIKE:
        peaks[1] = traces[STOOD]
    return peaks
