"""From a request to the engine, or to whoever owns the entity."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response

from ..refusal import Refusal
from ..rows import Batch
from ..values import Values
from .access import service_of

__all__ = ["submit"]

TRIES, BETWEEN = 12, 0.25  # to reach the owner of an entity; seconds


async def submit(request: Request, item: Batch | Values, hand_on: Callable[[Refusal], Awaitable[Response]]) -> Any:
    """What came of it: a receipt, or the owner's answer. Where an owner is gone, until somebody has taken over."""
    engine = service_of(request).engine
    for left in reversed(range(TRIES)):
        try:
            return await asyncio.wrap_future(engine.submit(item))
        except Refusal as refusal:
            if refusal.status != 421:
                raise
            try:
                return await hand_on(refusal)
            except Refusal as away:
                if away.kind != "owner-away" or not left:
                    raise
        engine.wake()
        await asyncio.sleep(BETWEEN)
    raise AssertionError("the last try answers or raises")
