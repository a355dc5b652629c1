"""PCA reconstruction error: the simple method that any other should beat."""

import numpy as np
from numpy.typing import NDArray

from ...network.engine import Reconstructor
from . import Reconstruction

__all__ = ["PcaError", "pca"]

Floats = NDArray[np.float32]

EXPLAINED = 0.95  # share of the training variance that is kept


class PcaError(Reconstructor):
    """Each row projected on the leading principal components of the training rows and back."""

    def __init__(self, rows: Floats, window: int) -> None:
        from sklearn.decomposition import PCA

        self.window = window
        self.pca = PCA(EXPLAINED).fit(rows) if np.ptp(rows, axis=0).any() else None
        self.mean = rows.mean(axis=0)

    def reconstruct(self, rows: Floats) -> Floats:
        newest = rows[self.window - 1 :]
        if self.pca is None:
            return np.broadcast_to(self.mean, newest.shape)
        back: Floats = self.pca.inverse_transform(self.pca.transform(newest)).astype(np.float32)
        return back


class Pca(Reconstruction):
    """As many components as explain 95 % of the variance."""

    name = "pca"
    title = "PCA error"
    means = "PCA reconstruction error"
    order = 1

    def make(self, rows: Floats, window: int) -> Reconstructor:
        return PcaError(rows, window)


pca = Pca()
