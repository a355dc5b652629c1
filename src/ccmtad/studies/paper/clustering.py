"""Ways to group channels, each at its best number of clusters."""

from collections.abc import Sequence

import numpy as np

from ..claims import compared
from ..draw import Line, Panel
from ..judging import Judged, difference, pooled
from ..study import Figure, Found, Page, Study
from ..tables import by_case, printed
from ..trials import Trials
from ..variant import Variant

__all__ = ["NUMBERS", "clustering"]

WAYS = ("profile", "cosine", "correlation", "kmeans")
NUMBERS = (2, 4, 6, 8)


class ClusteringVariants(Study):
    """The paper's way against three others."""

    name = "clustering"
    title = "Ways to group channels"
    claim = "Spectral clustering of whole correlation profiles beats the three other ways to group channels."
    how = (
        "Each way with 2, 4, 6 and 8 clusters. As in the paper each way has its best number: by the authors' "
        "evaluation the one with the best F1 of an entity, without labels the one with its lowest validation loss. "
        "The picture has one number for all entities."
    )
    order = 3

    def variants(self) -> tuple[Variant, ...]:
        return tuple(_variant(way, number) for way in WAYS for number in NUMBERS)

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        figures, best = [], {}
        for way in WAYS:
            tried = [trials.judged(dataset, entities, _variant(way, number)) for number in NUMBERS]
            best[way] = _best(tried)
            corrected, free = ([getattr(j, part) for j in best[way][part]] for part in ("corrected", "free"))
            curves: dict[str, list[float]] = {
                "clusters": list(NUMBERS),
                "f1": [pooled([j.corrected for j in each]) for each in tried],
                "free f1": [pooled([j.free for j in each]) for each in tried],
            }
            values = {"f1": pooled(corrected), "free f1": pooled(free)}
            figures.append(Figure(self.name, dataset, way, len(entities), values, curves))
        comparisons = []
        for way in WAYS[1:]:
            for by, part in (("authors", "corrected"), ("label-free", "free")):
                ours, others = ([getattr(j, part) for j in best[one][part]] for one in ("profile", way))
                spread = trials.spread(dataset, entities, part == "free")
                measure = difference(ours, others)
                comparisons.append(compared(dataset, f"profile less {way}", by, measure, len(entities), spread=spread))
        return Found(tuple(figures), tuple(comparisons))

    def page(self, found: Found) -> Page:
        sections = (
            by_case("F1 by the authors' evaluation", found, "f1", WAYS, printed("clustering")),
            by_case("F1 without labels", found, "free f1", WAYS),
        )
        panels = tuple(
            Panel(
                dataset, "clusters", "F1",
                tuple(Line(way, of.curves["clusters"], of.curves["f1"]) for way, of in found.of(dataset).items()),
            )
            for dataset in found.datasets
        )  # fmt: skip
        return Page(sections, panels)


def _variant(way: str, number: int) -> Variant:
    return Variant.of(clustering=way, clusters=number)


def _best(tried: Sequence[Sequence[Judged]]) -> dict[str, list[Judged]]:
    """Of each entity the number with the best F1, and the one with the lowest validation loss."""
    each = list(zip(*tried, strict=True))
    return {
        "corrected": [max(of, key=lambda j: j.corrected.f1) for of in each],
        "free": [of[int(np.argmin([j.validation_loss for j in of]))] for of in each],
    }


clustering = ClusteringVariants()
