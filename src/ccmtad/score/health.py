"""A running check that p-values of rows outside events are as they should be: uniform."""

import math
from collections.abc import Sequence

from ..results import Health

__all__ = ["Pulse"]

BINS = 10
MEMORY = 2_000.0  # rows after which an old p-value counts a third
ENOUGH = 500  # rows before anything is said
LARGE = 1e100  # weights are scaled down before they overflow
RISEN = math.log(2.0)
UNIFORM = tuple(i / BINS for i in range(1, BINS))
DRIFTING, BROKEN, SILENT = 0.2, 0.5, 0.4  # gaps between the shares of p-values and the uniform ones


class Pulse:
    """Shares of recent p-values, in tenths; old ones fade."""

    __slots__ = ("rows", "shares", "weight")

    def __init__(self) -> None:
        self.shares = [0.0] * BINS
        self.weight = 1.0  # of the next p-value
        self.rows = 0

    def step(self, pvalue: float) -> None:
        """Takes the p-value of a row outside events."""
        self.shares[min(int(pvalue * BINS), BINS - 1)] += self.weight
        self.weight *= 1.0 + 1.0 / MEMORY
        self.rows += 1
        if self.weight > LARGE:
            self.shares = [share / self.weight for share in self.shares]
            self.weight = 1.0

    def read(self, expected: Sequence[float] = UNIFORM, risen: float = 0.0) -> Health:
        """What the shares say, against those expected below 0.1 .. 0.9; `risen` is how far the level has, in logs."""
        if self.rows < ENOUGH:
            return Health("unknown", 0.0, f"too few rows to tell: {self.rows} of {ENOUGH}")
        total, below, gap = sum(self.shares), 0.0, 0.0
        for i, share in enumerate(self.shares[:-1], 1):
            below += share / total
            if abs(below - expected[i - 1]) > abs(gap):
                gap = below - expected[i - 1]
        if gap >= BROKEN:
            return Health("miscalibrated", gap, "losses are far above those of training: refit on recent normal rows")
        if gap >= DRIFTING:
            return Health(
                "drifting", gap, "losses have grown since training: recalibrate with recent normal rows, or refit"
            )
        if risen >= RISEN:
            return Health(
                "drifting", gap, f"losses are {math.exp(risen):.1f} times those of training, and the level followed: "
                "recalibrate with recent normal rows, or refit",
            )  # fmt: skip
        if gap <= -SILENT:
            return Health(
                "miscalibrated", gap, "losses are far below those of training, so alarms are rarer than the budget "
                "allows: recalibrate with recent normal rows",
            )  # fmt: skip
        return Health("healthy", gap, "p-values are as they should be")
