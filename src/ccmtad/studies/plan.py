"""Which trainings a study needs: each of its variants, for each entity it takes, and no training twice."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..bench.datasets import Dataset
from ..bench.run import authors_settings
from ..bench.settings import RunSettings
from ..errors import CcmtadError, InputError
from .keep import Key, changes
from .variant import Needs, Variant

__all__ = ["EVERY", "SEEDS", "Plan", "Training", "available", "entities_of", "key_of"]

# Of a dataset's entities, in their published order, every so many-th is taken by studies that train variants of the
# base: the others would cost more than they tell. What trains the base alone takes them all.
EVERY = {"SMAP": 3, "SMD": 2, "plant": 2}
SEEDS = 5  # of the study of seeds


@dataclass(frozen=True)
class Training:
    """One network to train."""

    dataset: Dataset
    entity: str
    settings: RunSettings
    extras: tuple[str, ...]  # what any study wants to know of it

    @property
    def key(self) -> Key:
        return key_of(self.dataset.name, self.entity, self.settings)


@dataclass(frozen=True)
class Plan:
    """Studies of datasets. `entities` takes these alone; `settings` are put over the base's, for a quick look."""

    studies: tuple[Needs, ...]
    datasets: tuple[Dataset, ...]
    entities: tuple[str, ...] = ()
    seeds: int = SEEDS
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"seeds must be at least 1; got {self.seeds}")
        RunSettings.known(self.settings)
        RunSettings.of("paper", **self.settings)
        if self.entities:
            there = {name for dataset in self.datasets for name in entities_of(dataset)}
            unknown = sorted(set(self.entities) - there)
            if unknown:
                names = ", ".join(dataset.name for dataset in self.datasets)
                raise InputError(f"entity must be one of {names}; got {', '.join(unknown)}")

    def taken(self, study: Needs, dataset: Dataset) -> tuple[str, ...]:
        """The entities that a study takes."""
        names = entities_of(dataset)
        if self.entities:
            return tuple(name for name in names if name in self.entities)
        return names if study.whole else names[:: EVERY.get(dataset.name, 1)]

    def variants(self, study: Needs) -> tuple[Variant, ...]:
        return tuple(variant for variant in study.variants() if variant.seed < self.seeds)

    def settings_of(self, dataset: Dataset, entity: str, variant: Variant) -> RunSettings:
        """The authors' for this entity, changed."""
        return RunSettings.of(
            "paper", **{**_base(dataset, entity), **self.settings, **dict(variant.change), "seed": variant.seed}
        )

    def key(self, dataset: Dataset, entity: str, variant: Variant) -> Key:
        return key_of(dataset.name, entity, self.settings_of(dataset, entity, variant))

    def trainings(self, every: Sequence[Needs] = ()) -> list[Training]:
        """All there is to train: what many studies share first, then study by study, the longest series first.

        `every` are the studies whose extras are measured wherever one of their variants is trained anyway, so that
        none of them has to train it again.
        """
        found: dict[Key, Training] = {}
        extras = self._extras({*every, *self.studies})
        for study in self.studies:
            for variant in self.variants(study):
                for dataset in sorted(self.datasets, key=lambda one: ORDER.get(one.name, 0)):
                    for entity in self.taken(study, dataset):
                        settings = self.settings_of(dataset, entity, variant)
                        key = key_of(dataset.name, entity, settings)
                        found.setdefault(key, Training(dataset, entity, settings, tuple(sorted(extras[key]))))
        return list(found.values())

    def _extras(self, studies: set[Needs]) -> dict[Key, set[str]]:
        wanted: dict[Key, set[str]] = defaultdict(set)
        for variant in {variant for study in studies for variant in study.variants() if variant.extras}:
            for dataset in self.datasets:
                for entity in entities_of(dataset):
                    wanted[self.key(dataset, entity, variant)] |= set(variant.extras)
        return wanted


AUTHORED = ("SWaT", "PSM", "WADI", "MSL", "SMAP", "SMD")  # datasets that the authors' settings are known for
ORDER = {"SWaT": -5, "WADI": -4, "PSM": -3, "plant": -2, "SMD": -1}  # long series first: they end last


def key_of(dataset: str, entity: str, settings: RunSettings) -> Key:
    return dataset, entity, json.dumps(changes(settings), sort_keys=True)


@cache
def entities_of(dataset: Dataset) -> tuple[str, ...]:
    """In published order."""
    return tuple(dataset.entities())


@cache
def _base(dataset: Dataset, entity: str) -> dict[str, Any]:
    return authors_settings(dataset, entity) if dataset.name in AUTHORED else {}


def available(datasets: Sequence[Dataset]) -> tuple[Dataset, ...]:
    """Those whose files are there."""
    return tuple(dataset for dataset in datasets if _there(dataset))


@cache
def _there(dataset: Dataset) -> bool:
    try:
        names = dataset.entities()
        if len(names) == 1:  # its list says nothing of its files
            dataset.read(names[0])
    except CcmtadError:
        return False
    return bool(names)
