"""What the sequential scorer is worth: the loss itself, accumulated, and with boundaries corrected."""

from collections.abc import Sequence

import numpy as np

from ..cases import bars
from ..claims import Comparison, compared
from ..judging import Judged, Outcome, difference, mean_of, pooled
from ..study import Figure, Found, Page, Study
from ..tables import by_case, printed
from ..trials import Trials

__all__ = ["scorer"]

WAYS = {  # by the authors' evaluation, and without labels
    "point": ("point", "free_point"),
    "sequential, uncorrected": ("uncorrected", "free_uncorrected"),
    "sequential, corrected": ("corrected", "free"),
}
STEPS = (
    ("sequential less point", "sequential, uncorrected", "point"),
    ("corrected less uncorrected", "sequential, corrected", "sequential, uncorrected"),
)


class Scorer(Study):
    """The same losses, scored in three ways."""

    name = "scorer"
    title = "What the sequential scorer is worth"
    claim = (
        "Accumulating evidence beats thresholding the loss on most sets, and correcting an event's bounds adds to it."
    )
    how = (
        "One training of the base. By the authors' evaluation each way has its own best threshold and alpha on the "
        "test labels. PR-AUC is theirs, the mean over entities."
    )
    order = 2
    whole = True

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        found = trials.judged(dataset, entities)
        spreads = [trials.spread(dataset, entities, free) for free in (False, True)]
        figures = []
        for case, (part, free) in WAYS.items():
            values = {
                "f1": pooled(_parts(found, part)),
                "pr_auc": float(np.mean([one.pr_auc or 0.0 for one in _parts(found, part)])),
                "free f1": pooled(_parts(found, free)),
            }
            figures.append(Figure(self.name, dataset, case, len(entities), values))
        return Found(tuple(figures), tuple(_compared(dataset, found, spreads)))

    def page(self, found: Found) -> Page:
        cases = tuple(WAYS)
        sections = (
            by_case("F1 by the authors' evaluation", found, "f1", cases, printed("scorer_f1")),
            by_case("PR-AUC, the authors'", found, "pr_auc", cases, printed("scorer_pr_auc")),
            by_case("F1 without labels", found, "free f1", cases),
        )
        return Page(sections, bars(found, cases))


def _parts(found: Sequence[Judged], name: str) -> list[Outcome]:
    return [getattr(one, name) for one in found]


def _compared(dataset: str, found: Sequence[Judged], spreads: Sequence[float | None]) -> list[Comparison]:
    made = []
    for words, one, other in STEPS:
        for which, by in enumerate(("authors", "label-free")):
            measure = difference(_parts(found, WAYS[one][which]), _parts(found, WAYS[other][which]))
            made.append(compared(dataset, f"F1, {words}", by, measure, len(found), spread=spreads[which]))
        areas = [np.array([o.pr_auc for o in _parts(found, WAYS[case][0])]) for case in (one, other)]
        made.append(compared(dataset, f"PR-AUC, {words}", "authors", mean_of(areas[0] - areas[1]), len(found)))
    return made


scorer = Scorer()
