"""What a dataset is made of: counted from its files, and kept, so that pages can be made where the files are not."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..errors import FileError
from .datasets import Dataset, Entity
from .metrics.ranges import runs

__all__ = ["Facts", "floor", "measured", "read", "save", "share"]


@dataclass(frozen=True)
class Facts:
    """One entity."""

    dataset: str
    entity: str
    channels: int
    constant: int  # channels that have one value in all training rows
    train_rows: int
    test_rows: int
    events: tuple[int, ...]  # rows of each stretch of anomalous rows

    @classmethod
    def of(cls, entity: Entity) -> "Facts":
        train, (first, last) = entity.train.values, runs(entity.truth.anomalous)
        still = np.nanmax(train, axis=0) == np.nanmin(train, axis=0)
        lengths = tuple((last - first + 1).tolist())
        return cls(entity.dataset, entity.name, train.shape[1], int(still.sum()), len(train), len(entity.test), lengths)

    @property
    def anomalous(self) -> int:
        return sum(self.events)


def measured(dataset: Dataset) -> Iterator[Facts]:
    """Of every entity, in published order."""
    return (Facts.of(dataset.read(name)) for name in dataset.entities())


def share(facts: Sequence[Facts]) -> float:
    """Of anomalous rows, of all entities together."""
    return sum(one.anomalous for one in facts) / sum(one.test_rows for one in facts)


def floor(anomalous: float) -> float:
    """The F1 of calling every row anomalous, where that share of them is: what every best F1 must reach."""
    return 2 * anomalous / (1 + anomalous)


def save(facts: Iterable[Facts], path: Path) -> None:
    """One line of JSON for each."""
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in facts), encoding="utf-8")


def read(path: Path) -> tuple[Facts, ...]:
    """What `save` wrote."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return tuple(Facts(**{**line, "events": tuple(line["events"])}) for line in lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"statistics file must hold one JSON record a line; {str(path)!r} does not: {error}") from error
