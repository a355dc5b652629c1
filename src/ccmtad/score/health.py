"""A running check that few rows are in alarm, and that p-values of the others are as they should be: uniform."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from ..compiled import kernel

__all__ = ["FIELDS", "UNIFORM", "WITHIN", "Health", "HealthState", "count", "read", "take", "worst_gap"]

HealthState = Literal["unknown", "healthy", "alarmed", "drifting", "miscalibrated"]

TENTHS = 10
MEMORY = 2_000.0  # rows after which an old p-value counts a third
FEWEST_ROWS = 500  # before anything is said
LARGEST_WEIGHT = 1e100  # weights are scaled down before they overflow
RISEN_LEVEL = math.log(2.0)
UNIFORM = tuple(i / TENTHS for i in range(1, TENTHS))
# Gaps between the shares of p-values and the uniform ones.
DRIFTING_GAP, MISCALIBRATED_GAP, SILENT_GAP = 0.2, 0.5, -0.4
LARGEST_ALARMED = 0.2  # share of recent rows

FIELDS = {
    "shares": (0.0,) * TENTHS,  # weights of recent p-values, in tenths; old ones fade
    "weight": 1.0,  # of the next p-value
    "healthy_rows": 0,  # rows outside events
    "alarmed_share": 0.0,  # of recent rows, those in alarm
}
WITHIN = {"shares": (0.0, 1e105), "weight": (1e-3, 1e101), "alarmed_share": (0.0, 1.0)}


@dataclass(frozen=True)
class Health:
    """Whether the calibration still fits the data.

    `gap` is the largest difference between the share of recent p-values below some level and that level: above 0 where
    too many are small (losses have grown), below 0 where too few are (losses have shrunk).
    """

    state: HealthState
    gap: float
    advice: str


@kernel
def count(stream: Any, alarm: bool) -> None:
    """Takes a row, in alarm or not."""
    stream.alarmed_share = stream.alarmed_share + ((1.0 if alarm else 0.0) - stream.alarmed_share) / MEMORY


@kernel
def take(stream: Any, pvalue: float) -> None:
    """Takes the p-value of a row outside events."""
    stream.shares[min(int(pvalue * TENTHS), TENTHS - 1)] += stream.weight
    stream.weight = stream.weight * (1.0 + 1.0 / MEMORY)
    stream.healthy_rows = stream.healthy_rows + 1
    if stream.weight > LARGEST_WEIGHT:
        for i in range(TENTHS):
            stream.shares[i] /= stream.weight
        stream.weight = 1.0


@kernel
def worst_gap(stream: Any, normal: Any) -> float:
    """The largest difference to the shares that `normal` rows have below 0.1 .. 0.9."""
    if stream.healthy_rows < FEWEST_ROWS:
        return 0.0
    total, below, gap = 0.0, 0.0, 0.0
    for i in range(TENTHS):
        total += stream.shares[i]
    if total <= 0.0:
        return 0.0
    for i in range(TENTHS - 1):
        below += stream.shares[i] / total
        if abs(below - normal[i]) > abs(gap):
            gap = below - normal[i]
    return gap


def read(rows: int, gap: float, risen: float, alarmed: float) -> Health:
    """What the numbers say; `risen` is how far the level has, in logarithms, `alarmed` the share of recent rows."""
    if rows < FEWEST_ROWS and alarmed < LARGEST_ALARMED:
        return Health("unknown", 0.0, f"too few rows to tell: {rows} of {FEWEST_ROWS}")
    if gap >= MISCALIBRATED_GAP:
        return Health("miscalibrated", gap, "losses are far above those of training: refit on recent normal rows")
    if gap >= DRIFTING_GAP:
        return Health(
            "drifting", gap, "losses have grown since training: recalibrate with recent normal rows, or refit"
        )
    if risen >= RISEN_LEVEL:
        return Health(
            "drifting", gap, f"losses are {math.exp(risen):.1f} times those of training, and the level followed: "
            "recalibrate with recent normal rows, or refit",
        )  # fmt: skip
    if alarmed >= LARGEST_ALARMED:
        return Health(
            "alarmed", gap, f"{alarmed:.0%} of recent rows are in alarm: if they were normal, recalibrate with them, "
            "or refit",
        )  # fmt: skip
    if gap <= SILENT_GAP:
        return Health(
            "miscalibrated", gap, "losses are far below those of training, so alarms are rarer than the budget "
            "allows: recalibrate with recent normal rows",
        )  # fmt: skip
    return Health("healthy", gap, "p-values are as they should be")
