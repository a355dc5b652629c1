"""What training leaves behind, and the engine takes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..results import Epoch

__all__ = ["Trained", "Weights"]

Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network."""

    weights: Weights
    history: tuple[Epoch, ...]
    best: int  # number of the epoch whose weights these are
    held_out: NDArray[np.float64] | None = None  # (rows, channels) squared errors by networks that had not seen them
