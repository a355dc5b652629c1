"""Each channel guessed by all the others of the same row, and by nothing else.

The network is given the value it is to reconstruct, and comes to meet a wrong one; who never sees it does not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .products import filled, product

__all__ = ["Guess", "held_out"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RIDGE = 0.01  # added to each variance of 1: channels that say the same share what they tell
BLOCKS = 5  # in time: each is guessed by what the others taught


@dataclass(frozen=True, eq=False)
class Guess:
    """A linear map from the scaled channels of a row to what each should be; none is told of itself."""

    weight: Floats  # (channels, channels): from, to; 0 on the diagonal
    bias: Floats  # (channels,)

    @classmethod
    def fit(cls, rows: NDArray[Any]) -> "Guess":
        """Ridge regressions of each channel on the others, all of them by one inverse."""
        mean, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        moves = spread > 1e-6
        unit = np.where(moves, spread, 1.0)
        alike = (rows - mean) / unit
        inverse = np.linalg.inv(alike.T @ alike / len(rows) + RIDGE * np.eye(len(mean)))
        weight = -inverse / np.diag(inverse) * unit / unit[:, None]
        weight[~moves] = 0.0
        weight[:, ~moves] = 0.0
        np.fill_diagonal(weight, 0.0)
        return cls(weight, mean - mean @ weight)

    def off(self, rows: NDArray[Any]) -> Floats:
        """(rows, channels): how far each value of a series is from its guess."""
        off: Floats = product(filled(rows, len(rows)), self.weight)[: len(rows)]
        off += self.bias
        np.subtract(rows, off, out=off)
        return off

    def off_now(self, rows: NDArray[Any]) -> Floats:
        """The same of the newest rows of streams."""
        off: Floats = rows - (rows @ self.weight + self.bias)
        return off


def held_out(rows: NDArray[Any], good: Bools) -> Floats:
    """How far each good row is from guesses that had not seen it, nor its neighbours in time; 0 elsewhere."""
    off = np.zeros(rows.shape)
    for block in np.array_split(np.flatnonzero(good), BLOCKS):
        others = good.copy()
        others[block] = False
        off[block] = Guess.fit(rows[others]).off(rows[block])
    return off
