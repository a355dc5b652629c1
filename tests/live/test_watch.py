"""A watch that is killed at any moment loses nothing, and what it repeats can be known again."""

import json
import logging
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccmtad import Detector, FileError, Frame, InputError, files
from ccmtad.live.journal import Notice
from ccmtad.live.sources.file import FollowedFile
from ccmtad.live.sources.lines import Lines, LineSource
from ccmtad.live.sources.pipe import Pipe
from ccmtad.live.sources.split import Cut, Line
from ccmtad.live.watch import MAGIC, VERSION, Watch
from ccmtad.results import plain
from ccmtad.simulate import Fault, schedule, simulate
from ccmtad.tables.lines import Parser

from ..cli.run import COMMAND

log = logging.getLogger(__name__)

GOLDEN = Path(__file__).parents[1] / "golden"


def csv_lines(frame: Frame) -> list[str]:
    header = ",".join(["time", *frame.channels])
    assert frame.times is not None
    rows = (",".join([str(t), *map(repr, row)]) for t, row in zip(frame.times, frame.values.tolist(), strict=True))
    return [f"{line}\n" for line in (header, *rows)]


@pytest.fixture(scope="module")
def watched() -> Frame:
    """Four days of the plant, with faults."""
    return simulate(6_000, seed=3, faults=schedule(6_000, seed=1, count=6)).frame


@pytest.fixture(scope="module")
def model(fitted: Detector, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "plant.ccm"
    fitted.save(path)
    return path


def told(lines: list[str]) -> dict[tuple[str, int], dict[str, Any]]:
    """Notices by id and revision; one that is told twice must say the same."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for line in lines:
        notice = json.loads(line)
        key = (notice["id"], notice["revision"])
        assert found.setdefault(key, notice) == notice
    return found


PATIENCE = 300.0  # seconds to wait for what must happen, however busy the machine is


def until(happened: Callable[[], bool], process: "subprocess.Popen[Any] | None" = None) -> None:
    """Waits for what must happen, not for a time."""
    given_up = time.monotonic() + PATIENCE
    while not happened():
        assert process is None or process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < given_up, "it did not happen"
        time.sleep(0.01)


def rows_saved(state: Path) -> int:
    """How far a state on disk has come."""
    if not state.exists():
        return -1
    return int(files.open_sealed(state.read_bytes(), MAGIC, VERSION, "state")[1]["mark"]["rows"])


def killed_and_resumed(model: Path, lines: list[str], folder: Path, kills: int, seed: int) -> tuple[list[str], int]:
    """What a watch wrote that was killed again and again at its work; and how often it repeated.

    Before each run some more is appended, cut anywhere. A run is killed once it has told of an event or saved new rows.
    """
    source, out, state = folder / "sensors.csv", folder / "events.jsonl", folder / "plant.state"
    source.touch()
    out.touch()
    dice = random.Random(seed)
    text = "".join(lines).encode()
    places = sorted(dice.randrange(1, len(text)) for _ in range(kills - 1))
    command = [*COMMAND, "watch", str(model), str(source), "--state", str(state), "--quiet"]
    for first, last in pairwise([0, *places, len(text)]):
        with source.open("ab", buffering=0) as appended:
            appended.write(text[first:last])
        size, rows = out.stat().st_size, rows_saved(state)

        def at_work(size: int = size, rows: int = rows) -> bool:
            return out.stat().st_size > size or rows_saved(state) > rows

        with out.open("ab") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE) as process:
            until(at_work, process)
            time.sleep(0.2 * dice.random())  # anywhere in its work
            process.kill()
    with out.open("ab") as file:
        last_run = subprocess.run([*command, "--once"], stdout=file, stderr=subprocess.PIPE, check=False)
    assert last_run.returncode in (0, 3), last_run.stderr
    written = out.read_text().splitlines()
    return written, len(written) - len(told(written))


def uninterrupted(model: Path, lines: list[str], folder: Path) -> list[str]:
    whole = folder / "whole.csv"
    whole.write_text("".join(lines))
    result = subprocess.run(
        [*COMMAND, "watch", str(model), str(whole), "--once", "--quiet"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 3, result.stderr
    return result.stdout.splitlines()


def test_a_killed_watch_goes_on_exactly(model: Path, watched: Frame, tmp_path: Path) -> None:
    lines = csv_lines(watched)
    written, _ = killed_and_resumed(model, lines, tmp_path, kills=3, seed=0)
    assert told(written) == told(uninterrupted(model, lines, tmp_path))


@pytest.mark.slow
def test_twenty_kills_over_fifty_thousand_rows(model: Path, tmp_path: Path) -> None:
    lines = csv_lines(simulate(50_000, seed=4, faults=schedule(50_000, seed=2, count=30)).frame)
    written, repeated = killed_and_resumed(model, lines, tmp_path, kills=20, seed=1)
    expected = told(uninterrupted(model, lines, tmp_path))
    assert told(written) == expected
    assert len({identity for identity, _ in expected}) >= 10
    log.warning("%d notices of %d events, %d repeated", len(expected), len({i for i, _ in expected}), repeated)


def watch(fitted: Detector, path: Path, state: Path | None = None) -> tuple[Watch, list[Notice]]:
    notices: list[Notice] = []
    return Watch(fitted, rows_of(fitted, FollowedFile(path, once=True)), "plant", state, notices.append), notices


def rows_of(fitted: Detector, lines: Lines) -> LineSource:
    return LineSource(lines, Parser(fitted.model_.channels, fitted.model_.named))


def test_a_watch_tells_what_detect_finds(fitted: Detector, watched: Frame, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("".join(csv_lines(watched)))
    watcher, notices = watch(fitted, source)
    watcher.run()
    last = {notice.id: notice for notice in notices}
    events = fitted.detect(watched).events
    assert len(events) > 2
    for event in events:
        notice = last[f"plant-{event.id}"]
        if notice.change == "final":
            assert plain(notice.event) == plain(event)
    for identity in last:
        revisions = [notice.revision for notice in notices if notice.id == identity]
        assert revisions == list(range(1, len(revisions) + 1))
    assert watcher.events == len(events)


def test_json_lines_are_csv_lines(fitted: Detector, watched: Frame, tmp_path: Path) -> None:
    plain_csv, as_json = tmp_path / "a.csv", tmp_path / "a.jsonl"
    plain_csv.write_text("".join(csv_lines(watched)))
    assert watched.times is not None
    with as_json.open("w") as file:
        for moment, row in zip(watched.times, watched.values.tolist(), strict=True):
            file.write(json.dumps({"time": str(moment), **dict(zip(watched.channels, row, strict=True))}) + "\n")
    (one, first), (other, second) = watch(fitted, plain_csv), watch(fitted, as_json)
    one.run()
    other.run()
    assert first
    assert [notice.line() for notice in first] == [notice.line() for notice in second]


def test_a_rotated_and_a_truncated_file_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.GRACE", 0.05)
    path = tmp_path / "log"
    path.write_bytes(b"a\nb")
    lines = FollowedFile(path)
    assert lines.take() == [b"a"]
    assert lines.take() == []
    path.rename(tmp_path / "log.1")
    assert lines.take() == []
    with (tmp_path / "log.1").open("ab") as old:
        old.write(b"c\nlast")
    path.write_bytes(b"new\r\n")
    taken: list[Line] = []
    until(lambda: taken.extend(lines.take() or []) or len(taken) >= 2)  # type: ignore[func-returns-value]
    assert taken == [b"bc", Cut(b"last", b"new")]
    mark = lines.mark()
    assert mark is not None
    assert mark["position"] == 5
    for again in (b"x\n", b"longer than before\n"):  # truncated; truncated and grown past the old place
        path.write_bytes(again)
        assert [line for _ in range(4) for line in lines.take() or []] == [again.strip()]
    assert "written anew" in caplog.text
    lines.close()


def test_a_moved_file_is_read_while_its_writer_still_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.GRACE", 0.2)
    path = tmp_path / "log"
    taken: list[Line] = []
    with path.open("wb", buffering=0) as old:
        old.write(b"a\n")
        lines = FollowedFile(path)
        path.rename(tmp_path / "log.1")
        path.write_bytes(b"new\n")
        for i in range(5):
            taken += lines.take() or []
            old.write(b"late %d\n" % i)
    until(lambda: taken.extend(lines.take() or []) or len(taken) >= 7)  # type: ignore[func-returns-value]
    assert taken == [b"a", *(b"late %d" % i for i in range(5)), b"new"]
    lines.close()


def test_a_watch_killed_after_a_rotation_goes_back_to_the_old_file(
    fitted: Detector, watched: Frame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.GRACE", 0.0)
    lines, source, state = csv_lines(watched), tmp_path / "a.csv", tmp_path / "state"
    source.write_text("".join(lines[:1_000]))
    first, told_first = watch(fitted, source, state)
    first.run()
    with source.open("a") as file:
        file.writelines(lines[1_000:3_000])
    source.rename(tmp_path / "a.csv.1")
    source.write_text("".join([lines[0], *lines[3_000:]]))
    second, told_second = watch(fitted, source, state)
    second.run()
    (tmp_path / "whole.csv").write_text("".join(lines))
    whole, expected = watch(fitted, tmp_path / "whole.csv")
    whole.run()
    assert expected
    assert [n.line() for n in (*told_first, *told_second)] == [n.line() for n in expected]


def test_a_file_that_cannot_be_found_again_gets_other_ids(fitted: Detector, watched: Frame, tmp_path: Path) -> None:
    """Rows without times are numbered: what was told of lost rows must not be told of others."""
    rows = [line.partition(",")[2] for line in csv_lines(watched)]
    source, state = tmp_path / "a.csv", tmp_path / "state"
    source.write_text("".join(rows[:2_000]))
    watch(fitted, source, state)[0].run()
    source.unlink()
    source.write_text("".join([rows[0], *rows[2_500:]]))
    again, notices = watch(fitted, source, state)
    again.run()
    assert notices
    assert {notice.id.rpartition("-")[0] for notice in notices} == {"plant+1-anomaly"}


def test_rows_go_on_without_a_header(fitted: Detector, watched: Frame, tmp_path: Path) -> None:
    lines, state = csv_lines(watched), tmp_path / "state"
    source = tmp_path / "a.csv"
    source.write_text("".join(lines[:500]))
    watch(fitted, source, state)[0].run()
    source.unlink()
    source.write_text("".join(lines[500:900]))  # another file, no header
    again, _ = watch(fitted, source, state)
    again.run()
    assert (again.stream.tally.rows, again.stream.tally.late, again.source.left_out) == (899, 0, 0)
    source.unlink()
    header, *values = lines[900:1000]
    source.write_text("garbage\n" + "".join([header, *values]))
    again, _ = watch(fitted, source, state)
    again.run()
    assert (again.stream.tally.rows, again.source.left_out) == (999, 1)


def test_a_mark_finds_its_place_again_and_knows_another_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"line %d\n" % i for i in range(3_000)))
    lines = FollowedFile(path)
    lines.take()
    mark = lines.mark()
    with path.open("ab") as file:
        file.write(b"more\n")
    again = FollowedFile(path)
    assert again.resume(mark, 3_000)
    assert again.take() == [b"more"]
    again.close()
    lines.close()
    for other in (b"", b"line 0\n", path.read_bytes().replace(b"line 7\n", b"line 8\n")):
        (tmp_path / "other").write_bytes(other)
        lines = FollowedFile(tmp_path / "other")
        assert not lines.resume(mark, 3_000)
        lines.close()


def test_a_pipe_acknowledges_what_is_safe(fitted: Detector, watched: Frame, tmp_path: Path) -> None:
    lines, state = csv_lines(watched), tmp_path / "state"
    acknowledged: list[tuple[int, str | None]] = []
    notices: list[Notice] = []

    def feed(part: list[str]) -> None:
        read, write = os.pipe()

        def send() -> None:
            with os.fdopen(write, "w") as file:
                file.writelines(part)

        sender = threading.Thread(target=send)
        sender.start()
        pipe = Pipe(read, acknowledge=lambda rows, time: acknowledged.append((rows, time)))
        watcher = Watch(fitted, rows_of(fitted, pipe), "plant", state, notices.append)
        watcher.run()
        sender.join()
        os.close(read)

    feed(lines[:3_001])
    assert acknowledged[-1][0] == 3_000
    assert watched.times is not None
    assert acknowledged[-1][1] == str(watched.times[2_999].astype("datetime64[s]")) + "Z"
    feed([lines[0], *lines[2_000:]])  # a sender that sends too much again
    source = tmp_path / "whole.csv"
    source.write_text("".join(lines))
    watcher, expected = watch(fitted, source)
    watcher.run()
    late = 3_001 - 2_000
    assert acknowledged[-1][0] == 6_000 + late
    assert [(n.id, n.revision, n.change, n.event.end_time) for n in notices] == [
        (n.id, n.revision, n.change, n.event.end_time) for n in expected
    ]


def test_bad_lines_are_left_out_and_told(
    fitted: Detector, watched: Frame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = csv_lines(watched)[:200]
    cells = lines[60].strip().split(",")
    broken = [
        *lines[:50], "1,2,3\n", "\n", "\x00\x01 what\n", *lines[50:60],
        ",".join([cells[0], "Bad Input", *cells[2:]]) + "\n", "never," + lines[61].partition(",")[2], *lines[62:],
    ]  # fmt: skip
    source = tmp_path / "a.csv"
    source.write_text("".join(broken))
    watcher, _ = watch(fitted, source)
    watcher.run()
    assert watcher.source.left_out == 3
    assert watcher.stream.tally.rows == 198
    assert watcher.stream.tally.missing == 1
    text = caplog.text
    for part in (
        "must have 54 cells",
        "got 3: left out",
        "'Bad Input', which is no number",
        "must have a time; got 'never'",
    ):
        assert part in text, part


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,a,b\n", "missing: 'LIT101'"),
        ("1,2,3\n", "must have the 53 channels of the fitted data; got 3"),
        ('{"a": 1}\n', "missing: 'LIT101'.*not fitted: 'a'"),
        ("{what\n", "must be a JSON object"),
        ("\x00\x01\x02\n", "binary data"),
    ],
)
def test_a_source_that_does_not_fit_is_an_error(fitted: Detector, tmp_path: Path, text: str, message: str) -> None:
    source = tmp_path / "a"
    source.write_text(text)
    watcher, notices = watch(fitted, source)
    with pytest.raises(InputError, match=message):
        watcher.run()
    assert not notices


def test_a_state_that_does_not_fit_is_an_error(fitted: Detector, watched: Frame, tmp_path: Path) -> None:
    source, state = tmp_path / "a.csv", tmp_path / "state"
    source.write_text("".join(csv_lines(watched)[:100]))
    watch(fitted, source, state)[0].run()
    whole = state.read_bytes()
    with pytest.raises(FileError, match="must be of this model with this budget"):
        watch(fitted.with_budget("1/100 rows"), source, state)
    with pytest.raises(FileError, match="must be of the watch 'other'; got one of 'plant'"):
        Watch(fitted, rows_of(fitted, FollowedFile(source)), "other", state)
    for altered in (b"", whole[:100], whole[:-1], whole[:200] + b"x" + whole[201:]):
        state.write_bytes(altered)
        with pytest.raises(FileError):
            watch(fitted, source, state)


def test_a_full_disk_keeps_the_old_state_and_goes_on(
    fitted: Detector, watched: Frame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, folder = tmp_path / "a.csv", tmp_path / "states"
    folder.mkdir()
    source.write_text("".join(csv_lines(watched)[:400]))
    watcher, _ = watch(fitted, source, folder / "state")
    before = (folder / "state").read_bytes()
    (folder / "state").rename(tmp_path / "kept")
    shutil.rmtree(folder)  # as good as full: nothing can be written there
    watcher.run()
    assert watcher.stream.tally.rows == 399
    assert caplog.text.count("state cannot be saved, and stays at row 0 until it can") == 1
    assert (tmp_path / "kept").read_bytes() == before


def test_ctrl_c_ends_it_with_the_state_saved(model: Path, watched: Frame, tmp_path: Path) -> None:
    source, state = tmp_path / "a.csv", tmp_path / "state"
    source.write_text("".join(csv_lines(watched)[:1_001]))
    command = [*COMMAND, "watch", str(model), str(source), "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: rows_saved(state) == 1_000, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 3), errors
    assert "1,000 rows in all" in errors
    detector = Detector.load(model)
    again, _ = watch(detector, source, state)
    assert again.stream.tally.rows == 1_000
    again.close()


def test_an_idle_pipe_is_acknowledged_and_can_be_stopped(model: Path, watched: Frame, tmp_path: Path) -> None:
    command = [*COMMAND, "watch", str(model), "--state", str(tmp_path / "state")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(csv_lines(watched)[:100]).encode())
        process.stdin.flush()
        line = json.loads(process.stdout.readline())  # while the pipe stays open
        assert line == {"change": "acknowledged", "rows": 99, "time": "2026-01-01T01:38:00Z"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0
        process.stdin.close()


def test_half_a_line_is_taken_back_where_the_disk_is_full(model: Path, watched: Frame, tmp_path: Path) -> None:
    source, out = tmp_path / "a.csv", tmp_path / "events.jsonl"
    source.write_text("".join(csv_lines(watched)))
    command = f"ulimit -f 1; exec {' '.join(map(repr, COMMAND))} watch {model} {source} --once"
    with out.open("wb") as file:
        done = subprocess.run(["bash", "-c", command], stdout=file, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2, done.stderr
    assert b"File too large" in done.stderr
    lines = out.read_bytes()
    assert lines.endswith(b"}\n")
    assert all(json.loads(line) for line in lines.splitlines())


def test_a_source_of_which_nothing_can_be_read_is_an_error(model: Path, watched: Frame, tmp_path: Path) -> None:
    lines = csv_lines(watched)
    source = tmp_path / "a.csv"
    source.write_text("".join([lines[0], *("1,2,3\n" for _ in range(50))]))
    done = subprocess.run(
        [*COMMAND, "watch", str(model), str(source), "--once"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "source must hold rows; got 50 lines and none that could be read" in done.stderr
    assert done.stderr.count("left out") == 10


def test_a_file_rotated_twice_while_nobody_watched_is_read_whole(
    fitted: Detector, watched: Frame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.GRACE", 0.0)
    lines, source, state = csv_lines(watched), tmp_path / "a.csv", tmp_path / "state"
    source.write_text("".join(lines[:800]))
    first, told_first = watch(fitted, source, state)
    first.run()
    (tmp_path / "a.csv-backup").write_bytes(source.read_bytes())  # a copy that goes no further
    with source.open("a") as file:
        file.writelines(lines[800:1_500])
    source.rename(tmp_path / "a.csv.2")
    (tmp_path / "a.csv.1").write_text("".join([lines[0], *lines[1_500:2_500]]))
    os.utime(tmp_path / "a.csv.2", ns=(1, 1_000))
    os.utime(tmp_path / "a.csv.1", ns=(1, 2_000))
    source.write_text("".join([lines[0], *lines[2_500:]]))
    again, told_again = watch(fitted, source, state)
    again.run()
    (tmp_path / "whole.csv").write_text("".join(lines))
    whole, expected = watch(fitted, tmp_path / "whole.csv")
    whole.run()
    assert again.stream.tally.rows == len(lines) - 1
    assert [n.line() for n in (*told_first, *told_again)] == [n.line() for n in expected]


def test_a_later_file_of_other_channels_is_an_error_that_names_them(
    fitted: Detector, watched: Frame, tmp_path: Path
) -> None:
    lines, source, state = csv_lines(watched), tmp_path / "a.csv", tmp_path / "state"
    source.write_text("".join(lines[:100]))
    watch(fitted, source, state)[0].run()
    source.unlink()
    source.write_text("".join([lines[0].replace("FIT101", "FIT999"), *lines[100:200]]))
    again, _ = watch(fitted, source, state)
    with pytest.raises(InputError, match="missing: 'FIT101'; not fitted: 'FIT999'"):
        again.run()


def test_half_a_line_of_a_sender_that_died_is_not_acknowledged(model: Path, watched: Frame, tmp_path: Path) -> None:
    text = "".join(csv_lines(watched)[:60])
    command = [*COMMAND, "watch", str(model), "--state", str(tmp_path / "state"), "--quiet"]
    done = subprocess.run(command, input=text[:-30], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout.splitlines()[-1])["rows"] == 58
    done = subprocess.run([*command[:-3], "--once"], input=text[:-30], capture_output=True, text=True, check=False)
    assert "58 rows in all" in done.stderr
    assert "1 line left out" in done.stderr  # without a state it is looked at, and has too few cells


def test_a_fifo_is_refused_and_a_name_may_hold_anything(fitted: Detector, watched: Frame, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="source must be a file, or - for standard input"):
        FollowedFile(tmp_path / "fifo")
    source, state = tmp_path / "a.csv", tmp_path / "state"
    source.write_text("".join(csv_lines(watched)[:50]))
    os.mkfifo(tmp_path / "a.csv.1")
    for _ in range(2):
        watcher = Watch(fitted, rows_of(fitted, FollowedFile(source, once=True)), "plant+1", state)
        watcher.run()
    assert watcher.stream.tally.rows == 49


def test_a_golden_state_of_version_1_goes_on_exactly(tmp_path: Path) -> None:
    """Written by the code of its time, inside an event; its ids are those the event was opened with."""
    expected = json.loads((GOLDEN / "watch-v1.json").read_text())
    lines = (GOLDEN / "watch-v1.csv").read_text().splitlines(keepends=True)
    source, state = tmp_path / "tmp.csv", tmp_path / "plant.state"
    source.write_text("".join(lines))
    state.write_bytes((GOLDEN / "watch-v1.state").read_bytes())
    watcher, notices = watch(Detector.load(GOLDEN / "watch-v1.ccm"), source, state)
    assert watcher.stream.tally.rows == expected["resumed_at"]
    watcher.run()
    told = [json.loads(notice.line()) for notice in notices]
    wanted = expected["notices"][expected["told"] :]
    assert len(told) == len(wanted) > 3
    for one, other in zip(told, wanted, strict=True):
        opened_before = other["id"] == wanted[0]["id"]
        identity = other["id"] if opened_before else other["id"].replace("plant-", "plant-anomaly-")
        since = {"blame": None, "severity": None, "channels": None}  # they are found otherwise since then
        assert {name: one[name] for name in other} | since == {**other, "id": identity, **since}


@pytest.mark.parametrize("copied", [False, True])
def test_a_golden_mark_of_version_2_goes_on_exactly(tmp_path: Path, copied: bool) -> None:
    """The facts are as the code of their time wrote them, inside an event; the snapshot is of today."""
    golden = json.loads((GOLDEN / "watch-v2.json").read_text())
    lines = (GOLDEN / "watch-v1.csv").read_text().splitlines(keepends=True)
    detector = Detector.load(GOLDEN / "watch-v1.ccm")
    source, state = tmp_path / "tmp.csv", tmp_path / "plant.state"
    source.write_text("".join(lines[: golden["rows"] + 1]))
    watch(detector, source, state)[0].run()
    arrays, _ = files.open_sealed(state.read_bytes(), MAGIC, VERSION, "state")
    state.write_bytes(files.seal(MAGIC, 2, arrays, golden["facts"]))
    source.with_name("tmp.csv.1" if copied else "tmp.csv").write_text("".join(lines[:300]))
    source.write_text("".join(lines[300:] if copied else lines))
    watcher, notices = watch(detector, source, state)
    watcher.run()
    assert watcher.stream.tally.rows == len(lines) - 1
    assert [(n.id, n.revision, n.change) for n in notices] == [tuple(one) for one in golden["notices"]]


def test_a_file_that_is_not_there_yet_is_waited_for(
    fitted: Detector, watched: Frame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, state, lines = tmp_path / "a.csv", tmp_path / "state", csv_lines(watched)[:100]
    waiting = Watch(fitted, rows_of(fitted, FollowedFile(source)), "plant", state)
    assert "which is not there yet" in caplog.text
    thread = threading.Thread(target=waiting.run)
    thread.start()
    source.write_text("".join(lines))
    until(lambda: waiting.rows == 99)
    waiting.stopped = True
    thread.join()
    assert rows_saved(state) == 99
    with pytest.raises(InputError, match="source must be a readable file"):
        FollowedFile(tmp_path / "never.csv", once=True)


def test_a_watch_that_was_stopped_before_its_file_came_goes_on(
    fitted: Detector, watched: Frame, tmp_path: Path
) -> None:
    source, state = tmp_path / "a.csv", tmp_path / "state"
    Watch(fitted, rows_of(fitted, FollowedFile(source)), "plant", state).close()
    source.write_text("".join(csv_lines(watched)[:50]))
    watcher, _ = watch(fitted, source, state)
    watcher.run()
    assert watcher.stream.tally.rows == 49


def test_a_running_watch_takes_up_what_people_say(fitted: Detector, tmp_path: Path) -> None:
    fault = Fault("sensor bias", "FIT501", 1_000, 1_100, 6.0, ("FIT501",))
    frame = simulate(1_500, seed=5, faults=[fault]).frame
    assert frame.times is not None
    header, *first = csv_lines(frame)
    again = csv_lines(Frame(frame.values, frame.channels, frame.times + np.timedelta64(2, "D")))[1:]
    model, source, state, out = (tmp_path / name for name in ("plant.ccm", "a.csv", "state", "out.jsonl"))
    fitted.save(model)
    source.write_text("".join([header, *first]))

    def ids(lines: list[str]) -> set[str]:
        notices = [json.loads(line) for line in lines]
        return {one["id"] for one in notices if one["change"] == "final" and "FIT501" in one["channels"]}

    command = [*COMMAND, "watch", str(model), str(source), "--state", str(state)]
    with (
        out.open("wb") as told,
        (tmp_path / "said").open("wb") as said,
        subprocess.Popen(command, stdout=told, stderr=said) as process,
    ):
        until(lambda: rows_saved(state) == 1_500, process)
        dismissed = ids(out.read_text().splitlines())
        subprocess.run([*COMMAND, "dismiss", str(model), str(out), *dismissed, "--quiet"], check=True)
        until(lambda: "is heeded" in (tmp_path / "said").read_text(), process)
        with source.open("a") as appended:
            appended.write("".join(again))
        until(lambda: rows_saved(state) == 3_000, process)
        process.send_signal(signal.SIGTERM)
    assert dismissed
    assert ids(out.read_text().splitlines()) == dismissed
    fitted.save(model)  # as it was before anyone spoke
    assert len(ids(uninterrupted(model, [header, *first, *again], tmp_path))) == 2 * len(dismissed)
