"""What training is given, and what it leaves behind for the engine."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..results import Epoch
from ..settings import Settings
from .shapes import Architecture

__all__ = ["Lesson", "Trained", "Weights"]

Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Lesson:
    """What one network is to learn."""

    rows: NDArray[np.float32]  # (rows, channels), scaled
    training: NDArray[np.int64]  # last rows of the training windows
    validation: NDArray[np.int64]  # last rows of the validation windows
    shape: Architecture
    settings: Settings
    keep_last: bool = False  # whether the last epoch is kept, whatever its validation loss


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network."""

    weights: Weights
    history: tuple[Epoch, ...]
    best: int  # number of the epoch whose weights these are
    held_out: NDArray[np.float64] | None = None  # (rows, channels) squared errors by networks that had not seen them
