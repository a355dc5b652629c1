"""How much the reset's patience, delta, matters: with and without the rule for an event's end."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...bench import authors
from ..claims import MORE, compared
from ..draw import Line, Panel
from ..judging import Outcome, Rows, pooled, rows_of
from ..study import Figure, Found, Page, Study
from ..tables import by_case
from ..trials import Trials

__all__ = ["patience"]

DELTAS = (1, 2, 3, 5, 10, 20, 50)
STABLE = (None, 0.03)  # of F1: what "largely unchanged" is taken to mean
WITH, WITHOUT = "with the rule", "without the rule"


class Patience(Study):
    """One training, judged with many deltas."""

    name = "patience"
    title = "Sensitivity to delta"
    claim = "F1 hardly depends on delta, thanks to the rule that ends an event at its last positive evidence."
    how = (
        "Alpha and threshold are chosen anew for each delta, by the authors' evaluation; without the rule an event "
        f"ends with its last row above the threshold. The range is that of F1 over all deltas; below {STABLE[1]} "
        "counts as hardly depending."
    )
    order = 7
    whole = True

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        rows = [rows_of(trials.kept(dataset, entity)) for entity in entities]
        found = {
            case: [[_best(one, delta, case == WITH) for one in rows] for delta in DELTAS] for case in (WITH, WITHOUT)
        }
        figures = []
        for case, over in found.items():
            f1 = [pooled(each) for each in over]
            values = {f"delta {delta}": value for delta, value in zip(DELTAS, f1, strict=True)}
            curves: dict[str, list[float]] = {"delta": list(DELTAS), "f1": f1}
            figures.append(
                Figure(self.name, dataset, case, len(entities), values | {"range": max(f1) - min(f1)}, curves)
            )
        comparisons = (
            compared(
                dataset, "range of F1 over delta, with the rule", "authors", lambda i: _range(found[WITH], i),
                len(entities), STABLE, trials.spread(dataset, entities),
            ),
            compared(
                dataset, "range without less with the rule", "authors",
                lambda i: _range(found[WITHOUT], i) - _range(found[WITH], i), len(entities), MORE,
                trials.spread(dataset, entities),
            ),
        )  # fmt: skip
        return Found(tuple(figures), comparisons)

    def page(self, found: Found) -> Page:
        sections = (by_case("Range of F1 over delta", found, "range", (WITH, WITHOUT)),)
        panels = tuple(
            Panel(
                dataset, "delta", "F1",
                tuple(Line(case, of.curves["delta"], of.curves["f1"]) for case, of in found.of(dataset).items()),
                log_x=True,
            )
            for dataset in found.datasets
        )  # fmt: skip
        return Page(sections, panels)


def _range(over: Sequence[Sequence[Outcome]], chosen: NDArray[np.int64]) -> float:
    f1 = [pooled(each, chosen) for each in over]
    return max(f1) - min(f1)


def _best(rows: Rows, delta: int, offset: bool) -> Outcome:
    """The best F1 over the authors' alphas and thresholds."""
    p = authors.larger(rows.normal, rows.test) + authors.PVALUE_FLOOR
    positives, best = int(rows.truth.sum()), Outcome(0, 0, int(rows.truth.sum()))
    for alpha in np.sort(np.r_[authors.FIXED_ALPHAS, authors.alphas_of(rows.normal, rows.test, rows.truth)]):
        b = np.log(alpha / p)
        score = authors.accumulated(b, delta)
        levels = np.unique(score)
        if len(levels) < 2:
            continue
        thresholds = np.quantile(levels, np.linspace(0, 1, authors.THRESHOLDS))
        # Where every row is evidence, an event ends with its last row above the threshold.
        ends = b if offset else np.ones_like(b)
        tp, chosen = authors.counted(score, ends, thresholds, rows.truth)
        i = int(np.argmax(2 * tp / np.maximum(chosen + positives, 1)))
        made = Outcome(int(tp[i]), int(chosen[i] - tp[i]), int(positives - tp[i]), alpha=float(alpha))
        best = max(best, made, key=lambda one: one.f1)
    return best


patience = Patience()
