"""Rows on their way: as a request brings them, as the log keeps them, and what came of them."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..record import NEVER

__all__ = ["ALARM", "NEVER", "READY", "ROW", "Batch", "Chunk", "Receipt", "columns_of", "packed", "unpacked"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALARM, READY = 2, 1
# What is kept of a judged row.
ROW = np.dtype([("time", "<i8"), ("score", "<f4"), ("loss", "<f4"), ("pvalue", "<f4"), ("flags", "u1")])


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of one entity that came together, in order."""

    entity: str
    model: str
    channels: tuple[str, ...]  # of the model when they were read
    values: Floats  # (rows, channels), NaN where missing
    times: Ints  # (rows,) nanoseconds; NEVER where a row has none
    sequence: int | None = None  # of its first row; the others count up from there

    def __len__(self) -> int:
        return len(self.times)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.values.nbytes + self.times.nbytes


@dataclass(frozen=True)
class Receipt:
    """What became of a batch: all that is accepted is on the disk."""

    accepted: int  # rows written to the log
    duplicates: int  # rows that were there already: left out
    late: int  # of the accepted, those not later than the rows before: the stream ignores them
    rows: int  # of the entity in the log, in all


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of one entity as the log has them."""

    entity: int
    first: int  # position of the first
    values: Floats
    times: Ints
    words: int  # the last word on events that is heeded when they are judged
    at: int  # when they came

    def __len__(self) -> int:
        return len(self.times)


def packed(chunk: Chunk) -> dict[str, Any]:
    """A chunk as the log's columns."""
    timed = chunk.times[chunk.times != NEVER]
    return {
        "entity": chunk.entity,
        "first": chunk.first,
        "rows": len(chunk),
        "least": int(timed.min()) if len(timed) else None,
        "most": int(timed.max()) if len(timed) else None,
        "words": chunk.words,
        "at": chunk.at,
        "times": chunk.times.astype("<i8").tobytes() if len(timed) else None,
        "data": chunk.values.astype("<f8").tobytes(),
    }


def unpacked(row: Any) -> Chunk:
    """What `packed` made."""
    times = np.full(row.rows, NEVER) if row.times is None else np.frombuffer(row.times, "<i8").astype(np.int64)
    values = np.frombuffer(row.data, "<f8").astype(np.float64).reshape(row.rows, -1)
    return Chunk(row.entity, row.first, values, times, row.words, row.at)


@lru_cache(maxsize=256)
def columns_of(channels: tuple[str, ...]) -> str:
    """A checksum of the channels of rows, in their order: rows of other columns are not for the same model."""
    return hashlib.sha256("\0".join(channels).encode()).hexdigest()[:16]
