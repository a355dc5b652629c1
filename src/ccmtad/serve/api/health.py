"""Whether it lives, whether it takes rows, and what Prometheus wants to know."""

from fastapi import APIRouter, Request, Response

from .access import Reader, service_of
from .answer import answered

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Whether the process lives")
async def healthz(request: Request) -> Response:
    """503 where it cannot go on, and must be started again."""
    dead = service_of(request).engine.dead
    return answered({"status": "failed" if dead else "alive"}, 503 if dead else 200)


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
