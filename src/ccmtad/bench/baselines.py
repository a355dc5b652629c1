"""A simple reconstructor in the network's place, with the rows, scorer and budget of a user's detector."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import batch
from ..calibrate.calibration import Calibration
from ..detector import Detector
from ..frame import Frame
from ..model import Model
from ..network.engine import Reconstructor
from ..results import Detection

__all__ = ["Baseline", "calibrated"]


@dataclass(frozen=True, eq=False)
class Baseline:
    """A reconstructor calibrated as the detector was."""

    model: Model
    engine: Reconstructor

    def detect(self, frame: Frame) -> Detection:
        return batch.detect(self.model, self.engine, frame)


def calibrated(detector: Detector, train: Frame, make: Callable[[NDArray[np.float32], int], Reconstructor]) -> Baseline:
    """A baseline fitted on the detector's training part and calibrated on its validation part.

    `train` is what the detector was fitted on, nothing of it excluded.
    """
    model = detector.model_
    series, settings = model.series(train), model.settings
    cut = int(len(series.rows) * (1 - settings.validation))
    engine = make(series.rows[:cut], settings.window)
    ends = series.ends[series.ends >= cut]
    combiner, losses = batch.normal(engine, series.rows, ends, series.present, model.combiner.way)
    calibration = Calibration.fit(losses, settings.rows_per_alarm(model.period), settings)
    return Baseline(replace(model, combiner=combiner, calibration=calibration), engine)
