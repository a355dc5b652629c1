"""PCA reconstruction error: the simple method that any other should beat."""

import numpy as np
from numpy.typing import NDArray

from ...network.engine import Reconstructor
from ...network.linear import Principal
from . import Reconstruction

__all__ = ["pca"]


class Pca(Reconstruction):
    """As many components as explain 95 % of the variance."""

    name = "pca"
    title = "PCA error"
    means = "PCA reconstruction error"
    order = 1

    def make(self, rows: NDArray[np.float32], window: int) -> Reconstructor:
        return Principal.fit(rows, window)


pca = Pca()
