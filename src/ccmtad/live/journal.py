"""Event changes as notices: each with an id and a revision, so that one told twice can be known again."""

import json
from dataclasses import dataclass
from typing import Any

from ..results import Event, Step
from ..wording import iso

__all__ = ["Journal", "Notice", "plain"]

BLAMED = 5  # channels named in a notice
GROWN = 2.0  # an open event is told of again when its severity is so many times the last told


@dataclass(frozen=True)
class Notice:
    """One change of one event. The same rows give the same notices, whenever and how often they are read."""

    id: str
    revision: int  # 1, 2, .. for each event
    change: str
    event: Event

    def line(self) -> bytes:
        """One line of JSON."""
        told = {"id": self.id, "revision": self.revision, "change": self.change, **plain(self.event, BLAMED)}
        return json.dumps(told, ensure_ascii=False).encode() + b"\n"


@dataclass
class Journal:
    """Gives ids and revisions. Its three numbers are all the state it has."""

    name: str  # of the stream: ids are NAME-TIME of the alarm, or NAME-ROW where rows have no times
    part: int = 0  # counted up where rows were lost: those that follow take over their numbers, not their ids
    revision: int = 0
    severity: float = 0.0  # last told

    def take(self, step: Step) -> Notice | None:
        """The notice of a step, if there is something to say."""
        event, change = step.event, step.change
        if event is None or change is None:
            return None
        if change == "updated" and event.severity < GROWN * self.severity:
            return None
        self.revision = 1 if change == "opened" else self.revision + 1
        self.severity = event.severity
        name = f"{self.name}+{self.part}" if self.part and event.alarm_time is None else self.name
        return Notice(f"{name}-{iso(event.alarm_time) or event.alarm}", self.revision, change, event)


def plain(event: Event, blamed: int | None = None) -> dict[str, Any]:
    """An event as JSON knows it: rows, times as ISO 8601 in UTC, the most blamed channels first."""
    return {
        "start": event.start,
        "alarm": event.alarm,
        "end": event.end,
        "start_time": iso(event.start_time),
        "alarm_time": iso(event.alarm_time),
        "end_time": iso(event.end_time),
        "severity": round(event.severity, 4),
        "channels": list(event.channels[:blamed]),
        "blame": [round(share, 4) for share in event.blame[:blamed]],
    }
