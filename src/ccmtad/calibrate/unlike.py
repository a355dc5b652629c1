"""How far the level of losses may rise before the data is no longer that of training."""

import numpy as np
from numpy.typing import NDArray

from ..score.level import TINY
from ..score.step import EARLIEST
from ..score.tracks import Track
from ..settings import Settings

__all__ = ["LEAST", "limit"]

Floats = NDArray[np.float64]

LEAST = float(np.log(10.0))  # errors three times as large as usual
MARGIN = 1.5  # times what stretches of normal rows themselves reach
STRETCHES = 200


def limit(losses: Floats, track: Track, settings: Settings) -> float:
    """In logarithms; infinite where the level is not followed: there, such data simply stays in alarm.

    Well above any median that a stretch of the normal losses has, from the shortest that counts.
    """
    if not settings.unlike or not settings.adapt:
        return np.inf
    known = np.log(np.maximum(losses[~np.isnan(losses)], TINY)) - track.normal
    lengths = {min(length, len(known)) for length in (EARLIEST, 2 * EARLIEST, max(settings.settle, EARLIEST))}
    reached = 0.0
    for length in lengths:
        for first in np.linspace(0, len(known) - length, STRETCHES).astype(np.int64):
            reached = max(reached, float(np.median(known[first : first + length])))
    return max(LEAST, MARGIN * reached)
