"""Notices, each once, and events as their last notice tells them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Row, Select, func, or_, select, update

from ...frame import nanoseconds
from ...live.journal import Notice
from ...results import MOST_BLAMED, Verdict, plain
from ...score.channels import KINDS
from ..windows import Window, most_blamed
from . import outbox, words
from .store import Store
from .tables import entities, events, notices, windows

__all__ = ["Learnt", "Told", "after", "last", "mark", "open_of", "outlasting", "release", "save", "silence", "there"]


LOST = KINDS[0]

Learnt = tuple[str, Verdict]  # a model, and a word that its streams are to heed


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
            **plain(event, MOST_BLAMED),
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


def save(store: Store, connection: Connection, told: Sequence[Told]) -> list[Learnt]:
    """Writes what is not written yet. Words that were said of events before those were over learn how they ended."""
    if told:
        store.dialect.in_turn(connection)
    over = [one.body for one in told if _save(store, connection, one) and one.body["change"] == "final"]
    found = ((body["model"], words.learn(store, connection, body)) for body in over)
    return [(model, word) for model, word in found if word is not None]


def _save(store: Store, connection: Connection, one: Told) -> bool:
    body, text = one.body, orjson.dumps(one.body).decode()
    new = {"event": body["id"], "revision": body["revision"], "entity": one.entity, "at": one.at, "body": text}
    once = store.insert(notices).values(**new).on_conflict_do_nothing(index_elements=["event", "revision"])
    seq = connection.execute(once.returning(notices.c.seq)).scalar()
    if seq is None:
        return False
    if one.silenced is None and body["end"] is not None:
        _outlasted(store, connection, one)
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
    outbox.settle(store, connection, body["id"], one.at, news=True)
    return True


def _outlasted(store: Store, connection: Connection, one: Told) -> None:
    """It ends, and was silenced by a window that it has outlasted before anybody looked: it is told of before that."""
    under = select(events.c.body).where(
        events.c.id == one.body["id"], events.c.open.is_(True), events.c.silenced.is_not(None)
    )
    text = connection.execute(under).scalar()
    if text is not None:
        _silenced_by(store, connection, one.body["id"], orjson.loads(text), None, one.at)


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


def silence(store: Store, connection: Connection, window: Window) -> int:
    """Events that go on and fall under a new window say so, and are resolved to others; how many there are."""
    store.dialect.in_turn(connection)
    wanted = _with_entity().where(events.c.final.is_(False), events.c.silenced.is_(None))
    found = [(row.id, body) for row, body in _read(connection, wanted) if _under(window, row, body, window.made)]
    for event, body in found:
        _silenced_by(store, connection, event, body, window, window.made)
    return len(found)


def outlasting(connection: Connection, now: int) -> bool:
    """Whether `release` has something to do."""
    return next(_outlasting(connection, now), None) is not None


def release(store: Store, connection: Connection, now: int) -> int:
    """Events that go on though the window that silenced them is over fall under another, or are told of; how many."""
    store.dialect.in_turn(connection)
    found = list(_outlasting(connection, now))
    every = [Window.of(row) for row in connection.execute(select(windows))] if found else []
    for row, body in found:
        other = next((one for one in every if _under(one, row, body, now)), None)
        _silenced_by(store, connection, row.id, body, other, now)
    return len(found)


def _outlasting(connection: Connection, now: int) -> Iterator[tuple[Row[Any], dict[str, Any]]]:
    # The largest time in the log may be of a row that is not judged yet; it keeps the others from being read.
    gone_on = or_(entities.c.newest.is_(None), entities.c.newest > windows.c.end, events.c.kind == LOST)
    wanted = (
        _with_entity()
        .add_columns(windows.c.end)
        .join(windows, windows.c.id == events.c.silenced)
        .where(events.c.open.is_(True), windows.c.end <= now, gone_on)
    )
    return ((row, body) for row, body in _read(connection, wanted) if _until(row, body, now) > row.end)


def _with_entity() -> Select[Any]:
    joined = select(events.c.id, events.c.body, events.c.at, entities.c.status)
    return joined.join(entities, entities.c.id == events.c.entity)


def _read(connection: Connection, wanted: Select[Any]) -> list[tuple[Row[Any], dict[str, Any]]]:
    return [(row, orjson.loads(row.body)) for row in connection.execute(wanted)]


def _under(window: Window, row: Row[Any], body: dict[str, Any], now: int) -> bool:
    alarm = row.at if body["alarm_time"] is None else nanoseconds(body["alarm_time"])
    blamed = most_blamed(body["channels"], body["blame"])
    return alarm is not None and window.silences(body["entity"], blamed, alarm, _until(row, body, now))


def _until(row: Row[Any], body: dict[str, Any], now: int) -> int:
    """The time up to which an event is known to go on: its end, or the newest row of its entity, or now where it is
    that no rows come, or rows have no times."""
    end = None if body["end_time"] is None else nanoseconds(body["end_time"])
    newest = None if body["alarm_time"] is None or row.status is None else orjson.loads(row.status)["time"]
    return end or newest or now


def _silenced_by(
    store: Store, connection: Connection, event: str, body: dict[str, Any], window: Window | None, at: int
) -> None:
    text = orjson.dumps({**body, "silenced": None if window is None else window.short}).decode()
    mark(connection, event, silenced=None if window is None else window.id, body=text)
    outbox.settle(store, connection, event, at, news=False)


def there(connection: Connection, event: str) -> bool:
    """Whether there is such an event; it stays until the transaction has ended."""
    found = select(events.c.id).where(events.c.id == event).with_for_update()
    return connection.execute(found).first() is not None


def mark(connection: Connection, event: str, **columns: Any) -> None:
    """Puts down what was said of an event."""
    connection.execute(update(events).where(events.c.id == event).values(**columns))


def _number(entity: str) -> Any:
    return select(entities.c.id).where(entities.c.name == entity).scalar_subquery()
