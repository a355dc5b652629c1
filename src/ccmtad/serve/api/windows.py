"""Maintenance windows."""

import time
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Request
from sqlalchemy import insert, select, update

from ..bodies import time_of
from ..names import check_entity, check_text
from ..refusal import Refusal
from ..store import notices
from ..store.tables import windows
from ..windows import Window
from .access import Reader, Writer, service_of
from .schemas import NewWindow, WindowShown

__all__ = ["router"]

router = APIRouter(tags=["maintenance"])
MOST = 10_000  # that are kept at a time
Number = Annotated[int, Path(ge=1, le=2**62)]


@router.get("/windows", summary="Maintenance windows")
def list_windows(request: Request, _: Reader) -> dict[str, list[WindowShown]]:
    """All of them, in the order they were made."""
    with service_of(request).store.read() as connection:
        rows = connection.execute(select(windows).order_by(windows.c.id)).all()
    return {"windows": [_shown(row) for row in rows]}


@router.post("/windows", status_code=201, summary="Begin or plan a maintenance window")
def make_window(request: Request, new: NewWindow, key: Writer) -> WindowShown:
    """Events whose alarm falls into it, those that go on included, say what silenced them, and are not sent on, unless
    they outlast it.

    With channels, only events all of whose blamed channels (those with a tenth of the blame) are among them.
    """
    service, now = service_of(request), time.time_ns()
    start = now if new.start is None else time_of(new.start, "start")
    end = None if new.end is None else time_of(new.end, "end")
    if end is not None and end < start:
        raise Refusal(422, "bad-window", "end must not be before start")
    for channel in new.channels or ():
        check_text(channel, "channels")
    made: dict[str, Any] = {
        "entity": None if new.entity is None else check_entity(new.entity),
        "channels": None if new.channels is None else orjson.dumps(new.channels).decode(),
        "start": start,
        "end": end,
        "comment": check_text(new.comment, "comment"),
        "made_by": key.name,
        "made": now,
    }
    with service.store.write() as connection:
        if len(connection.execute(select(windows.c.id)).all()) >= MOST:
            raise Refusal(409, "too-many", f"there are {MOST:,} windows already: end some")
        row = connection.execute(insert(windows).values(**made).returning(windows)).one()
        notices.silence(service.store, connection, Window.of(row))
    service.engine.wake()
    return _shown(row)


@router.delete("/windows/{number}", summary="End a maintenance window")
def end_window(request: Request, number: Number, _: Writer) -> WindowShown:
    """Now; one that has not begun never will."""
    service, now = service_of(request), time.time_ns()
    with service.store.write() as connection:
        row = connection.execute(select(windows).where(windows.c.id == number)).first()
        if row is None:
            raise Refusal(404, "no-window", "there is no such window")
        if row.end is None or row.end > now:
            connection.execute(update(windows).where(windows.c.id == number).values(end=max(now, row.start)))
        row = connection.execute(select(windows).where(windows.c.id == number)).one()
    service.engine.wake()
    return _shown(row)


def _shown(row: Any) -> WindowShown:
    return WindowShown(**Window.of(row).plain)
