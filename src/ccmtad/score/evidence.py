"""From a loss to a p-value to evidence, in log space: strength is -log p, evidence log alpha + strength.  eq. alpha"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from .tails import Beyond, Tail

__all__ = ["Ranking", "counts", "rank"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIE = 1e-5  # relative: losses this close count as equal, so that a last-bit difference moves no p-value
LARGEST = float(np.finfo(float).max)
CERTAIN = 1e5  # strength of a loss that a bounded tail calls impossible


def counts(loss: Floats | float, reference: Floats) -> Ints:
    """How many of the ascending `reference` losses are at least as large."""
    below: Ints = reference.searchsorted(loss * (1 - TIE), side="left")
    return len(reference) - below


@dataclass(frozen=True, eq=False)
class Ranking:
    """Normal losses to rank new ones among, continued beyond the largest by a tail. The array form of `rank`."""

    losses: Floats  # ascending
    tail: Tail

    @cached_property
    def pvalues(self) -> Floats:
        """p-value of a loss that 0, 1, .. n of the losses reach."""
        n = len(self.losses)
        return self.tail.pvalue(np.arange(n + 1), n)

    @cached_property
    def strengths(self) -> Floats:
        """-log p of each."""
        return self.tail.strength(self.pvalues)

    @cached_property
    def beyond(self) -> Beyond:
        return self.tail.beyond(self.losses)

    @cached_property
    def at_start(self) -> float:
        """-log p where the tail takes over."""
        return 0.0 if np.isinf(self.beyond.start) else float(self.strengths[counts(self.beyond.start, self.losses)])

    @property
    def strongest(self) -> float:
        """-log p of a loss above all others; infinite where a tail goes on."""
        if not len(self.losses):
            return -np.inf
        return float(self.strengths[0]) if np.isinf(self.beyond.start) else np.inf

    def strength(self, loss: Floats) -> Floats:
        """-log p of each loss: finite, and never falling back as the loss grows."""
        below: Floats = self.strengths[counts(loss, self.losses)]
        tail = self.beyond
        if np.isinf(tail.start):
            return below
        over = [_over(float(x), tail.start, tail.scale, tail.shape) if x > tail.start else 0.0 for x in loss]
        return np.where(loss > tail.start, self.at_start + np.array(over), below)


@kernel
def rank(look: Any, references: Any, pvalues: Any, strengths: Any, loss: float) -> tuple[float, float]:
    """(p-value, strength) of one loss, by the tables of all tracks end to end, of which `look` has its share."""
    if loss > look.start:
        strength = look.at_start + _over(loss, look.start, look.scale, look.shape)
        return math.exp(-strength), strength
    count = look.last - bisect_left(references, loss * (1 - TIE), look.first, look.last)
    return pvalues[look.table + count], strengths[look.table + count]


@kernel
def _over(loss: float, start: float, scale: float, shape: float) -> float:
    """What a loss above the start adds to the strength there."""
    excess = (min(loss, LARGEST) - start) / scale
    if shape == 0.0:
        return min(excess, CERTAIN)
    ratio = shape * excess
    if ratio <= -1.0:
        return CERTAIN
    if ratio > 1e300:  # it may have overflowed
        return (math.log(min(loss, LARGEST)) - math.log(scale) + math.log(shape)) / shape
    return math.log1p(ratio) / shape
