"""Which channel did it: the one that, put back to what was expected of it, makes the error go away.

The largest error alone smears: one wild input spoils the reconstruction of its neighbours. So the channels with the
largest errors are put back one at a time, in the rows of the event that the window holds, and the network is asked
again. Asked at the first, second, fourth, eighth .. row in alarm: however long an event lasts, that is seldom.

Whoever is beyond a limit of its own (value, step, astray) needs no network to be told: these have half of the blame.
Where it is the distance from the middle of their range that alarmed, those that are far have nearly all of it: errors
are noise there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import Model
from .network.engine import Reconstructor
from .score.astray import explained
from .score.channels import ASTRAY, DISTANT, TO_BLAME

__all__ = ["CANDIDATES", "asked", "put_back", "times_asked"]

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CANDIDATES = 5
OF_THE_FAR = 0.9  # share of the blame, where distances alarm
OF_THEIR_OWN = 0.50001  # share of the blame: with one such channel, no other comes before it
FARTHEST, FARTHEST_OUT = 1e100, 1e50  # times its limit: squares of it, and of its square, can be added


def asked(alarmed: Any) -> Any:
    """Whether the network is asked again at this row in alarm, the first being 1: of one, or of many."""
    return alarmed & (alarmed - 1) == 0


def times_asked(alarmed: int) -> int:
    """How often that has been, after so many rows in alarm."""
    return alarmed.bit_length()


@np.errstate(over="ignore", invalid="ignore")
def put_back(
    model: Model,
    engine: Reconstructor,
    rows: Rows,
    expected: Rows,
    lasted: Ints,
    error: Floats,
    present: Bools,
    own: Floats,
) -> Floats:
    """(events, channels): how much of the error of the newest row goes away with each channel, as shares; half of them
    belong to those that are beyond a limit of their own, where there are some.

    `rows` (events, window, channels) are the windows, `expected` what was expected of them, which counts in the last
    `lasted` (events,) rows, those of the event; `error` (events, channels) are the squared errors of the newest, as
    they would be had nothing been clipped; `own` (events, 4, channels) what the signals say to blame.
    """
    shares = _share_of_error(model, engine, rows, expected, lasted, error, present)
    mine = _of_their_own(model, own)
    total = mine.sum(axis=1, keepdims=True)
    distant: Bools = np.any(own[:, TO_BLAME.index(DISTANT)] > 0.0, axis=1)
    for i in np.flatnonzero(total[:, 0] > 0.0).tolist():
        beyond, share, theirs = mine[i] / total[i], shares[i], OF_THE_FAR if distant[i] else OF_THEIR_OWN
        share[:] = theirs * beyond + (1.0 - theirs) * share if share.any() else beyond
    return shares


def _of_their_own(model: Model, own: Floats) -> Floats:
    """(events, channels): squares of how many times its limit, and of how much farther than is no evidence."""
    off, strayed, beyond, far = own.swapaxes(0, 1)
    farther = np.maximum(np.square(np.clip(far, 1.0, FARTHEST_OUT)) - 1.0, 0.0)
    mine: Floats = np.square(np.minimum(beyond, FARTHEST)) + np.square(farther)
    if model.guess is not None:
        limit = model.limits[ASTRAY]
        known = (np.abs(off) > limit) & ~(strayed > 0.0)  # astray for long: that is not what is new
        for i in np.flatnonzero(strayed.any(axis=1)).tolist():
            mine[i] += np.where(known[i], 0.0, explained(off[i], limit, model.guess.weight))
    return mine


def _share_of_error(
    model: Model, engine: Reconstructor, rows: Rows, expected: Rows, lasted: Ints, error: Floats, present: Bools
) -> Floats:
    unit, (events, window, _) = model.combiner.unit, rows.shape
    newest = rows[:, -1]
    there = present & ~(model.still & (newest == -1.0))  # one that sits where it always sat is not to blame
    scaled = np.where(there, error / unit, 0.0)
    total = scaled.sum(axis=1, keepdims=True)
    clipped = np.maximum(error - np.square(newest - expected[:, -1]), 0.0)  # what clipping took from the errors

    candidates = np.argsort(-scaled, axis=1, kind="stable")[:, :CANDIDATES]
    which, c = np.repeat(np.arange(events), candidates.shape[1]), candidates.ravel()
    each = np.arange(len(c))
    touched = np.arange(window) >= window - lasted[which, None]
    values = np.where(touched, expected[which, :, c], rows[which, :, c])
    others = newest[which]
    others[each, c] = values[:, -1]
    beside = clipped[which]
    beside[each, c] = 0.0
    left = np.square(others - engine.put_back(rows, which, c, values)) + beside
    gone = total[which, 0] - np.where(there[which], left / unit, 0.0).sum(axis=1)

    shares: Floats = np.zeros_like(scaled)
    shares[which, c] = np.where((gone > 0.0) & (scaled[which, c] > 0.0), gone, 0.0)
    whole = shares.sum(axis=1, keepdims=True)
    shares = np.where(whole > 0.0, shares, scaled) / np.where(whole > 0.0, whole, total)
    shares[~(total[:, 0] > 0.0)] = 0.0
    return shares
