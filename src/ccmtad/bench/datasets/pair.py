"""Your own data: a table to learn from, and one to judge, with a label column."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...frame import Frame
from .entity import Entity, Truth
from .table import numbers, read

__all__ = ["Pair"]


@dataclass(frozen=True)
class Pair:
    """Two CSV or Parquet files. The label column is never given to a detector, wherever it is."""

    train: Path
    test: Path
    label: str
    time: str | None = None

    @property
    def name(self) -> str:
        return self.test.name.partition(".")[0]

    def entities(self) -> list[str]:
        return [self.name]

    def read(self, entity: str) -> Entity:
        train, test = read(self.train), read(self.test)
        if self.label not in test.columns:
            raise InputError(f"label must be a column of {self.test.name}; got {self.label!r}")
        label = numbers(test.select(self.label), self.test.name)[:, 0]
        if not np.isin(label, (0.0, 1.0)).all():
            raise InputError(f"label must hold 0 and 1; column {self.label!r} of {self.test.name} holds others")
        frames = [
            Frame.of(table.drop(self.label, strict=False), time=self.time, argument=path.name)
            for table, path in ((train, self.train), (test, self.test))
        ]
        return Entity(self.name, entity, frames[0], frames[1], Truth(label > 0))
