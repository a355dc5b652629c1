"""Which channel did it: the one that, put back to what was expected of it, makes the error go away.

The largest error alone smears: one wild input spoils the reconstruction of its neighbours. So the channels with the
largest errors are put back one at a time, in the rows of the event that the window holds, and the network is asked
again. Asked at the first, second, fourth, eighth .. row in alarm: however long an event lasts, that is seldom.

Whoever is beyond a limit of its own (value, step, astray) needs no network to be told: these have half of the blame.
"""

import numpy as np
from numpy.typing import NDArray

from .model import Model
from .network.engine import Reconstructor
from .score.astray import explained
from .score.signals import ASTRAY

__all__ = ["asked", "put_back", "times_asked"]

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]
Bools = NDArray[np.bool_]

CANDIDATES = 5
OF_THEIR_OWN = 0.5  # share of the blame
FARTHEST = 1e100  # times its limit: squares of it can be added


def asked(alarmed: int) -> bool:
    """Whether the network is asked again at this row in alarm, the first being 1."""
    return alarmed & (alarmed - 1) == 0


def times_asked(alarmed: int) -> int:
    """How often that has been, after so many rows in alarm."""
    return alarmed.bit_length()


@np.errstate(over="ignore", invalid="ignore")
def put_back(
    model: Model, engine: Reconstructor, rows: Rows, expected: Rows, error: Floats, present: Bools, own: Floats
) -> Floats:
    """(channels,): how much of the error of the newest row goes away with each channel, as shares; half of them belong
    to those that are beyond a limit of their own, where there are some.

    `rows` is the window, `expected` what was expected of its last ones, those of the event; `error` are the squared
    errors of the newest, as they would be had nothing been clipped; `own` what the signals say to blame.
    """
    shares, mine = _share_of_error(model, engine, rows, expected, error, present), _of_their_own(model, own)
    total = float(mine.sum())
    if not total > 0.0:
        return shares
    return OF_THEIR_OWN * mine / total + (1.0 - OF_THEIR_OWN) * shares if shares.any() else mine / total


def _of_their_own(model: Model, own: Floats) -> Floats:
    """(channels,): squares of how many times its limit."""
    off, strayed, beyond = own
    mine: Floats = np.square(np.minimum(beyond, FARTHEST))
    if model.guess is not None and strayed.any():
        limit = model.limits[ASTRAY]
        known = (np.abs(off) > limit) & ~(strayed > 0.0)  # astray for long: that is not what is new
        mine += np.where(known, 0.0, explained(off, limit, model.guess.weight))
    return mine


def _share_of_error(
    model: Model, engine: Reconstructor, rows: Rows, expected: Rows, error: Floats, present: Bools
) -> Floats:
    unit, shares, channels = model.combiner.unit, np.zeros(len(error)), np.arange(len(error))
    there = present & ~(model.still & (rows[-1] == -1.0))  # one that sits where it always sat is not to blame
    scaled = np.where(there, error / unit, 0.0)
    total = float(scaled.sum())
    if not total > 0.0:
        return shares
    clipped = np.maximum(error - np.square(rows[-1] - expected[-1]), 0.0)  # what clipping took from the errors
    order = np.argsort(-scaled, kind="stable")[:CANDIDATES]
    for c in order[scaled[order] > 0.0].tolist():
        other = rows.copy()
        other[-len(expected) :, c] = expected[:, c]
        left = np.square(other[-1] - engine.reconstruct(other)[0]) + np.where(channels == c, 0.0, clipped)
        shares[c] = max(total - float(np.where(there, left / unit, 0.0).sum()), 0.0)
    gone = float(shares.sum())
    return shares / gone if gone > 0.0 else scaled / total
