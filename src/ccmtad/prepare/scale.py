"""Per-channel scaling to [-1, 1] by the range of the training part, and the clip that follows smoothing."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..frame import CACHED

__all__ = ["CLIP", "Scaler", "clip", "scaled_and_clipped"]

Floats = NDArray[np.float64]

CLIP = 4.0


@dataclass(frozen=True, eq=False)
class Scaler:
    """`2 (x - low) / span - 1` for each channel."""

    low: Floats  # (channels,) smallest training value
    span: Floats  # (channels,) training range; 1 where constant, so that a later move shows in raw units

    @classmethod
    def fit(cls, values: Floats) -> Self:
        low, high = values.min(axis=0), values.max(axis=0)
        constant = high - low <= 1e-12 * np.maximum(np.abs(low), np.abs(high))
        return cls(low, np.where(constant, 1.0, high - low))

    @cached_property
    def gain(self) -> Floats:
        return 2.0 / self.span

    def __call__(self, values: Floats) -> Floats:
        scaled: Floats = (values - self.low) * self.gain
        scaled -= 1.0
        return scaled

    def undo(self, scaled: NDArray[Any]) -> Floats:
        """Back to the input's units."""
        values: Floats = (scaled + 1.0) / self.gain + self.low
        return values


def scaled_and_clipped(values: Floats, scaler: Scaler) -> NDArray[np.float32]:
    """Both at once, a few rows at a time: what lies between stays in the cache."""
    out = np.empty(values.shape, dtype=np.float32)
    block = max(1, CACHED // max(values.shape[1], 1))
    for first in range(0, len(values), block):
        out[first : first + block] = clip(scaler(values[first : first + block]))
    return out


def clip(rows: Floats) -> NDArray[np.float32]:
    """Rows as the network takes them: no further than 4 from 0."""
    return np.minimum(np.maximum(rows, -CLIP), CLIP).astype(np.float32)
