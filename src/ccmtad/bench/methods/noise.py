"""Errors drawn at random, with the limits that every detector has: what a network that knows nothing would score."""

import numpy as np
from numpy.typing import NDArray

from ...fit import TrainingSeries
from ...frame import Frame
from ...network.engine import Reconstructor
from ..watching import Baseline
from . import Fitted, Method, losses_of

__all__ = ["RandomScore", "random"]

Floats = NDArray[np.float32]


class RandomScore(Reconstructor):
    """Every row, and noise."""

    def __init__(self, window: int, seed: int = 0) -> None:
        self.window = window
        self.random = np.random.default_rng(seed)

    def reconstruct(self, rows: Floats) -> Floats:
        newest = rows[self.window - 1 :]
        return newest + self.random.standard_normal(newest.shape, dtype=np.float32)


class Noise(Method):
    """Where every epoch is asked for, as many draws as there are epochs: what choosing among them is worth."""

    name = "random"
    title = "random score"
    means = "noise"
    order = 5
    seeded = True

    def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:
        new, settings = series.series(test), series.settings
        draws = (
            losses_of(RandomScore(settings.window, settings.seed + draw * 2**32), series, new, len(test))
            for draw in range(settings.epochs if every_epoch else 0)
        )
        return Fitted.of(self.watching(series), test, tuple(draws))

    def watching(self, series: TrainingSeries) -> Baseline:
        engine = RandomScore(series.settings.window, series.settings.seed)
        return Baseline(series.calibrated(engine, {}), engine)


random = Noise()
