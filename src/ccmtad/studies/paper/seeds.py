"""How far the base's figures move with the seed."""

import numpy as np

from ...bench import published
from ...bench.summary import Figure as Spread
from ..claims import Comparison
from ..draw import Line, Panel
from ..judging import pooled
from ..plan import SEEDS
from ..study import Figure, Found, Page, Study
from ..tables import by_case
from ..trials import Trials
from ..variant import Variant

__all__ = ["seeds"]

METRICS = {"F1": "best_f1", "PR-AUC": "pr_auc"}  # by the authors' evaluation; and as published.toml names them
FREE = "F1 without labels"
ALIKE = (-0.05, 0.05)
RIVAL = "SensitiveHUE (online)"


class Seeds(Study):
    """The same settings, other weights."""

    name = "seeds"
    title = "Five seeds"
    claim = "Over five seeds F1 and PR-AUC vary little, and stay above those of SensitiveHUE (online)."
    how = (
        "The base with each seed; PR-AUC is the authors', the mean over entities. Beside the paper stand only "
        "datasets that are here whole; its SensitiveHUE is as printed. Within 0.05 of the printed mean counts as "
        "the same. Intervals are of both spreads over seeds."
    )
    order = 13
    whole = True

    def variants(self) -> tuple[Variant, ...]:
        return tuple(Variant(seed=seed) for seed in range(SEEDS))

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        over = [trials.judged(dataset, entities, variant) for variant in trials.plan.variants(self)]
        found = {
            "F1": [pooled([j.corrected for j in each]) for each in over],
            "PR-AUC": [float(np.mean([j.corrected.pr_auc or 0.0 for j in each])) for each in over],
            FREE: [pooled([j.free for j in each]) for each in over],
        }
        figures = []
        for case, values in found.items():
            spread = Spread.of(values)
            figure = {"mean": spread.mean, "spread": spread.spread}
            figures.append(Figure(self.name, dataset, case, len(entities), figure, {"each": values}))
        whole = published.WHOLE.get(dataset)
        if len(over) < 2 or (whole is not None and len(entities) < whole.entities):
            return Found(tuple(figures))
        return Found(tuple(figures), tuple(c for name in METRICS for c in _beside(dataset, name, found[name])))

    def page(self, found: Found) -> Page:
        cases = (*METRICS, FREE)
        paper = {
            row: {name: _printed(metric, row)["CCM-TAD"].mean for name, metric in METRICS.items()}
            for row in published.DATASETS
        }
        spreads = {
            row: {name: _printed(metric, row)["CCM-TAD"].spread or 0.0 for name, metric in METRICS.items()}
            for row in published.DATASETS
        }
        ours = ", ".join(f"{len(found.of(name)['F1'].curves['each'])} on {name}" for name in found.datasets)
        text = f"Of ours: {ours}. The printed ones are of five." if ours else ""
        sections = (
            by_case("Mean over seeds", found, "mean", cases, paper, text=text),
            by_case("Standard deviation over seeds", found, "spread", cases, spreads),
        )
        panels = tuple(
            Panel(
                dataset, "seed", "",
                tuple(
                    Line(case, range(len(of.curves["each"])), of.curves["each"], "dots")
                    for case, of in found.of(dataset).items()
                ),
            )
            for dataset in found.datasets
        )  # fmt: skip
        return Page(sections, panels)


def _printed(metric: str, dataset: str) -> dict[str, Spread]:
    rows = published.tables()["robustness"]
    return {
        row["method"]: Spread(row["mean"], row["spread"])
        for row in rows
        if row["metric"] == metric and row["dataset"] == dataset
    }


def _beside(dataset: str, name: str, values: list[float]) -> list[Comparison]:
    """Our mean less theirs, within both spreads."""
    ours, theirs, made = Spread.of(values), _printed(METRICS[name], dataset), []
    for method, claimed in (("CCM-TAD", ALIKE), (RIVAL, (0.0, None))):
        if method in theirs:
            other = theirs[method]
            half = 1.645 * float(np.hypot(ours.spread or 0.0, other.spread or 0.0))
            gap = ours.mean - other.mean
            made.append(
                Comparison(
                    dataset, f"{name}, ours less {method} as printed", "authors", gap, gap - half, gap + half, claimed
                )
            )
    return made


seeds = Seeds()
