"""Who asks: a key in the header, or whoever else vouches for a request (the page's login does)."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from ..keys import ANYBODY, Key
from ..refusal import Refusal
from ..service import Service

__all__ = ["Admin", "Reader", "Vouch", "Writer", "body_of", "identified", "identify", "service_of"]

Vouch = Callable[[Request], Key | None]  # another way than a key in the header; see `app.state.vouch`
bearer = HTTPBearer(auto_error=False, description="An API key: `ccmtad serve keys add`.")


def service_of(request: Request) -> Service:
    """The service that this app is the face of."""
    service: Service = request.app.state.service
    return service


def identify(request: Request, scope: str) -> Key:
    """Who asks; a `Refusal` where nobody may, or this one may not."""
    service = service_of(request)
    key = ANYBODY if not service.settings.keys else _key(request, service)
    if key is None:
        raise Refusal(401, "no-key", "a key is needed: Authorization: Bearer ccm_…")
    if not key.may(scope):
        raise Refusal(403, "wrong-scope", f"this key has no scope {scope!r}")
    service.limits.take(key.id)
    return key


def _key(request: Request, service: Service) -> Key | None:
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if kind.lower() in ("bearer", "token"):  # the second is Influx' word for it
        return service.keys.known(text.strip())
    vouchers: list[Vouch] = request.app.state.vouch
    return next((key for vouch in vouchers if (key := vouch(request)) is not None), None)


def needs(scope: str) -> Any:
    """A dependency: a key of this scope."""

    async def check(request: Request, _: Annotated[Any, Depends(bearer)]) -> Key:
        return await identified(request, scope)

    return Depends(check)


async def identified(request: Request, scope: str) -> Key:
    """Who asks, by the keys as they are now."""
    service = service_of(request)
    if service.settings.keys and service.keys.stale:
        await run_in_threadpool(service.keys.refresh)  # the others need not wait for the store
    return identify(request, scope)


Reader = Annotated[Key, needs("read")]
Writer = Annotated[Key, needs("write")]
Admin = Annotated[Key, needs("admin")]


async def body_of(request: Request) -> bytes:
    """The whole body, if it is not too large and comes in time."""
    settings = service_of(request).settings
    most = settings.largest_body
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > most:
        raise _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, "slow", f"body must come within {settings.body_seconds:g} seconds") from None
    return b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too-large", f"body must have at most {most:,} bytes")
