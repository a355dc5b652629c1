"""The entities of one model, judged together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import snapshot
from ..lanes import Lanes
from ..model import Model
from ..results import Change, Verdict
from ..streams import Streams
from .models import Loaded
from .rows import ALARM, NEVER, READY, ROW, Chunk

__all__ = ["Group", "Judged", "judge"]


@dataclass(frozen=True, eq=False)
class Judged:
    """A chunk, judged."""

    chunk: Chunk
    rows: NDArray[Any]  # of `ROW`
    changes: tuple[tuple[int, Change], ...]  # place in the chunk, and what it did


class Group:
    """Streams of one model. Words on events are heeded by all of them, from the next row on."""

    def __init__(self, loaded: Loaded, said: Iterable[Verdict], words: int) -> None:
        self.loaded = loaded
        self.words = words  # the last one heeded
        self.streams = Streams(loaded.model.told(said), ())

    @property
    def model(self) -> Model:
        """With what was said of its events."""
        return self.streams.model

    def heed(self, said: Iterable[Verdict], words: int) -> None:
        """Takes words on events to heart."""
        self.streams.heed(said)
        self.words = words

    def add(self, entity: int, lanes: Lanes | None = None) -> None:
        """An entity from its start, or as it stands in the only lane of others."""
        self.streams.add(entity)
        if lanes is not None:
            self.streams.lanes.restore(self.streams.lane(entity), *lanes.state(0))

    def step(self, chunks: Sequence[Chunk]) -> list[Judged]:
        """Judges chunks of different entities side by side."""
        return judge(self.streams.lanes, [self.streams.lane(chunk.entity) for chunk in chunks], chunks)

    def snapshot(self, entity: int) -> bytes:
        """The state of the stream of an entity."""
        return snapshot.take(self.streams.lanes, self.streams.lane(entity))


def judge(lanes: Lanes, places: Sequence[int], chunks: Sequence[Chunk]) -> list[Judged]:
    """The first rows of all chunks in one step, then the second ones, and so on."""
    order = sorted(range(len(chunks)), key=lambda i: -len(chunks[i]))  # longest first: those that go on stand in front
    lengths = np.array([len(chunks[i]) for i in order])
    where = np.array([places[i] for i in order], dtype=np.int64)
    longest, channels = int(lengths[0]), len(lanes.model.channels)
    values = np.full((longest, len(chunks), channels), np.nan)
    times = np.full((longest, len(chunks)), NEVER, dtype=np.int64)
    for k, i in enumerate(order):
        values[: lengths[k], k], times[: lengths[k], k] = chunks[i].values, chunks[i].times
    found = np.zeros((len(chunks), longest), dtype=ROW)
    changes: list[list[tuple[int, Change]]] = [[] for _ in chunks]
    for row in range(longest):
        going = int((lengths > row).sum())
        taken = lanes.update(where[:going], values[row, :going], times[row, :going])
        _keep(found[:going, row], taken.answers, lanes.compiled)
        if taken.changed:
            for k, change in taken.changes():
                changes[k].append((row, change))
    judged: list[Judged | None] = [None] * len(chunks)
    for k, i in enumerate(order):
        rows, chunk = found[k, : lengths[k]], chunks[i]
        rows["time"] = np.where(chunk.times == NEVER, chunk.at, chunk.times)
        judged[i] = Judged(chunk, rows, tuple(changes[k]))
    return [one for one in judged if one is not None]


def _keep(rows: NDArray[Any], answers: Any, compiled: bool) -> None:
    def column(name: str) -> NDArray[Any]:
        if compiled:
            return answers[name]  # type: ignore[no-any-return]
        return np.array([getattr(answer, name) for answer in answers])

    for name in ("score", "loss", "pvalue"):
        rows[name] = np.minimum(column(name), 3e38)
    rows["flags"] = READY * column("ready").astype(np.uint8) + ALARM * column("alarm").astype(np.uint8)
