"""One entity: how far its log and its stream have come, and which rows are new to it.

The rule for late and duplicate rows. A row with a sequence number is a duplicate where that number is not larger than
the largest so far. Of the others, one whose time is in the log is a duplicate, and so is one that is older than all of
a log whose beginning has gone. Duplicates are left out, whatever their values: the first to come is the one
that counts. Every other row goes to the log and to the stream, which ignores those that are not later than the rows
before (and knows a clock that was wrong). A row with neither is always new.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ..live.assemble import Assembler
from ..live.journal import Journal
from ..live.silence import Silence
from ..results import Health
from .rows import NEVER, Batch, Chunk, Receipt, columns_of

__all__ = ["Draft", "Entity", "Status", "tied"]

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Of an entity: the times in the log from one to another, inclusive, and that before which nobody remembers.
TimesWithin = Callable[[int, int, int], tuple[Ints, int]]


@dataclass(frozen=True)
class Status:
    """How an entity stands after its newest judged row."""

    rows: int = 0
    time: int | None = None  # of the newest row, nanoseconds
    score: float = 0.0
    threshold: float = 0.0
    alarm: bool = False
    ready: bool = False
    health: str = "unknown"
    advice: str = ""


UNKNOWN = Health("unknown", 0.0, "")


@dataclass
class Entity:
    """What the owner of an entity has in memory, beside its stream."""

    id: int
    name: str
    model: str
    logged: int = 0  # rows in the log
    stepped: int = 0  # rows judged
    newest: int | None = None  # the largest time in the log
    taken: int | None = None  # the time of the last row that the stream did not ignore
    sequence: int | None = None
    heard: int | None = None  # when the last row came
    offset: int = 0  # position at which the stream began: it counts rows from there
    snapped: int = 0  # position of its last snapshot
    status: Status = field(default_factory=Status)
    health: Health = UNKNOWN
    looked_at: float = -math.inf  # when its health was
    assembler: Assembler | None = None
    journal: Journal = field(default_factory=lambda: Journal(""))
    silence: Silence = field(default_factory=lambda: Silence(None))

    def memory(self) -> dict[str, Any]:
        """What a snapshot holds beside the stream, as JSON knows it."""
        return {"journal": self.journal.state(), "silence": self.silence.state(), "offset": self.offset}

    def remember(self, memory: dict[str, Any]) -> None:
        """Goes on with what it held."""
        self.journal.restore(memory["journal"])
        self.silence.restore(memory["silence"])
        self.offset = int(memory["offset"])


class Draft:
    """The rows of an entity that will be logged next: nothing of it counts before that is done."""

    def __init__(self, entity: Entity, times_within: TimesWithin) -> None:
        self.entity, self._times_within = entity, times_within
        self.logged, self.newest, self.sequence = entity.logged, entity.newest, entity.sequence
        self.taken = entity.taken
        self.assembler: Assembler | None = None  # as it will be, where single values came
        self._values: list[NDArray[np.float64]] = []
        self._times: list[Ints] = []

    def take(self, batch: Batch) -> Receipt:
        """Adds what is new."""
        keep, late = self._new(batch)
        values, times = (batch.values, batch.times) if keep is None else (batch.values[keep], batch.times[keep])
        if len(times):
            self._values.append(values)
            self._times.append(times)
            self.logged += len(times)
            timed = times[times != NEVER]
            if len(timed):
                self.newest = max(int(timed.max()), NEVER if self.newest is None else self.newest)
                self.taken = max(int(timed.max()), NEVER if self.taken is None else self.taken)
        if batch.sequence is not None:
            self.sequence = max(batch.sequence + len(batch) - 1, -1 if self.sequence is None else self.sequence)
        return Receipt(len(times), len(batch) - len(times), late, self.logged)

    def _new(self, batch: Batch) -> tuple[Mask | None, int]:
        """Which rows are new (None: all), and how many of them are late."""
        if batch.sequence is not None:
            if self.sequence is None or batch.sequence > self.sequence:
                return None, self._late(batch.times)
            keep = np.arange(batch.sequence, batch.sequence + len(batch)) > self.sequence
            return keep, self._late(batch.times[keep])
        times = batch.times
        newest = NEVER if self.newest is None else self.newest
        if int(times[0]) > newest and bool((times[1:] > times[:-1]).all()):
            return None, 0
        timed = times[times != NEVER]
        if not len(timed):
            return None, 0
        least, most = int(timed.min()), int(timed.max())
        seen, oldest = set[int](), NEVER
        if least <= newest:
            there, oldest = self._times_within(self.entity.id, least, most)
            seen.update(there.tolist())
        for others in self._times:
            seen.update(others.tolist())
        keep = np.ones(len(times), dtype=np.bool_)
        for i, time in enumerate(times.tolist()):
            if time != NEVER:
                keep[i] = time not in seen and (time >= oldest or time > newest)
                seen.add(time)
        return keep, self._late(times[keep])

    def _late(self, times: Ints) -> int:
        """Those that are not later than all before them."""
        timed = times[times != NEVER]
        before = np.concatenate([[NEVER if self.taken is None else self.taken], timed[:-1]])[: len(timed)]
        return int((timed <= np.maximum.accumulate(before)).sum())

    def chunk(self, words: int, at: int) -> Chunk | None:
        """What goes to the log; None where nothing is new."""
        if not self._values:
            return None
        values = self._values[0] if len(self._values) == 1 else np.concatenate(self._values)
        times = self._times[0] if len(self._times) == 1 else np.concatenate(self._times)
        return Chunk(self.entity.id, self.entity.logged, values, times, words, at)

    def commit(self, at: int) -> None:
        """It is logged."""
        entity = self.entity
        entity.heard = at
        entity.logged, entity.newest, entity.sequence = self.logged, self.newest, self.sequence
        if self.assembler is not None:
            entity.assembler = self.assembler

    def head(self, at: int) -> dict[str, Any]:
        """How far the log of the entity (`one`) will have come."""
        assembler = self.assembler or self.entity.assembler
        kept = None if assembler is None else orjson.dumps(assembler.state() | tied(assembler)).decode()
        return {
            "one": self.entity.id,
            "logged": self.logged,
            "newest": self.newest,
            "sequence": self.sequence,
            "heard": at,
            "assembler": kept,
        }


def tied(assembler: Assembler) -> dict[str, Any]:
    """What ties values that wait to a model."""
    return {"columns": columns_of(tuple(assembler.channels)), "period": assembler.period}
