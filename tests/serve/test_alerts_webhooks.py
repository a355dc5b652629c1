"""Webhooks: signed, delivered at least once with one id, in order, and in nobody's way."""

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from .faults import BEGINS, GOES_ON, OVER, begin, end, faulty, rows
from .receiver import Receiver, receiving
from .server import Nursery, Server, until

WAIT = 0.2  # seconds before the second attempt
OPTIONS = ("--silence", "0", "--webhook-wait", f"{WAIT}", "--webhook-attempts", "4", "--webhook-timeout", "60")


@pytest.fixture(scope="module")
def server(nursery: Nursery, plant_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One service for all tests that do not kill it: each has entities and webhooks of its own."""
    folder = tmp_path_factory.mktemp("store")
    copy = shutil.copytree(plant_models, folder / "models")
    with nursery.serving(copy, f"sqlite:///{folder / 'store.db'}", *OPTIONS) as one:
        yield one


def made(server: Server, receiver: Receiver, name: str = "pager") -> dict[str, Any]:
    """A webhook that leads there."""
    return server.post("/v1/webhooks", {"name": name, "url": receiver.url}, 201)


def ended(server: Server, webhook: dict[str, Any]) -> None:
    assert server.client.delete(f"/v1/webhooks/{webhook['id']}").status_code == 200


def test_a_receiver_that_fails_three_times_gets_the_same_message_four_times(server: Server) -> None:
    with receiving(answers=[500, 503, 302], headers={"location": "http://127.0.0.1:9/elsewhere"}) as receiver:
        webhook = made(server, receiver)
        event = begin(server, "thrice")
        until("it is delivered", lambda: len(receiver.taken("thrice")) == 4)
        came = receiver.taken("thrice")
        assert [one.answered for one in came] == [500, 503, 302, 204]
        assert len({one.id for one in came}) == len({one.body for one in came}) == 1
        for one in came:
            assert Webhook(webhook["secret"]).verify(one.body, one.headers) == one.told
        for (before, after), least in zip(pairwise(came), (WAIT / 2, 3 * WAIT / 2, 9 * WAIT / 2), strict=True):
            assert after.at - before.at >= least
        other = "whsec_" + 43 * "A" + "="
        with pytest.raises(WebhookVerificationError):
            Webhook(other).verify(came[0].body, came[0].headers)
        told = came[0].told
        assert (told["version"], told["status"], told["receiver"]) == ("4", "firing", "pager")
        assert told["groupKey"].endswith(event["id"])
        (alert,) = told["alerts"]
        assert alert["labels"] == told["commonLabels"]
        assert alert["status"] == "firing"
        assert alert["endsAt"].startswith("0001-")
        assert event["sentence"] in alert["annotations"]["summary"]
        end(server, "thrice")
        until("its end is told", lambda: receiver.taken("thrice", "resolved"))
        (over,) = receiver.taken("thrice", "resolved")
        assert over.id != came[0].id
        assert over.told["alerts"][-1]["endsAt"] > alert["startsAt"]
        until("nothing waits", lambda: b"ccmtad_webhook_waiting 0.0" in server.client.get("/metrics").content)
        ended(server, webhook)


def test_after_the_last_attempt_it_is_a_dead_letter_that_can_be_sent_again_or_dropped(server: Server) -> None:
    with receiving(then=500) as receiver:
        webhook = made(server, receiver)
        path = f"/v1/webhooks/{webhook['id']}/dead-letters"
        event = begin(server, "dead")
        until("it is given up", lambda: server.get(path)["letters"])
        (letter,) = server.get(path)["letters"]
        assert (letter["attempts"], letter["event"], letter["trouble"]) == (4, event["id"], "it answered 500")
        assert len(receiver.taken("dead")) == 4
        assert letter["body"] == receiver.taken("dead")[0].told
        assert b"ccmtad_webhook_dead_letters 1.0" in server.client.get("/metrics").content
        receiver.then = 200
        assert server.client.post(f"{path}/{letter['id']}/retry").json() == {"letters": 1}
        until("it is delivered", lambda: receiver.came[-1].answered == 200)
        assert {one.id for one in receiver.taken("dead")} == {letter["message"]}
        until("it has left", lambda: not server.get(path)["letters"])
        receiver.then = 500
        end(server, "dead")
        until("its end is given up", lambda: server.get(path)["letters"])
        (letter,) = server.get(path)["letters"]
        assert server.client.delete(f"{path}/{letter['id']}").json() == {"letters": 1}
        assert server.client.delete(f"{path}/{letter['id']}").status_code == 404
        assert server.get(path)["letters"] == []
        ended(server, webhook)


def test_a_receiver_that_hangs_is_in_nobodys_way(server: Server) -> None:
    with receiving(hold=threading.Event()) as slow, receiving() as quick:
        webhooks = [made(server, slow, "slow"), made(server, quick, "quick")]
        for number in range(6):
            begin(server, f"hung {number}")
        until("the quick one is told", lambda: all(quick.taken(f"hung {number}") for number in range(6)))
        until("the slow one is asked", lambda: len(slow.came) == 4)  # at a time
        for number in range(6):
            end(server, f"hung {number}")
        until("the quick one is told", lambda: all(quick.taken(f"hung {n}", "resolved") for n in range(6)))
        assert len(slow.came) == 4
        assert slow.hold is not None
        slow.hold.set()
        until("the slow one is told", lambda: len(slow.came) == len(quick.came))
        for number in range(6):
            order = [one.told["status"] for one in slow.taken(f"hung {number}")]
            assert order == sorted(order)  # "firing" before "resolved"
            assert set(order) == {"firing", "resolved"}
        for webhook in webhooks:
            ended(server, webhook)


def _last_said(receiver: Receiver, status: str) -> bool:
    return bool(receiver.taken("normal")[-1].told["status"] == status)


def test_a_dismissed_event_is_told_to_be_over_and_a_silenced_one_never(server: Server) -> None:
    with receiving() as receiver:
        webhook = made(server, receiver)
        window = {"entity": "quiet", "start": "2020-01-01"}
        server.post("/v1/windows", window, 201)
        assert begin(server, "quiet")["silenced"] is not None
        event = begin(server, "normal")
        until("it is told", lambda: receiver.taken("normal", "firing"))
        for word, status in (("dismiss", "resolved"), ("undo", "firing")):
            server.post(f"/v1/events/{event['id']}/{word}", {})
            until(word, partial(_last_said, receiver, status))
        (over,) = receiver.taken("normal", "resolved")
        assert over.told["alerts"][0]["annotations"]["why"] == "dismissed"
        server.post("/v1/windows", {"entity": "normal", "start": "2020-01-01"}, 201)
        until("a window comes", partial(_last_said, receiver, "resolved"))
        assert receiver.taken("normal")[-1].told["alerts"][0]["annotations"]["why"] == "silenced"
        assert not receiver.taken("quiet")
        ended(server, webhook)


def test_an_event_that_outlasts_its_window_is_told_when_that_is_over(server: Server) -> None:
    times = faulty().times
    assert times is not None
    with receiving() as receiver:
        webhook = made(server, receiver)
        for entity, last in (("outlasts", BEGINS + 10), ("within", OVER)):
            span = {"start": str(times[BEGINS - 5]), "end": str(times[last - 1])}
            server.post("/v1/windows", {"entity": entity, "comment": "a new pump", **span}, 201)
            server.send(entity, **rows(0, BEGINS + 8))
            until(f"an event of {entity}", partial(server.events, entity=entity, open=True))
            (event,) = server.events(entity=entity, open=True)
            assert event["silenced"]["comment"] == "a new pump"
        for entity in ("within", "outlasts"):
            server.send(entity, **rows(BEGINS + 8, GOES_ON))
        until("it is told", lambda: receiver.taken("outlasts", "firing"))
        (event,) = server.events(entity="outlasts", open=True)
        assert event["silenced"] is None
        for entity in ("within", "outlasts"):
            end(server, entity)
        until("it is over", lambda: receiver.taken("outlasts", "resolved"))
        assert not receiver.taken("within")
        assert [one["silenced"] is None for one in server.events(entity="within")] == [False]
        late = server.post("/v1/windows", {"entity": "outlasts", **span | {"end": str(times[BEGINS + 9])}}, 201)
        assert server.events(entity="outlasts")[0]["silenced"] is None, late
        ended(server, webhook)


def test_who_is_silent_still_when_maintenance_is_over_is_told_of(
    nursery: Nursery, quick_models: Path, sqlite: str
) -> None:
    with receiving() as receiver, nursery.serving(quick_models, sqlite, "--silence", "0.2") as server:
        made(server, receiver)
        window = server.post("/v1/windows", {"entity": "off", "start": "2000-01-01"}, 201)
        server.send("off", times=[1e9 + i / 100 for i in range(10)], values=[[0.0, float(i)] for i in range(10)])
        until("silence", lambda: server.events(entity="off", open=True))
        assert server.events(entity="off")[0]["silenced"]["id"] == window["id"]
        server.client.delete(f"/v1/windows/{window['id']}")
        until("it is told", lambda: receiver.taken("off", "firing"))


def test_after_a_rotation_both_secrets_verify(server: Server) -> None:
    with receiving() as receiver:
        first = made(server, receiver)
        second = server.client.post(f"/v1/webhooks/{first['id']}/rotate").json()
        assert second["secret"] != first["secret"]
        tried = server.client.post(f"/v1/webhooks/{first['id']}/test").json()
        assert (tried["delivered"], tried["status"]) == (True, 204)
        (came,) = receiver.came
        assert came.id == tried["message"]
        for one in (first, second):
            Webhook(one["secret"]).verify(came.body, came.headers)
        ended(server, first)
    listed = server.get("/v1/webhooks")["webhooks"]
    assert all("secret" not in one for one in listed)


def test_a_receiver_may_ask_us_to_wait_and_to_go_away(server: Server) -> None:
    with receiving(answers=[429], headers={"retry-after": "2"}, then=410) as receiver:
        webhook = made(server, receiver)
        begin(server, "gone")
        until("nothing is sent there", lambda: server.get("/v1/webhooks")["webhooks"][-1]["paused"] is not None)
        first, second = receiver.taken("gone")
        assert second.at - first.at >= 2.0
        (letter,) = server.get(f"/v1/webhooks/{webhook['id']}/dead-letters")["letters"]
        assert (letter["attempts"], letter["trouble"]) == (2, "it answered 410")
        receiver.then = 200
        assert server.client.post(f"/v1/webhooks/{webhook['id']}/resume").json()["paused"] is None
        assert server.client.post(f"/v1/webhooks/{webhook['id']}/dead-letters/retry").json() == {"letters": 1}
        until("it is delivered", lambda: receiver.came[-1].answered == 200)
        ended(server, webhook)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/x", "file:///etc/passwd", "//host/x", "http://", "http://user:word@host/", "http://host:99999/",
        "http://host/#part", "http://ho st/", "javascript:1", "http://host/\u2028", "http://" + "a" * 2_000,
    ],
)  # fmt: skip
def test_urls_that_lead_nowhere_good_are_refused(server: Server, url: str) -> None:
    answer = server.client.post("/v1/webhooks", json={"name": "x", "url": url})
    assert answer.status_code == 422, answer.text


def test_webhooks_are_for_administrators(server: Server) -> None:
    made = server.client.post("/v1/keys", json={"name": "gateway", "scopes": ["read", "write"]}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    for method, path in (
        ("GET", ""), ("POST", ""), ("DELETE", "/0123456789abcdef"), ("POST", "/0123456789abcdef/rotate"),
        ("POST", "/0123456789abcdef/test"), ("GET", "/0123456789abcdef/dead-letters"),
        ("POST", "/0123456789abcdef/dead-letters/1/retry"), ("DELETE", "/0123456789abcdef/dead-letters/1"),
    ):  # fmt: skip
        body = {"name": "x", "url": "http://127.0.0.1:9"}
        answer = server.client.request(method, f"/v1/webhooks{path}", json=body, headers=headers)
        assert answer.status_code == 403, (method, path)
        if path:
            assert server.client.request(method, f"/v1/webhooks{path}", json=body).status_code == 404, (method, path)


def test_what_was_not_delivered_before_a_kill_is_delivered_after_it(nursery: Nursery, models: Path, store: str) -> None:
    with receiving(then=500) as receiver:
        with nursery.serving(
            models, store, "--silence", "0", "--webhook-wait", "0.2", "--webhook-attempts", "100"
        ) as first:
            webhook = made(first, receiver)
            event = begin(first, "a")
            until("it is tried", lambda: receiver.taken("a"))
            receiver.hold = threading.Event()  # killed in the middle of an attempt
            tried = len(receiver.came)
            until("an attempt hangs", lambda: len(receiver.came) > tried)
            first.kill()
        receiver.hold.set()
        receiver.then = 204
        before = len(receiver.came)
        with nursery.serving(models, store, "--silence", "0", key=first.key) as second:
            until("it is delivered", lambda: any(one.answered == 204 for one in receiver.came[before:]))
            assert len({one.id for one in receiver.taken("a", "firing")}) == 1
            Webhook(webhook["secret"]).verify(receiver.came[-1].body, receiver.came[-1].headers)
            assert event["id"] in receiver.came[-1].told["groupKey"]
            second.send("a", **rows(330, 460))
            until("its end is told", lambda: receiver.taken("a", "resolved"))
