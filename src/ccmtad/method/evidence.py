"""From a loss to a p-value to evidence."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tail", "counts", "evidence", "pvalue"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tail = Literal["conformal", "empirical"]

TIE = 1e-5  # relative: losses this close count as equal, so that a last-bit difference moves no p-value
FLOOR = 1e-8  # keeps the evidence finite where an empirical p-value is 0 (authors' code)


def counts(loss: Floats | float, reference: Floats) -> Ints:
    """How many of the ascending `reference` losses are at least as large."""
    below: Ints = reference.searchsorted(loss * (1 - TIE), side="left")
    return len(reference) - below


def pvalue(count: Ints, references: int, tail: Tail) -> Floats:
    """The p-value of a loss that `count` of the `references` reach.

    `empirical` is the paper's share, 0 for every loss above all references. `conformal` counts the loss itself as one
    of them: never 0, and no smaller than that many references can support.
    """
    p: Floats = (count + 1) / (references + 1) if tail == "conformal" else count / references
    return p


def evidence(p: Floats, alpha: float, tail: Tail) -> Floats:
    """log(alpha / p): positive where the p-value is below alpha.  eq. alpha"""
    return np.log(alpha / p) if tail == "conformal" else np.log(alpha / (p + FLOOR))
