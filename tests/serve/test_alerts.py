"""A real Alertmanager is told of events, and a real Prometheus scrapes the service."""

import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from ccmtad.live.alert import Alert

from .faults import GOES_ON, OVER, begin, end, rows
from .monitors import ALERTMANAGER, PROMTOOL, a_prometheus, an_alertmanager, free_port, program
from .server import Nursery, Server, until
from .test_alerts_guide import dashboard_queries, rule_queries

INTERVAL = "2"  # seconds: what is a minute for people. An alert that is not sent again lasts four of them
QUOTED = 'pump "1" °C'


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """One that forgets what has no end after a second."""
    with an_alertmanager(tmp_path_factory.mktemp("alertmanager"), "1s") as client:
        yield client


def options(alertmanager: httpx.Client) -> tuple[str, ...]:
    return "--silence", "0", "--alertmanager", str(alertmanager.base_url), "--alert-interval", INTERVAL


@pytest.fixture(scope="module")
def server(
    nursery: Nursery, plant_models: Path, alertmanager: httpx.Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One service for all tests that do not kill it: each has entities of its own."""
    folder = tmp_path_factory.mktemp("store")
    copy = shutil.copytree(plant_models, folder / "models")  # what is said of events is written there
    with nursery.serving(copy, f"sqlite:///{folder / 'store.db'}", *options(alertmanager)) as one:
        yield one


def firing(alertmanager: httpx.Client, entity: str) -> list[dict[str, Any]]:
    """What an Alertmanager knows of an entity: what is resolved it does not show."""
    answer = alertmanager.get("/api/v2/alerts", params={"filter": f'entity="{entity}"'})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def until_fires(alertmanager: httpx.Client, entity: str) -> dict[str, Any]:
    until(f"{entity} fires", lambda: firing(alertmanager, entity))
    (alert,) = firing(alertmanager, entity)
    return alert


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def sent_after(alertmanager: httpx.Client, entity: str, first: dict[str, Any], seconds: float) -> dict[str, Any]:
    """An alert when it was sent again, so many seconds after a time before or later, having been there all the time."""
    last = first

    def later() -> bool:
        nonlocal last
        (last,) = firing(alertmanager, entity)
        return moment(last["updatedAt"]) - moment(first["updatedAt"]) > timedelta(seconds=seconds)

    until(f"{entity} is told of again", later)
    assert moment(last["endsAt"]) > moment(first["endsAt"])
    return last


def test_an_alert_fires_past_the_resolve_timeout_and_ends_with_its_event(
    server: Server, alertmanager: httpx.Client
) -> None:
    event = begin(server, "a")
    alert = sent_after(alertmanager, "a", until_fires(alertmanager, "a"), 3.0)
    labels = alert["labels"]
    assert labels.pop("severity") in ("warning", "critical")
    assert labels == {"alertname": "CcmtadAnomaly", "entity": "a", "kind": "anomaly", "channel": event["channels"][0]}
    assert event["sentence"] in alert["annotations"]["summary"]
    assert alert["annotations"]["event"] == event["id"]
    assert alert["generatorURL"] == alert["annotations"]["page"]
    assert alert["generatorURL"] == f"{server.url}/events/{quote(event['id'], safe='')}"
    assert moment(alert["startsAt"]) == moment(event["start_time"])
    assert moment(alert["endsAt"]) > moment(alert["updatedAt"])
    end(server, "a")
    until("a is resolved", lambda: not firing(alertmanager, "a"))


@pytest.mark.slow
def test_told_each_minute_an_alert_lives_past_a_resolve_timeout_of_one(
    nursery: Nursery, plant_models: Path, tmp_path: Path
) -> None:
    """As in earnest: nothing is made quicker."""
    copy = shutil.copytree(plant_models, tmp_path / "models")
    with an_alertmanager(tmp_path, "1m") as alertmanager:
        told = ("--silence", "0", "--alertmanager", str(alertmanager.base_url))
        with nursery.serving(copy, f"sqlite:///{tmp_path / 'store.db'}", *told) as server:
            begin(server, "a")
            alert = until_fires(alertmanager, "a")
            for _ in range(3):
                alert = sent_after(alertmanager, "a", alert, 45.0)
            end(server, "a")
            until("a is resolved", lambda: not firing(alertmanager, "a"))


def test_labels_have_the_fingerprint_that_alertmanager_gives_them(server: Server, alertmanager: httpx.Client) -> None:
    begin(server, "fingerprint")
    alert = until_fires(alertmanager, "fingerprint")
    assert Alert(alert["labels"], {}, 0, None, "").fingerprint == alert["fingerprint"]


def test_a_dismissed_event_is_resolved_and_fires_again_when_that_is_taken_back(
    server: Server, alertmanager: httpx.Client
) -> None:
    event = begin(server, "dismissed")
    until_fires(alertmanager, "dismissed")
    path = f"/v1/events/{quote(event['id'])}"
    server.post(f"{path}/dismiss", {})
    until("it is resolved", lambda: not firing(alertmanager, "dismissed"))
    assert server.get(path)["open"]
    server.post(f"{path}/undo", {})
    until_fires(alertmanager, "dismissed")


def test_silenced_and_ended_events_never_fire(server: Server, alertmanager: httpx.Client) -> None:
    window = {"entity": "silenced", "start": "2020-01-01", "comment": "a new pump"}
    server.post("/v1/windows", window, 201)
    event = begin(server, "silenced")
    assert event["silenced"]["comment"] == "a new pump"
    server.send("long ended", **rows(0, OVER))
    server.judged("long ended", OVER)
    assert server.events(entity="long ended")
    begin(server, "later")
    until_fires(alertmanager, "later")  # what was before it in the store would have been told with it
    assert not firing(alertmanager, "silenced")
    assert not firing(alertmanager, "long ended")


def test_alerts_go_on_after_a_kill_and_a_takeover(
    nursery: Nursery, models: Path, store: str, alertmanager: httpx.Client, tmp_path: Path
) -> None:
    """By another process on the same store; what has ended stays so."""
    name = f"killed {tmp_path.name}"
    with nursery.serving(models, store, *options(alertmanager)) as first:
        event = begin(first, name)
        before = until_fires(alertmanager, name)
        with nursery.serving(models, store, *options(alertmanager), key=first.key) as second:
            first.kill()
            at_kill = until_fires(alertmanager, name)
            after = sent_after(alertmanager, name, at_kill, 0.0)
            assert second.get(f"/v1/entities/{name}")["owner"] == second.url
            assert after["startsAt"] == before["startsAt"]
            assert after["fingerprint"] == before["fingerprint"]
            assert after["annotations"]["event"] == event["id"]
            end(second, name)
            until("it is resolved", lambda: not firing(alertmanager, name))
            second.kill()
        with nursery.serving(models, store, *options(alertmanager), key=first.key) as third:
            begin(third, f"{name}, later")
            until_fires(alertmanager, f"{name}, later")
            assert not firing(alertmanager, name)


def measured(server: Server, series: str) -> float:
    """As the service tells it."""
    lines = server.client.get("/metrics").text.splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(series))


def test_an_alertmanager_that_was_away_is_told_when_it_is_back(
    nursery: Nursery, models: Path, sqlite: str, tmp_path: Path
) -> None:
    program(ALERTMANAGER)
    port = free_port()
    url = f"http://somebody:secret@127.0.0.1:{port}/"
    failed = f'ccmtad_alertmanager_posts_total{{alertmanager="http://127.0.0.1:{port}",result="failed"}}'
    with nursery.serving(
        models, sqlite, "--silence", "0", "--alertmanager", url, "--alert-interval", INTERVAL
    ) as server:
        begin(server, "away")
        until("it fails twice", lambda: measured(server, failed) >= 2)
        with an_alertmanager(tmp_path, "1s", port) as back:
            until_fires(back, "away")
            printed = server.stop()
    assert "takes no alerts" in printed
    assert "secret" not in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("url", ["ftp://a", "alertmanager:9093", "http://", "http://a/?b", "http://a b:x"])
def test_what_is_no_alertmanager_is_refused(nursery: Nursery, models: Path, sqlite: str, url: str) -> None:
    server = Server(nursery, models, sqlite, ("--alertmanager", url), "")
    until("its end", lambda: server.ended)
    server.client.close()
    assert server.code == 2
    assert "alertmanager must be the" in server.text
    assert "Traceback" not in server.text


def value(prometheus: httpx.Client, query: str) -> float | None:
    """What Prometheus has for a query that one series answers."""
    answer = prometheus.get("/api/v1/query", params={"query": query}).json()
    assert answer["status"] == "success", answer
    found = answer["data"]["result"]
    return float(found[0]["value"][1]) if found else None


def test_a_prometheus_scrapes_it(server: Server, tmp_path: Path) -> None:
    event = begin(server, QUOTED)
    selected = r'{entity="pump \"1\" °C"}'
    wanted = {
        f"ccmtad_alarm{selected}": 1.0,
        f"ccmtad_entity_rows{selected}": float(GOES_ON),
        f"sum(ccmtad_health{selected})": 1.0,
        f"ccmtad_score_ratio{selected} > bool 1": 1.0,
        f"time() - ccmtad_entity_heard_timestamp_seconds{selected} < bool 3600": 1.0,
        'ccmtad_open_events{kind="anomaly"} >= bool 1': 1.0,
        'ccmtad_rows_total{what="accepted"} >= bool 330': 1.0,
        "ccmtad_rows_judged_total >= bool 330": 1.0,
        "ccmtad_step_seconds_count > bool 0": 1.0,
        "histogram_quantile(0.99, ccmtad_step_seconds_bucket) > bool 0": 1.0,
        "ccmtad_queue_bytes": 0.0,
        "ccmtad_ready": 1.0,
        "ccmtad_alerts_firing >= bool 1": 1.0,
        'ccmtad_alertmanager_posts_total{result="taken"} >= bool 1': 1.0,
        "ccmtad_webhook_dead_letters": 0.0,
        'ccmtad_webhook_deliveries_total{result="failed"}': 0.0,
        "up": 1.0,
    }
    assert event["open"]
    with a_prometheus(tmp_path, server.url, server.key) as prometheus:
        until("the alarm is scraped", lambda: value(prometheus, f"ccmtad_alarm{selected}") == 1.0)
        found: dict[str, float | None] = {}

        def right() -> bool:
            found.update({query: value(prometheus, query) for query in wanted})
            return found == wanted

        try:
            until("all of it", right)
        except AssertionError:
            assert found == wanted
        for query in dashboard_queries():  # rates need two scrapes; who is not healthy may be nobody
            until(query, lambda query=query: value(prometheus, query) is not None or "state!~" in query)  # type: ignore[misc]
        fired = [query for query in rule_queries() if value(prometheus, query) is not None]
        assert not [query for query in fired if "ccmtad_health" not in query], "nothing else is wrong"


def test_metrics_are_as_prometheus_wants_them(server: Server) -> None:
    """Names, units and help texts."""
    server.send(QUOTED[::-1], **rows(0, 10))
    text = server.client.get("/metrics").content
    assert b'entity="C\xc2\xb0 \\"1\\" pmup"' in text
    done = subprocess.run([program(PROMTOOL), "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), (done.stdout + done.stderr).decode()


def test_events_are_annotations_by_range_and_tags(server: Server) -> None:
    event = begin(server, "drawn")
    end(server, "drawn")
    begin(server, "drawn too")
    began = int(moment(event["start_time"]).timestamp() * 1e3)
    (one,) = server.client.get("/v1/annotations", params={"tags": "drawn"}).json()
    (kept,) = server.events(entity="drawn")
    assert one["time"] == began
    assert one["timeEnd"] == int(moment(kept["end_time"]).timestamp() * 1e3)
    assert one["text"] == kept["sentence"]
    assert set(one["tags"]) >= {"drawn", "anomaly", event["channels"][0]}
    (going,) = server.client.get("/v1/annotations", params={"tags": ["drawn too", "open"]}).json()
    assert going["timeEnd"] > one["timeEnd"]
    assert server.client.get("/v1/annotations", params={"tags": ["drawn", "open"]}).json() == []
    inside = {"tags": "drawn", "start": one["time"], "end": one["timeEnd"]}  # milliseconds, as Grafana gives them
    assert server.client.get("/v1/annotations", params=inside).json() == [one]
    for start, last in ((one["timeEnd"] + 1, one["timeEnd"] + 10), (began - 10, began - 1)):
        beside = {"tags": "drawn", "start": start, "end": last}
        assert server.client.get("/v1/annotations", params=beside).json() == []
    assert server.client.get("/v1/annotations", headers={"Authorization": ""}).status_code == 401
