"""What is kept, as a study asks for it: by dataset, entity and variant."""

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from ..executors import HERE, Crew
from .judging import Judged, judged, pooled
from .keep import Keep, Kept, Key
from .plan import Plan
from .variant import BASE, Needs, Variant

__all__ = ["Trials"]

PART = 16  # trainings that are judged in one piece of work


class Trials:
    """The trainings of a plan that are kept, each judged once, however many studies ask."""

    def __init__(self, plan: Plan, keep: Keep, crew: Crew = HERE) -> None:
        self.plan, self.keep, self.crew = plan, keep, crew
        self._datasets = {dataset.name: dataset for dataset in plan.datasets}
        self._judged: dict[Key, Judged] = {}
        self._kept = lru_cache(maxsize=256)(keep.__getitem__)

    def entities(self, study: Needs, dataset: str) -> list[str]:
        """Of those that a study takes, the ones of which every variant is kept."""
        home, variants = self._datasets[dataset], self.plan.variants(study)
        return [
            entity
            for entity in self.plan.taken(study, home)
            if all(self.plan.key(home, entity, variant) in self.keep for variant in variants)
        ]

    def kept(self, dataset: str, entity: str, variant: Variant = BASE) -> Kept:
        return self._kept(self._key(dataset, entity, variant))

    def judged(self, dataset: str, entities: Sequence[str], variant: Variant = BASE) -> list[Judged]:
        """Each of the entities."""
        keys = [self._key(dataset, entity, variant) for entity in entities]
        self._judge([key for key in keys if key not in self._judged])
        return [self._judged[key] for key in keys]

    def prepare(self, studies: Sequence[Needs]) -> None:
        """Judges all that these will ask for, side by side."""
        keys = {
            self._key(dataset, entity, variant)
            for study in studies
            for dataset in self._datasets
            for entity in self.entities(study, dataset)
            for variant in self.plan.variants(study)
        }
        self._judge(sorted(keys - self._judged.keys()))

    def spread(self, dataset: str, entities: Sequence[str], free: bool = False) -> float | None:
        """The standard deviation of the base's F1 over seeds; None where fewer than three are kept."""
        seeds = [Variant(seed=seed) for seed in range(self.plan.seeds)]
        there = [one for one in seeds if all(self._key(dataset, entity, one) in self.keep for entity in entities)]
        if len(there) < 3:
            return None
        over = [self.judged(dataset, entities, one) for one in there]
        return float(np.std([pooled([j.free if free else j.corrected for j in each]) for each in over], ddof=1))

    def _key(self, dataset: str, entity: str, variant: Variant) -> Key:
        return self.plan.key(self._datasets[dataset], entity, variant)

    def _judge(self, keys: Sequence[Key]) -> None:
        parts = [keys[first : first + PART] for first in range(0, len(keys), PART)]
        for made in self.crew.map(partial(_part, self.keep.folder), parts):
            self._judged |= made


def _part(folder: Path, keys: Sequence[Key]) -> dict[Key, Judged]:
    keep = Keep(folder)
    return {key: judged(keep[key]) for key in keys}
