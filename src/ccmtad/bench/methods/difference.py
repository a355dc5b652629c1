"""Nothing learnt but the scale: every row is expected to repeat the one before it."""

import numpy as np
from numpy.typing import NDArray

from ...network.engine import Reconstructor
from . import Reconstruction

__all__ = ["difference"]

Floats = NDArray[np.float32]


class LastValue(Reconstructor):
    """The row before."""

    def __init__(self, window: int) -> None:
        self.window = window

    def reconstruct(self, rows: Floats) -> Floats:
        return rows[self.window - 2 : -1]


class Difference(Reconstruction):
    """A floor."""

    name = "difference"
    title = "last-value difference"
    means = "squared step from the row before"
    order = 4

    def make(self, rows: Floats, window: int) -> Reconstructor:  # noqa: ARG002  it does not look
        return LastValue(window)


difference = Difference()
