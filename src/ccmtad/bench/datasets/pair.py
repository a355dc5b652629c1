"""Your own data: a table to learn from, and one to judge, with a label column."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...frame import Frame
from ...tables import Reading, read
from .entity import Entity, Truth

__all__ = ["Pair"]


@dataclass(frozen=True)
class Pair:
    """Two CSV or Parquet files. The label column is never given to a detector, wherever it is."""

    train: Path
    test: Path
    label: str
    how: Reading = field(default_factory=Reading)

    @property
    def name(self) -> str:
        return self.test.name.partition(".")[0]

    def entities(self) -> list[str]:
        return [self.name]

    def read(self, entity: str) -> Entity:
        train, test = (read(path, self.how, argument=of) for of, path in (("train", self.train), ("test", self.test)))
        if self.label not in test.channels:
            raise InputError(f"label must be a column of {self.test.name}; got {self.label!r}")
        label = test.values[:, test.channels.index(self.label)]
        if not np.isin(label, (0.0, 1.0)).all():
            raise InputError(f"label must hold 0 and 1; column {self.label!r} of {self.test.name} holds others")
        return Entity(self.name, entity, _without(train, self.label), _without(test, self.label), Truth(label > 0))


def _without(frame: Frame, label: str) -> Frame:
    kept = [i for i, name in enumerate(frame.channels) if name != label]
    channels = tuple(frame.channels[i] for i in kept)
    return Frame(np.ascontiguousarray(frame.values[:, kept]), channels, frame.times, frame.named)
