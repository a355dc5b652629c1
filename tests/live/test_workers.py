"""Several workers share the entities of a source: what they tell together is what one would have told alone."""

import json
import os
import signal
from pathlib import Path

import pytest

from ccmtad import Detector, FileError, InputError, SettingError, files, snapshot
from ccmtad.cli.watch import watch
from ccmtad.live.journal import Notice
from ccmtad.live.shares import Shares
from ccmtad.live.sources.partitioned import Partitioned
from ccmtad.live.sources.reached import reached
from ccmtad.live.worker import MAGIC, VERSION, Worker

from .servers import Kafka, Nats, RowOf, running, until
from .test_kills import Nursery, told
from .test_sources import plain_rows
from .writer import MODEL

ENTITIES = [f"pump-{i}/a" for i in range(20)]  # any text may be a key


def messages(rows: list[RowOf], entities: list[str] = ENTITIES) -> tuple[list[bytes], list[str]]:
    """Each row of each entity, interleaved; entities differ by a little."""
    found = [
        (json.dumps({**row, "flow": row.get("flow", 0.0) + 0.01 * i}).encode(), key)
        for row in rows
        for i, key in enumerate(entities)
    ]
    return [payload for payload, _ in found], [key for _, key in found]


def rows_judged(folder: Path) -> int:
    """Those of all states together."""
    number = 0
    for path in folder.glob("partition-*.state"):
        arrays, _ = files.open_sealed(path.read_bytes(), MAGIC, VERSION, "state")
        for one in arrays.values():
            inner = files.open_sealed(one.tobytes(), snapshot.MAGIC, snapshot.VERSION, "snapshot")
            number += int(inner[1]["stream"]["rows"])
    return number


def alone(url: str, folder: Path, partitions: int = 16) -> dict[tuple[str, int], object]:
    """What one undisturbed worker tells."""
    detector, lines = Detector.load(MODEL), list[Notice]()
    source = reached(url, detector.model_, once=True)
    assert isinstance(source, Partitioned)
    worker = Worker(detector, source, "watch-v1", folder, partitions, emit=lines.append, once=True)
    worker.run()
    return dict(told(b"".join(line.line() for line in lines).decode()))


def sent(server: Nats, payloads: list[bytes], keys: list[str]) -> None:
    server.publish(payloads, lambda i: f"plant.rows.{keys[i]}")


def test_a_killed_workers_entities_are_taken_over_and_all_notices_are_as_of_one_worker(
    nursery: Nursery, tmp_path: Path
) -> None:
    payloads, keys = messages(plain_rows()[:200])
    half = len(payloads) // 2
    shared = tmp_path / "shared"
    nurseries = [nursery, Nursery()]
    try:
        (tmp_path / "nats").mkdir()
        with running(Nats(tmp_path / "nats")) as server:
            url = server.url.replace("plant.rows", "plant.rows.*")
            workers = []
            for i, each in enumerate(nurseries):
                files_of = [str(tmp_path / f"out{i}"), str(tmp_path / f"errors{i}")]
                workers.append(each.ask([*files_of, "watch", str(MODEL), "--from", url, "--shared", str(shared)]))
            for i in range(2):
                until(lambda i=i: "8 of 16" in (tmp_path / f"errors{i}").read_text(), "sharing")  # type: ignore[misc]
            sent(server, payloads[:half], keys[:half])
            until(lambda: rows_judged(shared) > 0, "the first states", 0.25)
            os.kill(workers[0], signal.SIGKILL)
            assert nurseries[0].ask([]) == -signal.SIGKILL
            sent(server, payloads[half:], keys[half:])
            until(lambda: rows_judged(shared) >= len(payloads), "the last row", 0.25)
            os.kill(workers[1], signal.SIGTERM)
            assert nurseries[1].ask([]) in (0, 3), (tmp_path / "errors1").read_text()
            expected = alone(url, tmp_path / "alone")
    finally:
        nurseries[1].close()
    assert rows_judged(shared) == len(payloads)
    assert told((tmp_path / "out0").read_text() + (tmp_path / "out1").read_text()) == expected
    assert len(expected) > len(ENTITIES)
    assert any("/pump-7/a-" in identity for identity, _ in expected)


def test_kafka_goes_by_the_same_code(tmp_path: Path) -> None:
    """On librdkafka's mock, whose topics have four partitions."""
    payloads, keys = messages(plain_rows()[:150])
    half = len(payloads) // 2
    detector, notices = Detector.load(MODEL), list[Notice]()
    with running(Kafka(tmp_path)) as server:
        server.publish(payloads[:half], keys[:half])
        for _ in range(2):  # one after the other: the second goes on from the states
            source = reached(server.url, detector.model_, once=True)
            assert isinstance(source, Partitioned)
            Worker(detector, source, "watch-v1", tmp_path / "shared", emit=notices.append, once=True).run()
            server.publish(payloads[half:], keys[half:])
            half = len(payloads)
        assert rows_judged(tmp_path / "shared") == len(payloads)
        assert told(b"".join(one.line() for one in notices).decode()) == alone(server.url, tmp_path / "alone")


def test_partitions_are_shared_fairly_and_taken_over(tmp_path: Path) -> None:
    first = Shares(tmp_path, 5)
    assert len(first.look()[0]) == 5
    second = Shares(tmp_path, 5)
    assert second.look() == ([], [])
    _, surplus = first.look()
    assert len(surplus) == 2
    for one in surplus:
        first.give_back(one)
    assert sorted(second.look()[0]) == surplus
    assert (first.look(), second.look()) == (([], []), ([], []))
    first.close()
    assert len(second.look()[0]) == 3
    second.close()
    with pytest.raises(SettingError, match="partitions must be 5, as when the folder was new; got 6"):
        Shares(tmp_path, 6)


def test_states_of_another_watch_are_refused(tmp_path: Path) -> None:
    payloads, keys = messages(plain_rows()[:3])
    (tmp_path / "nats").mkdir()
    with running(Nats(tmp_path / "nats")) as server:
        url = server.url.replace("plant.rows", "plant.rows.*")
        sent(server, payloads, keys)
        alone(url, tmp_path / "shared", 2)
        detector = Detector.load(MODEL)
        source = reached(url, detector.model_)
        assert isinstance(source, Partitioned)
        with pytest.raises(FileError, match="must be of the name 'other'; got 'watch-v1'"):
            Worker(detector, source, "other", tmp_path / "shared", 2).run()
        server.run(lambda stream: stream.purge_stream("PLANT"))
        server.run(lambda stream: stream.delete_stream("PLANT"))
        server.stop()
        server.start()
        with pytest.raises(InputError, match="must go on after 60, as the states do; it ends at 0"):
            alone(url, tmp_path / "shared", 2)


def test_sharing_needs_a_source_with_partitions(tmp_path: Path) -> None:
    for given, why in (
        ({"origin": "redis://localhost/plant"}, "nats:// or kafka://; got redis://"),
        ({}, "--shared must stand with --from"),
        ({"origin": "nats://localhost/PLANT", "state": tmp_path / "state"}, "without --state"),
    ):
        with pytest.raises(InputError, match=why):
            watch(MODEL, shared=tmp_path, **given)
