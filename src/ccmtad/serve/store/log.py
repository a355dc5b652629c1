"""The log of rows, entities and snapshots: what a stream is made again from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from ..rows import NEVER, Chunk, packed, unpacked
from .store import Store
from .tables import entities, log, scores, snapshots

__all__ = [
    "Snapshot",
    "append",
    "chunks",
    "forget",
    "known",
    "make",
    "number",
    "save_scores",
    "save_snapshots",
    "snapshot",
    "times_within",
]

AT_ONCE = 256  # chunks read at a time
LAST = 2**63 - 1  # of all times


@dataclass(frozen=True)
class Snapshot:
    """The state of a stream after so many rows."""

    entity: int
    position: int
    fingerprint: str
    state: bytes
    journal: str  # JSON


def known(connection: Connection, names: Sequence[str]) -> dict[str, Row[Any]]:
    """The entities of these names."""
    found = connection.execute(select(entities).where(entities.c.name.in_(names)))
    return {row.name: row for row in found}


def number(connection: Connection) -> int:
    """How many entities there are."""
    return connection.execute(select(func.count()).select_from(entities)).scalar() or 0


def make(store: Store, connection: Connection, name: str, model: str, at: int) -> None:
    """A new entity; one that is there stays as it is."""
    new = {"name": name, "model": model, "made": at, "logged": 0, "stepped": 0}
    connection.execute(store.insert(entities).values(**new).on_conflict_do_nothing(index_elements=["name"]))


def append(connection: Connection, written: Sequence[Chunk], heads: Sequence[dict[str, Any]]) -> None:
    """Chunks at the end of their logs, and how far those have come (`one` names the entity)."""
    if written:
        connection.execute(insert(log), [packed(chunk) for chunk in written])
    if heads:
        columns: dict[str, Any] = {name: bindparam(name) for name in heads[0] if name != "one"}
        connection.execute(update(entities).where(entities.c.id == bindparam("one")).values(columns), list(heads))


def chunks(store: Store, entity: int, first: int) -> Iterator[Chunk]:
    """The log of an entity from a position on; the chunk that the position lies in is cut."""
    begun = select(func.max(log.c.first)).where(log.c.entity == entity, log.c.first <= bindparam("position"))
    some = (
        select(log)
        .where(log.c.entity == entity, log.c.first >= func.coalesce(begun.scalar_subquery(), 0))
        .order_by(log.c.first)
        .limit(AT_ONCE)
    )
    while True:
        with store.read() as connection:
            rows = connection.execute(some, {"position": first}).all()
        for row in rows:
            chunk = unpacked(row)
            if chunk.first + len(chunk) <= first:
                continue
            skip = max(first - chunk.first, 0)
            yield Chunk(entity, chunk.first + skip, chunk.values[skip:], chunk.times[skip:], chunk.words, chunk.at)
            first = chunk.first + len(chunk)
        if len(rows) < AT_ONCE:
            return


def times_within(store: Store, entity: int, least: int, most: int) -> tuple[NDArray[np.int64], int]:
    """The times in the log of an entity from one to another, both inclusive; and the oldest that is kept of a log whose
    beginning has gone (NEVER where nothing has, LAST where all has)."""
    with store.read() as connection:
        rows = connection.execute(
            select(log.c.times).where(log.c.entity == entity, log.c.most >= least, log.c.least <= most)
        ).all()
        first, oldest = connection.execute(
            select(func.min(log.c.first), func.min(log.c.least)).where(log.c.entity == entity)
        ).one()
    kept = NEVER if first == 0 else LAST if oldest is None else int(oldest)
    if not rows:
        return np.empty(0, dtype=np.int64), kept
    times = np.concatenate([np.frombuffer(row.times, "<i8") for row in rows])
    return times[(times >= least) & (times <= most)], kept


def save_scores(connection: Connection, written: Sequence[dict[str, Any]]) -> None:
    """What came of rows."""
    if written:
        connection.execute(insert(scores), list(written))


def save_snapshots(store: Store, connection: Connection, taken: Iterable[Snapshot]) -> None:
    """Each in the place of the one before."""
    rows = [vars(one) for one in taken]
    if rows:
        new = store.insert(snapshots)
        replaced = {name: new.excluded[name] for name in ("position", "fingerprint", "state", "journal")}
        connection.execute(new.on_conflict_do_update(index_elements=["entity"], set_=replaced), rows)


def snapshot(connection: Connection, entity: int) -> Snapshot | None:
    """The last one of an entity."""
    row = connection.execute(select(snapshots).where(snapshots.c.entity == entity)).first()
    return None if row is None else Snapshot(entity, row.position, row.fingerprint, bytes(row.state), row.journal)


def forget(connection: Connection, before: int) -> int:
    """Rows that came before a time and that no stream would be made again from; how many chunks went."""
    needed = select(snapshots.c.position).where(snapshots.c.entity == log.c.entity).scalar_subquery()
    old = delete(log).where(log.c.at < before, log.c.first + log.c.rows <= needed)
    return connection.execute(old).rowcount
