"""What has come of rows, until it is written: with the next rows, in one transaction."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Connection, bindparam, update

from ..live.silence import SILENT
from ..results import Change, Event, Health
from ..wording import iso
from .entity import Entity, Status
from .group import Judged
from .rows import ALARM, READY
from .store import log, notices
from .store.log import Snapshot
from .store.notices import Learnt, Told
from .store.store import Store
from .store.tables import entities
from .windows import Window, silencing

__all__ = ["Outcome"]


@dataclass
class Outcome:
    """Scores, notices, how far streams have come, and snapshots: all of them in one transaction, or none."""

    windows: tuple[Window, ...] = ()  # that events may fall under
    told: list[Told] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    heads: dict[int, dict[str, Any]] = field(default_factory=dict)
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    learnt: list[Learnt] = field(default_factory=list)  # in the transaction that is under way

    def __bool__(self) -> bool:
        return bool(self.heads or self.told or self.snapshots)

    def write(self, store: Store, connection: Connection) -> None:
        """Everything, in a transaction that has begun."""
        log.save_scores(connection, self.scores)
        self.learnt = notices.save(store, connection, self.told)
        if self.heads:
            columns: dict[str, Any] = {name: bindparam(name) for name in ("stepped", "status")}
            heads = [{"one": one, **head} for one, head in self.heads.items()]
            connection.execute(update(entities).where(entities.c.id == bindparam("one")).values(columns), heads)
        log.save_snapshots(store, connection, self.snapshots.values())

    def written(self) -> list[Learnt]:
        """It is on the disk; which words learnt the end of their events."""
        for kept in (self.told, self.scores, self.heads, self.snapshots):
            kept.clear()
        learnt, self.learnt = self.learnt, []
        return learnt

    def forget(self, entity: int) -> None:
        """What has come of an entity: it will be made again."""
        self.told = [one for one in self.told if one.entity != entity]
        self.scores = [one for one in self.scores if one["entity"] != entity]
        self.heads.pop(entity, None)
        self.snapshots.pop(entity, None)

    def judged(self, entity: Entity, judged: Judged, threshold: float, health: Health) -> None:
        """A chunk of an entity has been judged."""
        chunk, rows = judged.chunk, judged.rows
        self.changes(entity, judged)
        times = rows["time"]
        self.scores.append(
            {
                "entity": entity.id,
                "first": chunk.first,
                "rows": len(chunk),
                "least": int(times.min()),
                "most": int(times.max()),
                "at": chunk.at,
                "data": rows.tobytes(),
            }
        )
        entity.stepped = chunk.first + len(chunk)
        last = rows[-1]
        flags = int(last["flags"])
        entity.status = Status(
            entity.stepped, int(last["time"]), float(last["score"]), threshold, bool(flags & ALARM),
            bool(flags & READY), health.state, health.advice,
        )  # fmt: skip
        self.stands(entity)

    def stands(self, entity: Entity) -> None:
        """How far an entity has come, and how it stands."""
        self.heads[entity.id] = {"stepped": entity.stepped, "status": orjson.dumps(entity.status).decode()}

    def changes(self, entity: Entity, judged: Judged, *, again: bool = False) -> None:
        """Tells of what a chunk did to events; `again`: it has been told, and only the journal follows."""
        first = int(judged.rows["time"][0])
        ended = entity.silence.heard(first)
        if ended is not None:
            self.tell(entity, ended, judged.chunk.at, first, SILENT, again=again)
        for place, change in judged.changes:
            moved = replace(change, event=_moved(change.event, entity.offset))
            self.tell(entity, moved, judged.chunk.at, int(judged.rows["time"][place]), again=again)

    def tell(
        self, entity: Entity, change: Change, at: int, newest: int, of: str = "", *, again: bool = False
    ) -> None:  # fmt: skip
        """One change of one event, by a row of the time `newest` that came then."""
        notice = entity.journal.take(change, of)
        if notice is None or again:
            return
        window = silencing(self.windows, entity.name, change.event, at, newest)
        short = None if window is None else window.short
        self.told.append(Told.of(entity.id, entity.name, entity.model, notice, at, short))

    def close(self, entity: Entity, bodies: Iterable[dict[str, Any]], at: int) -> None:
        """Events of a stream that will not go on: they end where it ended."""
        for body in bodies:
            last: dict[str, Any] = {"revision": body["revision"] + 1, "change": "final"}
            ended = at
            if body["end"] is None:
                last["end"] = max(entity.stepped - 1, body["start"])
                if body["start_time"] is not None and entity.newest is not None:
                    ended = entity.newest
                    last["end_time"] = iso(np.datetime64(ended, "ns"))
            window = body["silenced"]
            self.told.append(Told(entity.id, at, at, ended, None if window is None else window["id"], {**body, **last}))


def _moved(event: Event, rows: int) -> Event:
    """An event whose rows are counted from the first of the entity, not of the stream."""
    if not rows:
        return event
    end = None if event.end is None else event.end + rows
    return replace(event, start=event.start + rows, alarm=event.alarm + rows, end=end)
