"""How far the level of losses may rise before the data is no longer that of training."""

import numpy as np
from numpy.typing import NDArray

from ..score.level import TINY
from ..score.step import EARLIEST, NO_LIMIT, Rise
from ..score.tracks import Track
from ..settings import Settings

__all__ = ["LEAST", "limit"]

Floats = NDArray[np.float64]

LEAST = float(np.log(10.0))  # errors three times as large as usual
MARGIN = 1.5  # times what stretches of normal rows themselves reach
STRETCHES = 200


def limit(losses: Floats, track: Track, settings: Settings) -> Rise:
    """Infinite where the level is not followed: there, such data simply stays in alarm.

    Well above any median that a stretch of the normal losses has: of those as long as it takes to settle, and, as long
    as that lasts, of the shortest that count.
    """
    if not settings.unlike or not settings.adapt:
        return NO_LIMIT
    known = np.log(np.maximum(losses[~np.isnan(losses)], TINY)) - track.normal
    settled = _reached(known, max(settings.settle, EARLIEST))
    early = max(_reached(known, EARLIEST), _reached(known, 2 * EARLIEST), settled)
    return Rise(*(max(LEAST, MARGIN * reached) for reached in (early, settled)))


def _reached(known: Floats, length: int) -> float:
    """The highest median of a stretch of so many."""
    length = min(length, len(known))
    firsts = np.linspace(0, len(known) - length, STRETCHES).astype(np.int64)
    return max(0.0, *(float(np.median(known[first : first + length])) for first in firsts.tolist()))
