"""Values in, as other programs push them: Prometheus remote write, Influx line protocol, OpenTelemetry metrics.

Of a body that can be read, what is good is taken whatever the rest is. An entity that is refused stops no other; where
one cannot be taken now, the whole request is to be sent again, which does no harm: what is there changes nothing.
"""

import asyncio
import logging
import time
from dataclasses import asdict
from typing import Annotated
from urllib.parse import quote

import numpy as np
import orjson
from fastapi import APIRouter, Query, Request, Response

from ...errors import CcmtadError
from ...live.assemble import SECOND
from ...live.labels import Naming
from ...wording import iso, printable
from ..names import check_entity
from ..push import influx, otlp, remote_write
from ..push.packing import unpacked
from ..push.series import Body
from ..push.sort import LAST, Pushed, Received, Value, sort
from ..refusal import Refusal
from ..values import Values
from . import schemas
from .access import Writer, body_of, service_of
from .answer import answered
from .hand_on import handed_on
from .rows import aside, model_of
from .submit import submit

__all__ = ["router", "telegraf"]

log = logging.getLogger("ccmtad")

router = APIRouter(prefix="/push", tags=["push"])
telegraf = APIRouter(tags=["push"])
AGAIN = (408, 421, 429, 503, 507)  # refusals that may be none later
LOUD_NOTES = 10  # of a process, told in its log
BINARY = {"schema": {"type": "string", "format": "binary"}}
LINES = {"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}}
WRITE = {"requestBody": {"required": True, "content": {"application/x-protobuf": BINARY}}}
METRICS = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}, "application/x-protobuf": BINARY},
    }
}

Model = Annotated[str | None, Query(description="Model of new entities; not needed where there is one.")]
Entity = Annotated[str | None, Query(description="Entity of all values, whatever their labels.")]
Missing = Annotated[list[float] | None, Query(description="A number that stands for a missing value; repeatable.")]
Precision = Annotated[str, Query(description="Unit of the times: ns, us, ms, s, m or h.")]


@router.post("/remote-write", response_model=schemas.Pushed, openapi_extra=WRITE, summary="Prometheus remote write 1.0")
async def take_remote_write(
    request: Request, _: Writer, model: Model = None, entity: Entity = None, missing: Missing = None
) -> Response:
    """A snappy block of a `prometheus.WriteRequest`."""
    remote_write.check_headers(request.headers)
    body = await _body(request)
    found = await aside(body, remote_write.read, body)
    return answered(asdict(await _taken(request, "remote-write", found, model, entity, missing)))


@router.post("/influx", response_model=schemas.Pushed, openapi_extra=LINES, summary="Influx line protocol")
async def take_lines(
    request: Request, _: Writer, model: Model = None, entity: Entity = None, missing: Missing = None,
    precision: Precision = "ns",
) -> Response:  # fmt: skip
    """Lines such as `plant,host=works flow=2.4 1700000000000000000`, plain or gzip."""
    return answered(asdict(await _lines(request, model, entity, missing, precision)))


@telegraf.post(
    "/api/v2/write", status_code=204, openapi_extra=LINES, summary="Influx line protocol, as version 2 has it"
)
async def take_lines_2(
    request: Request, _: Writer, bucket: str = "", entity: Entity = None, missing: Missing = None,
    precision: Precision = "ns",
) -> Response:  # fmt: skip
    """The bucket names the model, where there is one of its name."""
    await _lines(request, _of_bucket(request, bucket), entity, missing, precision)
    return Response(status_code=204)


@telegraf.post("/write", status_code=204, openapi_extra=LINES, summary="Influx line protocol, as version 1 has it")
async def take_lines_1(
    request: Request, _: Writer, db: str = "", entity: Entity = None, missing: Missing = None,
    precision: Precision = "ns",
) -> Response:  # fmt: skip
    """The database names the model, where there is one of its name."""
    await _lines(request, _of_bucket(request, db), entity, missing, precision)
    return Response(status_code=204)


@router.post("/otlp/v1/metrics", openapi_extra=METRICS, summary="OpenTelemetry metrics (OTLP/HTTP)")
async def take_metrics(
    request: Request, _: Writer, model: Model = None, entity: Entity = None, missing: Missing = None
) -> Response:
    """An `ExportMetricsServiceRequest`, as protobuf or JSON, plain or gzip; answered in kind."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/x-protobuf", "application/json"):
        raise Refusal(415, "bad-type", "content type must be application/x-protobuf or application/json")
    json, body = kind == "application/json", await _body(request)
    found = await aside(body, otlp.read, body, json, time.time_ns())
    done = await _taken(request, "otlp", found, model, entity, missing)
    why = "; ".join(done.notes) if done.refused else ""
    return Response(otlp.answer(done.refused, why, json), media_type=kind)


async def _body(request: Request) -> bytes:
    packed = await body_of(request)
    most = service_of(request).settings.largest_body
    found: bytes = await aside(packed, unpacked, packed, request.headers.get("content-encoding", ""), most)
    return found


async def _lines(
    request: Request, model: str | None, entity: str | None, missing: list[float] | None, precision: str
) -> Received:
    unit, body = influx.precision_of(precision), await _body(request)
    found = await aside(body, influx.read, body, unit, time.time_ns())
    return await _taken(request, "influx", found, model, entity, missing)


def _of_bucket(request: Request, name: str) -> str | None:
    return name if name in service_of(request).models else None


async def _taken(
    request: Request, protocol: str, body: Body, model: str | None, entity: str | None, missing: list[float] | None
) -> Received:
    """All that is good of a body, on the disk."""
    service = service_of(request)
    settings, most = service.settings, 10 * service.settings.most_rows
    values = sum(len(one.samples) for one in body.series)
    if values > most:
        raise Refusal(413, "too-large", f"body must have at most {most:,} values; got {values:,}")
    if model is not None:
        service.model(model)  # a name that is none is no fault of an entity
    if entity is not None:
        check_entity(entity)
    tags = {channel for loaded in service.models for channel in loaded.model.channels}
    naming = Naming(settings.entity_labels, settings.drop_labels)
    latest = time.time_ns() + round(settings.ahead * SECOND) if settings.ahead else LAST
    pushed: Pushed = sort(body, naming, tags, frozenset(missing or ()), latest, entity)
    done = await asyncio.gather(
        *(_of_entity(request, name, there, pushed, model) for name, there in pushed.entities.items() if there)
    )
    accepted = late = rows = 0
    for receipt, refusal, number in done:
        if refusal is None:
            accepted, late, rows = accepted + receipt["accepted"], late + receipt["late"], rows + receipt["rows"]
        elif isinstance(refusal, Refusal) and refusal.status in AGAIN:
            status = 429 if refusal.status == 429 else 503
            raise Refusal(status, refusal.kind, f"send it again later: {refusal}", retry=refusal.retry or 1.0)
        else:
            body.leave_out(str(refusal), number)
    notes = [printable(one) for one in body.notes]
    if pushed.unknown:
        first = ", ".join(repr(one) for one in list(pushed.unknown)[:3])
        notes.append(printable(f"{len(pushed.unknown)} tags are not fitted: {first}"))
    found = Received(accepted, late, sum(pushed.unknown.values()), body.refused, rows, tuple(notes))
    for what in ("accepted", "late", "unknown", "refused"):
        service.metrics.pushed.labels(protocol, what).inc(getattr(found, what))
    _say(request, protocol, found)
    return found


async def _of_entity(
    request: Request, name: str, values: list[Value], pushed: Pushed, asked: str | None
) -> tuple[dict[str, int], CcmtadError | Refusal | None, int]:
    """What came of the values of one entity; or why nothing did, and how many they were."""
    try:
        entity = check_entity(name)
        loaded = await model_of(service_of(request), entity, asked)
        if loaded.model.period is None:
            raise Refusal(409, "no-period", f"model {loaded.name!r} was fitted on rows without times: it has no period")
        known = frozenset(loaded.model.channels)
        taken = tuple(one for one in values if one[0] in known)
        for tag, _, _ in values if len(taken) < len(values) else ():
            if tag not in known:
                pushed.unknown[tag] = pushed.unknown.get(tag, 0) + 1
        if not taken:
            return {"accepted": 0, "late": 0, "rows": 0}, None, 0
        item = Values(entity, loaded.name, taken)
        done = await submit(request, item, lambda refusal: _handed_on(request, item, refusal))
    except (Refusal, CcmtadError) as error:
        return {}, error, len(values)
    if not isinstance(done, Response):
        return asdict(done), None, 0
    told = orjson.loads(done.body)
    if done.status_code == 200:
        return told, None, 0
    return {}, Refusal(done.status_code, str(told.get("type")), str(told.get("detail"))), len(values)


async def _handed_on(request: Request, item: Values, refusal: Refusal) -> Response:
    told = [
        {"channel": tag, "value": value, "time": iso(np.datetime64(moment, "ns"))}  # NaN becomes null
        for tag, value, moment in item.values
    ]
    body = orjson.dumps({"values": told, "model": item.model})
    return await handed_on(request, body, refusal, f"/v1/entities/{quote(item.entity, safe='')}/values")


def _say(request: Request, protocol: str, found: Received) -> None:
    """What was left out, the first few times: many senders look at no answer."""
    said: set[str] = request.app.state.said
    for note in found.notes:
        if len(said) < LOUD_NOTES and note not in said:
            said.add(note)
            more = "; further notes are in the answers and the metrics only" if len(said) == LOUD_NOTES else ""
            log.warning("pushed by %s: %s%s", protocol, note, more)
