"""How soon an event is seen, for how few false alarms: the paper's ADD against its FAP."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...bench import authors
from ...bench.metrics.ranges import runs
from ..claims import compared
from ..draw import Line, Panel
from ..judging import rows_of
from ..study import Figure, Found, Page, Study
from ..tables import by_case
from ..trials import Trials

__all__ = ["delay", "delays"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PERIODS = (10, 30, 100, 300, 1_000, 3_000)
WAYS = ("sequential", "point")
TESTED = (30, 100, 300)


class Delay(Study):
    """The same losses, scored in two ways."""

    name = "delay"
    title = "Delay against false alarms"
    claim = "For the same false-alarm period the sequential score sees events sooner than its rival."
    how = (
        "FAP is as in the paper the inverse of the share of normal rows in alarm. The delay of an event is the rows "
        "from its first to the first in alarm; of one that is missed, its length. The threshold of each entity is "
        "the lowest that keeps the period; the alpha is the best on the test labels. The paper's rival is "
        "SensitiveHUE (online); here it is the point score of the same network."
    )
    order = 15
    whole = True

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        tables: dict[str, list[Floats]] = {way: [] for way in WAYS}  # of each entity (periods, 2): rows, events
        for entity, judged in zip(entities, trials.judged(dataset, entities), strict=True):
            rows = rows_of(trials.kept(dataset, entity))
            p = authors.larger(rows.normal, rows.test) + authors.PVALUE_FLOOR
            score = authors.accumulated(np.log((judged.corrected.alpha or authors.FIXED_ALPHAS[0]) / p), 5)
            for way, of in (("sequential", score), ("point", rows.test)):
                tables[way].append(delays(of, rows.truth))
        figures = []
        for way, each in tables.items():
            mean = _mean(each, np.arange(len(each)))
            values = {f"FAP {period}": float(value) for period, value in zip(PERIODS, mean, strict=True)}
            curves = {"FAP": list(PERIODS), "ADD": mean.tolist()}
            figures.append(Figure(self.name, dataset, way, len(entities), values, curves))
        gaps = [(one - other, one[:, 1]) for one, other in zip(tables["point"], tables["sequential"], strict=True)]
        comparisons = tuple(
            compared(
                dataset, f"rows of delay, point less sequential, at a FAP of {period}", "authors",
                _gap(gaps, PERIODS.index(period)), len(entities),
            )
            for period in TESTED
        )  # fmt: skip
        return Found(tuple(figures), comparisons)

    def page(self, found: Found) -> Page:
        sections = tuple(
            by_case(f"Mean delay in rows, at a FAP of {period}", found, f"FAP {period}", WAYS, digits=1)
            for period in TESTED
        )
        panels = tuple(
            Panel(
                dataset, "false-alarm period, rows", "delay, rows",
                tuple(Line(way, of.curves["FAP"], of.curves["ADD"]) for way, of in found.of(dataset).items()), True,
            )
            for dataset in found.datasets
        )  # fmt: skip
        return Page(sections, panels)


def delays(score: Floats, truth: Bools) -> Floats:
    """(periods, 2): rows until the alarm, summed over events, and how many those are."""
    normal = np.sort(score[~truth])[::-1]
    first, last = runs(truth)
    made = np.zeros((len(PERIODS), 2))
    for i, period in enumerate(PERIODS):
        allowed = int(len(normal) / period)  # normal rows that may be in alarm
        alarm = score > (normal[allowed] if allowed < len(normal) else -np.inf)
        for begin, end in zip(first, last, strict=True):
            hits = np.flatnonzero(alarm[begin : end + 1])
            made[i] += (hits[0] if len(hits) else end + 1 - begin), 1
    return made


def _mean(tables: Sequence[Floats], chosen: NDArray[np.int64]) -> Floats:
    total = np.sum([tables[i] for i in chosen], axis=0)
    return np.asarray(total[:, 0] / np.maximum(total[:, 1], 1))


def _gap(gaps: Sequence[tuple[Floats, Floats]], at: int) -> Callable[[NDArray[np.int64]], float]:
    """Rows that are gained, over events, of the entities chosen."""
    rows, events = np.array([gap[at, 0] for gap, _ in gaps]), np.array([count[at] for _, count in gaps])
    return lambda chosen: float(rows[chosen].sum() / max(events[chosen].sum(), 1.0))


delay = Delay()
