"""The windows of many networks, a batch of each at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Batches"]


@dataclass(frozen=True, eq=False)
class Batches:
    """The windows of a pass, cut into batches. All end together: those with fewer batches begin later, so that only the
    last batch is filled up with windows that do not count, and each of the others counts whole or not at all."""

    ends: Tensor  # (batches, networks, batch) last rows
    real: Tensor  # (batches, networks, batch) 1 where a window counts, else 0

    @classmethod
    def of(cls, ends: Sequence[NDArray[np.int64]], size: int, dtype: torch.dtype) -> "Batches":
        counts = [-(-len(one) // size) for one in ends]
        shape = (len(ends), max(counts) * size)
        rows, real = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        for i, (one, count) in enumerate(zip(ends, counts, strict=True)):
            first = shape[1] - count * size
            rows[i], rows[i, first : first + len(one)], real[i, first : first + len(one)] = one[0], one, 1.0
        parts = (part.reshape(len(ends), -1, size).transpose(1, 0, 2).copy() for part in (rows, real))
        return cls(torch.as_tensor(next(parts)), torch.as_tensor(next(parts), dtype=dtype))

    def to(self, device: torch.device) -> "Batches":
        pinned = device.type == "cuda"  # so that nobody waits for the copy
        parts = (part.pin_memory() if pinned else part for part in (self.ends, self.real))
        return Batches(*(part.to(device, non_blocking=pinned) for part in parts))

    def copy_(self, other: "Batches") -> None:
        self.ends.copy_(other.ends)
        self.real.copy_(other.real)
