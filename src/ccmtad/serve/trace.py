"""What an entity did beside what was expected of it, made from the log of its rows: nothing more is kept.

What the network expects of a row depends on the window that ends in it, and on no state; so any stretch of the log can
be drawn, however old, by whichever process is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from ..batch import reconstruct
from ..frame import Frame
from ..model import Model
from ..report.thin import extremes
from ..results import Verdict
from .models import Loaded
from .rows import ALARM, NEVER, READY, ROW
from .store import log as rows_log
from .store import words
from .store.store import Store
from .store.tables import scores

__all__ = ["Expected", "Trace", "judged", "trace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FARTHEST = 3  # channels that are drawn where none is asked for
RECENT = 24  # rows that say which are farthest from what was expected


@dataclass(frozen=True, eq=False)
class Expected:
    """One channel: as it was, as it was expected, and how far from that is normal. NaN where there is nothing."""

    name: str
    observed: Floats
    expected: Floats
    reach: float  # from what is expected, in the units of the channel, that is no evidence of anything


@dataclass(frozen=True, eq=False)
class Trace:
    """A stretch of rows, thinned so that no peak is left out."""

    rows: Ints  # positions in the log
    times: Ints  # nanoseconds
    ratio: Floats  # score over threshold; NaN where a row could not be judged
    alarm: NDArray[np.bool_]
    channels: tuple[Expected, ...]


def judged(store: Store, entity: int, first: int, last: int) -> tuple[Ints, NDArray[Any]]:
    """Positions and scores (`ROW`) of the rows `first` to `last`, both inclusive, as far as they are judged."""
    begun = select(func.max(scores.c.first)).where(scores.c.entity == entity, scores.c.first <= first)
    wanted = (
        select(scores.c.first, scores.c.rows, scores.c.data)
        .where(
            scores.c.entity == entity,
            scores.c.first >= func.coalesce(begun.scalar_subquery(), 0),
            scores.c.first <= last,
        )
        .order_by(scores.c.first)
    )
    with store.read() as connection:
        found = connection.execute(wanted).all()
    if not found:
        return np.empty(0, np.int64), np.empty(0, ROW)
    places = np.concatenate([row.first + np.arange(row.rows) for row in found])
    rows = np.concatenate([np.frombuffer(row.data, ROW) for row in found])
    inside = (places >= first) & (places <= last)
    return places[inside], rows[inside]


def trace(
    store: Store, loaded: Loaded, entity: int, span: tuple[int, int], names: Sequence[str] | None, points: int
) -> Trace:
    """The rows of a span of positions, both inclusive. `names`: channels to draw; None: those farthest from what was
    expected at its end."""
    first, last = span
    places, rows = judged(store, entity, first, last)
    ratio = np.where(rows["flags"] & READY > 0, rows["score"] / loaded.model.calibration.threshold, np.nan)
    drawn = _channels(store, loaded, entity, places, names)
    kept = _kept([ratio, *(one.observed for one in drawn)], points)
    thin = tuple(Expected(one.name, one.observed[kept], one.expected[kept], one.reach) for one in drawn)
    return Trace(places[kept], rows["time"][kept], ratio[kept], (rows["flags"] & ALARM > 0)[kept], thin)


def _kept(lines: Sequence[Floats], points: int) -> Ints:
    """The rows that are drawn: those where some line is at an extreme."""
    length = len(lines[0])
    if length <= points:
        return np.arange(length)
    each = max(points // len(lines), 8)
    return np.unique(np.concatenate([extremes(line, each) for line in lines]))


def _channels(
    store: Store, loaded: Loaded, entity: int, places: Ints, names: Sequence[str] | None
) -> tuple[Expected, ...]:
    if not len(places):
        return ()
    model, milder = loaded.model, _heeding(store, loaded)
    first, last = int(places[0]), int(places[-1])
    lead = model.settings.window + model.settings.smooth + model.settings.hold_rows
    there, values, times = _rows(store, entity, max(first - lead, 0), last, len(model.channels))
    if not len(there):
        return ()
    timed = bool((times != NEVER).all())
    values = np.where(np.isinf(values), np.nan, values)  # as a stream takes it
    frame = Frame(values, model.channels, times.view("datetime64[ns]") if timed else None)
    begin = int(np.searchsorted(there, first))
    expected = reconstruct(model.engine, model, model.series(frame), begin, len(there) - 1)
    unit = np.sqrt(milder.combiner.unit) / model.scaler.gain  # a usual error, in the units of each channel
    if names is None:
        far = np.nan_to_num(np.abs(values[begin:] - expected)[-RECENT:] / unit).mean(axis=0)
        names = [model.channels[i] for i in np.argsort(-far, kind="stable")[:FARTHEST]]
    reach = milder.reach
    _, at, of = np.intersect1d(places, there[begin:], assume_unique=True, return_indices=True)
    drawn = []
    for name in names:
        c = model.channels.index(name)
        lines = np.full((2, len(places)), np.nan)
        lines[:, at] = values[begin:, c][of], expected[:, c][of]
        drawn.append(Expected(name, lines[0], lines[1], float(reach[c])))
    return tuple(drawn)


def _rows(store: Store, entity: int, first: int, last: int, channels: int) -> tuple[Ints, Floats, Ints]:
    """Positions, values and times of rows in the log; those of a model with other channels are left out."""
    places, values, times = [], [], []
    for chunk in rows_log.chunks(store, entity, first):
        if chunk.first > last:
            break
        if chunk.values.shape[1] == channels:
            places.append(chunk.first + np.arange(len(chunk)))
            values.append(chunk.values)
            times.append(chunk.times)
    if not places:
        return np.empty(0, np.int64), np.empty((0, channels)), np.empty(0, np.int64)
    there = np.concatenate(places)
    inside = there <= last
    return there[inside], np.concatenate(values)[inside], np.concatenate(times)[inside]


def _heeding(store: Store, loaded: Loaded) -> Model:
    """The model with what was said of its events: what was dismissed is normal."""
    with store.read() as connection:
        said = words.heeded(connection, loaded.name)
    return _told(loaded, tuple(verdict for _, verdict in said))


@lru_cache(maxsize=64)
def _told(loaded: Loaded, said: tuple[Verdict, ...]) -> Model:
    return loaded.model.told(said).heeding
