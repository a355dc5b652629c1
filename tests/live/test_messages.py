"""What messages hold: rows, single values and what is neither; and what is special about some sources."""

import json
import math
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from ccmtad import Detector, MissingExtraError, SettingError
from ccmtad.live.sources.payload import Message, PayloadOptions, Payloads
from ccmtad.live.sources.reached import reached
from ccmtad.tables.lines import Row
from ccmtad.tables.reading import Reading

from .servers import Mosquitto, Objects, Postgresql, Redis, running, until
from .test_sources import ROWS, shown, source_of, taken, values
from .writer import MODEL

SECOND = 1_000_000_000
NOON = 1_772_366_400 * SECOND  # 2026-03-01 12:00 UTC


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.load(MODEL)


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(Mosquitto(tmp_path)) as one:
        yield one


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Redis]:
    with running(Redis(tmp_path)) as one:
        yield one


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Postgresql]:
    with running(Postgresql(tmp_path)) as one:
        yield one


def payloads(detector: Detector, reading: Reading | None = None, **options: float) -> Payloads:
    return Payloads(detector.model_, reading or Reading(), PayloadOptions(**options), clock=lambda: NOON)


def row_of(read: Payloads, payload: object, **more: Any) -> Row:
    (row,) = read.rows(Message(json.dumps(payload).encode(), None, **more))
    return row


def test_a_model_reads_times_marks_and_columns_as_it_is_told(detector: Detector) -> None:
    how = Reading(time="when", time_format="%d.%m.%Y %H:%M", missing=("-9999", "bad"), drop=("note",))
    read = payloads(detector, how)
    row = row_of(read, {"when": "01.03.2026 12:00", "flow": -9999, "level": "bad", "valve": "2.5", "note": 7})
    assert repr(row) == repr(Row([math.nan, math.nan, 2.5], NOON))
    assert read.rows(Message(b'{"when": "2026-03-01", "flow": 1}', None)) == []
    assert read.rows(Message(b'{"flow": 1}', None)) == []
    assert read.left_out == 2


def test_a_row_without_a_time_has_the_brokers_and_none_is_a_duplicate(detector: Detector) -> None:
    read = payloads(detector)
    times = [row_of(read, {"flow": 1.0}, time=at).time for at in (5, 5, 4, 9)]
    assert times == [5, 6, 7, 9]
    again = payloads(detector)
    again.restore(read.state())
    assert row_of(again, {"flow": 1.0}, time=9).time == 10


def test_single_values_become_rows_by_the_end_of_their_topic(detector: Detector) -> None:
    read = payloads(detector, period=60.0, grace=0.0)
    told = [
        ("hall/flow", b"1.5", 0),
        ("level", b'{"value": 2.0, "time": "2026-03-01T11:00:30"}', 1),
        ("hall/flow", b"7", 60),
    ]
    rows = [row for topic, payload, at in told
            for row in read.rows(Message(payload, None, topic, NOON - 3_600 * SECOND + at * SECOND))]  # fmt: skip
    assert repr(rows) == repr([Row([1.5, 2.0, math.nan], NOON - 3_600 * SECOND)])
    assert read.rows(Message(b"1.0", None, "hall/pressure")) == []
    assert read.rows(Message(b"on", None, "hall/flow")) == []
    assert read.rows(Message(b"on", None, "hall/flow")) == []
    assert read.left_out == 3
    assert repr(read.flush()) == repr([Row([7.0, math.nan, math.nan], NOON - 3_540 * SECOND)])


def test_a_single_value_of_a_clock_that_is_ahead_does_not_make_all_others_late(detector: Detector) -> None:
    read = payloads(detector, period=60.0, grace=0.0)
    read.rows(Message(b'{"value": 9.0, "time": "2036-01-01"}', None, "flow"))
    assert read.left_out == 1
    for at in range(3):
        read.rows(Message(b"1.0", None, "flow", NOON + 60 * at * SECOND))
    assert read.assembler is not None
    assert read.assembler.late == 0


def test_a_missing_package_says_its_cure(detector: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "paho.mqtt.client", None)
    with pytest.raises(MissingExtraError, match=r"reading from mqtt:// needs paho-mqtt: pip install 'ccmtad\[mqtt\]'"):
        reached("mqtt://localhost/plant", detector.model_)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mqtt://localhost", "must name a topic"),
        ("redis://localhost", "must name a stream"),
        ("nats://localhost/a/b", "must name a stream"),
        ("kafka://localhost/", "must name a topic"),
        ("kafka://localhost/rows?no.such.setting=1", "must be known to librdkafka"),
        ("postgresql://localhost/test", "must name a table"),
        ("s3:///rows", "must name a bucket"),
        ("file://rows", "must name a folder, from the root"),
        ("mqtt://localhost/plant?period=-1", "period must be at least 0"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_before_anything_is_connected_to(
    url: str, why: str, detector: Detector
) -> None:
    with pytest.raises(SettingError, match=why):
        reached(url, detector.model_)


def test_no_secret_is_said_when_a_server_refuses(detector: Detector, caplog: pytest.LogCaptureFixture) -> None:
    for url in (
        "redis://:hunter2@127.0.0.1:9/plant",
        "nats://hunter2@127.0.0.1:9/PLANT",
        "postgresql://anna:hunter2@127.0.0.1:9/test?table=t&sslpassword=hunter2",
        "mqtt://anna:hunter2@127.0.0.1:9/plant",
    ):
        source = reached(url, detector.model_)
        source.take()
        assert source.trouble
        source.close()
    assert len(caplog.records) == 4
    assert "hunter2" not in caplog.text


def test_an_mqtt_row_sent_again_after_a_lost_acknowledgement_is_judged_once(
    detector: Detector, mosquitto: Mosquitto
) -> None:
    """Acknowledgements may be lost with the connection; rows without a time could not be told apart by it."""
    server = mosquitto
    source: Any = source_of(server, detector)
    untimed = [{name: value for name, value in row.items() if name != "time"} for row in ROWS[:15]]
    server.send(untimed)
    rows = taken(source, 15)
    source._client.ack = lambda *_: 0  # on its way when the connection ends, and the question after it too
    source._client.unsubscribe = lambda *_: (0, 0)
    source.commit(source.mark())
    source._client.socket().shutdown(2)
    until(lambda: source.take() is not None and source.trouble, "the end of the connection")
    server.send([{"flow": 77.0}])
    rows += taken(source, 1)
    assert shown(rows)[:15] == values(ROWS[:15])
    assert shown(rows)[15:] == ["[77.0, nan, nan]"]
    source.commit(source.mark())
    until(lambda: source.take() is not None and not source.place, "the broker's word that it knows")
    source.close()
    again = reached(server.url, detector.model_)
    again.take()
    server.send([{"flow": 78.0}])
    assert shown(taken(again, 1)) == ["[78.0, nan, nan]"]  # nothing of before is sent again
    again.close()


def test_more_rows_than_the_broker_sends_ahead_come_where_each_commit_follows_when_full(
    detector: Detector, mosquitto: Mosquitto
) -> None:
    source = source_of(mosquitto, detector)
    mosquitto.send(ROWS * 6)
    number = 0

    def enough() -> bool:
        nonlocal number
        found = source.take() or []
        number += len(found)
        if source.full:
            source.commit(source.mark())
        if not found:
            source.wait(0.05)
        return number >= 6 * len(ROWS)

    until(enough, "the last row")
    source.close()


def test_redis_entries_that_were_trimmed_before_they_were_read_are_said(
    detector: Detector, stream: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    server = stream
    source = source_of(server, detector)
    server.send(ROWS[:10])
    taken(source, 10)
    mark = source.mark()
    source.close()
    server.send(ROWS[10:30])
    with server.client() as client:
        client.xtrim("plant", maxlen=10, approximate=False)
    source = reached(server.url, detector.model_)
    source.resume(mark, 10)
    assert shown(taken(source, 10)) == values(ROWS[20:30])
    source.close()
    assert "entries between them are lost" in caplog.text


def test_a_row_committed_after_a_later_one_is_not_skipped_within_the_grace(
    detector: Detector, table: Postgresql
) -> None:
    source = reached(f"{table.url}&late=3", detector.model_)
    source.take()
    now = time.time()
    at = [datetime.fromtimestamp(now - 1 + i, UTC).isoformat() for i in range(3)]
    table.send([{"time": at[1], "flow": 2.0}])
    source.wait(0.1)
    assert source.take() == []  # one of an earlier time may still be on its way
    table.send([{"time": at[2], "flow": 3.0}, {"time": at[0], "flow": 1.0}])
    rows = taken(source, 3)
    assert [row.values[0] for row in rows] == [1.0, 2.0, 3.0]
    assert time.time() - now >= 3.0
    source.close()


def test_a_stalled_database_is_given_up_and_tried_again(detector: Detector, table: Postgresql) -> None:
    source = reached(table.url.replace("timeout=2", "timeout=0.5"), detector.model_)
    table.send(ROWS[:10])
    rows = taken(source, 10)
    table.relay.stalled.set()

    def troubled() -> bool:
        source.take()
        source.wait(0.05)
        return bool(source.trouble)

    until(troubled, "giving up")
    table.stop()
    table.relay.stalled.clear()
    table.send(ROWS[10:20])
    table.start()
    rows += taken(source, 10)
    source.close()
    assert shown(rows) == values(ROWS[:20])


def test_a_slow_query_is_ended_by_the_database(detector: Detector, table: Postgresql) -> None:
    view = f"slow_{table.table}"
    table.do(f"create view {view} as select *, pg_sleep(30)::text as slept from {{}}")
    table.send(ROWS[:1])
    url = table.url.replace(f"table={table.table}", f"table={view}").replace("timeout=2", "timeout=0.3")
    source = reached(url, detector.model_)
    source.take()
    assert "statement timeout" in source.trouble
    source.close()
    table.do(f"drop view {view}")


def test_objects_of_every_kind_are_read_in_the_order_of_their_names(detector: Detector, tmp_path: Path) -> None:
    import gzip

    import polars as pl

    server = Objects(tmp_path)
    server.start()
    lines = [
        "time,flow,level,valve",
        *(",".join(str(row.get(n, "")) for n in ("time", "flow", "level", "valve")) for row in ROWS),
    ]
    server.put("\n".join(lines[:101]).encode(), ".csv")
    server.put(gzip.compress("\n".join([lines[0], *lines[101:201]]).encode()), ".csv.gz")
    (server.rows / "00000003").mkdir()
    pl.DataFrame(ROWS[200:300]).write_parquet(server.rows / "00000003" / "a b.parquet")
    server.number = 3
    server.send(ROWS[300:])
    source = reached(server.url, detector.model_, once=True)
    assert shown(taken(source, 150)[:150]) == values(ROWS[:150])
    mark = source.mark()
    source = reached(server.url, detector.model_, once=True)
    source.resume(json.loads(json.dumps(mark)), 0)
    rest: list[Row] = []
    while (rows := source.take()) is not None:
        rest += rows
    assert shown(rest) == values(ROWS)[len(ROWS) - len(rest) :]


class StandIn(BaseHTTPRequestHandler):
    """A stand-in for S3 over plain HTTP: it lists and gives objects."""

    objects: dict[str, bytes]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        name = unquote(parts.path).removeprefix("/plant").lstrip("/")
        body = self.objects.get(name) if name else self._list(parse_qs(parts.query))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.send_header("Last-Modified", "Sun, 01 Mar 2026 12:00:00 GMT")
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(body or b"")

    def _list(self, asked: dict[str, list[str]]) -> bytes:
        prefix, after = asked.get("prefix", [""])[0], asked.get("start-after", [""])[0]
        found = "".join(
            f"<Contents><Key>{name}</Key><Size>{len(data)}</Size><ETag>1</ETag>"
            "<LastModified>2026-03-01T12:00:00.000Z</LastModified></Contents>"
            for name, data in sorted(self.objects.items()) if name.startswith(prefix) and name > after
        )  # fmt: skip
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def test_s3_over_plain_http(detector: Detector) -> None:
    lines = [json.dumps(row) for row in ROWS[:20]]
    objects = {"hall/1/a.jsonl": "\n".join(lines[:10]).encode(), "hall/2/b.jsonl": "\n".join(lines[10:]).encode()}
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Given", (StandIn,), {"objects": objects})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = (
            f"s3://plant/hall/?endpoint=http://127.0.0.1:{server.server_port}&region=here&access_key_id=anna"
            "&secret_access_key=hunter2&once=1"
        )
        source = reached(url.replace("&once=1", ""), detector.model_)
        try:
            assert shown(taken(source, 20)) == values(ROWS[:20])
            assert source.place == ["hall/2/b.jsonl", None]
        finally:
            source.close()
            server.shutdown()
            thread.join()
    assert "hunter2" not in source.address.shown
