"""What a p-value is, by name: of a loss among the normal ones, and of one beyond them. One file each.

A tail is data to the rest: a table by rank, and a generalised Pareto distribution from where the ranks end.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...registry import gather

__all__ = ["NONE", "Beyond", "Tail", "find"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Beyond:
    """-log p of a loss above `start` is that at the start plus log(1 + shape (loss - start) / scale) / shape."""

    start: float  # where it takes over from the ranks; infinite: never
    scale: float = 1.0
    shape: float = 0.0  # 0 is an exponential tail, above 0 a power law


NONE = Beyond(np.inf)


class Tail:
    """Ranks alone; others build on it."""

    name = ""
    as_observed = True  # whether the threshold is raised to what the validation part itself needs (not in the paper)

    def pvalue(self, count: Ints, references: int) -> Floats:
        """The p-value of a loss that `count` of the `references` reach: it counts as one of them, so never 0."""
        p: Floats = (count + 1) / (references + 1)
        return p

    def strength(self, p: Floats) -> Floats:
        """-log p."""
        return -np.log(p)

    def beyond(self, losses: Floats) -> Beyond:  # noqa: ARG002  others look at them
        """What goes on where the ascending `losses` end."""
        return NONE


def find(name: str) -> Tail:
    """The tail of this name."""
    tail: Tail = gather("score.tails")[name]
    return tail
