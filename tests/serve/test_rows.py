"""Rows in, events out: the same as without a service."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.live.journal import Journal
from ccmtad.results import MOST_PEAKS, plain
from ccmtad.simulate import simulate
from ccmtad.wording import iso

from .server import Server, serving


@pytest.fixture(scope="module")
def faulty() -> Frame:
    """Rows of the plant with a fault in the middle."""
    frame = simulate(900, seed=5).frame
    values = frame.values.copy()
    values[400:460, 3] += 6 * values[:, 3].std() + 1
    values[700:, 1] = np.nan
    return Frame(values, frame.channels, frame.times)


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
                told.append(
                    {
                        **plain(notice.event, MOST_PEAKS), "id": notice.id, "revision": notice.revision,
                        "change": notice.change,
                    }
                )  # fmt: skip
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


def test_events_of_the_service_are_those_of_a_stream(models: Path, store: str, fitted: Detector, faulty: Frame) -> None:
    told = expected(fitted, faulty, "pump 1")
    assert len(last_of(told)) >= 2
    with serving(models, store, "--silence", "0") as server:
        for first in range(0, len(faulty), 100):
            taken = server.send("pump 1", **as_json(faulty, first, first + 100))
            assert taken == {"accepted": 100, "duplicates": 0, "late": 0, "rows": first + 100, "notes": []}
        server.judged("pump 1", len(faulty))
        same(server.events(), told)
        scores = server.get("/v1/entities/pump 1/scores")
        detected = fitted.detect(faulty)
        assert scores["row"] == list(range(len(faulty)))
        np.testing.assert_allclose(scores["score"], detected.score, rtol=1e-5, atol=1e-5)
        assert scores["alarm"] == detected.alarm.tolist()
        assert server.stop()


def test_what_is_sent_again_is_left_out(models: Path, store: str, fitted: Detector, faulty: Frame) -> None:
    with serving(models, store, "--silence", "0") as server:
        server.send("a", **as_json(faulty, 0, 500))
        again = server.send("a", **as_json(faulty, 400, 600))
        assert (again["accepted"], again["duplicates"], again["rows"]) == (100, 100, 600)
        key = server.key
        server.stop()
    with serving(models, store, "--silence", "0", key=key) as server:
        again = server.send("a", **as_json(faulty, 0, 900))
        assert (again["accepted"], again["duplicates"], again["rows"]) == (300, 600, 900)
        server.judged("a", len(faulty))
        same(server.events(), expected(fitted, faulty, "a"))


def test_a_killed_service_goes_on_as_if_nothing_had_happened(
    models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    key = ""
    for first in range(0, len(faulty), 150):
        with serving(models, store, "--silence", "0", key=key) as server:
            key = server.key
            server.send("a", **as_json(faulty, first, first + 75))
            server.send("a", **as_json(faulty, first + 75, first + 150))
            if first + 150 == len(faulty):
                server.judged("a", len(faulty))
                same(server.events(), expected(fitted, faulty, "a"))
            server.kill()


def until_notice(server: Server, event: str) -> None:
    """Reads the stream until it tells of an event."""
    with server.client.stream("GET", "/v1/stream", params={"after": 0}) as answer:
        for line in answer.iter_lines():
            if line.startswith("data:") and f'"{event}"' in line:
                return


def test_notices_are_streamed(models: Path, store: str, fitted: Detector, faulty: Frame) -> None:
    (first, *_) = expected(fitted, faulty, "a")
    with serving(models, store, "--silence", "0") as server:
        server.send("a", **as_json(faulty))
        until_notice(server, first["id"])
