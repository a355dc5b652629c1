"""A linear reconstruction beside the network's: each sees what the other is blind to.

The network has no bottleneck, and follows a small fault where the principal components of the training rows do not;
they know nothing of time, or of what is not linear. Each channel takes both in the inverse proportion of their normal
errors, so that neither drowns the other.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine import Reconstructor
from .products import product
from .weights import Weights

__all__ = ["Principal", "mixed", "share"]

Floats = NDArray[np.float64]

EXPLAINED = 0.95  # share of the training variance that is kept
LEAST_SHARE = 0.05  # of either


@dataclass(frozen=True, eq=False)
class Principal(Reconstructor):
    """Each row projected on the leading principal components of the training rows and back."""

    window: int
    mean: Floats  # (channels,)
    projector: Floats  # (channels, channels)

    @classmethod
    def fit(cls, rows: NDArray[Any], window: int) -> "Principal":
        """As many components as explain 95 % of the variance of `rows`."""
        mean = rows.mean(axis=0, dtype=np.float64)
        variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(rows, rowvar=False)))  # ascending
        variance, axes = variance[::-1], axes[:, ::-1]
        total = np.cumsum(np.maximum(variance, 0.0))
        kept = axes[:, : int(np.searchsorted(total, EXPLAINED * total[-1])) + 1] if total[-1] > 0 else axes[:, :0]
        return cls(window, mean, kept @ kept.T)

    def reconstruct(self, rows: NDArray[Any]) -> Floats:
        back: Floats = product(rows[self.window - 1 :] - self.mean, self.projector) + self.mean
        return back


def share(network: Floats, linear: Floats) -> Floats:
    """(channels,) how much of the network's reconstruction is taken, from the squared errors of both on normal rows."""
    a, b = (np.sqrt(error.mean(axis=0) + 1e-12) for error in (network, linear))
    taken: Floats = np.clip(b / (a + b), LEAST_SHARE, 1 - LEAST_SHARE)
    return taken


def mixed(weights: Weights, linear: Principal, taken: Floats) -> Weights:
    """The weights of the network with the linear reconstruction mixed in."""
    left = 1.0 - taken
    made = {
        "head.weight": weights["head.weight"] * taken[:, None],
        "head.bias": weights["head.bias"] * taken,
        "linear.weight": left[:, None] * linear.projector.T,
        "linear.bias": left * (linear.mean - linear.mean @ linear.projector),
    }
    return weights | {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in made.items()}
