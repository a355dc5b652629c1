"""What can be looked at: entities, one entity, events, one event, maintenance windows."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from ...wording import count, span
from ..api.access import service_of
from ..names import check_entity
from ..refusal import Refusal
from ..store import queries
from .render import PageRoute, page, who
from .shown import as_json, cards, dismissed, spark, standing, windows_of

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)
A_PAGE = 100  # entities or events
SPANS = (240, 1_440, 10_080)  # rows in the picture of an entity
BLAMED = 4  # channels drawn
RECENT = 12  # events of an entity that its view lists
AROUND = 120  # rows drawn before and after an event, at the least
MOST_ROWS = 20_000
Text = Annotated[str, Query(max_length=200)]
Before = Annotated[int | None, Query(ge=0, le=2**62)]


@router.get("/")
def overview(request: Request, find: Text = "", first: Annotated[int, Query(ge=0, le=10**7)] = 0) -> Response:
    """Entities: silent ones first, then those with open events, then by name."""
    who(request)
    service = service_of(request)
    found = cards(service, find.strip())
    shown = [
        replace(card, spark=spark(service, card.entity["entity"], card.entity["judged"], card.entity["threshold"]))
        for card in found[first : first + A_PAGE]
    ]
    following = first + A_PAGE if len(found) > first + A_PAGE else None
    example = next(iter(service.models), None)
    return page(
        request, "overview.html", cards=shown, all=found, find=find, first=first, following=following,
        base=str(request.base_url).rstrip("/"), example=example, trouble=service.engine.trouble,
    )  # fmt: skip


@router.get("/entities/{entity}")
def entity_view(
    request: Request, entity: str, rows: int = SPANS[0], channel: Annotated[list[Text] | None, Query()] = None
) -> Response:
    """The live score, channels beside what was expected of them, health, and what was said."""
    who(request)
    service, name = service_of(request), check_entity(entity)
    with service.store.read() as connection:
        found = queries.entity(connection, name)
        if found is None:
            raise Refusal(404, "no-entity", "there is no such entity")
        opened, _ = queries.event_page(connection, entity=name, opened=True, most=A_PAGE)
        recent, more = queries.event_page(connection, entity=name, opened=False, most=RECENT)
        held = windows_of(connection, name, in_force=True)
        normal = dismissed(connection, found["model"])
    loaded = service.model_of(name, None)
    known = loaded.model.channels
    asked = [one for one in channel or () if one in known]
    blamed: list[str] = next((event["channels"] for event in (*opened, *recent) if event["channels"]), [])
    drawn = asked or [one for one in blamed if one in known][:BLAMED]
    under = [one for one in held if one.channels is None]
    chart = {"entity": name, "rows": rows if rows in SPANS else SPANS[0], "channels": drawn or None}
    return page(
        request, "entity.html", entity=found, standing=standing(found, opened, under), opened=opened, recent=recent,
        more=more, windows=held, channels=known, asked=asked, chart=as_json(chart), rows=chart["rows"],
        spans=[(one, _span(one, loaded.model.period)) for one in SPANS], marks=as_json(_marks([*opened, *recent])),
        dismissed=normal, silence=_silence(name, []),
    )  # fmt: skip


@router.get("/events")
def event_list(
    request: Request, show: Annotated[str, Query(max_length=20)] = "all", entity: Text = "", before: Before = None
) -> Response:
    """Events, newest first."""
    who(request)
    ways: dict[str, dict[str, Any]] = {"all": {}, "open": {"opened": True}, "silenced": {"silenced": True}}
    show = show if show in ways else "all"
    with service_of(request).store.read() as connection:
        found, following = queries.event_page(
            connection, entity=check_entity(entity) if entity else None, before=before, most=A_PAGE, **ways[show]
        )
    return page(
        request, "events.html", events=found, following=following, show=show, ways=tuple(ways), of=entity, before=before
    )


@router.get("/events/{event}")
def event_view(request: Request, event: str) -> Response:
    """What happened, what was said of it, and what can be."""
    who(request)
    service = service_of(request)
    with service.store.read() as connection:
        found = queries.event(connection, event.replace("\x00", "�"))
        if found is None:
            raise Refusal(404, "no-event", "there is no such event")
        entity = queries.entity(connection, found["entity"])
    assert entity is not None
    known = service.model_of(found["entity"], None).model.channels
    drawn = [one for one in found["channels"] if one in known][:BLAMED]
    end = entity["judged"] - 1 if found["end"] is None else found["end"]
    around = max(AROUND, min((end - found["start"]) // 2, 1_000))
    chart: dict[str, Any] = {
        "entity": found["entity"], "channels": drawn or None, "rows": min(end - found["start"] + 2 * around, MOST_ROWS),
        "last": None if found["open"] else end + around,
    }  # fmt: skip
    return page(
        request, "event.html", event=found, entity=entity, chart=as_json(chart), marks=as_json(_marks([found])),
        silence=_silence(found["entity"], found["channels"][:BLAMED]),
    )  # fmt: skip


@router.get("/maintenance")
def maintenance(request: Request) -> Response:
    """Windows that hold, that will, and that did."""
    who(request)
    with service_of(request).store.read() as connection:
        found = windows_of(connection)
        now = {one.id for one in windows_of(connection, in_force=True)}
    return page(request, "maintenance.html", windows=found, now=now, silence=_silence("", []))


def _marks(events: list[dict[str, Any]]) -> list[list[Any]]:
    """Where events are in a picture: first and last row, alarm, whether they ask for somebody."""
    return [
        [event["start"], event["end"], event["alarm"], event["word"] != "dismissed" and not event["silenced"]]
        for event in events
    ]


def _span(rows: int, period: float | None) -> str:
    """So many rows, in words."""
    return count(rows, "row") if period is None else span(rows * period)


def _silence(entity: str, channels: list[str]) -> dict[str, Any]:
    """What the form of a maintenance window starts from."""
    return {"entity": entity, "channels": channels}
