"""Events, and what people say of them."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from ...results import said_of
from ...wording import now
from ..keys import Key
from ..names import check_entity, check_text
from ..refusal import Refusal
from ..service import Service
from ..store import notices, outbox, queries, words
from .access import Reader, Writer, service_of
from .entities import When, span
from .schemas import EventPage, Said

__all__ = ["router"]

router = APIRouter(tags=["events"])
WORDS = {"dismiss": "dismissed", "confirm": "confirmed", "undo": "undone"}


@router.get("/events", response_model=EventPage, summary="Events, newest first")
def list_events(
    request: Request,
    _: Reader,
    entity: str | None = None,
    kind: Annotated[str | None, Query(max_length=40)] = None,
    open: bool | None = None,
    silenced: bool | None = None,
    start: When = None,
    end: When = None,
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> dict[str, Any]:
    """Those that overlap the range from `start` to `end`; `next` is given to `before` for the next page."""
    first, last = span(start, end)
    with service_of(request).store.read() as connection:
        found, following = queries.event_page(
            connection, entity=None if entity is None else check_entity(entity), kind=_plain(kind), opened=open,
            silenced=silenced, start=first if start else None, end=last if end else None, before=before, most=limit,
        )  # fmt: skip
    return {"events": found, "next": None if following is None else str(following)}


@router.get("/events/{event}", summary="One event")
def show_event(request: Request, event: str, _: Reader) -> dict[str, Any]:
    """With all that was said of it."""
    return _event(service_of(request), event)


@router.post("/events/{event}/acknowledge", summary="Take an event up")
def acknowledge(request: Request, event: str, said: Said, key: Writer) -> dict[str, Any]:
    """Somebody looks after it; nothing else changes."""
    return _say(service_of(request), event, "acknowledged", said.text, key, acknowledged=key.name)


@router.post("/events/{event}/comment", summary="Comment on an event")
def comment(request: Request, event: str, said: Said, key: Writer) -> dict[str, Any]:
    """A text beside it."""
    if not said.text.strip():
        raise Refusal(422, "bad-text", "text must say something")
    return _say(service_of(request), event, "comment", said.text, key)


@router.post("/events/{event}/dismiss", summary="This was normal")
def dismiss(request: Request, event: str, said: Said, key: Writer) -> dict[str, Any]:
    """From the next row on, the channels beyond normal in it are judged so mildly that it would have been normal."""
    return _heed(service_of(request), event, "dismiss", said.text, key)


@router.post("/events/{event}/confirm", summary="This was real")
def confirm(request: Request, event: str, said: Said, key: Writer) -> dict[str, Any]:
    """Its rows are kept out of every later fit and recalibration."""
    return _heed(service_of(request), event, "confirm", said.text, key)


@router.post("/events/{event}/undo", summary="Take back what was said")
def undo(request: Request, event: str, said: Said, key: Writer) -> dict[str, Any]:
    """As if it had been neither dismissed nor confirmed."""
    return _heed(service_of(request), event, "undo", said.text, key)


def _heed(service: Service, event: str, asked: str, text: str, key: Key) -> dict[str, Any]:
    word, told = WORDS[asked], _event(service, event)
    if word == "undone" and told["word"] not in ("dismissed", "confirmed"):
        raise Refusal(409, "nothing-said", "there is nothing to take back")
    verdict = said_of(told, word, now())  # type: ignore[arg-type]
    done = _say(service, event, word, text, key, verdict=verdict, model=told["model"])
    service.engine.wake()
    service.keep_in_file(told["model"], verdict)
    return done


def _say(
    service: Service, event: str, word: str, text: str, key: Key, *, verdict: Any = None, model: str = "", **more: Any
) -> dict[str, Any]:
    text, event = check_text(text, "text"), _plain(event) or ""
    at = now() if verdict is None else verdict.at
    with service.store.write() as connection:
        if not notices.there(connection, event):
            raise _unknown()
        words.say(service.store, connection, event, model, word, text, key.name, at, verdict)
        marked = more if verdict is None else {**more, "word": word}
        if marked:
            notices.mark(connection, event, **marked)
            outbox.settle(service.store, connection, event, time.time_ns(), news=False)
        found = queries.event(connection, event)
    assert found is not None
    return found


def _event(service: Service, event: str) -> dict[str, Any]:
    with service.store.read() as connection:
        found = queries.event(connection, _plain(event) or "")
    if found is None:
        raise _unknown()
    return found


def _unknown() -> Refusal:
    return Refusal(404, "no-event", "there is no such event")


def _plain(text: str | None) -> str | None:
    """PostgreSQL knows no NUL."""
    return None if text is None else text.replace("\x00", "�")
