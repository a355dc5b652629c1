"""What every sink does with notices, on its real server: one suite for all of them."""

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from ccmtad.errors import SettingError
from ccmtad.live import outbox
from ccmtad.live.address import Address, kinds
from ccmtad.live.journal import Journal, Notice
from ccmtad.live.outbox import MOST_WAITING, Post
from ccmtad.live.sinks.reached import reached
from ccmtad.results import Change, Event

from .servers import until
from .sink_places import EVERY_NOTICE, PLACES, SECRET, STOPPABLE, Place

EVENT = Event(
    start=10, alarm=12, end=None, severity=3.0, channels=("flow", "level"), blame=(0.8, 0.2),
    start_time=np.datetime64("2026-03-01T12:00:00", "ns"), alarm_time=np.datetime64("2026-03-01T12:02:00", "ns"),
    end_time=None, kind="anomaly",
)  # fmt: skip


def notices(number: int = 1, first: int = 0) -> list[Notice]:
    """Of some events: opened, grown, over, one after the other."""
    journal, found = Journal("works"), []
    for i in range(first, first + number):
        one = replace(EVENT, alarm_time=EVENT.alarm_time + np.timedelta64(i, "h"))  # type: ignore[operator]
        over = replace(one, severity=12.0, end=30, end_time=one.alarm_time + np.timedelta64(600, "s"))  # type: ignore[operator]
        for what, event in (
            ("opened", one),
            ("updated", replace(one, severity=12.0)),
            ("resolved", over),
            ("final", over),
        ):
            notice = journal.take(Change(what, event))  # type: ignore[arg-type]
            assert notice is not None
            found.append(notice)
    return found


def revisions(told: list[Notice]) -> list[tuple[str, int]]:
    return [(one.id, one.revision) for one in told]


def a_post(*urls: str) -> Post:
    return Post([reached(url) for url in urls], "works")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a while in earnest."""
    monkeypatch.setattr(outbox, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(outbox, "LONGEST_PAUSE", 0.2)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = PLACES[request.param](tmp_path)
    made.start()
    yield made
    made.close()


def all_arrive(place: Place, wanted: list[tuple[str, int]]) -> None:
    """At least once, in order: of each the first time counts."""
    until(lambda: set(wanted) <= set(place.revisions()), "all notices")
    assert list(dict.fromkeys(place.revisions())) == wanted
    if place.once:
        assert place.revisions() == wanted


@pytest.mark.parametrize("place", EVERY_NOTICE, indirect=True)
def test_notices_arrive_whole_and_in_order(place: Place) -> None:
    sent = notices(3)
    post = a_post(place.url)
    post.start()
    for one in sent:
        post.take(one)
    post.close(20.0)
    assert post.waiting == 0
    all_arrive(place, revisions(sent))
    told = place.told()
    for one, found in zip(sent, told, strict=True):
        assert found == {**json.loads(one.line()), "entity": "works"}


@pytest.mark.parametrize("place", STOPPABLE, indirect=True)
def test_what_is_told_while_a_sink_is_away_waits_and_arrives(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    sent = notices(2)
    place.stop()
    post = a_post(place.url)
    post.start()
    for one in sent[:5]:
        post.take(one)  # returns at once
    until(lambda: post.outboxes[0].trouble, "trouble")
    assert post.waiting == 5
    place.start()
    for one in sent[5:-2]:
        post.take(one)
    until(lambda: not post.waiting, "an empty outbox")
    if place.all_of_them:
        all_arrive(place, revisions(sent[:-2]))
    else:
        until(lambda: [one["id"] for one in place.told()] == [sent[-1].id], "an alert")
    for one in sent[-2:]:
        post.take(one)
    post.close(20.0)
    said = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert len([one for one in said if "takes no notices" in one]) == 1
    assert len([one for one in said if "takes notices again" in one]) == 1
    assert SECRET not in caplog.text


@pytest.mark.parametrize("place", EVERY_NOTICE, indirect=True)
def test_what_waited_when_a_watch_was_killed_arrives_after_it(place: Place) -> None:
    sent = notices(2)
    killed = a_post(place.url)  # never started, as if its sink were away
    for one in sent[:6]:
        killed.take(one)
    state = json.loads(json.dumps(killed.state()))
    killed.close(0.0)
    for start in (4, 6):  # the rows since that state are read again: the same notices, with the same ids and revisions
        post = a_post(place.url)
        post.restore(state)
        post.start()
        for one in sent[start:]:
            post.take(one)
        post.close(20.0)
    all_arrive(place, revisions(sent))


@pytest.mark.parametrize("name", PLACES)
def test_options_that_are_none_are_refused_and_secrets_are_never_shown(name: str, tmp_path: Path) -> None:
    scheme = {"kafka (mock)": "kafka", "webhook": "https"}.get(name, name)
    where = f"{tmp_path}/x" if name in ("file", "sqlite") else "user:hidden-word@localhost/x"
    if name not in ("webhook", "postgresql"):  # theirs go on to the server
        with pytest.raises(SettingError, match="options of .* must be among"):
            reached(f"{scheme}://{where}?nonsense=1")
    sink = reached(f"{scheme}://{where}")
    for text in (str(sink.address), repr(sink.address), sink.place, json.dumps(Post([sink]).state())):
        assert "hidden-word" not in text
    sink.close()


MEANINGLESS = (
    "redis://localhost", "mqtt://h", "mqtt://h/a/#", "nats://h", "nats://h/a.*", "kafka://h", "sqlite://", "file://",
    "https://h/?secret=no-secret", "ftp://h", "nothing",
)  # fmt: skip


@pytest.mark.parametrize("url", MEANINGLESS)
def test_addresses_that_cannot_be_meant_are_refused(url: str) -> None:
    with pytest.raises(SettingError, match="must"):
        reached(url)


def test_two_sinks_that_differ_in_a_token_have_places_of_their_own() -> None:
    one, other = (reached(f"https://h/hook?token={token}") for token in ("aaaa", "bbbb"))
    assert one.place != other.place
    assert "aaaa" not in one.place
    post = Post([one, other], "works")
    post.take(notices()[0])
    waiting = post.state()["waiting"]
    assert len(waiting) == 2
    again = Post([reached("https://h/hook?token=bbbb")], "works")
    waiting[one.place] = []
    again.restore(post.state() | {"waiting": waiting})
    assert again.waiting == 1
    post.close(0.0)
    again.close(0.0)


def test_a_sink_that_is_away_for_long_keeps_the_newest(caplog: pytest.LogCaptureFixture) -> None:
    post = a_post("https://localhost:1/hook")
    sent = notices(300)
    for one in sent:
        post.take(one)
    assert post.waiting == MOST_WAITING
    assert post.lost == len(sent) - MOST_WAITING
    assert [one.id for one in post.outboxes[0].waiting] == [f"{one.id}-{one.revision}" for one in sent[-MOST_WAITING:]]
    assert caplog.text.count("the oldest are let go") == 1
    post.close(0.0)


def test_a_sink_that_has_gone_is_said(caplog: pytest.LogCaptureFixture) -> None:
    before = a_post("https://h/hook?token=aaaa")
    before.take(notices()[0])
    Post().restore(before.state())
    assert "https://h/hook?token=*** waited for 1 notice, and is no sink any more" in caplog.text
    before.close(0.0)


def test_every_sink_is_found_by_its_scheme() -> None:
    there = kinds("live.sinks")
    assert {*there} >= {"mqtt", "redis", "nats", "kafka", "https", "alertmanager", "prometheus", "file", "postgresql"}
    with pytest.raises(SettingError, match="must begin with one of"):
        reached("gopher://x")
    assert Address.parse("https://h/x").scheme in there


# Kinds of their own.


@pytest.mark.parametrize("place", ["webhook"], indirect=True)
def test_a_webhook_is_signed_and_a_letter_that_is_refused_stops_no_other(
    place: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from standardwebhooks.webhooks import Webhook

    sent = notices()
    place.receiver.answers = [204, 500, 400]
    post = a_post(place.url)
    post.start()
    for one in sent:
        post.take(one)
    post.close(20.0)
    came = list(place.came)
    assert [one.answered for one in came] == [204, 500, 400, 204, 204]
    assert [one.told["notice"]["revision"] for one in came] == [1, 2, 2, 3, 4]
    assert came[1].id == came[2].id
    assert {one.path for one in came} == {"/hook?to=pager"}
    for one in came:
        assert Webhook(SECRET).verify(one.body, one.headers)["version"] == "4"
    assert [one.told["status"] for one in came] == ["firing", "firing", "firing", "resolved", "resolved"]
    assert "refuses notice works-anomaly-2026-03-01T12:02:00Z-2, which is let go" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("place", ["alertmanager"], indirect=True)
def test_an_alert_is_told_again_while_its_event_goes_on_also_by_the_next_watch(place: Any) -> None:
    sent = notices()
    post = a_post(place.url)
    post.start()
    post.take(sent[0])
    until(place.told, "an alert")
    (first,) = place.client.get("/api/v2/alerts").json()
    post.close(20.0)
    state, post = post.state(), a_post(place.url)
    post.restore(state)
    post.start()

    def later() -> bool:
        found = place.client.get("/api/v2/alerts").json()
        return bool(found) and found[0]["endsAt"] > first["endsAt"]

    until(later, "an alert that was told again")
    assert first["labels"]["alertname"] == "CcmtadAnomaly"
    assert first["labels"]["entity"] == "works"
    for one in sent[1:]:
        post.take(one)
    until(lambda: not place.told(), "no alert")
    post.close(20.0)


@pytest.mark.parametrize("place", ["prometheus"], indirect=True)
def test_metrics_tell_what_goes_on(place: Any) -> None:
    sent = notices()
    post = a_post(place.url)
    post.start()
    for one in sent[:2]:
        post.take(one)
    until(place.told, "an open event")
    text = httpx.get(f"http://127.0.0.1:{place.port}/metrics", trust_env=False).text
    assert 'ccmtad_watch_severity{entity="works",kind="anomaly"} 12.0' in text
    assert 'ccmtad_watch_events_total{entity="works",kind="anomaly"} 1.0' in text
    for one in sent[2:]:
        post.take(one)
    until(lambda: not place.told(), "no open event")
    post.close(20.0)


@pytest.mark.parametrize("place", ["mqtt"], indirect=True)
def test_home_assistant_finds_a_sensor_that_is_on_while_an_event_goes_on(place: Any) -> None:
    sent = notices()
    post = a_post(place.url)
    post.start()

    def kept(topic: str) -> list[bytes]:
        return [payload for name, payload in list(place.came) if name == topic]

    post.take(sent[0])
    until(lambda: kept("told/works/state")[-1:] == [b"ON"], "on")
    (config,) = set(kept("discovery/binary_sensor/ccmtad_works/config"))
    told = json.loads(config)
    assert (told["device_class"], told["state_topic"]) == ("problem", "told/works/state")
    assert json.loads(kept(told["json_attributes_topic"])[-1])["sentence"]
    for one in sent[1:]:
        post.take(one)
    until(lambda: kept("told/works/state")[-1:] == [b"OFF"], "off")
    post.close(20.0)


def test_a_torn_line_of_a_file_spoils_none_after_it(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"id": "half')
    post = a_post(f"file://{path}")
    post.start()
    post.take(notices()[0])
    post.close(20.0)
    first, second = path.read_bytes().splitlines()
    assert (first, json.loads(second)["revision"]) == (b'{"id": "half', 1)


def test_no_thread_is_left_behind(tmp_path: Path) -> None:
    post = a_post(f"file://{tmp_path / 'x'}", "https://localhost:1/hook")
    post.start()
    post.take(notices()[0])
    post.close(0.1)
    assert not [one.name for one in threading.enumerate() if one.name in ("ccmtad-file", "ccmtad-webhook")]
    assert post.waiting == 1
