"""What several tests make."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccmtad import Settings
from ccmtad.calibrate.calibration import Calibration

__all__ = ["calibrated"]

PLAIN: dict[str, Any] = {"persistence": 1, "settle": 0, "drift": 0.0, "accept": 0}


def calibrated(losses: NDArray[np.float64], rows_per_alarm: float, **rules: Any) -> Calibration:
    """On normal losses: one track and no level, but for what is asked for."""
    return Calibration.fit(losses, rows_per_alarm, Settings.of(**(PLAIN | rules)))
