"""How much the width of the embedding, d, matters."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..cases import Cases
from ..claims import Comparison, compared
from ..draw import Line, Panel
from ..judging import Outcome, pooled
from ..study import Found, Page
from ..trials import Trials
from ..variant import Variant

__all__ = ["width"]

WIDTHS = (32, 64, 128, 256, 512)
CASES = {str(width): Variant.of(width=width) for width in WIDTHS}
NO_TREND = (-0.05, 0.05)  # of F1, from the narrowest to the widest


class Width(Cases):
    """The paper's five."""

    name = "width"
    title = "Sensitivity to the width d"
    claim = "F1 varies with d, without a clear trend."
    how = (
        "The trend is the change of F1 from the narrowest to the widest network along the line fitted through all "
        f"five, over the logarithm of d; within {NO_TREND[1]} either way counts as no clear trend."
    )
    order = 8
    cases = CASES

    def further(self, trials: Trials, dataset: str, entities: Sequence[str]) -> Sequence[Comparison]:
        made = []
        for by, part in (("authors", "corrected"), ("label-free", "free")):
            over = [
                [getattr(j, part) for j in trials.judged(dataset, entities, variant)] for variant in self.variants()
            ]
            spread = trials.spread(dataset, entities, part == "free")
            made.append(compared(dataset, "trend of F1 over d", by, _trend(over), len(entities), NO_TREND, spread))
        return made

    def page(self, found: Found) -> Page:
        panels = tuple(
            Panel(
                dataset, "d", "F1",
                tuple(
                    Line(title, WIDTHS, [found.of(dataset)[str(d)].values[measure] for d in WIDTHS])
                    for title, measure in (("authors' evaluation", "f1"), ("label-free", "free f1"))
                ),
                log_x=True,
            )
            for dataset in found.datasets
        )  # fmt: skip
        return Page(self.f1_tables(found), panels)


def _trend(over: Sequence[Sequence[Outcome]]) -> Callable[[NDArray[np.int64]], float]:
    """The change from the first to the last width, along the line fitted through all."""
    across = np.log2(WIDTHS) - np.log2(WIDTHS).mean()

    def trend(chosen: NDArray[np.int64]) -> float:
        f1 = np.array([pooled(each, chosen) for each in over])
        return float(across @ f1 / (across @ across) * np.ptp(across))

    return trend


width = Width()
