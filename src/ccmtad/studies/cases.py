"""Studies that compare trainings of several kinds by their F1."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..bench.render import Section
from .claims import MORE, Comparison, compared
from .draw import Line, Panel
from .judging import Judged, difference, pooled
from .study import Figure, Found, Page, Study
from .tables import Printed, by_case
from .trials import Trials
from .variant import Variant

__all__ = ["Cases", "bars", "gap"]

WAYS = {"authors": "corrected", "label-free": "free"}  # how each is judged: what of a judgement is counted
Test = tuple[str, str, str, tuple[float | None, float | None]]  # words, case, other case, what is claimed of the gap


def gap(
    trials: Trials, dataset: str, entities: Sequence[str], words: str, one: Sequence[Judged], other: Sequence[Judged],
    claimed: tuple[float | None, float | None] = MORE,
) -> list[Comparison]:  # fmt: skip
    """One F1 less another, of the same entities, by each way of judging."""
    made = []
    for by, part in WAYS.items():
        measure = difference([getattr(j, part) for j in one], [getattr(j, part) for j in other])
        spread = trials.spread(dataset, entities, part == "free")
        made.append(compared(dataset, words, by, measure, len(entities), claimed, spread))
    return made


class Cases(Study):
    """Some variants by name, and which of them are claimed to differ, or not to."""

    cases: Mapping[str, Variant]
    tests: Sequence[Test] = ()
    paper: Printed = MappingProxyType({})  # what is printed, by dataset and case

    def variants(self) -> tuple[Variant, ...]:
        return tuple(self.cases.values())

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        judged = {case: trials.judged(dataset, entities, variant) for case, variant in self.cases.items()}
        figures = tuple(
            Figure(
                self.name,
                dataset,
                case,
                len(entities),
                self._values(found),
                self._curves(trials, dataset, entities, case),
            )
            for case, found in judged.items()
        )
        comparisons = [
            made
            for words, one, other, claimed in self.tests
            for made in gap(trials, dataset, entities, words, judged[one], judged[other], claimed)
        ]
        return Found(figures, (*comparisons, *self.further(trials, dataset, entities)))

    def further(self, trials: Trials, dataset: str, entities: Sequence[str]) -> Sequence[Comparison]:  # noqa: ARG002
        """What else the claim says."""
        return ()

    def page(self, found: Found) -> Page:
        return Page((*self.f1_tables(found),), bars(found, tuple(self.cases)))

    def f1_tables(self, found: Found) -> tuple[Section, ...]:
        cases = tuple(self.cases)
        return (
            by_case("F1 by the authors' evaluation", found, "f1", cases, self.paper),
            by_case("F1 without labels", found, "free f1", cases),
        )

    def _values(self, found: Sequence[Judged]) -> dict[str, float | None]:
        return {
            "f1": pooled([j.corrected for j in found]),
            "f1, protocol 2": float(np.mean([j.corrected.f1 for j in found])),
            "free f1": pooled([j.free for j in found]),
        }

    def _curves(self, trials: Trials, dataset: str, entities: Sequence[str], case: str) -> dict[str, list[float]]:  # noqa: ARG002
        return {}


def bars(found: Found, names: Sequence[str]) -> tuple[Panel, ...]:
    """F1 of each case, a panel for each dataset."""
    made = []
    for dataset in found.datasets:
        of = found.of(dataset)
        lines = tuple(
            Line(title, range(len(names)), [of[case].values[measure] if case in of else None for case in names], "bars")
            for title, measure in (("authors' evaluation", "f1"), ("label-free", "free f1"))
        )
        made.append(Panel(dataset, "", "F1", lines, names=tuple(names)))
    return tuple(made)
