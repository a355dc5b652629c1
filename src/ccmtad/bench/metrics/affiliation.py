"""Affiliation precision and recall (Huet et al., KDD 2022).

Every true event owns the zone of time that is nearer to it than to any other. Inside a zone, precision asks how close
predictions are to the event and recall how close the event is to predictions, each as the probability that a random
moment of the zone would not be closer. Time is continuous: row t is [t, t + 1). No parameters.

A prediction of everything scores well here (a random one in the zone scores a half on average): read it beside the
floors.
"""

import numpy as np
from numpy.typing import NDArray

from . import Figure, Metric, mean_of
from .ranges import Ratios, runs

__all__ = ["affiliation", "affiliation_f1"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def affiliation(predicted: Bools, truth: Bools) -> Ratios:
    """Precision is the mean over zones with a prediction, recall over all zones; 0 where there are none."""
    first, last = runs(truth)
    if not len(first):
        return Ratios(0.0, 0.0)
    begin, end = first.astype(np.float64), last + 1.0
    border = (end[:-1] + begin[1:]) / 2
    low, high = np.r_[0.0, border], np.r_[border, float(len(truth))]

    left, right = (side.astype(np.float64) for side in runs(predicted))
    right += 1.0
    if not len(left):
        return Ratios(0.0, 0.0)
    inside = border[(np.searchsorted(left, border) - np.searchsorted(right, border, "right")) > 0]
    left, right = np.sort(np.r_[left, inside]), np.sort(np.r_[right, inside])  # no piece crosses a border
    zone = np.searchsorted(high, left, "right")
    a, b, z0, z1 = begin[zone], end[zone], low[zone], high[zone]
    size = z1 - z0

    def sums(values: Floats) -> Floats:
        total: Floats = np.bincount(zone, values, len(begin)).astype(np.float64)
        return total

    hit = np.maximum(np.minimum(right, b) - np.maximum(left, a), 0.0)
    # A moment at distance d outside the event: the share of the zone that is further away than d.
    closeness = hit + _further(a - np.minimum(right, a), a - np.minimum(left, a), a - z0, z1 - b, size)
    closeness += _further(np.maximum(left, b) - b, np.maximum(right, b) - b, a - z0, z1 - b, size)
    length = sums(right - left)
    has = length > 0
    precision = float(np.mean(sums(closeness)[has] / length[has]))

    # The event's moments before and after each piece, up to halfway to the next piece of the zone.
    same = zone[1:] == zone[:-1]
    half = (right[:-1] + left[1:]) / 2
    until = np.r_[np.where(same, half, z1[:-1]), z1[-1]]
    since = np.r_[z0[0], np.where(same, half, z0[1:])]
    after = _nearer(np.maximum(right, a) - right, np.minimum(until, b) - right, z1 - right, size)
    before = _nearer(left - np.minimum(left, b), left - np.maximum(since, a), left - z0, size)
    recall = float(np.mean(sums(hit + after + before) / (end - begin)))
    return Ratios(precision, recall)


def _further(d0: Floats, d1: Floats, room_left: Floats, room_right: Floats, size: Floats) -> Floats:
    """Integral over distances d0..d1 of the share of the zone that lies further from the event."""

    def beyond(room: Floats) -> Floats:
        area: Floats = (np.maximum(room - d0, 0.0) ** 2 - np.maximum(room - d1, 0.0) ** 2) / 2
        return area

    return np.where(d1 > d0, (beyond(room_left) + beyond(room_right)) / size, 0.0)


def _nearer(d0: Floats, d1: Floats, room: Floats, size: Floats) -> Floats:
    """Integral over the event's moments at distances d0..d1 from a piece of the share of the zone further from them.

    On the piece's side the zone reaches at least as far as the piece; on the other it ends at `room` from the piece.
    """

    def within(d: Floats) -> Floats:
        """Integral from 0 to d of min(x, room - x)."""
        return np.where(d <= room / 2, d**2 / 2, room**2 / 4 - (room - d) ** 2 / 2)

    share = (d1 - d0) - ((d1**2 - d0**2) / 2 + within(d1) - within(d0)) / size
    return np.where(d1 > d0, share, 0.0)


affiliation_f1 = Metric(
    "affiliation_f1",
    lambda made: affiliation(made.predicted, made.truth).f1,
    (Figure("affiliation F1", mean_of("affiliation_f1"), 64, "other"),),
)
