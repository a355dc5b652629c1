"""What can be asked: entities, events, scores and rows, in ranges and pages."""

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, func, or_, select

from ...wording import iso
from ..rows import ALARM, NEVER, READY, ROW, unpacked
from . import words
from .tables import entities, events, log, processes, scores

__all__ = ["entity", "entity_list", "event", "event_page", "row_range", "score_range", "scores_after", "stamps"]


def entity_list(connection: Connection, after: str, most: int) -> list[dict[str, Any]]:
    """Entities in order of their names, and how each stands."""
    wanted = _entities().where(entities.c.name > after).order_by(entities.c.name).limit(most)
    return [_entity(row) for row in connection.execute(wanted)]


def entity(connection: Connection, name: str) -> dict[str, Any] | None:
    """One of them."""
    row = connection.execute(_entities().where(entities.c.name == name)).first()
    return None if row is None else _entity(row)


def _entities() -> Select[Any]:
    going = select(func.count()).where(events.c.entity == entities.c.id, events.c.open.is_(True)).scalar_subquery()
    return select(entities, processes.c.address, going.label("going")).join(
        processes, processes.c.id == entities.c.owner, isouter=True
    )


def _entity(row: Any) -> dict[str, Any]:
    status = {} if row.status is None else orjson.loads(row.status)
    return {
        "entity": row.name,
        "model": row.model,
        "rows": row.logged,
        "judged": row.stepped,
        "newest": _time(row.newest),
        "heard": _time(row.heard),
        "open_events": row.going,
        "owner": row.address,
        "score": status.get("score"),
        "threshold": status.get("threshold"),
        "alarm": status.get("alarm", False),
        "ready": status.get("ready", False),
        "health": status.get("health", "unknown"),
        "advice": status.get("advice", ""),
    }


def event_page(
    connection: Connection, *, entity: str | None = None, kind: str | None = None, opened: bool | None = None,
    silenced: bool | None = None, start: int | None = None, end: int | None = None, before: int | None = None,
    most: int = 100,
) -> tuple[list[dict[str, Any]], int | None]:  # fmt: skip
    """Events that overlap a range, newest first, and where the next page begins."""
    wanted = _events().order_by(events.c.seq.desc()).limit(most + 1)
    rules: tuple[tuple[Any, Callable[[], Any]], ...] = (
        (entity, lambda: entities.c.name == entity),
        (kind, lambda: events.c.kind == kind),
        (opened, lambda: events.c.open.is_(opened)),
        (silenced, lambda: events.c.silenced.is_not(None) if silenced else events.c.silenced.is_(None)),
        (end, lambda: events.c.began <= end),
        (start, lambda: or_(events.c.ended.is_(None), events.c.ended >= start)),
        (before, lambda: events.c.seq < before),
    )
    for asked, rule in rules:
        if asked is not None:
            wanted = wanted.where(rule())
    rows = connection.execute(wanted).all()
    page = rows[:most]
    said = words.of_event(connection, [row.id for row in page])
    return [_event(row, said.get(row.id, [])) for row in page], page[-1].seq if len(rows) > most else None


def event(connection: Connection, number: str) -> dict[str, Any] | None:
    """One event, with all that was said of it."""
    row = connection.execute(_events().where(events.c.id == number)).first()
    return None if row is None else _event(row, words.of_event(connection, [number]).get(number, []))


def _events() -> Select[Any]:
    return select(events, entities.c.name).join(entities, entities.c.id == events.c.entity)


def _event(row: Any, said: list[dict[str, Any]]) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(row.body)
    told = {"open": row.open, "word": row.word, "acknowledged": row.acknowledged, "said": said}
    return {**body, "began": _time(row.began), "ended": _time(row.ended), **told}


def score_range(
    connection: Connection, number: int, start: int, end: int, most: int, after: int = -1
) -> tuple[dict[str, Any], int | None]:
    """Scores of an entity in a range of time, at most so many chunks, and where the next begin."""
    wanted = (
        select(scores)
        .where(scores.c.entity == number, scores.c.most >= start, scores.c.least <= end, scores.c.first > after)
        .order_by(scores.c.first)
        .limit(most + 1)
    )
    rows = connection.execute(wanted).all()
    return _scores(rows[:most], start, end), rows[most - 1].first if len(rows) > most else None


def scores_after(connection: Connection, number: int, position: int, most: int) -> tuple[dict[str, Any], int]:
    """Scores of an entity from a position on, and the position after them."""
    wanted = select(scores).where(scores.c.entity == number, scores.c.first >= position).order_by(scores.c.first)
    rows = connection.execute(wanted.limit(most)).all()
    return _scores(rows), rows[-1].first + rows[-1].rows if rows else position


def _scores(rows: Any, start: int | None = None, end: int | None = None) -> dict[str, Any]:
    found = np.concatenate([np.frombuffer(row.data, ROW) for row in rows]) if rows else np.empty(0, ROW)
    places = np.concatenate([row.first + np.arange(row.rows) for row in rows]) if rows else np.empty(0, np.int64)
    if start is not None and end is not None:
        inside = (found["time"] >= start) & (found["time"] <= end)
        found, places = found[inside], places[inside]
    ready = found["flags"] & READY > 0
    return {
        "row": places.tolist(),
        "time": stamps(found["time"]),
        "score": _rounded(found["score"]),
        "loss": [value if there else None for value, there in zip(_rounded(found["loss"]), ready, strict=True)],
        "pvalue": _rounded(found["pvalue"]),
        "alarm": (found["flags"] & ALARM > 0).tolist(),
        "ready": ready.tolist(),
    }


def row_range(
    connection: Connection, number: int, start: int, end: int, channels: int, most: int, after: int = -1
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int | None]:
    """Rows as they came: positions, times (of arrival where they have none), values; and where the next begin. Those of
    a model with another number of channels are left out."""
    within = or_(
        (log.c.most >= start) & (log.c.least <= end), log.c.most.is_(None) & (log.c.at >= start) & (log.c.at <= end)
    )
    wanted = select(log).where(log.c.entity == number, within, log.c.first > after).order_by(log.c.first)
    rows = connection.execute(wanted.limit(most + 1)).all()
    following = rows[most - 1].first if len(rows) > most else None
    found = [one for one in map(unpacked, rows[:most]) if one.values.shape[1] == channels]
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, channels)), following
    places = np.concatenate([one.first + np.arange(len(one)) for one in found])
    times = np.concatenate([np.where(one.times == NEVER, one.at, one.times) for one in found])
    values = np.concatenate([one.values for one in found])
    inside = (times >= start) & (times <= end)
    return places[inside], times[inside], values[inside], following


def _rounded(values: NDArray[Any]) -> list[float | None]:
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist()]


def stamps(times: NDArray[np.int64]) -> list[str | None]:
    """Nanoseconds as ISO 8601."""
    return [iso(time) for time in times.astype("datetime64[ns]")]


def _time(time: int | None) -> str | None:
    return None if time is None else iso(np.datetime64(time, "ns"))
