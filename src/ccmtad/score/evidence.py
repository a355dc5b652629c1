"""From a loss to a p-value to evidence, in log space: strength is -log p, evidence is log alpha + strength."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

__all__ = ["Reference", "Tail", "counts", "evidence", "pvalue"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tail = Literal["conformal", "empirical", "pareto"]

TIE = 1e-5  # relative: losses this close count as equal, so that a last-bit difference moves no p-value
FLOOR = 1e-8  # keeps the evidence finite where an empirical p-value is 0 (authors' code)
TAIL_SHARE, TAIL_LEAST, TAIL_MOST = 0.05, 10, 500  # losses that a tail is fitted to
TAIL_CONFIDENCE = 0.9  # with which a fitted tail is no lighter than the true one, for independent losses
LARGEST = float(np.finfo(float).max)
STEEPEST = 0.1  # least scale of a tail: a loss a tenth above all others is never called impossible


def counts(loss: Floats | float, reference: Floats) -> Ints:
    """How many of the ascending `reference` losses are at least as large."""
    below: Ints = reference.searchsorted(loss * (1 - TIE), side="left")
    return len(reference) - below


def pvalue(count: Ints, references: int, tail: Tail) -> Floats:
    """The p-value of a loss that `count` of the `references` reach.

    `empirical` is the paper's share, 0 for every loss above all references. `conformal` counts the loss itself as one
    of them: never 0, and no smaller than that many references can support. (`pareto` is conformal below its tail.)
    """
    p: Floats = count / references if tail == "empirical" else (count + 1) / (references + 1)
    return p


def evidence(p: Floats, alpha: float, tail: Tail) -> Floats:
    """log(alpha / p): positive where the p-value is below alpha.  eq. alpha"""
    return np.log(alpha / (p + FLOOR)) if tail == "empirical" else np.log(alpha / p)


@dataclass(frozen=True, eq=False)
class Reference:
    """Normal losses that new ones are ranked among, continued beyond the largest by a tail."""

    losses: Floats  # ascending
    tail: Tail

    @cached_property
    def strengths(self) -> Floats:
        """-log p of a loss that 0, 1, .. n of the losses reach."""
        n = len(self.losses)
        return evidence(pvalue(np.arange(n + 1), n, self.tail), 1.0, self.tail)

    @cached_property
    def start(self) -> float:
        """Where the fitted tail takes over; infinite without one."""
        n = len(self.losses)
        if self.tail != "pareto" or n < 2 * TAIL_LEAST:
            return np.inf
        return max(float(self.losses[n - 1 - self._in_tail]), np.finfo(float).tiny)

    @cached_property
    def scale(self) -> float:
        """Mean of log(loss / start) in the tail, at the upper end of its confidence interval.

        Losses are squared errors, whose tails are heavy: the tail is a power law, p ~ loss^(-1 / scale), which is an
        exponential one for the logarithm. A lighter tail is then judged too mildly, never too sharply.
        """
        top = np.log(np.maximum(self.losses[-self._in_tail :], self.start)) - math.log(self.start)
        upper = len(top) / float(gammaincinv(len(top), 1 - TAIL_CONFIDENCE))
        return max(float(top.mean()) * upper, STEEPEST)

    @property
    def _in_tail(self) -> int:
        return int(np.clip(TAIL_SHARE * len(self.losses), TAIL_LEAST, TAIL_MOST))

    @cached_property
    def _at_start(self) -> float:
        return float(self.strengths[counts(self.start, self.losses)])

    @cached_property
    def _tables(self) -> tuple[list[float], list[float]]:
        """p-value and strength by count, as plain numbers."""
        n = len(self.losses)
        return pvalue(np.arange(n + 1), n, self.tail).tolist(), self.strengths.tolist()

    def rank(self, loss: float) -> tuple[float, float]:
        """(p-value, strength) of one loss: finite, and never falling back as the loss grows."""
        if loss > self.start:
            strength = self._at_start + (math.log(min(loss, LARGEST)) - math.log(self.start)) / self.scale
            return math.exp(-strength), strength
        count = int(counts(loss, self.losses))
        pvalues, strengths = self._tables
        return pvalues[count], strengths[count]

    def strength(self, loss: Floats) -> Floats:
        """The same of many."""
        below: Floats = self.strengths[counts(loss, self.losses)]
        if np.isinf(self.start):
            return below
        beyond = self._at_start + (np.log(np.clip(loss, self.start, LARGEST)) - math.log(self.start)) / self.scale
        return np.where(loss > self.start, beyond, below)
