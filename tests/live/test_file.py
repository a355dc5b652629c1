"""A file that others write to, rotate, truncate, copy and take back: every line on disk is read, and once."""

import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ccmtad import Detector
from ccmtad.live.sources.file import FollowedFile
from ccmtad.live.sources.lines import LineSource
from ccmtad.tables.lines import Parser, Row

from .writer import MODEL, Writer, series

HEADER = b"time,a,b\n"


def rows(first: int, last: int) -> bytes:
    return b"".join(b"%06d,%d,%d\n" % (i, i % 7, i % 11) for i in range(first, last))


def copytruncate(path: Path, copy: Path) -> None:
    shutil.copyfile(path, copy)
    os.truncate(path, 0)


def taken(lines: FollowedFile, looks: int = 12) -> list[bytes]:
    """What there is to take now, in some looks more than it needs."""
    return [line for _ in range(looks) for line in lines.take() or [] if isinstance(line, bytes)]


def numbers(lines: list[bytes]) -> list[int]:
    return [int(line.partition(b",")[0]) for line in lines if not line.startswith(b"time")]


def at_the_end(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_what_was_unread_before_a_copytruncate_is_read_in_the_copy(path: Path) -> None:
    path.write_bytes(HEADER + rows(0, 400))
    lines = FollowedFile(path)
    found = taken(lines)
    at_the_end(path, rows(400, 800))  # nobody has read these
    copytruncate(path, path.with_name("log.1"))
    at_the_end(path, rows(800, 900))
    found += taken(lines)
    lines.close()
    assert numbers(found) == list(range(900))


def test_a_watch_that_lags_behind_copytruncates_reads_every_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.CHUNK", 1_000)
    path.write_bytes(HEADER + rows(0, 5_000))
    lines = FollowedFile(path)
    found = taken(lines, looks=3)
    for first in (5_000, 6_000, 7_000):
        for number in (2, 1):
            if (old := path.with_name(f"log.{number}")).exists():
                old.rename(path.with_name(f"log.{number + 1}"))
        copytruncate(path, path.with_name("log.1"))
        at_the_end(path, rows(first, first + 1_000))
        found += taken(lines, looks=2)
    found += taken(lines, looks=500)
    lines.close()
    assert numbers(found) == list(range(8_000))


def test_a_copy_that_was_outdated_when_its_original_was_truncated_is_not_read_again(path: Path) -> None:
    path.write_bytes(HEADER + rows(0, 2_000))
    lines = FollowedFile(path)
    found = taken(lines)
    shutil.copyfile(path, path.with_name("log.1"))
    at_the_end(path, rows(2_000, 3_000))
    found += taken(lines)  # more than the copy has
    os.truncate(path, 0)
    at_the_end(path, rows(3_000, 3_100))
    found += taken(lines)
    lines.close()
    assert numbers(found) == list(range(3_100))


def test_a_copy_that_is_being_made_is_left_for_its_original(path: Path) -> None:
    """Catching up, it comes to a copy that is not whole yet, and whose original is not truncated yet."""
    path.write_bytes(HEADER + rows(0, 100))
    before = FollowedFile(path)
    found = taken(before)
    mark = json.loads(json.dumps(before.mark()))
    before.close()
    path.rename(path.with_name("log.2"))
    path.write_bytes(HEADER + rows(100, 300))
    path.with_name("log.1").write_bytes(HEADER + rows(100, 200) + b"000200,4")
    lines = FollowedFile(path, once=True, completed=True)
    lines.resume(mark, 100)
    found += taken(lines)
    copytruncate(path, path.with_name("log.1"))
    at_the_end(path, rows(300, 400))
    found += taken(lines)
    lines.close()
    assert numbers(found) == list(range(400))


@pytest.mark.parametrize("seed", range(4))
def test_every_row_is_read_once_while_a_writer_and_its_rotations_never_rest(
    path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    monkeypatch.setattr("ccmtad.live.sources.file.CHUNK", dice.choice([300, 5_000, 1 << 18]))
    lines = series(4)
    writer = Writer(path, lines, random.Random(seed))
    model = Detector.load(MODEL).model_
    source = LineSource(FollowedFile(path), Parser(model.channels, model.named))

    def write() -> None:
        while writer.written < len(writer.text):
            writer.something(2_000)

    thread = threading.Thread(target=write)
    thread.start()
    found: list[Row] = []
    given_up = time.monotonic() + 60.0
    while len(found) < len(lines) - 1 and time.monotonic() < given_up:
        found += source.take() or []
        source.wait(0.01 * dice.random())
    thread.join()
    source.close()
    assert [row.time for row in found] == [int(np.datetime64(line[:19], "ns").astype(int)) for line in lines[1:]]
    assert not source.left_out


@pytest.mark.parametrize("times", [(5_000, 5_000, 5_000), (9_000, 5_000, 1_000), (1_000, 9_000, 5_000)])
@pytest.mark.parametrize("names", [("log.3", "log.2", "log.1"), ("log-20260301", "log-20260302", "log-20260303")])
def test_rotated_files_are_read_in_order_whatever_their_times(
    path: Path, names: tuple[str, ...], times: tuple[int, ...]
) -> None:
    path.write_bytes(HEADER + rows(0, 100))
    before = FollowedFile(path, once=True, completed=True)
    found = taken(before)
    mark = json.loads(json.dumps(before.mark()))
    before.close()
    at_the_end(path, rows(100, 500))
    path.rename(path.with_name(names[0]))
    for first, name in ((500, names[1]), (1_000, names[2])):
        path.with_name(name).write_bytes(HEADER + rows(first, first + 500))
    path.write_bytes(HEADER + rows(1_500, 1_600))
    for name, at in zip(names, times, strict=True):
        os.utime(path.with_name(name), ns=(at, at))
    os.utime(path, ns=(2_000, 2_000))
    lines = FollowedFile(path, once=True, completed=True)
    assert lines.resume(mark, 100)
    found += taken(lines)
    lines.close()
    assert numbers(found) == list(range(1_600))


def test_files_that_came_after_one_that_is_gone_are_read(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.with_name("log.1").write_bytes(HEADER + rows(0, 50))  # before anyone watched
    path.write_bytes(HEADER + rows(50, 100))
    before = FollowedFile(path)
    taken(before)
    mark = json.loads(json.dumps(before.mark()))
    before.close()
    for name, first in (("log.2", 200), ("log.1", 300)):  # the one that was read, and 100 to 199, are gone
        path.with_name(name).unlink(missing_ok=True)
        path.with_name(name).write_bytes(HEADER + rows(first, first + 100))
    path.write_bytes(HEADER + rows(400, 450))
    lines = FollowedFile(path, once=True)
    assert not lines.resume(mark, 50)
    assert numbers(taken(lines)) == list(range(200, 450))
    assert "after row 50 is not read" in caplog.text
    lines.close()


def test_half_a_line_that_is_taken_back_was_never_there(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(HEADER + rows(0, 759) + b"000759,1")
    lines = FollowedFile(path)
    found = taken(lines)
    os.truncate(path, len(HEADER + rows(0, 759)))
    found += taken(lines, 2)
    at_the_end(path, b"000759,5,0\n")
    found += taken(lines)
    at_the_end(path, b"000760,half")
    found += taken(lines)
    os.truncate(path, len(HEADER + rows(0, 760)))
    at_the_end(path, b"000760,whole,this time\n")
    found += taken(lines)
    lines.close()
    assert found[-2:] == [b"000759,5,0", b"000760,whole,this time"]
    assert numbers(found) == list(range(761))
    assert not caplog.records


@pytest.mark.parametrize("live", [True, False])
def test_a_line_that_is_taken_back_after_it_was_read_does_not_make_the_file_another(
    path: Path, live: bool, caplog: pytest.LogCaptureFixture
) -> None:
    whole = HEADER + rows(0, 759)
    path.write_bytes(whole + b"000759,1")
    lines = FollowedFile(path, once=True)  # takes the half line, too
    found = taken(lines)
    assert found.pop() == b"000759,1"
    mark = json.loads(json.dumps(lines.mark()))
    os.truncate(path, len(whole))
    at_the_end(path, rows(759, 800))
    if not live:
        lines.close()
        lines = FollowedFile(path, once=True)
        assert lines.resume(mark, 760)
    found += taken(lines)
    lines.close()
    assert numbers(found) == list(range(800))
    assert "8 bytes" in caplog.text


def test_what_is_lost_for_good_is_counted(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.CHUNK", 1_100)
    path.write_bytes(HEADER + rows(0, 1_000))
    lines = FollowedFile(path)
    found = taken(lines, looks=1)
    unread = path.stat().st_size - lines.mark()["position"]  # type: ignore[index]
    path.write_bytes(HEADER + rows(2_000, 2_010))  # no copy anywhere
    found += taken(lines)
    lines.close()
    assert numbers(found)[-10:] == list(range(2_000, 2_010))
    assert f"at least {unread:,} bytes" in caplog.text


def test_a_copy_that_ends_within_a_line_gives_the_line_its_other_half(path: Path) -> None:
    """A writer that buffers is cut by copytruncate anywhere."""
    path.write_bytes(HEADER + rows(0, 20) + b"000020,1")
    lines = FollowedFile(path)
    taken(lines)
    copytruncate(path, path.with_name("log.1"))
    at_the_end(path, b"5,16\n" + rows(21, 30))
    found = [line for _ in range(9) for line in lines.take() or []]
    mark_after = json.loads(json.dumps(lines.mark()))
    lines.close()
    cut = found[0]
    assert (cut.before, cut.line) == (b"000020,1", b"5,16")  # type: ignore[union-attr]
    assert numbers([line for line in found[1:] if isinstance(line, bytes)]) == list(range(21, 30))
    assert not mark_after["carried"]


def test_catching_up_waits_for_no_file_that_a_newer_one_follows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last one that was moved away may still be written to."""
    monkeypatch.setattr("ccmtad.live.sources.file.GRACE", 1e9)
    path.write_bytes(HEADER + rows(0, 10))
    before = FollowedFile(path)
    found = taken(before)
    mark = before.mark()
    before.close()
    path.rename(path.with_name("log.9"))
    for number in range(8, 0, -1):
        first = 10 * (9 - number)
        path.with_name(f"log.{number}").write_bytes(HEADER + rows(first, first + 10))
    path.write_bytes(HEADER + rows(90, 100))
    lines = FollowedFile(path)
    lines.resume(mark, 10)
    found += taken(lines, looks=40)
    lines.close()
    assert numbers(found) == list(range(90))


def gone(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(("trouble", "said"), [(gone, "is gone"), (a_folder, "cannot be read")])
def test_a_source_in_trouble_is_told_at_once_and_so_is_its_return(
    path: Path, trouble: Callable[[Path], None], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(HEADER + rows(0, 10))
    lines = FollowedFile(path)
    found = taken(lines)
    trouble(path)
    found += taken(lines)
    assert caplog.text.count(said) == 1
    if path.is_dir():
        path.rmdir()
    path.write_bytes(HEADER + rows(10, 20))
    for _ in range(2):
        lines.quiet_since = -1e9  # nobody writes to the old one any more
        found += taken(lines)
    assert caplog.text.count("can be read again") == 1
    lines.close()
    assert numbers(found) == list(range(20))
