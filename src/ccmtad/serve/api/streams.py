"""Server-sent events: notices as they are told, and the scores of an entity as they are made."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

import orjson
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from ..feed import LaggingError
from ..names import check_entity
from ..refusal import Refusal
from ..service import Service
from ..store import queries
from .access import Reader, service_of
from .entities import number_of

__all__ = ["router"]

router = APIRouter(tags=["streams"])
BEAT = 15.0  # seconds without anything to say, after which a comment keeps the line open
LOOK = 0.25  # seconds between two looks for new scores
CHUNKS = 200
LAST = Annotated[str | None, Header(alias="last-event-id", max_length=40)]


@router.get("/stream", summary="Notices as they are told", response_class=StreamingResponse)
async def stream_notices(
    request: Request,
    _: Reader,
    entity: str | None = None,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    last_event_id: LAST = None,
) -> StreamingResponse:
    """Each is `event: notice`, its data the notice as JSON, its id what `Last-Event-ID` (or `after`) goes on from.

    Without one, notices from now on. `event: lagging` says that the listener was too slow, and ends.
    """
    service = service_of(request)
    name = None if entity is None else check_entity(entity)
    seq = after if last_event_id is None else _number(last_event_id)
    return _answer(service, _notices(service, seq, name))


@router.get("/entities/{entity}/stream", summary="Scores as they are made", response_class=StreamingResponse)
async def stream_scores(
    request: Request,
    entity: str,
    _: Reader,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    last_event_id: LAST = None,
) -> StreamingResponse:
    """Each is `event: scores`, its data columns as `GET …/scores` has them, its id the row that follows them."""
    service = service_of(request)
    number, rows = await run_in_threadpool(_where, service, check_entity(entity))
    position = after if last_event_id is None else _number(last_event_id)
    return _answer(service, _scores(service, number, rows if position is None else position))


def _where(service: Service, entity: str) -> tuple[int, int]:
    with service.store.read() as connection:
        number = number_of(connection, entity)
        found = queries.entity(connection, entity)
    return number, 0 if found is None else found["judged"]


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise Refusal(422, "bad-id", "Last-Event-ID must be the id of an event of this stream")
    return int(text)


def _answer(service: Service, parts: AsyncIterator[bytes]) -> StreamingResponse:
    if service.open_streams >= service.settings.most_streams:
        raise Refusal(503, "too-many-streams", "too many event streams are open", retry=10.0)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_counted(service, parts), media_type="text/event-stream", headers=headers)


async def _counted(service: Service, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    service.open_streams += 1
    service.metrics.streams.inc()
    try:
        yield b": ccmtad\n\n"
        async for part in parts:
            yield part
    finally:
        service.open_streams -= 1
        service.metrics.streams.dec()


async def _notices(service: Service, seq: int | None, entity: str | None) -> AsyncIterator[bytes]:
    found = service.feed.after(seq)
    following = asyncio.ensure_future(anext(found))
    try:
        while True:
            done, _ = await asyncio.wait([following], timeout=BEAT)
            if not done:
                yield b": still here\n\n"
                continue
            try:
                number, body = following.result()
            except StopAsyncIteration:
                return
            except LaggingError:
                yield b"event: lagging\ndata: {}\n\n"
                return
            if entity is None or orjson.loads(body)["entity"] == entity:
                yield b"id: %d\nevent: notice\ndata: %s\n\n" % (number, body.encode())
            following = asyncio.ensure_future(anext(found))
    finally:
        following.cancel()
        with contextlib.suppress(BaseException):
            await following
        await found.aclose()  # type: ignore[attr-defined]


async def _scores(service: Service, number: int, position: int) -> AsyncIterator[bytes]:
    quiet = 0.0
    while not service.stopping:
        columns, after = await run_in_threadpool(_read, service, number, position)
        if after > position:
            position, quiet = after, 0.0
            yield b"id: %d\nevent: scores\ndata: %s\n\n" % (position, orjson.dumps(columns))
        elif quiet >= BEAT:
            quiet = 0.0
            yield b": still here\n\n"
        await asyncio.sleep(LOOK)
        quiet += LOOK


def _read(service: Service, number: int, position: int) -> tuple[dict[str, object], int]:
    with service.store.read() as connection:
        return queries.scores_after(connection, number, position, CHUNKS)
