"""How good a prediction or a score is, given the truth. One file for each family; a `Metric` is found by its name.

point        rows: precision, recall, F1 (`point_adjusted` on request only: it misleads)
ranges       range-based precision and recall (Tatbul et al. 2018)
affiliation  distance-based precision and recall (Huet et al. 2022)
curve        the area under precision against recall
volume       VUS-ROC and VUS-PR as TSB-AD computes them (Paparrizos et al. 2022; Liu and Paparrizos 2024)
events       events found, false events, delay, and delay against the mean time between false alarms
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...registry import gather
from ..sweep import Sweep

__all__ = ["Figure", "Metric", "Prediction", "figures", "mean_of", "measure"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Column = Mapping[str, Any]  # what was measured of one prediction, by name


@dataclass(frozen=True, eq=False)
class Prediction:
    """One prediction of one test series, beside the truth; one value per row."""

    predicted: Bools
    alarm: Bools  # rows in alarm when they arrived: delays are theirs
    truth: Bools
    score: Floats | None = None  # where there is one
    curve: Sweep | None = None  # all its thresholds


@dataclass(frozen=True)
class Figure:
    """What a table says of many entities: a number made of their columns."""

    title: str
    over: Callable[[Sequence[Column]], float]
    order: int = 50
    table: str = ""  # "operator" or "other": the table it stands in, with those of its kind
    digits: int = 3


@dataclass(frozen=True)
class Metric:
    """Something measured of a prediction; None where it is undefined, or was not asked for."""

    name: str
    of: Callable[[Prediction], Any]
    figures: tuple[Figure, ...] = ()
    on_request: bool = False  # measured only where it is asked for by name


def mean_of(name: str) -> Callable[[Sequence[Column]], float]:
    """The mean over the entities that have it."""

    def mean(columns: Sequence[Column]) -> float:
        known = [column[name] for column in columns if column.get(name) is not None]
        return float(np.mean(known)) if known else np.nan

    return mean


def measure(prediction: Prediction, asked: Sequence[str] = ()) -> dict[str, Any]:
    """Everything there is to measure, by name; what is asked for too."""
    metrics = gather("bench.metrics").values()
    wanted = [metric for metric in metrics if not metric.on_request or metric.name in asked]
    return {metric.name: metric.of(prediction) for metric in wanted}


def figures() -> dict[str, Figure]:
    """Every figure by its title, in order."""
    found = [figure for metric in gather("bench.metrics").values() for figure in metric.figures]
    return {figure.title: figure for figure in sorted(found, key=lambda figure: figure.order)}
