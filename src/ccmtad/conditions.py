"""Events of other kinds than anomalies, from the record that the step keeps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import Model
from .record import NEVER
from .results import Event
from .score.signals import BLAME, KINDS, STOOD, UNLIKE

__all__ = ["condition_event"]

Floats = NDArray[np.float64]


def condition_event(condition: Any, kind: int, model: Model, traces: Floats) -> Event:
    """An event of another kind than an anomaly, from its record and what is remembered of each channel."""
    ended = None if condition.open else int(condition.end)
    times = (condition.start_time, condition.alarm_time, NEVER if condition.open else condition.end_time)
    blame, unknown = traces[BLAME + kind], np.full(len(model.channels), np.nan)
    total = float(blame.sum())
    return Event.of(
        (int(condition.start), int(condition.alarm), ended),
        tuple(None if time == NEVER else np.datetime64(int(time), "ns") for time in times),  # type: ignore[arg-type]
        model.channels,
        blame / total if total > 0 else blame,
        np.stack([unknown, unknown if kind == UNLIKE else traces[STOOD], unknown, unknown, unknown]),
        severity=float(condition.peak),
        kind=KINDS[kind],
    )
