"""Isolation forest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import Outliers
from .pyod import CONTAMINATION

__all__ = ["iforest"]


class Forest:
    """scikit-learn's, with PyOD's signs: higher is worse."""

    def __init__(self, seed: int) -> None:
        from sklearn.ensemble import IsolationForest

        self.forest = IsolationForest(random_state=seed)

    def fit(self, rows: NDArray[np.float32]) -> None:
        self.forest.fit(rows)
        self.threshold_ = np.quantile(self.decision_function(rows), 1 - CONTAMINATION)

    def decision_function(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        return -np.asarray(self.forest.score_samples(rows), dtype=np.float64)


class IsolationForest(Outliers):
    """Row by row."""

    name = "iforest"
    title = "isolation forest"
    means = "isolation forest"
    order = 2

    def make(self, seed: int, channels: int) -> Any:  # noqa: ARG002  it finds them out
        return Forest(seed)


iforest = IsolationForest()
