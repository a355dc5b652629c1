"""Rows as requests send them, and what a stream without a service says of them."""

import math
from typing import Any

from ccmtad import Detector, Frame
from ccmtad.live.journal import Journal
from ccmtad.results import MOST_BLAMED, plain
from ccmtad.wording import iso


def as_json(frame: Frame, first: int = 0, last: int | None = None) -> dict[str, Any]:
    """Rows as a request sends them."""
    assert frame.times is not None
    values = [[None if math.isnan(one) else one for one in row] for row in frame.values[first:last].tolist()]
    return {"times": [iso(time) for time in frame.times[first:last]], "values": values}


def expected(detector: Detector, frame: Frame, name: str) -> list[dict[str, Any]]:
    """The notices that a stream in this process gives."""
    assert frame.times is not None
    stream, journal, told = detector.stream(), Journal(name), []
    for row, time in zip(frame.values, frame.times, strict=True):
        for change in stream.update(row, time).changes:
            notice = journal.take(change)
            if notice is not None:
                more = {"id": notice.id, "revision": notice.revision, "change": notice.change}
                told.append({**plain(notice.event, MOST_BLAMED), **more})
    return told


def last_of(told: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The last notice of each event."""
    return {one["id"]: one for one in told}


def same(events: list[dict[str, Any]], told: list[dict[str, Any]]) -> None:
    """Events of a service are what a stream told."""
    wanted = last_of(told)
    found = {event["id"]: event for event in events}
    assert found.keys() == wanted.keys()
    for name, one in wanted.items():
        assert {column: found[name][column] for column in one} == one
