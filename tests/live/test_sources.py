"""One contract for every source: whatever becomes of the watch or the server, each row counts once, in order."""

import json
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccmtad import Detector, FileError, SettingError, files, snapshot
from ccmtad.live.sources.connected import Connected
from ccmtad.live.sources.reached import reached
from ccmtad.live.watch import MAGIC, VERSION
from ccmtad.tables.lines import Row

from .servers import SERVERS, RowOf, Server, running, until
from .test_kills import Nursery, told
from .writer import MODEL, series

NAMES = tuple(SERVERS)


def plain_rows(blocks: int = 1) -> list[RowOf]:
    """The golden rows, as JSON has them; what is missing is not there."""
    header, *lines = (line.rstrip("\n").split(",") for line in series(blocks))
    return [
        {name: cell if name == "time" else float(cell) for name, cell in zip(header, line, strict=True) if cell}
        for line in lines
    ]


ROWS = plain_rows()


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.load(MODEL)


@pytest.fixture(params=NAMES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(SERVERS[request.param](tmp_path_factory.mktemp(request.param))) as one:
        yield one


def source_of(server: Server, detector: Detector, **more: Any) -> Connected:
    """Somebody has read before, so that a broker keeps what comes from now on."""
    source = reached(server.url, detector.model_, **more)
    source.take()
    return source


def taken(source: Connected, number: int) -> list[Row]:
    """So many rows at least."""
    rows: list[Row] = []

    def enough() -> bool:
        found = source.take()
        assert found is not None
        rows.extend(found)
        if not found:
            source.wait(0.05)
        return len(rows) >= number

    until(enough, f"row {number}")
    return rows


def shown(rows: list[Row]) -> list[str]:
    return [repr(row.values) for row in rows]


def values(rows: list[RowOf]) -> list[str]:
    return [repr([row.get(name, math.nan) for name in ("flow", "level", "valve")]) for row in rows]


def test_rows_arrive_in_order_and_whole(server: Server, detector: Detector) -> None:
    source = source_of(server, detector)
    server.send(ROWS)
    rows = taken(source, len(ROWS))
    source.wait(0.05)
    assert source.take() == []
    source.close()
    assert shown(rows) == values(ROWS)
    assert all(row.time is not None for row in rows)
    assert [row.time for row in rows] == [rows[0].time + i * 60 * 10**9 for i in range(len(rows))]  # type: ignore[operator]
    assert (source.left_out, source.trouble) == (0, "")


@pytest.mark.parametrize("committed", [False, True])
def test_resuming_a_mark_gives_exactly_the_rest(server: Server, detector: Detector, committed: bool) -> None:
    first = source_of(server, detector)
    server.send(ROWS[:100])
    before = taken(first, 100)
    mark = json.loads(json.dumps(first.mark()))
    if committed:
        first.commit(mark)
    server.send(ROWS[100:150])
    taken(first, 50)  # judged, but not saved before it died
    first.close()
    server.send(ROWS[150:])
    second = reached(server.url, detector.model_)
    assert second.resume(mark, 100)
    rest = taken(second, len(ROWS) - 100)
    second.wait(0.05)
    assert second.take() == []
    second.close()
    assert shown(before + rest) == values(ROWS)


def test_a_server_that_goes_away_and_comes_back_loses_and_repeats_nothing(
    server: Server, detector: Detector, caplog: pytest.LogCaptureFixture
) -> None:
    if not server.stoppable:
        pytest.skip("librdkafka's mock cannot be stopped: set CCMTAD_KAFKA and restart that broker by hand")
    source = source_of(server, detector)
    server.send(ROWS[:150])
    rows = taken(source, 100)  # none of them committed
    server.stop()

    def gone() -> bool:
        rows.extend(source.take() or ())
        source.wait(0.05)
        return bool(source.trouble)

    until(gone, "the source's trouble")
    server.start()
    server.send(ROWS[150:])
    rows += taken(source, len(ROWS) - len(rows))
    source.commit(source.mark())
    source.wait(0.05)
    assert source.take() == []
    source.close()
    assert shown(rows) == values(ROWS)
    assert source.trouble == ""
    said = [record.getMessage() for record in caplog.records]
    assert any("cannot be read: " in one for one in said)
    assert any("is there again" in one for one in said)


def test_a_server_that_is_not_there_yet_is_waited_for(server: Server, detector: Detector) -> None:
    if not server.stoppable:
        pytest.skip("librdkafka's mock cannot be stopped")
    source_of(server, detector).close()
    server.stop()
    source = source_of(server, detector)
    assert source.trouble.startswith("cannot be read: ")
    server.start()
    server.send(ROWS[:10])
    assert shown(taken(source, 10)) == values(ROWS[:10])
    source.close()


def test_what_is_no_row_is_counted_and_said_and_stops_nothing(
    server: Server, detector: Detector, caplog: pytest.LogCaptureFixture
) -> None:
    source = source_of(server, detector)
    late: list[RowOf] = [{"time": ROWS[0]["time"], "flow": 9.0, "level": 9.0, "valve": 9.0}]
    bad = server.send_bad()
    server.send(ROWS[:10])
    rows = taken(source, 10)
    ordered = server.url.startswith("postgresql")  # a table has no order of arrival
    server.send(ROWS[10:20] if ordered else [*late, *ROWS[10:20]])
    rows += taken(source, 10 if ordered else 11)
    until(lambda: source.take() is not None and source.left_out >= bad, "leaving out")
    source.close()
    assert source.left_out == bad
    assert len([one for one in caplog.records if "left out" in one.getMessage()]) == min(bad, 10)
    assert [row for row in shown(rows) if row not in ("[9.0, 9.0, 9.0]", "[0.1, nan, nan]")] == values(ROWS[:20])


def test_a_state_of_another_source_is_refused(server: Server, detector: Detector) -> None:
    source = reached(server.url, detector.model_)
    with pytest.raises(FileError, match="state must be of the source '.*'; got one of 'gopher plant'"):
        source.resume({**source.mark(), "source": "gopher plant"}, 0)
    source.close()


def test_an_option_that_nobody_knows_is_refused(server: Server, detector: Detector) -> None:
    with pytest.raises(SettingError, match="must be (among|known to)"):
        reached(f"{server.url}{'&' if '?' in server.url else '?'}quos=1", detector.model_)


def rows_saved(state: Path) -> int:
    """How many rows a state on disk has judged."""
    if not state.exists():
        return -1
    arrays, _ = files.open_sealed(state.read_bytes(), MAGIC, VERSION, "state")
    inner = files.open_sealed(arrays["snapshot"].tobytes(), snapshot.MAGIC, snapshot.VERSION, "snapshot")
    return int(inner[1]["stream"]["rows"])


def test_a_watch_killed_in_the_middle_goes_on_exactly(server: Server, nursery: Nursery, tmp_path: Path) -> None:
    whole, out, errors, state = (tmp_path / name for name in ("whole.csv", "out", "errors", "state"))
    whole.write_text("".join(series(1)))
    nursery.ask([str(tmp_path / "expected"), str(errors), "watch", str(MODEL), str(whole), "--once", "--quiet"])
    assert nursery.ask([]) == 3, errors.read_text()
    command = [str(out), str(errors), "watch", str(MODEL), "--from", server.url, "--state", str(state)]
    process = nursery.ask(command)
    try:
        until(lambda: rows_saved(state) == 0, "the watch's start")
        until(lambda: reader_is_there(server), "the watch's connection")
        server.send(ROWS[:200])
        until(lambda: rows_saved(state) > 0, "the first rows' saving")
        server.send(ROWS[200:300])
    finally:
        os.kill(process, signal.SIGKILL)
    assert nursery.ask([]) == -signal.SIGKILL
    server.send(ROWS[300:])
    process = nursery.ask(command)
    try:
        until(lambda: rows_saved(state) >= len(ROWS), "the last row's saving")
    finally:
        os.kill(process, signal.SIGTERM)
    assert nursery.ask([]) in (0, 3), errors.read_text()
    assert rows_saved(state) == len(ROWS), errors.read_text()
    assert told(out.read_text()) == told((tmp_path / "expected").read_text())


def reader_is_there(server: Server, client: str = "test") -> bool:
    """Where a broker keeps only what somebody has subscribed to, the watch must be there first."""
    log = server.folder / "log"
    return not server.url.startswith("mqtt") or f" as {client} " in log.read_text()
