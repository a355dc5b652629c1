"""What people say of events, and maintenance windows."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.simulate import simulate

from .faults import begin, end
from .rows import as_json
from .server import Nursery, Server, until

QUIET = ("--silence", "0")
FAULTY = 5  # channel


@pytest.fixture(scope="module")
def twice() -> Frame:
    """The same fault two times, with a day of rest between."""
    frame = simulate(1_600, seed=5).frame
    values = frame.values.copy()
    for first in (400, 1_300):
        values[first : first + 30, FAULTY] += 6 * frame.values[:, FAULTY].std()
    return Frame(values, frame.channels, frame.times)


def about(server: Server, channel: str) -> list[str]:
    """Ids of the events that blame a channel most."""
    return [event["id"] for event in server.events() if event["channels"][:1] == [channel]]


def test_a_dismissed_event_stays_dismissed_also_after_a_kill(
    nursery: Nursery, models: Path, store: str, twice: Frame
) -> None:
    channel = twice.channels[FAULTY]
    with nursery.serving(models, store, *QUIET) as server:
        key = server.key
        server.send("untold", **as_json(twice))
        server.judged("untold", 1_600)
        (first, *more) = about(server, channel)
        assert more  # told nothing, it raises the second one
        server.send("told", **as_json(twice, 0, 800))
        server.judged("told", 800)
        (event,) = [one for one in about(server, channel) if one.startswith("told")]
        said = server.post(f"/v1/events/{quote(event)}/dismiss", {"text": "we were cleaning"})
        assert (said["word"], said["said"][0]["text"], said["said"][0]["by"]) == (
            "dismissed",
            "we were cleaning",
            "first",
        )
        server.send("told", **as_json(twice, 800, 1_200))
        server.kill()
    assert [one.event for one in Detector.load(models / "plant.ccm").feedback_] == [event]
    with nursery.serving(models, store, *QUIET, key=key) as server:
        server.send("told", **as_json(twice, 1_200))
        server.judged("told", 1_600)
        assert [one for one in about(server, channel) if one.startswith("told")] == [event]
        assert server.get("/v1/models/plant")["feedback"][0]["word"] == "dismissed"
        undone = server.post(f"/v1/events/{quote(event)}/undo", {})
        assert undone["word"] == "undone"
        assert server.client.post(f"/v1/events/{quote(event)}/undo", json={}).status_code == 409
        assert server.get("/v1/models/plant")["feedback"] == []
        server.send("later", **as_json(twice))  # what is taken back is raised again
        server.judged("later", 1_600)
        assert len([one for one in about(server, channel) if one.startswith("later")]) == 1 + len(more)
        assert first in about(server, channel)


@pytest.mark.parametrize("word", ["dismiss", "confirm"])
def test_what_is_said_of_an_event_that_goes_on_holds_of_all_of_it_once_it_is_over(
    nursery: Nursery, models: Path, store: str, word: str
) -> None:
    with nursery.serving(models, store, *QUIET) as server:
        key = server.key
        path = f"/v1/events/{quote(begin(server, 'a')['id'])}"
        server.post(f"{path}/{word}", {"text": "cleaning"})
        (before,) = server.get("/v1/models/plant")["feedback"]
        assert before["end"] is None
        end(server, "a")
        until("final", lambda: server.get(path)["change"] == "final")
        until("learnt", lambda: len(server.get(path)["said"]) == 2)
        told = server.get(path)
        assert [(one["word"], one["by"]) for one in told["said"]] == [(f"{word}ed", "first"), (f"{word}ed", "ccmtad")]
        (after,) = server.get("/v1/models/plant")["feedback"]
        assert (after["end"], after["severity"]) == (told["end_time"], told["severity"])
        until("in the file", lambda: Detector.load(models / "plant.ccm").feedback_[-1].end == after["end"])
        server.kill()
    with nursery.serving(models, store, *QUIET, key=key) as server:
        assert server.get("/v1/models/plant")["feedback"] == [after]
        assert len(server.get(path)["said"]) == 2
        server.post(f"{path}/undo", {})
        assert server.get("/v1/models/plant")["feedback"] == []


def test_what_ccmtad_dismiss_wrote_is_taken_up(nursery: Nursery, models: Path, sqlite: str, twice: Frame) -> None:
    with nursery.serving(models, sqlite, *QUIET) as server:
        server.send("a", **as_json(twice, 0, 800))
        detector = Detector.load(models / "plant.ccm")
        found = [one for one in detector.detect(twice).events if one.channels[0] == twice.channels[FAULTY]]
        detector.dismiss(found[0]).save(models / "plant.ccm")
        until("heard", lambda: server.get("/v1/models/plant")["feedback"])
        server.send("a", **as_json(twice, 800))
        server.judged("a", 1_600)
        assert len(about(server, twice.channels[FAULTY])) == 1


def test_events_can_be_taken_up_and_commented_on(nursery: Nursery, models: Path, sqlite: str, faulty: Frame) -> None:
    with nursery.serving(models, sqlite, *QUIET) as server:
        server.send("a", **as_json(faulty))
        server.judged("a", len(faulty))
        event = server.events()[0]["id"]
        server.post(f"/v1/events/{quote(event)}/acknowledge", {})
        server.post(f"/v1/events/{quote(event)}/comment", {"text": "the pump, again 🤔"})
        told = server.get(f"/v1/events/{quote(event)}")
        assert told["acknowledged"] == "first"
        assert [(one["word"], one["text"]) for one in told["said"]] == [
            ("acknowledged", ""),
            ("comment", "the pump, again 🤔"),
        ]
        assert server.client.post(f"/v1/events/{quote(event)}/comment", json={"text": " "}).status_code == 422
        assert server.client.post("/v1/events/nothing/dismiss", json={}).status_code == 404


def test_an_event_in_a_window_is_recorded_and_says_what_silenced_it(
    nursery: Nursery, models: Path, store: str, faulty: Frame
) -> None:
    assert faulty.times is not None
    span = {"start": str(faulty.times[350]), "end": str(faulty.times[500])}
    with nursery.serving(models, store, *QUIET) as server:
        blamed, other = faulty.channels[3], faulty.channels[5]
        here = server.post("/v1/windows", {"entity": "a", "channels": [blamed], "comment": "new pump", **span}, 201)
        server.post("/v1/windows", {"entity": "b", "channels": [other], **span}, 201)
        for entity in "ab":
            server.send(entity, **as_json(faulty))
            server.judged(entity, len(faulty))
        inside = [one for one in server.events(entity="a") if one["channels"][:1] == [blamed]]
        assert [one["silenced"] for one in inside] == [{"id": here["id"], "comment": "new pump", "by": "first"}]
        assert {one["id"] for one in server.events(silenced=True)} == {one["id"] for one in inside}
        assert len(server.events(silenced=False)) == 2 * len(server.events(entity="a")) - 1
        ended = server.client.delete(f"/v1/windows/{here['id']}")
        assert ended.status_code == 200
        (lost, *_) = [one for one in server.events(entity="b", open=True) if one["silenced"] is None]
        late = server.post("/v1/windows", {"entity": "b", "start": lost["alarm_time"], "comment": "known"}, 201)
        assert server.get(f"/v1/events/{quote(lost['id'])}")["silenced"]["id"] == late["id"]  # it goes on, and says so
        wrong = {"start": span["end"], "end": span["start"]}
        assert server.client.post("/v1/windows", json=wrong).status_code == 422
        assert server.client.delete("/v1/windows/99").status_code == 404


def test_an_entity_that_goes_silent_is_told_of_also_after_a_kill(
    nursery: Nursery, quick_models: Path, store: str
) -> None:
    values = np.random.default_rng(0).normal(size=(20, 2)).tolist()
    with nursery.serving(quick_models, store, "--silence", "0.2") as server:
        server.send("a", times=[1e9 + i / 100 for i in range(10)], values=values[:10])
        until("silence", lambda: server.events(kind="signal lost", open=True))
        (silent,) = server.events(kind="signal lost")
        assert silent["sentence"].startswith("no rows at all")
        key = server.key
        server.kill()
    with nursery.serving(quick_models, store, "--silence", "0.2", key=key) as server:
        server.send("a", times=[1e9 + i / 100 for i in range(10, 20)], values=values[10:])
        until("its end", lambda: server.get(f"/v1/events/{quote(silent['id'])}")["change"] == "final")
        assert server.get(f"/v1/events/{quote(silent['id'])}")["revision"] == silent["revision"] + 1


def test_events_are_paged_and_found_by_range(nursery: Nursery, models: Path, sqlite: str, faulty: Frame) -> None:
    assert faulty.times is not None
    with nursery.serving(models, sqlite, *QUIET) as server:
        for entity in ("a", "b", "c"):
            server.send(entity, **as_json(faulty))
            server.judged(entity, len(faulty))
        everything = server.events()
        found: list[dict[str, Any]] = []
        query: dict[str, Any] = {}
        while True:
            page = server.get("/v1/events", limit=2, **query)
            assert len(page["events"]) <= 2
            found += page["events"]
            if page["next"] is None:
                break
            query = {"before": page["next"]}
        assert found[::-1] == everything
        middle = server.events(start=str(faulty.times[350]), end=str(faulty.times[500]))
        assert middle
        assert all(one["channels"][0] == faulty.channels[3] for one in middle)
        kinds = {one["kind"] for one in everything}
        assert "signal lost" in kinds
        assert {one["kind"] for one in server.events(kind="signal lost")} == {"signal lost"}
        assert all(one["open"] for one in server.events(open=True))
        standing = server.get("/v1/entities")["entities"]
        assert [one["entity"] for one in standing] == ["a", "b", "c"]
        assert all(one["open_events"] == len(server.events(open=True)) / 3 for one in standing)
        assert np.isfinite(standing[0]["score"])
