"""The outbox and the parts around it, without a service."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, select, update

from ccmtad.errors import SettingError
from ccmtad.live.alert import CLASSES, Alert, Standing, Style, alerts_of, distinct, message_of
from ccmtad.serve.alerts.attempt import LONGEST_ASKED, LONGEST_WAIT, Answer, attempt, retry_after, wait
from ccmtad.serve.alerts.target import Targets, checked_url
from ccmtad.serve.alerts.webhooks import Webhook, Webhooks
from ccmtad.serve.metrics import MOST_ENTITIES, Metrics
from ccmtad.serve.refusal import Refusal
from ccmtad.serve.store import log, notices, outbox
from ccmtad.serve.store.notices import Told
from ccmtad.serve.store.outbox import read_standing
from ccmtad.serve.store.store import Store
from ccmtad.serve.store.tables import deliveries, entities, events, processes, windows

from .conftest import empty_store
from .receiver import receiving

STYLE = Style("http://plant:8787", 10.0)
NOW = 1_800_000_000 * 10**9


@pytest.fixture
def kept(store: str) -> Iterator[Store]:
    """A store with one entity and one webhook."""
    one = Store(store)
    with one.write() as connection:
        log.make(one, connection, "pump", "plant", NOW)
    Webhooks(one).make("pager", "http://127.0.0.1:9/", "somebody")
    yield one
    one.close()


def told(revision: int, change: str = "opened", *, over: bool = False, severity: float = 3.0, **more: Any) -> Told:
    """A notice of one event."""
    body = {
        "id": "pump-anomaly-1", "kind": "anomaly", "revision": revision, "change": change, "entity": "pump",
        "model": "plant", "start": 1, "end": 5 if over else None, "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:05:00Z" if over else None, "severity": severity, "channels": ["flow", "speed"],
        "sentence": "flow 3 above the 2 expected", "silenced": None,
    }  # fmt: skip
    window = more.pop("silenced", None)
    at = NOW + revision
    return Told(1, at, at - 10, at if over else None, window, {**body, **more})


def save(store: Store, *notice: Told) -> None:
    with store.write() as connection:
        number = connection.execute(select(entities.c.id)).scalar_one()
        notices.save(store, connection, [replace(one, entity=number) for one in notice])


def say(store: Store, word: str, at: int) -> None:
    with store.write() as connection:
        notices.mark(connection, "pump-anomaly-1", word=word)
        outbox.settle(store, connection, "pump-anomaly-1", at, news=False)


def letters(store: Store) -> list[tuple[str, str]]:
    """What is in the outbox: whether it fires, and why not."""
    with store.read() as connection:
        rows = connection.execute(select(deliveries.c.body).order_by(deliveries.c.id)).scalars()
        found = [read_standing(row) for row in rows]
    return [("firing" if one.firing else "resolved", one.why) for one in found]


def firing(store: Store) -> list[bool]:
    with store.read() as connection:
        return [one.firing for one in outbox.current(connection, 1, NOW - 10**9)]


def test_an_event_is_told_when_it_begins_grows_and_ends(kept: Store) -> None:
    save(kept, told(1))
    assert letters(kept) == [("firing", "")]
    assert firing(kept) == [True]
    save(kept, told(1), told(1))  # a replay
    assert len(letters(kept)) == 1
    save(kept, told(2, "updated", severity=6.0), told(3, "resolved", over=True))
    assert [one for one, _ in letters(kept)] == ["firing", "firing", "resolved"]
    save(kept, told(4, "final", over=True))
    assert len(letters(kept)) == 3
    assert firing(kept) == [False]


def test_a_dismissed_event_is_over_until_that_is_taken_back(kept: Store) -> None:
    save(kept, told(1))
    say(kept, "confirmed", NOW + 2)
    assert len(letters(kept)) == 1
    say(kept, "dismissed", NOW + 3)
    save(kept, told(2, "updated", severity=6.0))
    say(kept, "undone", NOW + 4)
    say(kept, "undone", NOW + 5)
    save(kept, told(3, "final", over=True))
    say(kept, "dismissed", NOW + 6)
    assert letters(kept) == [("firing", ""), ("resolved", "dismissed"), ("firing", ""), ("resolved", "")]
    with kept.read() as connection:
        ids = connection.execute(select(deliveries.c.message)).scalars().all()
    assert len(set(ids)) == 4


def test_a_silenced_event_is_told_to_nobody_and_one_silenced_later_is_over(kept: Store) -> None:
    save(kept, told(1, silenced=1), told(2, "updated", silenced=1))
    assert letters(kept) == []
    assert firing(kept) == []
    save(kept, told(3, "updated"), told(4, "updated", silenced=1), told(5, "final", over=True, silenced=1))
    assert letters(kept) == [("firing", ""), ("resolved", "silenced")]


@pytest.mark.parametrize(("newest", "released"), [(NOW - 1, 0), (NOW + 1, 1)])
def test_an_event_outlasts_its_window_once_a_row_after_it_has_come(kept: Store, newest: int, released: int) -> None:
    with kept.write() as connection:
        made = {"start": NOW - 100, "end": NOW, "comment": "", "made_by": "somebody", "made": NOW - 200}
        number = connection.execute(insert(windows).values(**made).returning(windows.c.id)).scalar_one()
        connection.execute(update(entities).values(status=orjson.dumps({"time": newest}).decode(), newest=newest))
    save(kept, told(1, silenced=number, alarm_time="2026-01-01T00:01:00Z", blame=[0.9, 0.1]))
    for now, due in ((NOW - 1, 0), (NOW + 10, released), (NOW + 20, 0)):
        with kept.write() as connection:
            assert notices.outlasting(connection, now) == bool(due)
            assert notices.release(kept, connection, now) == due
    assert letters(kept) == [("firing", "")] * released
    assert firing(kept) == [True] * released


def test_an_event_that_another_window_silences_too_stays_so(kept: Store) -> None:
    both = []
    with kept.write() as connection:
        for end in (NOW, NOW + 100):
            made = {"start": 0, "end": end, "comment": f"{end}", "made_by": "somebody", "made": 0}
            both.append(connection.execute(insert(windows).values(**made).returning(windows.c.id)).scalar_one())
        connection.execute(update(entities).values(status=orjson.dumps({"time": NOW + 50}).decode(), newest=NOW + 50))
    save(kept, told(1, silenced=both[0], alarm_time="2026-01-01T00:01:00Z", blame=[0.9, 0.1]))
    with kept.write() as connection:
        assert notices.release(kept, connection, NOW + 60) == 1
        assert connection.execute(select(events.c.silenced)).scalar_one() == both[1]
        assert not notices.outlasting(connection, NOW + 60)
    assert letters(kept) == []


def test_an_event_that_outlasts_its_window_and_ends_before_anybody_looks_is_told_of(kept: Store) -> None:
    save(kept, told(1, silenced=1), told(2, "resolved", over=True), told(3, "final", over=True))
    assert letters(kept) == [("firing", ""), ("resolved", "")]


def test_a_notice_that_is_not_written_leaves_nothing_to_deliver(kept: Store) -> None:
    def fail() -> None:
        with kept.write() as connection:
            number = connection.execute(select(entities.c.id)).scalar_one()
            notices.save(kept, connection, [replace(told(1), entity=number)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert letters(kept) == []
    assert firing(kept) == []


def test_a_letter_is_held_by_one_process_until_that_is_gone(kept: Store) -> None:
    with kept.write() as connection:
        for number in (1, 2):
            connection.execute(insert(processes).values(id=number, address="", expires=9e9))
    save(kept, told(1), told(2, "updated", severity=6.0))

    def claimed(process: int, busy: list[int], now: int = NOW + 100) -> list[int]:
        with kept.write() as connection:
            there = outbox.due(connection, process, busy, 9, now)
            return [one.id for one in outbox.hold(connection, process, busy, there)]

    assert claimed(1, [], NOW) == []  # not due
    (first,) = claimed(1, [])  # the second waits for it
    assert claimed(2, []) == []
    assert claimed(1, [first]) == []
    assert claimed(1, []) == [first]  # it has lost sight of it
    with kept.write() as connection:
        connection.execute(processes.delete().where(processes.c.id == 1))
    assert claimed(2, []) == [first]
    with kept.write() as connection:
        outbox.failed(connection, first, "no answer", NOW + 500, None)
    assert claimed(2, []) == []
    assert claimed(2, [], NOW + 500) == [first]
    with kept.write() as connection:
        outbox.delivered(connection, first)
    (second,) = claimed(2, [])
    with kept.write() as connection:
        outbox.failed(connection, second, "no answer", NOW + 500, NOW + 200)
        assert outbox.counts(connection) == outbox.Counts(1, 0, 1)
    assert claimed(2, [], NOW + 999) == []
    with kept.write() as connection:
        assert outbox.forget(connection, NOW + 201) == 1


def standing(**other: Any) -> Standing:
    return replace(Standing(told(1).body, True, "", NOW, NOW + 1, "flow", 3.0), **other)


def test_an_event_that_becomes_critical_ends_its_warning() -> None:
    grown = standing(event=told(2, severity=30.0).body)
    before, now = alerts_of(grown, STYLE)
    assert (before.labels["severity"], now.labels["severity"]) == CLASSES
    assert (before.ends, now.ends) == (NOW + 1, None)
    message = message_of(grown, STYLE, "pager")
    assert [one["status"] for one in message["alerts"]] == ["resolved", "firing"]
    assert message["status"] == "firing"
    assert "severity" not in message["commonLabels"]
    assert message["commonLabels"]["channel"] == "flow"


def test_an_alert_never_ends_before_it_starts_nor_starts_ahead_of_the_clock() -> None:
    ahead = {**told(1).body, "start_time": "2261-01-01T00:00:00Z"}
    for one in (standing(event=ahead), standing(event=ahead, firing=False), standing(firing=False, changed=0)):
        (alert,) = alerts_of(one, STYLE)
        assert alert.starts <= NOW
        assert alert.ends is None or alert.ends >= alert.starts


def test_what_fires_hides_what_has_ended_with_the_same_labels() -> None:
    labels = {"entity": "pump"}
    over, going, other = (
        Alert(labels, {}, 1, 9, "over"), Alert(labels, {}, 5, None, "going"), Alert({"entity": "b"}, {}, 1, 2, "b"),
    )  # fmt: skip
    for order in ([over, going, other], [going, over, other]):
        assert {one.link for one in distinct(order)} == {"going", "b"}
    assert [one.link for one in distinct([over, replace(over, ends=10, link="later")])] == ["later"]


@given(attempts=st.integers(1, 200), chance=st.floats(0, 1), after=st.none() | st.floats(0, 1e9))
def test_waits_grow_within_bounds_and_heed_what_is_asked(attempts: int, chance: float, after: float | None) -> None:
    found = wait(attempts, 5.0, after, chance)
    least = min(5.0 * 3.0 ** min(attempts - 1, 50), LONGEST_WAIT) / 2
    assert found >= max(least, min(after or 0.0, LONGEST_ASKED))
    assert found <= max(2 * least, min(after or 0.0, LONGEST_ASKED))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0), ("", None), ("soon", None), ("-3", None), ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0), ("9" * 400, 999999999999.0), ("½", None),
    ],
)  # fmt: skip
def test_retry_after_has_a_number_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, 10.0) == seconds


@pytest.mark.parametrize(
    ("rules", "right", "wrong"),
    [
        ((), ["127.0.0.1", "8.8.8.8", "169.254.169.254"], []),
        (
            ("public",), ["8.8.8.8", "2606:4700::1111"],
            ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1", "::ffff:127.0.0.1", "0.0.0.0", "224.0.0.1"],
        ),
        (("10.1.0.0/16", "::1/128"), ["10.1.2.3", "::1", "::ffff:10.1.0.1"], ["10.2.0.1", "8.8.8.8"]),
    ],
)  # fmt: skip
def test_addresses_that_webhooks_may_lead_to(rules: tuple[str, ...], right: list[str], wrong: list[str]) -> None:
    from ipaddress import ip_address

    targets = Targets(rules)
    assert [one for one in right if not targets.allows(ip_address(one))] == []
    assert [one for one in wrong if targets.allows(ip_address(one))] == []


def test_rules_that_are_none_are_refused() -> None:
    with pytest.raises(SettingError, match="webhook_targets must be 'public' or networks"):
        Targets(("private",))


@given(st.text(max_size=40) | st.text(max_size=40).map("http://".__add__) | st.from_regex(r"https?://[^\x00]{0,40}"))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    try:
        url = httpx.URL(checked_url(text))
    except Refusal:
        return
    assert url.scheme in ("http", "https")
    assert url.host
    assert not url.userinfo


def tried(rules: tuple[str, ...], url: str, timeout: float = 60.0) -> Answer:
    async def once() -> Answer:
        async with httpx.AsyncClient(trust_env=False) as client:
            webhook = Webhook("1", "x", url, "whsec_" + 43 * "A" + "=", None, None, None, "", 0)
            return await attempt(client, Targets(rules), webhook, "msg_1", b"{}", timeout)

    return asyncio.run(once())


def test_a_host_that_leads_to_a_forbidden_address_is_not_connected_to() -> None:
    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        forbidden = tried(("public",), url)
        assert forbidden.status is None
        assert "may be a target" in forbidden.trouble
        assert receiver.came == []
        assert tried(("127.0.0.0/8",), url).status == 204
        assert receiver.came[0].headers["host"] == httpx.URL(url).netloc.decode()


def test_what_cannot_be_reached_or_is_too_slow_is_a_failed_attempt() -> None:
    assert tried((), "http://127.0.0.1:9/").trouble
    assert tried((), "http://no-such-host.invalid/").trouble
    assert tried(("public",), "http://no-such-host.invalid/").trouble
    import threading

    with receiving(hold=threading.Event()) as receiver:
        assert tried((), receiver.url, 0.2).trouble == "no answer within 0.2 seconds"


def test_an_old_secret_signs_for_a_day_after_a_rotation() -> None:
    now = time.time()
    webhook = Webhook("1", "x", "", "whsec_" + 43 * "A" + "=", "whsec_" + 43 * "B" + "=", int(now * 1e9), None, "", 0)
    for later, signatures in ((0, 2), (23, 2), (25, 1)):
        assert len(webhook.headers("m", b"{}", now + later * 3600)["webhook-signature"].split()) == signatures


def test_entities_beyond_the_most_have_no_metrics_of_their_own() -> None:
    from ccmtad.serve.entity import Entity

    metrics = Metrics()
    metrics.watch(lambda: [Entity(i, f"e{i}", "plant") for i in range(MOST_ENTITIES + 7)], dict, lambda: 0)
    text = metrics.text().decode()
    assert text.count("ccmtad_alarm{") == MOST_ENTITIES
    assert "ccmtad_entities_without_metrics 7.0" in text


def test_a_process_is_not_taken_for_one_of_another_schema(kept: Store, tmp_path: Path) -> None:
    """Else the entities of one that was killed would have no owner until its lease is over."""
    with empty_store(kept.dialect.name, tmp_path / "..") as url:
        other = Store(url.replace("store.db", f"{tmp_path.name}.db"))
        mine = kept.dialect.hold(kept.engine, 1)
        theirs = other.dialect.hold(other.engine, 1)
        assert mine is not None
        assert theirs is not None
        assert kept.dialect.hold(kept.engine, 1) is None
        mine.release()
        theirs.release()
        other.close()
