"""The simulated wastewater plant: a normal run to learn from, and a run with faults. Made, not read."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..simulated import simulated
from .entity import Entity, Truth

__all__ = ["Plant"]

SEEDS = 5


@dataclass(frozen=True)
class Plant:
    """Other weather and other faults for each seed."""

    folder: Path  # has nothing of it
    name: str = "plant"
    made: ClassVar[bool] = True

    def entities(self) -> list[str]:
        return [f"seed {seed}" for seed in range(SEEDS)]

    def read(self, entity: str) -> Entity:
        train, watched = simulated(int(entity.removeprefix("seed ")))
        place = {name: i for i, name in enumerate(train.frame.channels)}
        anomalous = np.zeros(len(watched.frame), dtype=np.bool_)
        causes = []
        for fault in watched.faults:
            anomalous[fault.start : fault.end + 1] = True
            causes.append((fault.start, fault.end, tuple(place[name] for name in fault.affected)))
        return Entity(self.name, entity, train.frame, watched.frame, Truth(anomalous, tuple(causes)))
