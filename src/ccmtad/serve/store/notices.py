"""Notices, each once, and events as their last notice tells them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, func, select, update

from ...frame import nanoseconds
from ...live.journal import Notice
from ...results import MOST_PEAKS, plain
from ..windows import Window, most_blamed
from .store import Store
from .tables import entities, events, notices

__all__ = ["Told", "after", "last", "mark", "open_of", "save", "silence"]


@dataclass(frozen=True)
class Told:
    """A notice of an entity."""

    entity: int
    at: int  # when it was made
    began: int
    ended: int | None
    silenced: int | None  # the maintenance window that it came under
    body: dict[str, Any]  # as JSON knows it

    @classmethod
    def of(cls, entity: int, name: str, model: str, notice: Notice, at: int, window: dict[str, Any] | None) -> "Told":
        """From a notice, and what silences it."""
        event = notice.event
        body = {
            **plain(event, MOST_PEAKS),
            "id": notice.id,
            "revision": notice.revision,
            "change": notice.change,
            "entity": name,
            "model": model,
            "silenced": window,
        }
        began = at if event.start_time is None else int(event.start_time.astype("datetime64[ns]").astype("int64"))
        ended = None
        if event.end is not None:
            ended = at if event.end_time is None else int(event.end_time.astype("datetime64[ns]").astype("int64"))
        return cls(entity, at, began, ended, None if window is None else window["id"], body)


def save(store: Store, connection: Connection, told: Sequence[Told]) -> int:
    """Writes what is not written yet; how many were."""
    if told:
        store.dialect.in_turn(connection)
    return sum(_save(store, connection, one) for one in told)


def _save(store: Store, connection: Connection, one: Told) -> bool:
    body, text = one.body, orjson.dumps(one.body).decode()
    new = {"event": body["id"], "revision": body["revision"], "entity": one.entity, "at": one.at, "body": text}
    once = store.insert(notices).values(**new).on_conflict_do_nothing(index_elements=["event", "revision"])
    seq = connection.execute(once.returning(notices.c.seq)).scalar()
    if seq is None:
        return False
    state = {
        "revision": body["revision"],
        "open": body["end"] is None,
        "final": body["change"] == "final",
        "ended": one.ended,
        "at": one.at,
        "severity": body["severity"],
        "body": text,
        "silenced": one.silenced,
    }
    first = {"id": body["id"], "entity": one.entity, "kind": body["kind"], "seq": seq, "began": one.began, **state}
    made = store.insert(events).values(**first)
    connection.execute(made.on_conflict_do_update(index_elements=["id"], set_=state))
    return True


def last(connection: Connection) -> int:
    """The number of the newest notice."""
    return connection.execute(select(func.max(notices.c.seq))).scalar() or 0


def after(connection: Connection, seq: int, most: int, entity: str | None = None) -> list[tuple[int, str]]:
    """Notices that follow one, with their numbers, as they were told."""
    wanted = select(notices.c.seq, notices.c.body).where(notices.c.seq > seq).order_by(notices.c.seq).limit(most)
    if entity is not None:
        wanted = wanted.where(notices.c.entity == _number(entity))
    return [(row.seq, row.body) for row in connection.execute(wanted)]


def open_of(connection: Connection, wanted: Iterable[int]) -> list[dict[str, Any]]:
    """The events of entities that may still change."""
    found = select(events.c.body).where(events.c.entity.in_(list(wanted)), events.c.final.is_(False))
    return [orjson.loads(body) for body in connection.execute(found).scalars()]


def silence(connection: Connection, window: Window) -> int:
    """Events that go on and fall under a new window say so; how many there are."""
    found = connection.execute(
        select(events.c.id, events.c.body, events.c.at).where(events.c.final.is_(False), events.c.silenced.is_(None))
    ).all()
    silenced = 0
    for row in found:
        body = orjson.loads(row.body)
        time = row.at if body["alarm_time"] is None else nanoseconds(body["alarm_time"])
        blamed = most_blamed(body["channels"], body["blame"])
        if time is not None and window.silences(body["entity"], blamed, time):
            text = orjson.dumps({**body, "silenced": window.short}).decode()
            mark(connection, row.id, silenced=window.id, body=text)
            silenced += 1
    return silenced


def mark(connection: Connection, event: str, **columns: Any) -> None:
    """Puts down what was said of an event."""
    connection.execute(update(events).where(events.c.id == event).values(**columns))


def _number(entity: str) -> Any:
    return select(entities.c.id).where(entities.c.name == entity).scalar_subquery()
