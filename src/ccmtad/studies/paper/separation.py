"""Whether clusters keep anomalous rows further from normal ones: nearest-neighbour separation."""

import numpy as np
from numpy.typing import NDArray

from ..claims import compared
from ..draw import Line, Panel
from ..judging import mean_of
from ..study import Figure, Found, Page, Study
from ..tables import by_case, printed
from ..trials import Trials
from ..variant import Variant

__all__ = ["separation"]

CASES = {
    "without clusters": Variant.of("separation", clustering="off"),
    "with clusters": Variant.of("separation"),
}
CHANGE = "change, %"


class Separation(Study):
    """The mean distance from an anomalous row to the nearest normal one, over that between normal ones."""

    name = "separation"
    title = "How far anomalous rows are from normal ones"
    claim = "Clusters raise the nearest-neighbour separation of reconstructed rows."
    how = (
        "NN-sep of the reconstructed test rows (the paper's space has as many dimensions as there are channels), at "
        "the epoch of the authors' rule. Of several entities the median; the change is the mean of theirs, of the "
        "logarithm. Entities whose normal reconstructions repeat exactly have none, nor have those with one cluster "
        "anything to say."
    )
    order = 4

    def variants(self) -> tuple[Variant, ...]:
        return tuple(CASES.values())

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        ratios = {}
        for case, variant in CASES.items():
            means = np.array([trials.kept(dataset, entity, variant).extras["separation"] for entity in entities])
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios[case] = np.where(means[:, 1] > 0, means[:, 0] / means[:, 1], np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.log(ratios["with clusters"] / ratios["without clusters"])
        several = np.array([trials.kept(dataset, entity).label.max() > 0 for entity in entities])
        change = np.where(several & np.isfinite(change), change, np.nan)
        there = int(np.isfinite(change).sum())
        figures = [
            Figure(self.name, dataset, case, len(entities), {"nn-sep": _median(of)}) for case, of in ratios.items()
        ]
        if not there:
            return Found(tuple(figures))
        percent = 100 * float(np.expm1(np.nanmean(change)))
        figures.append(Figure(self.name, dataset, CHANGE, there, {"nn-sep": percent}, {"each": _percents(change)}))
        known = change[np.isfinite(change)]
        made = compared(dataset, "logarithm of NN-sep with over without clusters", "measured", mean_of(known), there)
        return Found(tuple(figures), (made,))

    def page(self, found: Found) -> Page:
        table = by_case("NN-sep", found, "nn-sep", (*CASES, CHANGE), printed("separation"), digits=2)
        panels = []
        for dataset in found.datasets:
            each = sorted(found.of(dataset)[CHANGE].curves["each"]) if CHANGE in found.of(dataset) else []
            if each:
                times = [1 + percent / 100 for percent in each]
                lines = Line("entities", range(len(each)), times, "dots"), Line("no change", (0, len(each) - 1), (1, 1))
                panels.append(Panel(dataset, "entity", "with over without", lines, log_y=True))
        return Page((table,), tuple(panels))


def _median(values: NDArray[np.float64]) -> float | None:
    there = values[np.isfinite(values)]
    return float(np.median(there)) if len(there) else None


def _percents(change: NDArray[np.float64]) -> list[float]:
    return [float(100 * np.expm1(value)) for value in change[np.isfinite(change)]]


separation = Separation()
