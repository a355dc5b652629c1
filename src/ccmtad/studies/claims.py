"""Whether a claim held: figures with their spread, beside what the claim says they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALIKE", "MORE", "Comparison", "compared", "sentence", "span", "verdict"]

Ints = NDArray[np.int64]

RESAMPLES = 1_000  # of entities
FEWEST_TO_RESAMPLE = 5  # fewer say too little of others
MORE = (0.0, None)  # claimed to be above zero
ALIKE = (-0.02, 0.02)  # claimed to be much the same F1
OPEN = "cannot be told within the spread"


@dataclass(frozen=True)
class Comparison:
    """A figure that a claim is about, with its 90 % interval; None is unbounded."""

    dataset: str
    words: str  # what is compared
    by: str  # "authors": their evaluation, which has seen the labels; "label-free"; "measured": no detection in it
    value: float
    low: float | None
    high: float | None
    claimed: tuple[float | None, float | None] = MORE

    @property
    def verdict(self) -> str:
        low, high = _bounds(self.low, self.high)
        least, most = _bounds(*self.claimed)
        if high <= least or low >= most:
            return "did not hold"
        return "held" if low > least and high < most else OPEN


def _bounds(low: float | None, high: float | None) -> tuple[float, float]:
    return -np.inf if low is None else low, np.inf if high is None else high


def compared(
    dataset: str, words: str, by: str, measure: Callable[[Ints], float], entities: int,
    claimed: tuple[float | None, float | None] = MORE, spread: float | None = None,
) -> Comparison:  # fmt: skip
    """The measure over all entities, and over resampled ones.

    A few entities say too little of others: there `spread` over seeds, where it is known, says how far two trainings
    differ.
    """
    value = float(measure(np.arange(entities)))
    if not np.isfinite(value):
        return Comparison(dataset, words, by, 0.0, None, None, claimed)
    if entities >= FEWEST_TO_RESAMPLE:
        draws = np.random.default_rng(0).integers(0, entities, (RESAMPLES, entities))
        made = np.array([measure(draw) for draw in draws])
        low, high = (float(q) for q in np.quantile(made[np.isfinite(made)], [0.05, 0.95]))
        return Comparison(dataset, words, by, value, low, high, claimed)
    if spread is None:
        return Comparison(dataset, words, by, value, None, None, claimed)
    half = 1.645 * float(np.sqrt(2)) * spread
    return Comparison(dataset, words, by, value, value - half, value + half, claimed)


def verdict(comparisons: Sequence[Comparison]) -> str:
    """Of all of them together."""
    found = [one.verdict for one in comparisons]
    if not found:
        return "has not been measured"
    if "held" in found:
        mostly = "did not hold" not in found and 2 * found.count("held") >= len(found)
        if not mostly:
            return "held in part"
        return "held where it can be told" if OPEN in found else "held"
    return "did not hold" if "did not hold" in found else OPEN


def sentence(comparisons: Sequence[Comparison]) -> str:
    """What was found of a claim, in one sentence."""
    first = [one for one in comparisons if one.by != "label-free"]
    free = [one for one in comparisons if one.by == "label-free"]
    if not comparisons:
        return "This has not been measured yet."
    said = f"The claim {verdict(first)} ({_count(first)})"
    return f"{said}; chosen without labels, it {verdict(free)} ({_count(free)})." if free else f"{said}."


def span(low: float | None, high: float | None) -> str:
    """An interval; None is unbounded."""
    if low is None and high is None:
        return "unknown"
    if high is None:
        return f"above {low:g}"
    return f"below {high:g}" if low is None else f"{low:.3f} to {high:.3f}"


def _count(comparisons: Sequence[Comparison]) -> str:
    found = [one.verdict for one in comparisons]
    datasets = ", ".join(dict.fromkeys(one.dataset for one in comparisons))
    return (
        f"{found.count('held')} of {len(found)} comparisons on {datasets} are as claimed, "
        f"{found.count('did not hold')} are not, {found.count(OPEN)} lie within the spread"
    )
