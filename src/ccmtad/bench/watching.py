"""Any reconstructor, calibrated: what can be asked about any number of series."""

from dataclasses import dataclass

from .. import batch
from ..frame import Frame
from ..model import Model
from ..network.engine import Reconstructor
from ..results import Detection

__all__ = ["Baseline"]


@dataclass(frozen=True, eq=False)
class Baseline:
    """A reconstructor calibrated as a user's detector is."""

    model: Model
    engine: Reconstructor

    def detect(self, frame: Frame) -> Detection:
        return batch.detect(self.model, self.engine, frame)
