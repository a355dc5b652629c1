"""What the network expected of an entity's rows, made again from the log: to be drawn beside what was observed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, or_, select

from .. import batch
from ..frame import Frame
from ..model import Model
from .rows import NEVER, unpacked
from .store.tables import log

__all__ = ["MOST_ROWS", "Expected", "expected"]

MOST_ROWS = 5_000  # of one answer
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Expected:
    """Rows that follow each other."""

    rows: NDArray[np.int64]  # positions
    times: NDArray[np.int64]  # of the rows, or of their arrival
    observed: Floats  # (rows, channels)
    expected: Floats  # (rows, channels), NaN where a row could not be judged
    usual: Floats  # (channels,) the usual error, in the units of the data


def expected(connection: Connection, model: Model, entity: int, start: int, end: int) -> Expected:
    """The rows of a range of time, the last where there are too many, and the rows before them that it takes."""
    lead = model.settings.window + model.settings.smooth + model.settings.hold_rows
    last = connection.execute(
        select(func.max(log.c.first + log.c.rows)).where(
            log.c.entity == entity, or_(log.c.least <= end, log.c.least.is_(None) & (log.c.at <= end))
        )
    ).scalar()
    first = connection.execute(
        select(func.min(log.c.first)).where(
            log.c.entity == entity, or_(log.c.most >= start, log.c.most.is_(None) & (log.c.at >= start))
        )
    ).scalar()
    if last is None or first is None or first >= last:
        none = np.empty((0, len(model.channels)))
        return Expected(np.empty(0, np.int64), np.empty(0, np.int64), none, none, _usual(model))
    first = max(first, last - MOST_ROWS)
    begun = select(func.max(log.c.first)).where(log.c.entity == entity, log.c.first <= max(first - lead, 0))
    wanted = select(log).where(
        log.c.entity == entity, log.c.first >= func.coalesce(begun.scalar_subquery(), 0), log.c.first < last
    )
    chunks = [unpacked(row) for row in connection.execute(wanted.order_by(log.c.first))]
    rows = np.concatenate([chunk.first + np.arange(len(chunk)) for chunk in chunks])
    times = np.concatenate([chunk.times for chunk in chunks])
    shown = np.concatenate([np.where(chunk.times == NEVER, chunk.at, chunk.times) for chunk in chunks])
    values = np.concatenate([chunk.values for chunk in chunks])
    timed = bool((times != NEVER).all())
    frame = Frame(
        np.where(np.isinf(values), np.nan, values), model.channels, times.astype("datetime64[ns]") if timed else None
    )
    made = batch.detect(model, model.engine, frame).reconstruction()
    inside = (rows >= first) & (shown >= start) & (shown <= end)
    return Expected(rows[inside], shown[inside], values[inside], made[inside], _usual(model))


def _usual(model: Model) -> Floats:
    return np.sqrt(np.asarray(model.combiner.unit, dtype=np.float64)) / np.asarray(model.scaler.gain, dtype=np.float64)
