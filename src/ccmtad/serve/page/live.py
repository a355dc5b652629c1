"""The one stream of an open page: server-sent events that say that something has changed."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from ..api.access import Reader, service_of
from ..refusal import Refusal
from ..service import Service
from .pulse import Pulse

__all__ = ["router"]

router = APIRouter()


@router.get("/live")
async def live(request: Request, _: Reader) -> StreamingResponse:
    """Each is `event: beat`, its data how far everything has come."""
    service = service_of(request)
    if service.open_streams >= service.settings.most_streams:
        raise Refusal(503, "too-many-streams", "too many event streams are open", retry=10.0)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_lines(service, request.app.state.pulse), media_type="text/event-stream", headers=headers)


async def _lines(service: Service, pulse: Pulse) -> AsyncIterator[bytes]:
    service.open_streams += 1
    service.metrics.streams.inc()
    try:
        yield b"retry: 1000\n\n"
        async for beat in pulse.beats():
            yield b": still here\n\n" if beat is None else beat.line
    finally:
        service.open_streams -= 1
        service.metrics.streams.dec()
