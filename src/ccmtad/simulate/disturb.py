"""What drives the plant from outside: daily load, weather, sensor noise."""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

__all__ = ["daily", "wander"]

Floats = NDArray[np.float64]

DAY = 1440  # rows, one a minute


def daily(rows: int, hourly: tuple[float, ...]) -> Floats:
    """A load that repeats every day, given by its 24 hourly means, joined linearly."""
    hour = np.arange(rows) % DAY / 60.0
    return np.interp(hour, np.arange(25), [*hourly, hourly[0]])


def wander(rows: int, random: np.random.Generator, spread: float, minutes: float) -> Floats:
    """A stationary random walk around 0 with the given standard deviation and correlation time."""
    keep = np.exp(-1.0 / minutes)
    kicks = random.normal(0.0, spread, rows)
    kicks[1:] *= np.sqrt(1.0 - keep * keep)
    return np.asarray(lfilter([1.0], [1.0, -keep], kicks))
