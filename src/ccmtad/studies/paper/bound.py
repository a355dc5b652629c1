"""Validation losses, the alpha that does best, and the bound that a mixture of Gaussians sets it."""

import numpy as np

from ...calibrate.alpha import mixture_bound
from ..claims import MORE, compared
from ..draw import Line, Panel
from ..judging import mean_of, rows_of
from ..study import Figure, Found, Page, Study
from ..tables import by_case, printed
from ..trials import Trials

__all__ = ["bound"]

BINS = 40
SHOWN = 0.995  # of the losses: the few largest would leave the others one bin
CASES = ("alpha_max", "best alpha", "share below the bound")


class Bound(Study):
    """One training; nothing is chosen but alpha."""

    name = "bound"
    title = "Alpha and its mixture bound"
    claim = (
        "The alpha that does best lies well below alpha_max, the bound from a Gaussian mixture of validation losses."
    )
    how = (
        "The best alpha is by the authors' evaluation. Medians over entities, and the share of entities whose best "
        "alpha is below the bound. The paper bounds alpha on SWaT, PSM and WADI alone: the other sets have few "
        "validation losses for an entity. The histogram is of the entity with the most of them."
    )
    order = 16
    whole = True

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        normal = [rows_of(trials.kept(dataset, entity)).normal for entity in entities]
        bounds = np.array([mixture_bound(losses) for losses in normal])
        best = np.array([judged.corrected.alpha or np.nan for judged in trials.judged(dataset, entities)])
        most = int(np.argmax([len(losses) for losses in normal]))
        losses = normal[most][normal[most] <= np.quantile(normal[most], SHOWN)]
        counts, edges = np.histogram(losses, BINS)
        marks = [float(np.quantile(normal[most], 1 - min(float(a), 1.0))) for a in (bounds[most], best[most])]
        curves = {"loss": ((edges[1:] + edges[:-1]) / 2).tolist(), "losses": counts.tolist(), "marks": marks}
        found = (float(np.median(bounds)), float(np.median(best)), float(np.mean(best < bounds)))
        figures = tuple(
            Figure(self.name, dataset, case, len(entities), {"value": value}, curves if case == CASES[0] else {})
            for case, value in zip(CASES, found, strict=True)
        )
        words, ratio = "decades from the best alpha up to alpha_max", np.log10(bounds / best)
        return Found(figures, (compared(dataset, words, "authors", mean_of(ratio), len(entities), MORE),))

    def page(self, found: Found) -> Page:
        table = by_case("Alpha", found, "value", CASES, printed("alpha_max"), digits=4)
        panels = []
        for dataset in found.datasets:
            curves = found.of(dataset)[CASES[0]].curves
            within = {
                name: place
                for name, place in zip(("alpha_max", "best alpha"), curves["marks"], strict=True)
                if place <= max(curves["loss"])
            }
            line = Line("validation losses", curves["loss"], curves["losses"], "bars")
            panels.append(Panel(dataset, "loss", "rows", (line,), marks=within))
        return Page((table,), tuple(panels))


bound = Bound()
