"""Where a channel was lost, or stood still."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..results import Detection, Event
from ..truth import stretches

__all__ = ["Spans", "silent"]

Spans = tuple[tuple[int, int], ...]

AS_LONG = 0.5  # of the longest standstill in an event that is about one: shorter ones are how the channel is


def silent(found: Detection) -> Mapping[str, Spans]:
    """The rows, first and last inclusive, in which each channel was missing for longer than it is held, or in an event
    for being lost; and in which it stood still, in an event for that. Channels that never were are left out."""
    hold, spans = found.learnt.settings.hold_rows, {}
    for place, name in enumerate(found.channels):
        values = found.frame.values[:, place]
        gone = np.isnan(values)
        mine = [run for run in stretches(gone) if run[1] - run[0] >= hold] if gone.any() else []
        for one in found.events:
            if one.kind in KINDS and name in one.channels:
                mine += KINDS[one.kind](values, one, len(found))
        if mine:
            spans[name] = tuple(sorted(set(mine)))
    return spans


def _during(marks: "NDArray[np.bool_]", one: Event, rows: int) -> list[tuple[int, int]]:
    """Runs of marked rows within an event, but for those that are much shorter than the longest."""
    end = rows if one.end is None else one.end + 1
    runs = [(one.start + a, one.start + b) for a, b in stretches(marks[one.start : end])]
    longest = max((b - a + 1 for a, b in runs), default=0)
    return [(a, b) for a, b in runs if b - a + 1 >= AS_LONG * longest]


def _lost(values: NDArray[np.float64], one: Event, rows: int) -> list[tuple[int, int]]:
    return _during(np.isnan(values), one, rows)


def _frozen(values: NDArray[np.float64], one: Event, rows: int) -> list[tuple[int, int]]:
    return _during(np.r_[False, values[1:] == values[:-1]], one, rows)


KINDS = {"signal lost": _lost, "frozen": _frozen}
