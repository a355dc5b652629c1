"""Rows in."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from ..bodies import json_of, rows_of_json, rows_of_lines, sequence_of, values_of_json
from ..names import check_entity
from ..refusal import Refusal
from ..rows import Batch
from ..service import Service
from ..values import Values
from .access import Writer, body_of, service_of
from .answer import answered
from .hand_on import handed_on
from .schemas import ROWS_BODY, VALUES_BODY, Receipt, ValuesReceipt
from .submit import submit

__all__ = ["aside", "model_of", "router"]

router = APIRouter(tags=["rows"])
AT_ONCE = 64 * 1024  # bytes that are read where they came
LINES = ("text/csv", "application/x-ndjson", "application/jsonl", "application/json-lines")
Model = Annotated[str | None, Query(description="Model of a new entity; not needed where there is one.")]
Sequence = Annotated[int | None, Query(ge=0, le=2**62, description="Number of the first row.")]


@router.post(
    "/entities/{entity}/rows", response_model=Receipt, openapi_extra=ROWS_BODY, summary="Send rows of an entity"
)
async def send_rows(
    request: Request, entity: str, _: Writer, model: Model = None, sequence: Sequence = None
) -> Response:
    """One row or many, in order, as JSON, lines of JSON or CSV.

    Answered when they are on the disk. A row that was sent before, known by its sequence number or else by its time, is
    counted as a duplicate and left out: it is safe to send again what was not answered.
    """
    service, body = service_of(request), await body_of(request)
    name = check_entity(entity)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    notes: tuple[str, ...] = ()
    if kind in LINES:
        loaded = await model_of(service, name, model)
        (values, times), notes = await aside(body, rows_of_lines, body, loaded.model, service.settings.most_rows)
    elif kind in ("", "application/json"):
        told = await aside(body, json_of, body)
        given = isinstance(told, dict)
        asked = model if model is not None else _text(told.get("model") if given else None)
        sequence = sequence if sequence is not None else sequence_of(told.get("sequence") if given else None)
        loaded = await model_of(service, name, asked)
        values, times = await aside(body, rows_of_json, told, loaded.model, service.settings.most_rows)
    else:
        raise Refusal(415, "bad-type", f"content type must be application/json or one of {', '.join(LINES)}")
    done = await _submit(request, Batch(name, loaded.name, loaded.model.channels, values, times, sequence), body)
    return done if isinstance(done, Response) else answered({**asdict(done), "notes": notes})


@router.post(
    "/entities/{entity}/values", response_model=ValuesReceipt, openapi_extra=VALUES_BODY, summary="Send single values"
)
async def send_values(request: Request, entity: str, _: Writer, model: Model = None) -> Response:
    """Single values, in any order: those of one period become a row once the grace is over.

    A channel without a value in a period is missing in its row. Values that come later than the grace are counted, and
    left out.
    """
    service, body = service_of(request), await body_of(request)
    name, told = check_entity(entity), await aside(body, json_of, body)
    asked = model if model is not None else _text(told.get("model") if isinstance(told, dict) else None)
    loaded = await model_of(service, name, asked)
    if loaded.model.period is None:
        raise Refusal(409, "no-period", f"model {loaded.name!r} was fitted on rows without times: it has no period")
    values = await aside(body, values_of_json, told, loaded.model, service.settings.most_rows)
    done = await _submit(request, Values(name, loaded.name, values), body)
    return done if isinstance(done, Response) else answered(asdict(done))


async def aside(body: bytes, read: Callable[..., Any], *arguments: Any) -> Any:
    """Reads a large body in another thread: nobody else waits for it."""
    return read(*arguments) if len(body) <= AT_ONCE else await run_in_threadpool(read, *arguments)


async def _submit(request: Request, item: Batch | Values, body: bytes) -> Any:
    return await submit(request, item, lambda refusal: handed_on(request, body, refusal))


async def model_of(service: Service, entity: str, asked: str | None) -> Any:
    """The model of an entity."""
    known = service.known(entity, asked)
    return known if known is not None else await run_in_threadpool(service.model_of, entity, asked)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise Refusal(422, "bad-model", "model must be a name")
    return value
