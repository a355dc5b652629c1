"""How a detection did against labels that it never saw."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .results import Detection

__all__ = ["Truth", "judge", "stretches"]

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """Labelled stretches beside events. A stretch is found where a row of it is in alarm; an event is right where it
    touches a labelled row between its start and its end.

    Example:
        truth = judge(result, labels)
        print(truth.precision, truth.recall, truth.delays)
    """

    stretches: tuple[tuple[int, int], ...]  # labelled rows, first and last inclusive
    delays: tuple[int | None, ...]  # rows from the start of each to its first row in alarm; None where it was missed
    right: tuple[bool, ...]  # of each event

    @property
    def found(self) -> int:
        """Stretches that were found."""
        return sum(delay is not None for delay in self.delays)

    @property
    def recall(self) -> float | None:
        """The share of stretches that were found; None where nothing is labelled."""
        return self.found / len(self.delays) if self.delays else None

    @property
    def precision(self) -> float | None:
        """The share of events that are right; None where there are none."""
        return sum(self.right) / len(self.right) if self.right else None

    @property
    def delay(self) -> float | None:
        """Rows, the median of the stretches that were found; None where none was."""
        there = [delay for delay in self.delays if delay is not None]
        return float(np.median(there)) if there else None


def judge(found: Detection, labels: Any) -> Truth:
    """Compares events with labels. Nothing here reaches the detector.

    Args:
        found: what `Detector.detect` gave.
        labels: one for each of its rows; 0, False or missing is normal, anything else is not.

    Returns:
        A `Truth`.

    Raises:
        InputError: where there is not one label for each row.

    Example:
        labels = np.arange(len(result)) > 400
        print(judge(result, labels).recall)
    """
    given = np.asarray(labels)
    if given.shape != (len(found),):
        raise InputError(f"labels must be one for each of the {len(found):,} rows; got shape {given.shape}")
    if given.dtype.kind not in "biuf":
        raise InputError(f"labels must be numbers, 0 for normal; got values of type {given.dtype}")
    labelled = given.astype(np.float64)
    marked = (labelled != 0.0) & ~np.isnan(labelled)
    spans, delays = stretches(marked), []
    for first, last in spans:
        inside = np.flatnonzero(found.alarm[first : last + 1])
        delays.append(int(inside[0]) if len(inside) else None)
    right = tuple(
        bool(marked[one.start : len(found) if one.end is None else one.end + 1].any()) for one in found.events
    )
    return Truth(spans, tuple(delays), right)


def stretches(marked: Bools) -> tuple[tuple[int, int], ...]:
    """The runs that are True, first and last row of each, inclusive."""
    edges = np.flatnonzero(np.diff(np.r_[False, marked, False].astype(np.int8)))
    return tuple((int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True))
