"""What a study is: variants of the base to train, figures made of what is kept of them, and a page."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..bench.render import Section
from .claims import Comparison
from .draw import Panel
from .trials import Trials
from .variant import BASE, Variant

__all__ = ["Figure", "Found", "Page", "Study"]


@dataclass(frozen=True)
class Figure:
    """What one case of a study came to on one dataset."""

    study: str
    dataset: str
    case: str
    entities: int
    values: Mapping[str, float | None] = field(default_factory=dict)  # by measure
    curves: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # what pictures are drawn from


@dataclass(frozen=True)
class Found:
    """All that a study found: pages are made of this alone."""

    figures: tuple[Figure, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(figure.dataset for figure in self.figures))

    def of(self, dataset: str) -> dict[str, Figure]:
        """The figures of a dataset, by case."""
        return {figure.case: figure for figure in self.figures if figure.dataset == dataset}


@dataclass(frozen=True)
class Page:
    """What follows the claim and what was found of it."""

    sections: tuple[Section, ...] = ()
    panels: tuple[Panel, ...] = ()
    columns: int = 2  # panels side by side


class Study(ABC):
    """One of them."""

    name = ""
    title = ""
    claim = ""  # the paper's, in our words
    how = ""  # what is compared, and where that is not the paper's
    order = 50
    whole = False  # whether every entity is taken: cheap, where nothing but the base is trained

    def variants(self) -> tuple[Variant, ...]:
        """What must have been trained for each entity."""
        return (BASE,)

    def judge(self, trials: Trials, dataset: str) -> Found:
        """What is kept of one dataset's trainings, judged; nothing where nothing is."""
        entities = trials.entities(self, dataset)
        return self.judged(trials, dataset, entities) if entities else Found()

    @abstractmethod
    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        """The same of the entities of which every variant is kept: at least one."""

    @abstractmethod
    def page(self, found: Found) -> Page:
        """Tables and pictures, from the figures alone."""
