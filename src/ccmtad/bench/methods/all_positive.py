"""Calls every row anomalous: the floor that F1 has for free."""

import numpy as np

from ...fit import TrainingSeries
from ...frame import Frame
from . import Fitted, Losses, Method, spread

__all__ = ["all_positive"]


class AllPositive(Method):
    """Every test row worse than every validation row."""

    name = "all-positive"
    means = "calls every row anomalous"
    order = 6

    def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:  # noqa: ARG002
        new = series.series(test)
        everything = spread(np.full(len(new.ends), np.inf), new, len(test))
        return Fitted(Losses(np.zeros(len(series.validation)), everything))


all_positive = AllPositive()
