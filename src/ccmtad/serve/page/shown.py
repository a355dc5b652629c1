"""How entities and events stand, as the page says it."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from ...calibrate.feedback import in_force as still_said
from ...wording import count, listed
from ..rows import READY
from ..service import Service
from ..store import queries, words
from ..store.tables import entities, events, windows
from ..trace import judged
from ..windows import Window

__all__ = ["Card", "Spark", "Standing", "as_json", "cards", "dismissed", "silent", "spark", "standing", "windows_of"]

AT_ONCE = 1_000
SPARK_ROWS = 240
SPARK_POINTS = 80
WIDE, HIGH = 160, 36  # of a spark, in its own units
DECADES = (-2.0, 2.0)  # score over threshold: the threshold is in the middle


@dataclass(frozen=True)
class Standing:
    """A word for the state of an entity, and how loud it is."""

    word: str
    tone: str  # red, amber, green or quiet: a class of the style sheet
    text: str
    rank: int  # what is looked at first


@dataclass(frozen=True)
class Spark:
    """A little picture of the newest scores: the points of a line, in SVG's words."""

    points: str
    ratio: float  # the newest


@dataclass(frozen=True)
class Card:
    """An entity in the overview."""

    entity: Mapping[str, Any]
    standing: Standing
    events: tuple[Mapping[str, Any], ...]  # open ones
    spark: Spark | None = None


def silent(event: Mapping[str, Any]) -> bool:
    """Whether it says that nothing is heard of the entity at all."""
    return event["kind"] == "signal lost" and not event["channels"]


def loud(event: Mapping[str, Any]) -> bool:
    """Whether it still asks for somebody."""
    return bool(event["open"]) and not event["silenced"] and event["word"] != "dismissed"


def standing(entity: Mapping[str, Any], events: Iterable[Mapping[str, Any]], under: Iterable[Window] = ()) -> Standing:
    """How an entity stands, with these open events, under these windows."""
    opened = tuple(events)
    asking = [event for event in opened if loud(event)]
    if any(silent(event) for event in asking):
        return Standing("silent", "red", "no rows come", 0)
    if asking:
        taken = [event for event in asking if event["acknowledged"]]
        if len(taken) == len(asking):
            return Standing("taken up", "amber", f"by {listed([event['acknowledged'] for event in taken])}", 2)
        return Standing("alarm", "red", f"{count(len(asking), 'open event')}", 1)
    if any(under) or any(event["silenced"] for event in opened):
        return Standing("maintenance", "quiet", "events are recorded and not sent on", 3)
    if not entity["ready"]:
        return Standing("starting", "quiet", "too few rows to judge the newest", 4)
    if entity["health"] in ("drifting", "miscalibrated", "alarmed"):
        return Standing(str(entity["health"]), "amber", str(entity["advice"]), 3)
    return Standing("normal", "green", "within its limits", 4)


def cards(service: Service, part: str) -> list[Card]:
    """All entities whose name holds `part`: silent ones first, then those with open events, then by name."""
    found: list[Mapping[str, Any]] = []
    with service.store.read() as connection:
        while True:
            some = queries.entity_list(connection, found[-1]["entity"] if found else "", AT_ONCE)
            found += some
            if len(some) < AT_ONCE:
                break
        opened = open_events(connection)
        now = windows_of(connection, in_force=True)
    made = []
    for entity in found:
        name = entity["entity"]
        if part.casefold() in name.casefold():
            going = tuple(opened.get(name, ()))
            under = [one for one in now if one.entity in (None, name) and one.channels is None]
            made.append(Card(entity, standing(entity, going, under), going))
    return sorted(made, key=lambda card: (min(card.standing.rank, 3), card.entity["entity"]))


def open_events(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """By entity, newest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    before: int | None = None
    while True:
        page, before = queries.event_page(connection, opened=True, before=before, most=AT_ONCE)
        for event in page:
            found.setdefault(event["entity"], []).append(event)
        if before is None:
            return found


def windows_of(connection: Connection, entity: str | None = None, *, in_force: bool = False) -> list[Window]:
    """Maintenance windows, the newest first; those that bear on an entity, or that hold now."""
    rows = connection.execute(select(windows).order_by(windows.c.id.desc())).all()
    found, now = [Window.of(row) for row in rows], time.time_ns()
    if entity is not None:
        found = [one for one in found if one.entity in (None, entity)]
    if in_force:
        found = [one for one in found if one.start <= now and (one.end is None or one.end > now)]
    return found


def spark(service: Service, name: str, rows: int, threshold: float | None) -> Spark | None:
    """The newest scores of an entity."""
    with service.store.read() as connection:
        number = connection.execute(select(entities.c.id).where(entities.c.name == name)).scalar()
    if number is None or not rows or not threshold:
        return None
    _, scores = judged(service.store, number, max(rows - SPARK_ROWS, 0), rows - 1)
    scores = scores[scores["flags"] & READY > 0]
    if not len(scores):
        return None
    ratio = scores["score"].astype(np.float64) / threshold
    return Spark(_points(ratio), float(ratio[-1]))


def _points(ratio: NDArray[np.float64]) -> str:
    """The largest of each block, so that no peak is lost."""
    blocks = np.array_split(ratio, min(SPARK_POINTS, len(ratio)))
    least, most = DECADES
    heights = np.log10(np.clip([block.max() for block in blocks], 10**least, 10**most))
    across = np.linspace(0, WIDE, len(heights)) if len(heights) > 1 else np.array([WIDE])
    up = HIGH * (most - heights) / (most - least)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))


def dismissed(connection: Connection, model: str) -> list[dict[str, Any]]:
    """What was said to be normal, and still is, newest first; `here` where the event is one of this store."""
    said = still_said(verdict for _, verdict in words.heeded(connection, model))
    normal = [one for one in reversed(said) if one.word == "dismissed"]
    wanted = select(events.c.id, entities.c.name).join(entities, entities.c.id == events.c.entity)
    found = connection.execute(wanted.where(events.c.id.in_([one.event for one in normal])))
    here = {row.id: row.name for row in found}
    return [
        {
            "event": one.event, "at": one.at, "kind": one.kind, "channels": one.channels, "start": one.start,
            "here": one.event in here, "entity": here.get(one.event),
        }
        for one in normal
    ]  # fmt: skip


def as_json(value: Any) -> str:
    """In an attribute."""
    return json.dumps(value)
