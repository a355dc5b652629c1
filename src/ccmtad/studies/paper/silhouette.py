"""The number of clusters, and how well it separates the channels."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..claims import MORE, compared
from ..draw import Line, Panel
from ..judging import Outcome, pooled
from ..study import Figure, Found, Page, Study
from ..tables import by_case
from ..trials import Trials
from ..variant import Variant

__all__ = ["rank_correlation", "silhouette"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NUMBERS = tuple(range(2, 10))
MEASURED = Variant.of("silhouettes")


class Silhouette(Study):
    """The paper's 2 to 9."""

    name = "silhouette"
    title = "The number of clusters"
    claim = "F1 is highest for the numbers of clusters that have a high silhouette."
    how = (
        "One number of clusters for all entities; the silhouette is that of the correlation profiles of the "
        "channels that move, the mean over the entities that have one. The figure compared is the rank correlation "
        "of F1 with the silhouette over the numbers 2 to 9."
    )
    order = 12

    def variants(self) -> tuple[Variant, ...]:
        return (MEASURED, *(Variant.of(clusters=number) for number in NUMBERS))

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        quality = np.full((len(entities), len(NUMBERS)), np.nan)
        for row, entity in zip(quality, entities, strict=True):
            for number, value in trials.kept(dataset, entity, MEASURED).extras["silhouettes"]:
                if int(number) in NUMBERS:
                    row[NUMBERS.index(int(number))] = value
        over = [trials.judged(dataset, entities, Variant.of(clusters=number)) for number in NUMBERS]
        figures, everything = [], _mean(quality)
        for number, each, value in zip(NUMBERS, over, everything, strict=True):
            values = {
                "f1": pooled([j.corrected for j in each]),
                "free f1": pooled([j.free for j in each]),
                "silhouette": float(value) if np.isfinite(value) else None,
            }
            figures.append(Figure(self.name, dataset, str(number), len(entities), values))
        comparisons = tuple(
            compared(
                dataset, "rank correlation of F1 with the silhouette", by,
                _agreement([[getattr(j, part) for j in each] for each in over], quality), len(entities), MORE,
            )
            for by, part in (("authors", "corrected"), ("label-free", "free"))
        )  # fmt: skip
        return Found(tuple(figures), comparisons)

    def page(self, found: Found) -> Page:
        cases = tuple(map(str, NUMBERS))
        sections = (
            by_case("F1 by the authors' evaluation", found, "f1", cases),
            by_case("F1 without labels", found, "free f1", cases),
            by_case("Silhouette", found, "silhouette", cases),
        )
        panels = tuple(
            Panel(
                dataset, "clusters", "F1, silhouette",
                tuple(
                    Line(title, NUMBERS, [found.of(dataset)[case].values[measure] for case in cases])
                    for title, measure in (("F1", "f1"), ("label-free F1", "free f1"), ("silhouette", "silhouette"))
                ),
            )
            for dataset in found.datasets
        )  # fmt: skip
        return Page(sections, panels)


def _agreement(over: Sequence[Sequence[Outcome]], quality: Floats) -> Callable[[Ints], float]:
    return lambda chosen: rank_correlation(
        np.array([pooled(each, chosen) for each in over]), _mean(quality[chosen])
    )  # fmt: skip


def _mean(quality: Floats) -> Floats:
    there = np.isfinite(quality)
    total = np.where(there, quality, 0.0).sum(axis=0)
    return np.where(there.any(axis=0), total / np.maximum(there.sum(axis=0), 1), np.nan)


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's, over what both have; NaN where either is all the same."""
    from scipy.stats import rankdata

    there = np.isfinite(one) & np.isfinite(other)
    ranks = [rankdata(each[there]) for each in (one, other)]
    if there.sum() < 2 or any(np.ptp(each) == 0 for each in ranks):
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])


silhouette = Silhouette()
