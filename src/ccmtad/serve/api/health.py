"""Whether it lives, whether it takes rows, and what Prometheus wants to know."""

import contextlib
from typing import Any

from fastapi import APIRouter, Request, Response

from ...errors import StoreError
from ..refusal import Refusal
from .access import Reader, identified, service_of
from .answer import answered

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Whether the process lives")
async def healthz(request: Request) -> Response:
    """503 where it cannot go on, and must be started again. `left_out` counts entities that cannot be judged and models
    that cannot be used; whoever shows a key that may read is told which, and why."""
    service = service_of(request)
    dead, left_out = service.engine.dead, service.left_out()
    shown: dict[str, Any] = {"status": "failed" if dead else "alive"}
    shown["left_out"] = {what: len(names) for what, names in left_out.items()}
    with contextlib.suppress(Refusal, StoreError):
        await identified(request, "read")
        shown["why"] = {**left_out, "engine": service.engine.trouble}
    return answered(shown, 503 if dead else 200)


@router.get("/readyz", summary="Whether rows are taken")
async def readyz(request: Request) -> Response:
    """503 until everything that was left behind is judged, and while the store takes nothing."""
    status = service_of(request).status()
    shown = {"ready": status["ready"], "queued": status["queued"]}
    return answered(shown, 200 if status["ready"] else 503)


@router.get("/metrics", summary="For Prometheus")
def metrics(request: Request, _: Reader) -> Response:
    """Rows, latencies, the queue, open events, and how each entity of this process stands."""
    service = service_of(request)
    service.status()
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
