"""The floors every result stands beside, with the same rows, scorer and budget as the detector."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from .. import batch
from ..frame import Frame
from ..model import Model
from ..network.engine import Reconstructor
from ..results import Detection

if TYPE_CHECKING:
    from ..detector import Detector

__all__ = ["Baseline", "Difference", "PcaError", "RandomScore", "RowNorm", "calibrated"]

Floats = NDArray[np.float32]

EXPLAINED = 0.95  # share of the training variance that PCA keeps


class PcaError(Reconstructor):
    """Each row projected on the leading principal components of the training rows and back."""

    def __init__(self, rows: Floats, window: int) -> None:
        self.window = window
        self.pca = PCA(EXPLAINED).fit(rows) if np.ptp(rows, axis=0).any() else None
        self.mean = rows.mean(axis=0)

    def reconstruct(self, rows: Floats) -> Floats:
        newest = rows[self.window - 1 :]
        if self.pca is None:
            return np.broadcast_to(self.mean, newest.shape)
        back: Floats = self.pca.inverse_transform(self.pca.transform(newest)).astype(np.float32)
        return back


class RowNorm(Reconstructor):
    """Nothing learnt but the scale: the squared length of the row, from the middle of each channel's range."""

    def __init__(self, rows: Floats, window: int) -> None:  # noqa: ARG002  it does not look
        self.window = window

    def reconstruct(self, rows: Floats) -> Floats:
        return np.zeros_like(rows[self.window - 1 :])


class Difference(Reconstructor):
    """Nothing learnt but the scale: every row is expected to repeat the one before it."""

    def __init__(self, rows: Floats, window: int) -> None:  # noqa: ARG002  it does not look
        self.window = window

    def reconstruct(self, rows: Floats) -> Floats:
        return rows[self.window - 2 : -1]


class RandomScore(Reconstructor):
    """Errors drawn at random: what a detector that knows nothing would score."""

    def __init__(self, rows: Floats, window: int, seed: int = 0) -> None:  # noqa: ARG002  it does not look
        self.window = window
        self.random = np.random.default_rng(seed)

    def reconstruct(self, rows: Floats) -> Floats:
        newest = rows[self.window - 1 :]
        return newest + self.random.standard_normal(newest.shape, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Baseline:
    """A reconstructor calibrated as the detector was."""

    model: Model
    engine: Reconstructor

    def detect(self, frame: Frame) -> Detection:
        return batch.detect(self.model, self.engine, frame)


def calibrated(detector: "Detector", train: Frame, make: Callable[[Floats, int], Reconstructor]) -> Baseline:
    """A baseline fitted on the detector's training part and calibrated on its validation part.

    `train` is what the detector was fitted on, nothing of it excluded.
    """
    model = detector.model_
    series, settings = model.series(train), model.settings
    cut = int(len(series.rows) * (1 - settings.validation))
    engine = make(series.rows[:cut], settings.window)
    ends = series.ends[series.ends >= cut]
    combiner, losses = batch.normal(engine, series.rows, ends, series.present, settings.combine)
    calibration = batch.calibrate(losses, settings, settings.rows_per_alarm(model.period))
    return Baseline(replace(model, combiner=combiner, calibration=calibration), engine)
