"""Event changes as notices: each with an id and a revision, so that one told twice can be known again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..results import MOST_BLAMED, Change, Event, plain

__all__ = ["Journal", "Notice"]

GROWN = 2.0  # an open event is told of again when its severity is so many times the last told, or others join it


@dataclass(frozen=True)
class Notice:
    """One change of one event. The same rows give the same notices, whenever and how often they are read."""

    id: str  # the name of the watch and the id of the event
    revision: int  # 1, 2, .. for each event
    change: str
    event: Event

    def line(self) -> bytes:
        """One line of JSON."""
        told = {**plain(self.event, MOST_BLAMED), "id": self.id, "revision": self.revision, "change": self.change}
        return json.dumps(told, ensure_ascii=False).encode() + b"\n"


@dataclass
class Told:
    """What was last told of an event that goes on."""

    id: str
    revision: int
    severity: float
    channels: frozenset[str] | None = frozenset()  # that were named; None: an older state does not say

    def state(self) -> list[Any]:
        """As JSON knows it."""
        named = [] if self.channels is None else [sorted(self.channels)]
        return [self.id, self.revision, self.severity, *named]


@dataclass
class Journal:
    """Gives ids and revisions. An event keeps the id that it was opened with."""

    name: str  # of the watch
    part: int = 0  # counted up where rows were lost: those that follow take over their numbers, not their ids
    told: dict[str, Told] = field(default_factory=dict)  # by what may go on at the same time: kinds, and silence
    zone: str | None = None  # that times are told in; None: UTC

    def take(self, change: Change, of: str = "") -> Notice | None:
        """The notice of a change, if there is something to say; `of` tells apart what may go on at the same time."""
        event, what, of = change.event, change.what, of or change.event.kind
        if what == "opened":
            name = f"{self.name}+{self.part}" if self.part and event.alarm_time is None else self.name
            self.told[of] = Told(f"{name}-{event.id}", 0, 0.0)
        last = self.told[of]
        # Who an anomaly is of is only known once it is over; who joins another kind of event is in it for sure.
        named = frozenset(event.channels[:MOST_BLAMED] if event.kind != "anomaly" else ())
        joined = last.channels is not None and not last.channels.issuperset(named)
        last.channels = named | (last.channels or frozenset())
        if what == "updated" and not joined and event.severity < GROWN * last.severity:
            return None
        last.revision, last.severity = last.revision + 1, event.severity
        if what == "final":
            del self.told[of]
        return Notice(last.id, last.revision, what, event if self.zone is None else replace(event, zone=self.zone))

    def state(self) -> dict[str, Any]:
        """All it remembers, as JSON knows it."""
        told = {kind: one.state() for kind, one in self.told.items()}
        return {"part": self.part, "told": told}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on with what it remembered."""
        self.part = int(state["part"])
        self.told = {
            str(kind): Told(
                str(name), int(revision), float(severity), frozenset(map(str, *channels)) if channels else None
            )
            for kind, (name, revision, severity, *channels) in state["told"].items()
        }
