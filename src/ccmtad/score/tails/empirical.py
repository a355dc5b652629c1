"""The paper's: 0 for every loss above all normal ones.  eq. for p_t"""

import numpy as np
from numpy.typing import NDArray

from . import Tail

__all__ = ["empirical"]

Floats = NDArray[np.float64]

FLOOR = 1e-8  # keeps the evidence finite where a p-value is 0 (authors' code)


class Empirical(Tail):
    """p = count / n."""

    name = "empirical"
    as_observed = False

    def pvalue(self, count: NDArray[np.int64], references: int) -> Floats:
        p: Floats = count / references
        return p

    def strength(self, p: Floats) -> Floats:
        return -np.log(p + FLOOR)


empirical = Empirical()
