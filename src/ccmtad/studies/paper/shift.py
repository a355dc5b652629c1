"""Clusters from the first part of the training rows, or from all of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..cases import Cases
from ..claims import ALIKE
from ..draw import Panel
from ..study import Found, Page
from ..tables import printed
from ..trials import Trials
from ..variant import BASE, Variant

__all__ = ["adjacency", "shift"]

FIRST, ALL = "first 40 %", "all rows"
CASES = {FIRST: Variant.of(cluster_share=0.4), ALL: BASE}


class Shift(Cases):
    """The number of clusters is the same for both."""

    name = "shift"
    title = "Correlations that shift"
    claim = "Clusters from the first 40 % of the training rows differ from those of all rows, and F1 hardly does."
    how = (
        "An edge joins two channels of one cluster: the paper draws edges without saying what they are. F1 within "
        f"{ALIKE[1]} either way counts as hardly different."
    )
    order = 11
    cases = CASES
    tests = (("first 40 % less all rows", FIRST, ALL, ALIKE),)
    paper = printed("shift")

    def _curves(self, trials: Trials, dataset: str, entities: Sequence[str], case: str) -> dict[str, list[float]]:
        def edges(entity: str, of: str) -> NDArray[np.bool_]:
            return adjacency(trials.kept(dataset, entity, self.cases[of]).label)

        differ = [float(np.mean(edges(entity, FIRST) ^ edges(entity, ALL))) for entity in entities]
        most = entities[int(np.argmax(differ))]
        return {"differ": [float(np.mean(differ))], "edges": edges(most, case).astype(int).tolist()}

    def page(self, found: Found) -> Page:
        panels = []
        for dataset in found.datasets:
            edges = {case: np.array(of.curves["edges"]) for case, of in found.of(dataset).items()}
            shown = {**edges, "in one of them": edges[FIRST] ^ edges[ALL]}
            panels += [
                Panel(f"{dataset}: {case}", "channel", "channel", cells=tuple(map(tuple, cells.tolist())))
                for case, cells in shown.items()
            ]
        said = ", ".join(
            f"{100 * found.of(dataset)[ALL].curves['differ'][0]:.1f} % of {dataset}" for dataset in found.datasets
        )
        text = f"Pairs of channels that are joined in one of the two alone, on average: {said}." if said else ""
        first, second = self.f1_tables(found)
        return Page((replace(first, text=text), second), tuple(panels), columns=3)


def adjacency(label: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(channels, channels): which are in one cluster; none with itself."""
    same = label[:, None] == label[None]
    return np.asarray(same & ~np.eye(len(label), dtype=np.bool_))


shift = Shift()
