"""How much alpha and the threshold h matter, each by itself and together; alpha goes up to 1 here."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...bench import authors
from ...calibrate.alpha import mixture_bound
from ..claims import MORE, compared
from ..draw import Line, Panel
from ..judging import Rows, rows_of
from ..study import Figure, Found, Page, Study
from ..tables import by_case
from ..trials import Trials

__all__ = ["significance"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALPHAS = 10.0 ** (np.arange(-15, 1) / 3)  # 1e-5 to 1
THRESHOLDS = 10.0 ** (np.arange(-2, 9) / 2)  # 0.1 to 10,000
SMALL, LOW, HIGH, FAR = 0.05, 1.0, 100.0, 10_000.0
STABLE = (None, 0.05)  # of F1
ALPHA, H = "over alpha, at the best h", "over h, at the best alpha"


@dataclass(frozen=True, eq=False)
class Swept:
    """One entity: twice the rows found, and the sum of predicted and anomalous ones; F1 is their ratio."""

    grid: Floats  # (alphas, thresholds, 2)
    at_best_threshold: Floats  # (alphas, 2)
    at_best_alpha: Floats  # (thresholds, 2)
    bound: float  # the mixture's alpha_max


class Significance(Study):
    """One training, judged at many operating points."""

    name = "significance"
    title = "Sensitivity to alpha and h"
    claim = (
        "Small alphas do best and F1 is stable for all of them up to alpha_max; it is stable for thresholds up to "
        "about 100 and falls beyond."
    )
    how = (
        "Over alpha each entity has its best threshold, over h its best alpha, on the test labels; the map has one "
        f"alpha and one threshold for all. Small is up to {SMALL}; alpha_max is the median of the mixture bounds; a "
        f"range below {STABLE[1]} counts as stable. A detector refuses an alpha of 1/e and more, since its score "
        "would climb by itself; these judge kept losses alone."
    )
    order = 9
    whole = True

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        swept = [_sweep(rows_of(trials.kept(dataset, entity))) for entity in entities]
        bound, everything = float(np.median([one.bound for one in swept])), np.arange(len(swept))
        over_alpha, over_h = _over_alpha(swept, everything), _over_h(swept, everything)
        cells = _f1(np.sum([one.grid for one in swept], axis=0))
        figures = (
            Figure(
                self.name, dataset, ALPHA, len(entities),
                {"best": float(over_alpha.max()), "worst": float(over_alpha.min()), "alpha_max": bound},
                {"alpha": ALPHAS.tolist(), "f1": over_alpha.tolist()},
            ),
            Figure(
                self.name, dataset, H, len(entities), {"best": float(over_h.max()), "worst": float(over_h.min())},
                {"h": THRESHOLDS.tolist(), "f1": over_h.tolist(), "map": np.round(cells, 4).tolist()},
            ),
        )  # fmt: skip
        small, stable = ALPHAS <= SMALL, max(bound, ALPHAS[1]) >= ALPHAS
        near, hundred = (THRESHOLDS >= LOW) & (THRESHOLDS <= HIGH * 1.01), int(np.argmin(np.abs(THRESHOLDS - HIGH)))
        tests = (
            ("F1 of small less larger alphas", lambda i: _mean_gap(_over_alpha(swept, i), small), MORE),
            ("range of F1 over alphas up to alpha_max", lambda i: float(np.ptp(_over_alpha(swept, i)[stable])), STABLE),
            ("range of F1 over h from 1 to 100", lambda i: float(np.ptp(_over_h(swept, i)[near])), STABLE),
            (
                "F1 at h = 100 less at h = 10,000",
                lambda i: float(_over_h(swept, i)[hundred] - _over_h(swept, i)[-1]),
                MORE,
            ),
        )
        spread = trials.spread(dataset, entities)
        return Found(
            figures,
            tuple(compared(dataset, words, "authors", of, len(swept), claimed, spread) for words, of, claimed in tests),
        )

    def page(self, found: Found) -> Page:
        sections = (
            by_case("Best F1", found, "best", (ALPHA, H)),
            by_case("Worst F1", found, "worst", (ALPHA, H)),
            by_case("The mixture bound alpha_max, median over entities", found, "alpha_max", (ALPHA,)),
        )
        panels = []
        for dataset in found.datasets:
            alpha, h = found.of(dataset)[ALPHA], found.of(dataset)[H]
            bound = {"alpha_max": float(alpha.values["alpha_max"] or 1.0)}
            panels.append(
                Panel(
                    dataset,
                    "alpha",
                    "F1",
                    (Line("best h", alpha.curves["alpha"], alpha.curves["f1"]),),
                    True,
                    marks=bound,
                )
            )
            panels.append(Panel(dataset, "h", "F1", (Line("best alpha", h.curves["h"], h.curves["f1"]),), True))
            names = tuple(f"{value:.0e}" for value in alpha.curves["alpha"])
            upright = tuple(map(tuple, np.array(h.curves["map"]).T.tolist()))
            panels.append(
                Panel(f"{dataset}, one of each for all", "alpha", "h, 0.1 to 10,000", names=names, cells=upright)
            )
        return Page(sections, tuple(panels), columns=3)


def _sweep(rows: Rows) -> Swept:
    p = authors.larger(rows.normal, rows.test) + authors.PVALUE_FLOOR
    positives = int(rows.truth.sum())
    grid, best = np.zeros((len(ALPHAS), len(THRESHOLDS), 2)), np.zeros((len(ALPHAS), 2))
    for i, alpha in enumerate(ALPHAS):
        b = np.log(alpha / p)
        score = authors.accumulated(b, 5)
        levels = np.quantile(np.unique(score), np.linspace(0, 1, authors.THRESHOLDS))
        tp, chosen = authors.counted(score, b, np.r_[THRESHOLDS, levels], rows.truth)
        made = np.column_stack([2 * tp, chosen + positives]).astype(np.float64)
        grid[i], of_levels = made[: len(THRESHOLDS)], made[len(THRESHOLDS) :]
        best[i] = of_levels[int(np.argmax(_f1(of_levels)))]
    return Swept(grid, best, grid[int(np.argmax(_f1(best)))], mixture_bound(rows.normal))


def _f1(counts: Floats) -> Floats:
    return np.asarray(counts[..., 0] / np.maximum(counts[..., 1], 1.0))


def _over_alpha(swept: Sequence[Swept], chosen: Ints) -> Floats:
    return _f1(np.sum([swept[i].at_best_threshold for i in chosen], axis=0))


def _over_h(swept: Sequence[Swept], chosen: Ints) -> Floats:
    return _f1(np.sum([swept[i].at_best_alpha for i in chosen], axis=0))


def _mean_gap(f1: Floats, small: NDArray[np.bool_]) -> float:
    return float(f1[small].mean() - f1[~small].mean())


significance = Significance()
