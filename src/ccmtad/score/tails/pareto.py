"""Ranks, and beyond them a power law fitted to the largest losses, at the upper end of its confidence interval.

Losses are squared errors, whose tails are heavy: p ~ loss^(-1 / shape), an exponential tail of the logarithm. A lighter
tail is then judged too mildly, never too sharply.
"""

import numpy as np
from numpy.typing import NDArray

from . import NONE, Beyond, Tail

__all__ = ["pareto"]

Floats = NDArray[np.float64]

TAIL_SHARE, FEWEST_IN_TAIL, MOST_IN_TAIL = 0.05, 10, 500  # losses that it is fitted to
TAIL_CONFIDENCE = 0.9  # with which it is no lighter than the true one, for independent losses
STEEPEST = 0.1  # least shape: a loss a tenth above all others is never called impossible


class Pareto(Tail):
    """Conformal below the tail."""

    name = "pareto"

    def beyond(self, losses: Floats) -> Beyond:
        from scipy.special import gammaincinv

        n = len(losses)
        if n < 2 * FEWEST_IN_TAIL:
            return NONE
        size = int(np.clip(TAIL_SHARE * n, FEWEST_IN_TAIL, MOST_IN_TAIL))
        start = max(float(losses[n - 1 - size]), float(np.finfo(float).tiny))
        mean = float((np.log(np.maximum(losses[-size:], start)) - np.log(start)).mean())
        shape = max(mean * size / float(gammaincinv(size, 1 - TAIL_CONFIDENCE)), STEEPEST)
        return Beyond(start, shape * start, shape)


pareto = Pareto()
