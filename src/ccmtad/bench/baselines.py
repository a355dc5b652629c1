"""A simple reconstructor in the network's place, with the rows, scorer and budget of a user's detector."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..detector import Detector
from ..fit import TrainingSeries
from ..frame import Frame
from ..network.engine import Reconstructor
from .watching import Baseline

__all__ = ["calibrated"]


def calibrated(detector: Detector, train: Frame, make: Callable[[NDArray[np.float32], int], Reconstructor]) -> Baseline:
    """A baseline fitted and calibrated on the rows the detector was.

    `train` is what the detector was fitted on, nothing of it excluded.
    """
    fitted = detector.model_
    series = TrainingSeries.of(train, fitted.settings)
    window = fitted.settings.window
    engine = make(series.rows[: series.cut], window)
    held_out = series.held_out(lambda block: make(series.rows[block.training], window))
    return Baseline(series.calibrated(engine, {}, held_out), engine)
