"""What the loss at one moment depends on: a map of gradients, causal against plain."""

from collections.abc import Sequence

import numpy as np

from ..claims import Comparison
from ..draw import Panel
from ..extras import CHANNEL, MOMENT
from ..study import Figure, Found, Page, Study
from ..tables import by_case
from ..trials import Trials
from ..variant import Variant

__all__ = ["gradient"]

CASES = {"causal": Variant.of("gradient"), "plain": Variant.of("gradient", temporal_mixer="plain")}


class Gradient(Study):
    """The size of the gradient of one squared error, by every value of a window."""

    name = "gradient"
    title = "What the loss at one moment depends on"
    claim = "With the causal mixer no later row moves the loss at a moment; with the plain one later rows do."
    how = (
        f"The first window of the test, the squared error at its moment {MOMENT} and channel {CHANNEL} (the last "
        "channel where there are fewer), at the epoch of the authors' rule. A figure is the sum of the sizes of the "
        "gradients by later rows, over that by all rows: its mean over entities, its interval from the least of "
        "them to the most."
    )
    order = 6

    def variants(self) -> tuple[Variant, ...]:
        return tuple(CASES.values())

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        figures, comparisons = [], []
        for case, variant in CASES.items():
            maps = [trials.kept(dataset, entity, variant).extras["gradient"] for entity in entities]
            later = np.array([one[MOMENT:].sum() / max(float(one.sum()), 1e-300) for one in maps])
            values = {"share of later rows": float(later.mean()), "largest share": float(later.max())}
            shown = {"map": [[float(f"{value:.4g}") for value in row] for row in maps[0]]}
            figures.append(Figure(self.name, dataset, case, len(entities), values, shown))
            low, high = float(later.min()), float(later.max())
            claimed = (-1e-9, 1e-9) if case == "causal" else (0.0, None)
            words = f"share of later rows, {case} mixer"
            comparisons.append(Comparison(dataset, words, "measured", float(later.mean()), low, high, claimed))
        return Found(tuple(figures), tuple(comparisons))

    def page(self, found: Found) -> Page:
        table = by_case("Share of the gradient by later rows", found, "share of later rows", tuple(CASES))
        panels = tuple(
            Panel(f"{dataset}, {case} mixer", "row of the window", "channel", cells=_upright(figure.curves["map"]))
            for dataset in found.datasets
            for case, figure in found.of(dataset).items()
        )
        return Page((table,), panels)


def _upright(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """Channels upwards, time to the right, as powers of ten of the largest; nothing is five decades down."""
    sizes = np.array(rows).T
    top = max(float(sizes.max()), 1e-300)
    return tuple(tuple(row) for row in np.log10(np.maximum(sizes / top, 1e-5)).tolist())


gradient = Gradient()
