"""Rotated files under any name, packed or not: a watch that was stopped meanwhile finds its place in them."""

import bz2
import gzip
import json
import os
import random
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from ccmtad.live.sources.file import FollowedFile
from ccmtad.live.sources.split import TooLong

from .test_file import HEADER, at_the_end, copytruncate, numbers, rows, taken

PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def pack(path: Path, ending: str = ".gz") -> None:
    """As gzip does: the packed file is whole before the other one is gone."""
    packed = path.with_name(path.name + ending)
    packed.write_bytes(PACK[ending](path.read_bytes()))
    path.unlink()


def stopped(path: Path) -> tuple[list[int], dict[str, object]]:
    """What a watch read that is stopped now, and its mark."""
    lines = FollowedFile(path)
    found = numbers(taken(lines))
    mark = json.loads(json.dumps(lines.mark()))
    lines.close()
    return found, mark


def resumed(path: Path, mark: dict[str, object], looks: int = 40) -> tuple[list[int], bool]:
    """What another one reads that goes on, and whether it found the place."""
    lines = FollowedFile(path, once=True, completed=True)
    there = lines.resume(mark, 0)
    found = numbers(taken(lines, looks))
    lines.close()
    return found, there


COUNTED = [
    ("log.1", "log.2", "log.3"),
    ("log.9", "log.10", "log.11"),
    ("log.000001", "log.000002", "log.000003"),
    ("log.098", "log.099", "log.100"),
    ("log-1", "log-2", "log-3"),
    ("log.3", "log.2", "log.1"),
    ("log.11", "log.10", "log.9"),
    ("log.03", "log.02", "log.01"),
    ("log.003", "log.002", "log.001"),
    ("log-20251231", "log-20260101", "log-20260102"),
    ("log.2026-01-01_23", "log.2026-01-02_00", "log.2026-01-02_01"),
    ("log.1767225600", "log.1767312000", "log.1767398400"),
]


@pytest.mark.parametrize("ending", ["", *PACK])
@pytest.mark.parametrize("names", COUNTED)
def test_rotated_files_are_read_in_order_whichever_way_they_count(
    path: Path, names: tuple[str, ...], ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing was beside the file before, and it was read up to its middle."""
    path.write_bytes(HEADER + rows(0, 100))
    found, mark = stopped(path)
    at_the_end(path, rows(100, 500))
    path.rename(path.with_name(names[0]))
    for first, name in ((500, names[1]), (1_000, names[2])):
        path.with_name(name).write_bytes(HEADER + rows(first, first + 500))
    for name in names[: len(names) if ending else 0]:
        pack(path.with_name(name), ending)
    path.write_bytes(HEADER + rows(1_500, 1_600))
    more, there = resumed(path, mark)
    assert there
    assert found + more == list(range(1_600))
    assert not caplog.records


@pytest.mark.parametrize("upwards", [True, False])
def test_files_that_were_there_before_are_never_read(path: Path, upwards: bool) -> None:
    """Two of them; the file is read to its end, and then it is rotated twice while nobody looks."""
    old = ("log.1", "log.2") if upwards else ("log.2", "log.1")
    new = ("log.1", "log.2", "log.3", "log.4") if upwards else ("log.4", "log.3", "log.2", "log.1")
    for first, name in zip((0, 100), old, strict=True):
        path.with_name(name).write_bytes(HEADER + rows(first, first + 100))
    path.write_bytes(HEADER + rows(200, 300))
    found, mark = stopped(path)
    files = [path.with_name(name).read_bytes() for name in old] + [path.read_bytes()]
    inodes = [path.with_name(name).rename(path.with_name(f"{name}-")) for name in old] + [path]
    for one, name in zip(inodes, new, strict=False):
        one.rename(path.with_name(name))
    path.with_name(new[3]).write_bytes(HEADER + rows(300, 400))
    path.write_bytes(HEADER + rows(400, 500))
    assert [path.with_name(name).read_bytes() for name in new[:3]] == files
    more, there = resumed(path, mark)
    assert there
    assert found + more == list(range(200, 500))


def test_a_running_watch_follows_files_that_count_upwards(path: Path) -> None:
    path.write_bytes(HEADER + rows(0, 100))
    lines = FollowedFile(path)
    found = numbers(taken(lines))
    for turn in range(1, 12, 2):  # twice between two looks
        for number in (turn, turn + 1):
            path.rename(path.with_name(f"log.{number}"))
            path.write_bytes(HEADER + rows(100 * number, 100 * number + 100))
        for _ in range(3):
            lines.quiet_since = -1e9  # nobody writes to the old one any more
            found += numbers(taken(lines))
    assert lines.upwards
    lines.close()
    assert found == list(range(1_300))


def test_copies_that_count_upwards_are_read_in_order(path: Path) -> None:
    path.write_bytes(HEADER + rows(0, 100))
    found, mark = stopped(path)
    for number in (1, 2, 3):
        at_the_end(path, rows(100 * number, 100 * number + 100))
        copytruncate(path, path.with_name(f"log.{number}"))
    at_the_end(path, rows(400, 450))
    more, there = resumed(path, mark)
    assert there
    assert found + more == list(range(450))


def test_a_file_somebody_put_there_does_not_turn_the_order(path: Path) -> None:
    for name, first in (("log.2", 0), ("log.1", 100)):
        path.with_name(name).write_bytes(HEADER + rows(first, first + 100))
    path.write_bytes(HEADER + rows(200, 300))
    found, mark = stopped(path)
    path.with_name("log.7").write_bytes(HEADER + rows(9_000, 9_100))
    for number in (2, 1):
        path.with_name(f"log.{number}").rename(path.with_name(f"log.{number + 1}"))
    path.rename(path.with_name("log.1"))
    path.write_bytes(HEADER + rows(300, 400))
    more, there = resumed(path, mark)
    assert there
    assert found + more == list(range(200, 400))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_watch_that_has_read_a_header_alone_sees_which_way_numbers_count(path: Path, ending: str) -> None:
    """After a copytruncate there is no header any more."""
    path.write_bytes(HEADER)
    found, mark = stopped(path)
    for number in (1, 2, 3):
        at_the_end(path, rows(100 * number, 100 * number + 100))
        copytruncate(path, path.with_name(f"log.{number}"))
        if ending:
            pack(path.with_name(f"log.{number}"), ending)
    at_the_end(path, rows(400, 450))
    more, there = resumed(path, mark)
    assert there
    assert found + more == list(range(100, 450))


def test_what_is_packed_is_older_than_what_is_not_yet(path: Path) -> None:
    path.write_bytes(b"")
    found, mark = stopped(path)
    for number in (1, 2, 3):
        path.write_bytes(HEADER + rows(100 * number, 100 * number + 100))
        path.rename(path.with_name(f"log.{number}"))
    pack(path.with_name("log.1"))
    pack(path.with_name("log.2"))
    path.write_bytes(HEADER + rows(400, 450))
    assert found + resumed(path, mark)[0] == list(range(100, 450))


@pytest.mark.parametrize("late", [True, False])
def test_a_file_that_was_read_and_then_packed_is_not_read_again(path: Path, late: bool) -> None:
    """Packed at once, or when the next one is rotated (delaycompress)."""
    path.write_bytes(HEADER + rows(0, 2_000))
    lines = FollowedFile(path)
    found = numbers(taken(lines))
    for turn in range(1, 6):
        if late and path.with_name("log.1").exists():
            pack(path.with_name("log.1"))
        for number in range(turn, 0, -1):
            if (old := path.with_name(f"log.{number}.gz")).exists():
                old.rename(path.with_name(f"log.{number + 1}.gz"))
        path.rename(path.with_name("log.1"))
        if not late:
            pack(path.with_name("log.1"))
        path.write_bytes(HEADER + rows(2_000 * turn, 2_000 * turn + 2_000))
        for _ in range(3):
            lines.quiet_since = -1e9
            found += numbers(taken(lines))
    lines.close()
    assert found == list(range(12_000))
    assert sorted(one.name for one in path.parent.glob("log.*.gz"))


def test_while_a_file_is_being_packed_the_file_itself_is_read(path: Path) -> None:
    path.write_bytes(HEADER + rows(0, 100))
    found, mark = stopped(path)
    at_the_end(path, rows(100, 5_000))
    path.rename(path.with_name("log.1"))
    whole = gzip.compress(path.with_name("log.1").read_bytes())
    path.with_name("log.1.gz").write_bytes(whole[: len(whole) // 2])
    path.write_bytes(HEADER + rows(5_000, 5_100))
    more, there = resumed(path, mark)
    assert there
    assert found + more == list(range(5_100))


def test_a_watch_that_is_stopped_in_a_packed_file_goes_on_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.CHUNK", 10_000)
    path.write_bytes(HEADER + rows(0, 10))
    found, mark = stopped(path)
    at_the_end(path, rows(10, 20_000))
    path.rename(path.with_name("log.1"))
    pack(path.with_name("log.1"))
    path.write_bytes(HEADER + rows(20_000, 20_010))
    for _ in range(10):
        more, there = resumed(path, mark, looks=4)
        assert there
        lines = FollowedFile(path, once=True, completed=True)
        lines.resume(mark, 0)
        assert numbers(taken(lines, looks=4)) == more
        found, mark = found + more, json.loads(json.dumps(lines.mark()))
        lines.close()
    found += resumed(path, mark)[0]
    assert found == list(range(20_010))


def test_of_a_damaged_packed_file_the_loss_is_said(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(HEADER + rows(0, 100))
    _, mark = stopped(path)
    at_the_end(path, rows(100, 9_000))
    path.rename(path.with_name("log.1"))
    pack(path.with_name("log.1"))
    os.truncate(path.with_name("log.1.gz"), path.with_name("log.1.gz").stat().st_size // 2)
    path.write_bytes(HEADER + rows(9_000, 9_100))
    more, there = resumed(path, mark)
    assert there
    assert len(more) > 1_000
    assert more[-100:] == list(range(9_000, 9_100))
    assert more[:1_000] == list(range(100, 1_100))
    assert caplog.text.count("is damaged after") == 1
    assert "what followed is not read" in caplog.text


def test_what_cannot_be_unpacked_is_said_with_its_bytes_and_the_rest_is_read(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(HEADER + rows(0, 100))
    found, mark = stopped(path)
    at_the_end(path, rows(100, 200))
    path.rename(path.with_name("log.3"))
    path.with_name("log.2.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(996))
    path.with_name("log.1").write_bytes(HEADER + rows(300, 400))
    path.write_bytes(HEADER + rows(400, 500))
    more, there = resumed(path, mark)
    assert there
    assert found + more == [*range(200), *range(300, 500)]
    (said,) = caplog.messages
    assert "log.2.zst is left out, and what its 1,000 bytes hold is not read" in said
    assert "one of .gz, .bz2" in said


def test_where_the_place_itself_cannot_be_unpacked_that_is_said(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(HEADER + rows(0, 100))
    found, mark = stopped(path)
    path.unlink()
    path.with_name("log.1.xz").write_bytes(bytes(500))
    path.write_bytes(HEADER + rows(200, 300))
    more, there = resumed(path, mark)
    assert not there
    assert found + more == [*range(100), *range(200, 300)]
    assert "is another one than before" in caplog.text
    assert "its 500 bytes hold is not read" in caplog.text


def test_a_packed_file_takes_no_more_memory_than_another(path: Path) -> None:
    """One that holds a line of 200 MB, and then a row."""
    path.write_bytes(HEADER + rows(0, 100))
    found, mark = stopped(path)
    at_the_end(path, rows(100, 200))
    path.rename(path.with_name("log.1"))
    bomb = gzip.compress(path.with_name("log.1").read_bytes()) + gzip.compress(bytes(1 << 20)) * 200
    path.with_name("log.1").unlink()
    path.with_name("log.1.gz").write_bytes(bomb + gzip.compress(b"\n" + rows(200, 201)))
    path.write_bytes(HEADER + rows(201, 300))
    lines = FollowedFile(path, once=True, completed=True)
    tracemalloc.start()
    try:
        assert lines.resume(mark, 100)
        more = [line for _ in range(1_000) for line in lines.take() or []]
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    lines.close()
    assert found + numbers([line for line in more if isinstance(line, bytes)]) == list(range(300))
    assert sum(isinstance(line, TooLong) for line in more) == 1


def down(path: Path, _: int) -> Path:
    """The others make room."""
    names = {one: one.name.split(".") for one in path.parent.glob("log.*")}
    for one, (_name, number, *ending) in sorted(names.items(), key=lambda it: -int(it[1][1])):
        one.rename(path.with_name(".".join(["log", str(int(number) + 1), *ending])))
    return path.with_name("log.1")


NAMES: dict[str, Callable[[Path, int], Path]] = {
    "down": down,
    "up": lambda path, turn: path.with_name(f"log.{turn}"),
    "zeros": lambda path, turn: path.with_name(f"log.{turn:06d}"),
    "dates": lambda path, turn: path.with_name(f"log-202601{turn:02d}"),
}


@pytest.mark.parametrize("packed", ["never", "at once", "later"])
@pytest.mark.parametrize("names", list(NAMES))
@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_read_once_however_files_are_named_and_packed(
    path: Path, names: str, packed: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written, rotated by rename or copytruncate, packed, read a little, stopped and resumed, all at random."""
    dice = random.Random(seed)
    monkeypatch.setattr("ccmtad.live.sources.file.CHUNK", dice.choice([500, 5_000, 1 << 18]))
    written, turn = 50, 0
    found: list[int] = []
    waiting: list[str] = []  # to be packed
    path.write_bytes(HEADER + rows(0, 50))
    lines = FollowedFile(path)
    found += numbers(taken(lines, 1))
    for _ in range(60):
        what = dice.random()
        if what < 0.4:
            more = dice.randrange(1, 200)
            at_the_end(path, rows(written, written + more))
            written += more
        elif what < 0.6 and turn < 25:
            turn += 1
            for one in waiting:
                before = next(path.parent.glob(f"log?{one}")) if names != "down" else path.with_name("log.1")
                pack(before)
            waiting = []
            old = NAMES[names](path, turn)
            if dice.random() < 0.5:
                path.rename(old)
                path.write_bytes(HEADER + rows(written, written + 5))
            else:
                copytruncate(path, old)
                at_the_end(path, rows(written, written + 5))
            written += 5
            if packed == "at once":
                pack(old)
            elif packed == "later":
                waiting = [old.name[4:]]
        elif what < 0.8:
            lines.quiet_since = -1e9
            found += numbers(taken(lines, dice.randrange(1, 6)))
        else:
            mark = json.loads(json.dumps(lines.mark()))
            lines.close()
            lines = FollowedFile(path)
            assert lines.resume(mark, len(found))
    for _ in range(60):
        lines.quiet_since = -1e9
        found += numbers(taken(lines, 20))
    lines.close()
    shutil.rmtree(path.parent)
    assert found == list(range(written))
