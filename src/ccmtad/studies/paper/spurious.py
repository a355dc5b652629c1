"""Whether clusters keep the reconstruction from correlating what does not."""

import numpy as np
from numpy.typing import NDArray

from ..claims import compared
from ..draw import Line, Panel
from ..judging import mean_of
from ..study import Figure, Found, Page, Study
from ..tables import by_case, printed
from ..trials import Trials
from ..variant import Variant

__all__ = ["spurious"]

WITHOUT, WITH, LESS = "without clusters", "with clusters", "less, %"
CASES = {WITHOUT: Variant.of("spurious", clustering="off"), WITH: Variant.of("spurious")}


class Spurious(Study):
    """The mean difference between the correlations of normal test rows and those of their reconstruction."""

    name = "spurious"
    title = "Spurious correlation"
    claim = "With clusters the correlations of reconstructed normal rows are nearer to the true ones."
    how = (
        "Spurious correlation of each channel over the normal test rows, at the epoch of the authors' rule; a "
        "channel that does not move correlates with nothing. Of an entity the mean over channels, of a dataset the "
        "mean over entities. What is less in per cent is, as in the paper, the mean over channels. Entities for "
        "which the authors chose one cluster are left out of it."
    )
    order = 5

    def variants(self) -> tuple[Variant, ...]:
        return tuple(CASES.values())

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        found = {
            case: [trials.kept(dataset, entity, variant).extras["spurious"] for entity in entities]
            for case, variant in CASES.items()
        }
        figures = [
            Figure(self.name, dataset, case, len(entities), {"sc": float(np.mean([one.mean() for one in each]))})
            for case, each in found.items()
        ]
        several = [trials.kept(dataset, entity).label.max() > 0 for entity in entities]
        pairs = [(a, b) for a, b, more in zip(found[WITHOUT], found[WITH], several, strict=True) if more]
        if not pairs:
            return Found(tuple(figures))
        less = np.array([_less(without, having) for without, having in pairs])
        first = {"without": pairs[0][0].tolist(), "with": pairs[0][1].tolist()}
        figures.append(Figure(self.name, dataset, LESS, len(pairs), {"sc": float(np.nanmean(less))}, first))
        gaps = [float(without.mean() - having.mean()) for without, having in pairs]
        made = compared(
            dataset, "spurious correlation without less with clusters", "measured", mean_of(gaps), len(pairs)
        )
        return Found(tuple(figures), (made,))

    def page(self, found: Found) -> Page:
        table = by_case("Spurious correlation", found, "sc", (WITHOUT, WITH, LESS), printed("spurious"))
        panels = []
        for dataset in found.datasets:
            curves = found.of(dataset)[LESS].curves if LESS in found.of(dataset) else {}
            if curves:
                lines = tuple(
                    Line(f"{name} clusters", range(1, len(values) + 1), values, "bars")
                    for name, values in curves.items()
                )
                panels.append(Panel(f"{dataset}, its first entity", "channel", "spurious correlation", lines))
        return Page((table,), tuple(panels))


def _less(without: NDArray[np.float64], having: NDArray[np.float64]) -> float:
    """In per cent, the mean over channels that have any."""
    some = without > 0
    return float(100 * np.mean((without[some] - having[some]) / without[some])) if some.any() else float("nan")


spurious = Spurious()
