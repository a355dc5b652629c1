"""Values that other programs push: what becomes of them, and of what is none."""

import gzip
import json
import math
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from google.protobuf.json_format import MessageToJson
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from ccmtad import Detector, Frame
from ccmtad.live.labels import Naming
from ccmtad.serve.push import influx as lines
from ccmtad.serve.push import otlp as metrics
from ccmtad.serve.push import remote_write as writes
from ccmtad.serve.push.series import Body
from ccmtad.serve.refusal import Refusal

from .rows import expected, same
from .senders import REMOTE_WRITE, Sample, influx, members, otlp, remote_write, samples_of
from .server import Nursery, Server

SECOND = 10**9
START = 1_700_000_000 * SECOND
PROTOBUF = {"content-type": "application/x-protobuf"}
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
ROUTES = ("/v1/push/remote-write", "/v1/push/influx", "/v1/push/otlp/v1/metrics")


@pytest.fixture(scope="module")
def tank_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, `tanks`, of a row a second and a tag with a label."""
    folder = tmp_path_factory.mktemp("tanks")
    times = (START + np.arange(400) * SECOND).astype("datetime64[ns]")
    values = np.random.default_rng(3).normal(size=(400, 2))
    made = Detector(epochs=1, width=8, window=4, budget="1/100 rows", seed=0)
    made.fit(Frame(values, ("flow", 'level{tank="2"}'), times)).save(folder / "tanks.ccm")
    return folder


@pytest.fixture(scope="module")
def server(nursery: Nursery, tank_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests: each has entities of its own."""
    store = f"sqlite:///{tmp_path_factory.mktemp('push') / 'store.db'}"
    with nursery.serving(tank_models, store, "--silence", "0", "--grace", "2") as one:
        yield one


def flow(value: float, second: float, entity: str, **more: str) -> Sample:
    return "flow", {"instance": entity, "job": "plc", **more}, value, START + round(second * SECOND)


def level(value: float, second: float, entity: str, tank: str = "2") -> Sample:
    return "level", {"instance": entity, "job": "plc", "tank": tank}, value, START + round(second * SECOND)


def push(server: Server, route: str, samples: list[Sample], **query: Any) -> httpx.Response:
    """The same values, as each protocol has them."""
    if route.endswith("remote-write"):
        return server.client.post(route, content=remote_write(samples), headers=REMOTE_WRITE, params=query)
    if route.endswith("metrics"):
        body = otlp(samples).SerializeToString()
        return server.client.post(route, content=body, headers=PROTOBUF, params=query)
    return server.client.post(route, content=influx(samples), params=query)


def taken(server: Server, route: str, samples: list[Sample], **query: Any) -> dict[str, Any]:
    answer = push(server, route, samples, **query)
    assert answer.status_code == 200, answer.text
    if route.endswith("metrics"):
        told = ExportMetricsServiceResponse.FromString(answer.content).partial_success
        return {"refused": told.rejected_data_points, "notes": [told.error_message]}
    found: dict[str, Any] = answer.json()
    return found


def rows(server: Server, entity: str) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = server.get(f"/v1/entities/{entity}/rows")["values"]
    return found


# The way through the service.


@pytest.mark.parametrize("route", ROUTES)
def test_pushed_values_give_the_events_of_whole_rows(
    nursery: Nursery, models: Path, sqlite: str, fitted: Detector, faulty: Frame, route: str
) -> None:
    assert faulty.times is not None
    sent = samples_of(faulty, instance="a")
    last: Sample = (faulty.channels[0], {"instance": "a"}, 1.0, sent[-1][3] + 3_600 * SECOND)
    with nursery.serving(models, sqlite, "--silence", "0") as server:
        for part in (sent[:9_000], sent[8_000:18_000], sent[18_000:], [last]):  # a thousand come twice
            assert push(server, route, part).status_code == 200
        server.judged("a", 900)
        same(server.events(), expected(fitted, faulty, "a"))


@pytest.mark.parametrize("route", ROUTES)
def test_what_is_acknowledged_lasts(nursery: Nursery, tank_models: Path, sqlite: str, route: str) -> None:
    with nursery.serving(tank_models, sqlite, "--silence", "0", "--grace", "2") as server:
        key = server.key
        taken(server, route, [flow(1.0, 0, "a"), level(2.0, 0, "a")])
        server.kill()
    with nursery.serving(tank_models, sqlite, "--silence", "0", "--grace", "2", key=key) as server:
        taken(server, route, [flow(1.0, 0, "a"), flow(5.0, 10, "a")])
        assert rows(server, "a") == {"flow": [1.0], 'level{tank="2"}': [2.0]}


@pytest.mark.parametrize("route", ROUTES)
def test_each_series_finds_its_entity_and_tag(server: Server, route: str) -> None:
    one, other = f"one{ROUTES.index(route)}", f"other{ROUTES.index(route)}"
    sent = [flow(1.0, 0, one), level(2.0, 0, one), level(3.0, 0, one, "3"), flow(4.0, 0, other), flow(0.0, 9, one)]
    taken(server, route, [*sent, flow(0.0, 9, other)])
    assert rows(server, one) == {"flow": [1.0], 'level{tank="2"}': [2.0]}  # that of tank 3 is not fitted
    assert rows(server, other) == {"flow": [4.0], 'level{tank="2"}': [None]}


@pytest.mark.parametrize("route", ROUTES)
def test_series_that_come_one_after_the_other_make_whole_rows(server: Server, route: str) -> None:
    """As a sender does that was cut off for a while."""
    name = f"late{ROUTES.index(route)}"
    taken(server, route, [flow(float(i), i, name) for i in range(60)] + [level(-i, i, name) for i in range(60)])
    taken(server, route, [flow(0.0, 70, name)])
    assert rows(server, name) == {"flow": [*range(60)], 'level{tank="2"}': [-i for i in range(60)]}


@pytest.mark.parametrize("route", ROUTES)
def test_a_bad_entity_or_time_stops_no_other(server: Server, route: str) -> None:
    good, ahead = f"good{ROUTES.index(route)}", (time.time_ns() - START) / SECOND + 3_600
    sent = [
        flow(1.0, 0, good), flow(2.0, 0, "bad/name"), flow(3.0, ahead, good), flow(4.0, -2_000_000_000, good),
        ("flow", {}, 5.0, START), level(6.0, 0, good), flow(0.0, 9, good),
    ]  # fmt: skip
    told = taken(server, route, sent)
    assert told["refused"] == 4, told
    for words in ("without slashes", "no more than --ahead from now", "names its entity"):
        assert words in " ".join(told["notes"])
    assert rows(server, good) == {"flow": [1.0], 'level{tank="2"}': [6.0]}
    assert server.client.get("/readyz").status_code == 200


@pytest.mark.parametrize("route", ROUTES)
def test_marks_and_what_is_no_number_are_missing(server: Server, route: str) -> None:
    name = f"gaps{ROUTES.index(route)}"
    wrong = (-9999.0, math.nan, math.inf)
    sent = [flow(value, i, name) for i, value in enumerate(wrong)] + [level(1.0, i, name) for i in range(3)]
    taken(server, route, [*sent, flow(0.0, 9, name)], missing=-9999)
    assert rows(server, name) == {"flow": [None] * 3, 'level{tank="2"}': [1.0] * 3}


@pytest.mark.parametrize("route", ROUTES)
def test_of_values_out_of_order_and_twice_the_latest_count(server: Server, route: str) -> None:
    name = f"order{ROUTES.index(route)}"
    sent = [flow(3.0, 0.9, name), flow(1.0, 0.1, name), flow(2.0, 0.5, name), flow(3.0, 0.9, name), flow(9.0, 1, name)]
    taken(server, route, sent)
    taken(server, route, [flow(4.0, 0.95, name), flow(9.0, 1, name)])  # within the grace
    taken(server, route, [flow(0.0, 9, name)])
    late = taken(server, route, [flow(5.0, 0.99, name)])
    assert rows(server, name)["flow"] == [4.0, 9.0]
    assert late.get("late", 1) == 1


def test_a_stale_marker_is_no_value(server: Server) -> None:
    told = taken(server, ROUTES[0], [flow(1.0, 0.2, "stale"), flow(STALE, 0.8, "stale"), flow(0.0, 9, "stale")])
    assert (told["accepted"], told["refused"]) == (2, 0)
    assert rows(server, "stale")["flow"] == [1.0]
    assert writes.is_stale(STALE)
    assert not writes.is_stale(math.nan)


def test_tags_that_are_not_fitted_are_told_and_make_no_entity(server: Server) -> None:
    told = taken(server, ROUTES[0], [("up", {"instance": "nobody"}, 1.0, START)])
    assert (told["accepted"], told["unknown"]) == (0, 1)
    assert told["notes"] == ["1 tags are not fitted: 'up'"]
    assert server.client.get("/v1/entities/nobody").status_code == 404
    text = server.client.get("/metrics").text
    assert 'ccmtad_pushed_values_total{protocol="remote-write",what="unknown"}' in text


def test_all_values_may_be_of_one_entity(server: Server) -> None:
    taken(server, ROUTES[1], [("flow", {}, 1.0, START), ("flow", {}, 1.0, START + 9 * SECOND)], entity="all")
    assert rows(server, "all")["flow"] == [1.0]
    assert push(server, ROUTES[1], [flow(1.0, 0, "x")], entity="a/b").status_code == 422
    assert push(server, ROUTES[1], [flow(1.0, 0, "x")], model="other").status_code == 404


def test_labels_are_as_the_service_was_told(nursery: Nursery, tank_models: Path, sqlite: str) -> None:
    options = ("--entity-label", "pump", "--drop-label", "job", "--drop-label", "instance")
    with nursery.serving(tank_models, sqlite, "--silence", "0", *options) as server:
        told = taken(server, ROUTES[0], [flow(1.0, 0, "i", pump="p"), level(1.0, 0, "i")])
        assert (told["accepted"], told["refused"]) == (1, 1)
        assert server.get("/v1/entities/p")["entity"] == "p"


@pytest.mark.parametrize("path", ["/api/v2/write?org=o&bucket=tanks", "/write?db=telegraf", "/v1/push/influx?"])
def test_lines_come_as_telegraf_sends_them(server: Server, path: str) -> None:
    name = f"host{len(path)}"
    times = [START // SECOND, START // SECOND + 1, START // SECOND + 9]
    body = "".join(f'flow,host={name} value={i}i,state="on" {at}\n' for i, at in enumerate(times)).encode()
    headers = {"content-type": "text/plain; charset=utf-8", "content-encoding": "gzip"}
    headers |= {"authorization": f"Token {server.key}"} if server.key else {}
    answer = server.client.post(f"{path}&precision=s", content=members(body, 3), headers=headers)
    assert answer.status_code == (200 if "push" in path else 204), answer.text
    assert rows(server, name)["flow"] == [0.0, 1.0]


def test_lines_that_are_none_are_left_out(server: Server) -> None:
    body = b"flow,instance=lines value=1 %d\nwhat is this\n\xff\xfe\n# a comment\n\nflow,instance=lines value=2 %d\n"
    answer = server.client.post("/v1/push/influx", content=body % (START, START + 9 * SECOND))
    assert answer.status_code == 200
    told = answer.json()
    assert (told["accepted"], told["refused"]) == (2, 2)
    assert told["notes"][0].startswith("line 2 ")


def test_otlp_may_be_json_with_sums_and_attributes_of_the_sender(server: Server) -> None:
    sent = otlp([("level", {"tank": "2"}, 4.0, START)], service_instance_id="otel", service_name="x", host_name="y")
    metrics = sent.resource_metrics[0].scope_metrics[0].metrics
    total = metrics.add(name="flow").sum
    total.data_points.add(as_int=3, time_unix_nano=START)
    total.data_points.add(as_int=0, time_unix_nano=START + 9 * SECOND)
    metrics.add(name="flow").histogram.data_points.add(time_unix_nano=START)
    body = gzip.compress(MessageToJson(sent).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = server.client.post("/v1/push/otlp/v1/metrics", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["partialSuccess"]["rejectedDataPoints"] == "1"
    assert rows(server, "otel") == {"flow": [3.0], 'level{tank="2"}': [4.0]}


# What is not taken.


def test_a_key_that_may_write_is_needed(server: Server) -> None:
    key = server.post("/v1/keys", {"name": "reader", "scopes": ["read"]}, 201)["key"]
    for path in (*ROUTES, "/write", "/api/v2/write"):
        with httpx.Client(base_url=server.url, trust_env=False) as other:
            assert other.post(path, content=b"x").status_code == 401
            assert other.post(path, content=b"x", headers={"authorization": f"Bearer {key}"}).status_code == 403


def test_bodies_that_cannot_be_read_are_refused_and_never_fail(server: Server) -> None:
    write, lines_, otlp_ = ROUTES
    v2 = {"x-prometheus-remote-write-version": "2.0.0"}
    v2_kind = {"content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}
    bomb = gzip.compress(bytes(20 * 2**20))
    cases: list[tuple[int, str, bytes, dict[str, str]]] = [
        (400, write, b"", REMOTE_WRITE), (400, write, b"no snappy", REMOTE_WRITE),
        (400, write, b"\xff\xff\xff\xff\x7f", REMOTE_WRITE),
        (413, write, b"\xff\xff\xff\xff\x0f" + bytes(20), REMOTE_WRITE),
        (415, write, remote_write([]), PROTOBUF), (415, write, b"", {}),
        (415, write, remote_write([]), REMOTE_WRITE | v2), (415, write, remote_write([]), REMOTE_WRITE | v2_kind),
        (400, lines_, b"", {}), (400, lines_, b"# nothing\n", {}), (400, lines_, b"nonsense\n", {}),
        (400, lines_ + "?precision=years", b"flow value=1\n", {}),
        (400, lines_, b"\x1f\x8b", {"content-encoding": "gzip"}), (413, lines_, bomb, {"content-encoding": "gzip"}),
        (400, lines_, gzip.compress(b"flow")[:-3], {"content-encoding": "gzip"}),
        (415, lines_, b"x", {"content-encoding": "br"}),
        (413, lines_, bytes(17 * 2**20), {}),
        (400, otlp_, b"\xff\xff", PROTOBUF), (400, otlp_, b"{", {"content-type": "application/json"}),
        (400, otlp_, b"[" * 100_000, {"content-type": "application/json"}),
        (400, otlp_, b'{"resourceMetrics": 3}', {"content-type": "application/json"}), (415, otlp_, b"", {}),
    ]  # fmt: skip
    for status, path, body, headers in cases:
        answer = server.client.post(path, content=body, headers=headers)
        assert answer.status_code == status, (path, body[:20], answer.status_code, answer.text[:300])
        assert answer.json()["detail"]


def test_no_more_values_than_rows_may_have(server: Server) -> None:
    answer = push(server, ROUTES[1], [flow(1.0, 0, "many")] * 100_001)
    assert (answer.status_code, answer.json()["type"]) == (413, "too-large")


# The parts.


@given(st.binary(max_size=200))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    reads: tuple[Callable[[], object], ...] = (
        lambda: writes.read(body), lambda: lines.read(body, 1, START), lambda: metrics.read(body, True, START),
        lambda: metrics.read(body, False, START),
    )  # fmt: skip
    for read in reads:
        try:
            found = read()
        except Refusal as refusal:
            found = refusal.status
        assert isinstance(found, Body) or found == 400


TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\\", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1
)


def escaped(text: str) -> str:
    for one in ",= ":
        text = text.replace(one, "\\" + one)
    return text


@given(
    TEXT, st.dictionaries(TEXT, TEXT, max_size=3), st.dictionaries(TEXT, st.floats(), min_size=1, max_size=3),
    st.integers(0, 2**62),
)  # fmt: skip
def test_a_line_is_read_back_as_it_was_written(
    name: str, tags: dict[str, str], fields: dict[str, float], at: int
) -> None:
    head = "".join([escaped(name), *(f",{escaped(key)}={escaped(value)}" for key, value in tags.items())])
    if head.startswith("#") or head != head.strip():
        return
    line = f"{head} {','.join(f'{escaped(key)}={value!r}' for key, value in fields.items())} {at}"
    found = lines.read(line.encode(), 1, 0)
    assert not found.refused
    assert {one.name for one in found.series} == {name if key == "value" else f"{name}_{key}" for key in fields}
    assert all(one.labels == tuple(tags.items()) for one in found.series)
    values = [one.samples[0][0] for one in found.series]
    np.testing.assert_array_equal(values, list(fields.values()))


@given(st.dictionaries(st.text(), st.text(), max_size=4), st.randoms(use_true_random=False))
def test_a_tag_does_not_depend_on_the_order_of_labels(labels: dict[str, str], dice: Any) -> None:
    several = list(labels.items())
    dice.shuffle(several)
    assert Naming().place("m", tuple(labels.items())) == Naming().place("m", tuple(several))


def test_fields_are_numbers_of_every_kind() -> None:
    body = b'm a=1,b=-2.5e3,c=3i,d=4u,e=t,f=FALSE,g="x, \\"y\\" z",h=.5 7\nm value=1'
    found = lines.read(body, 10**9, 99)
    got = {one.name: one.samples[0] for one in found.series}
    assert got == {
        "m_a": (1.0, 7 * SECOND), "m_b": (-2500.0, 7 * SECOND), "m_c": (3.0, 7 * SECOND), "m_d": (4.0, 7 * SECOND),
        "m_e": (1.0, 7 * SECOND), "m_f": (0.0, 7 * SECOND), "m_h": (0.5, 7 * SECOND), "m": (1.0, 99),
    }  # fmt: skip
    for wrong in (
        b"m",
        b"m a",
        b"m a=",
        b"m a=1x 3",
        b"m,t a=1",
        b"m a=1 1.5",
        b"m a=1_0",
        b"m a=1,",
        b" a=1",
        b'm a="x',
    ):
        with pytest.raises(Refusal):
            lines.read(wrong, 1, 0)


def test_the_definition_written_down_is_the_one_that_is_used() -> None:
    body = json.loads(MessageToJson(writes.message_class().FromString(b"\n\x00")))
    assert body == {"timeseries": [{}]}
    assert all(f"message {name} " in (writes.__doc__ or "") for name in writes.MESSAGES)
