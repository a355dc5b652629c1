"""Models: what is there, what was said of its events, and new ones."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from sqlalchemy import delete, select
from starlette.concurrency import run_in_threadpool

from ...calibrate.feedback import in_force, plain
from ..models import Loaded
from ..names import MODEL_NAME
from ..refusal import Refusal
from ..service import Service
from ..store import words
from ..store.tables import entities, models
from .access import Admin, Reader, body_of, service_of

__all__ = ["router"]

router = APIRouter(tags=["models"])
Name = Annotated[str, Path(pattern=f"^{MODEL_NAME.pattern}$")]
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/models", summary="Models")
def list_models(request: Request, _: Reader) -> dict[str, Any]:
    """By name."""
    return {"models": [_shown(one) for one in service_of(request).models]}


@router.get("/models/{name}", summary="One model")
def show_model(request: Request, name: Name, _: Reader) -> dict[str, Any]:
    """Its channels, threshold and period, and what was said of its events."""
    service = service_of(request)
    loaded = service.model(name)
    with service.store.read() as connection:
        said = [one for _, one in words.heeded(connection, name)]
    return {**_shown(loaded), "feedback": plain(in_force(said))}


@router.put("/models/{name}", summary="Upload a model", openapi_extra=BODY)
async def put_model(request: Request, name: Name, _: Admin) -> dict[str, Any]:
    """A file that `ccmtad fit` wrote, which is data and nothing else. Streams go on where it fits their state, and
    start anew where it does not."""
    service, body = service_of(request), await body_of(request)
    return await run_in_threadpool(_put, service, name, body)


def _put(service: Service, name: str, body: bytes) -> dict[str, Any]:
    loaded = service.models.check(name, body)
    with service.store.write() as connection:
        new = service.store.insert(models).values(name=name, data=body, made=time.time_ns())
        replaced = {column: new.excluded[column] for column in ("data", "made")}
        connection.execute(new.on_conflict_do_update(index_elements=["name"], set_=replaced))
    service.engine.wake()
    return _shown(loaded)


@router.delete("/models/{name}", summary="Remove an uploaded model")
def remove_model(request: Request, name: Name, _: Admin) -> dict[str, Any]:
    """One that no entity uses."""
    service = service_of(request)
    loaded = service.model(name)
    with service.store.write() as connection:
        if connection.execute(select(entities.c.id).where(entities.c.model == name).limit(1)).first() is not None:
            raise Refusal(409, "in-use", "entities are judged by this model")
        if not connection.execute(delete(models).where(models.c.name == name)).rowcount:
            raise Refusal(409, "not-uploaded", "this model is a file of the service's folder: remove it there")
    service.models.loaded.pop(name, None)
    service.engine.wake()
    return _shown(loaded)


def _shown(loaded: Loaded) -> dict[str, Any]:
    model = loaded.model
    return {
        "model": loaded.name,
        "channels": list(model.channels),
        "threshold": model.calibration.threshold,
        "period": model.period,
        "window": model.settings.window,
        "budget": model.learnt.allowed,
        "fingerprint": loaded.fingerprint,
        "uploaded": loaded.uploaded,
        "entity_bytes": loaded.state_bytes,
    }
