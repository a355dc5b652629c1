"""Events as annotations: plain JSON for Grafana's graphs."""

import time
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from ...live.alert import page_of, severity_class
from ..names import check_text
from ..service import Service
from ..store import queries
from .access import Reader, service_of
from .entities import When, span

__all__ = ["router"]

router = APIRouter(tags=["annotations"])
MILLISECOND = 10**6  # nanoseconds
PAGE = 500  # events that are looked through at a time
MOST_SEEN = 20_000  # and in all, for one answer


class Annotation(BaseModel):
    """A span on a graph."""

    id: str
    time: int = Field(description="Milliseconds since 1970.")
    timeEnd: int = Field(description="Milliseconds since 1970; now, while it goes on.")  # noqa: N815  Grafana's name
    title: str
    text: str
    tags: list[str]
    url: str


@router.get("/annotations", summary="Events for Grafana")
def list_annotations(
    request: Request,
    _: Reader,
    start: When = None,
    end: When = None,
    tags: Annotated[
        list[str] | None, Query(max_length=20, description="All of which it must have; repeatable.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 1_000,
) -> list[Annotation]:
    """Those that overlap the range from `start` to `end`, newest first. Each has for tags its entity, kind, severity,
    channel most blamed, and `open`, `silenced`, `dismissed`, `confirmed` where it is."""
    service = service_of(request)
    wanted = {check_text(one, "tags") for one in tags or ()}
    first, last = span(start, end)
    found: list[Annotation] = []
    before: int | None = None
    with service.store.read() as connection:
        for _page in range(MOST_SEEN // PAGE):
            events, before = queries.event_page(
                connection, start=first if start else None, end=last if end else None, before=before, most=PAGE
            )
            made = (_annotation(service, one) for one in events)
            found += [one for one in made if wanted <= set(one.tags)]
            if before is None or len(found) >= limit:
                break
    return found[:limit]


def _annotation(service: Service, event: dict[str, Any]) -> Annotation:
    began = _milliseconds(event["began"])
    ended = time.time_ns() // MILLISECOND if event["open"] else _milliseconds(event["ended"])
    tags = [
        event["entity"], event["kind"], severity_class(event["severity"], service.settings.critical),
        *event["channels"][:1], *["open"][: event["open"]], *["silenced"][: event["silenced"] is not None],
        *[word for word in (event["word"],) if word in ("dismissed", "confirmed")],
    ]  # fmt: skip
    return Annotation(
        id=event["id"], time=began, timeEnd=max(began, ended), title=f"{event['entity']}: {event['kind']}",
        text=event["sentence"], tags=tags, url=page_of(service.settings.url, event["id"]),
    )  # fmt: skip


def _milliseconds(text: str) -> int:
    return int(np.datetime64(text.removesuffix("Z"), "ms").astype(np.int64))
