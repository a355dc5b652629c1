"""What can be seen how soon, from the calibration itself."""

import numpy as np
from numpy.typing import NDArray

from ..score.channels import ERROR
from .calibration import Calibration

__all__ = ["TIMES", "rows_to_alarm"]

Floats = NDArray[np.float64]

TIMES = (3, 10, 100)  # the usual error
QUIET = 600  # usual rows first, so that the level has settled
LONGEST = 1_000  # rows to wait for an alarm


def rows_to_alarm(calibration: Calibration, limits: Floats, unit: Floats, times: float) -> int | None:
    """How many rows an error of so many times the usual one must last for an alarm; None where none comes.

    At once, or as soon as alarms are announced, where that is beyond the limits of most channels that have one.
    """
    known = np.isfinite(limits[ERROR])
    if known.any() and np.mean(times**2 * unit[known] > limits[ERROR, known]) > 0.5:
        return calibration.settings.duration
    losses = np.full(QUIET + LONGEST, calibration.typical)
    losses[QUIET:] *= times**2
    alarm = np.flatnonzero(calibration.score(losses).alarm[QUIET:])
    return int(alarm[0]) + 1 if len(alarm) else None
