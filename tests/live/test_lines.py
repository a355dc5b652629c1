"""Lines without an end: they cost no more than their bytes, and are left out, counted and told."""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ccmtad import Detector, InputError
from ccmtad.live.sources.file import FollowedFile
from ccmtad.live.sources.lines import Lines, LineSource
from ccmtad.live.sources.pipe import Pipe
from ccmtad.live.sources.split import Splitter, TooLong
from ccmtad.tables.lines import Parser

from ..cli.run import run

GOLDEN = Path(__file__).parents[1] / "golden"
HEADER, *ROWS = (GOLDEN / "watch-v1.csv").read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.load(GOLDEN / "watch-v1.ccm")


def through_a_file(data: bytes, folder: Path, longest: int) -> Lines:
    (folder / "a.csv").write_bytes(data)
    return FollowedFile(folder / "a.csv", once=True, longest_line=longest)


def through_a_pipe(data: bytes, folder: Path, longest: int) -> Lines:
    (folder / "a.csv").write_bytes(data)
    return Pipe(os.open(folder / "a.csv", os.O_RDONLY), longest_line=longest)


@pytest.mark.parametrize("through", [through_a_file, through_a_pipe])
@pytest.mark.parametrize("chunk", [1 << 18, 7])
def test_a_line_that_is_too_long_is_left_out_and_its_neighbours_are_read(
    through: Callable[[bytes, Path, int], Lines], chunk: int, detector: Detector, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    for module in ("file", "pipe"):
        monkeypatch.setattr(f"ccmtad.live.sources.{module}.CHUNK", chunk)
    data = b"".join([HEADER, *ROWS[:5], b"x" * 1_000 + b"\n", *ROWS[5:10], b"y" * 200])
    source = LineSource(through(data, tmp_path, 100), Parser(detector.model_.channels, detector.model_.named))
    found = []
    while (rows := source.take()) is not None:
        found += rows
    source.close()
    assert len(found) == 10
    assert source.left_out == 2
    assert caplog.text.count("must be at most 100 bytes long; it is longer: left out") == 2


def test_a_first_line_that_is_too_long_is_an_error(detector: Detector, tmp_path: Path) -> None:
    lines = through_a_file(b"x" * 1_000, tmp_path, 100)
    source = LineSource(lines, Parser(detector.model_.channels, detector.model_.named))
    with pytest.raises(InputError, match="the first must be at most 100 bytes long"):
        source.take()
    source.close()


def test_twice_the_line_costs_twice_the_bytes_and_no_memory() -> None:
    """Bytes that are kept or copied, not seconds: those of a busy machine tell nothing."""
    splitter, chunk = Splitter(1 << 20), b"x" * (1 << 18)
    told = [line for _ in range(400) for line in splitter.feed(chunk)]  # 100 MiB
    assert [type(line) for line in told] == [TooLong]
    assert splitter.pending == 400 << 18
    assert splitter.rest == b""
    assert splitter.feed(b"end\nnext\n") == [b"next"]


def test_nobody_sleeps_while_there_is_more_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccmtad.live.sources.file.CHUNK", 100)
    (tmp_path / "a.csv").write_bytes(b"x" * 10_000)
    slept: list[float] = []
    monkeypatch.setattr("select.select", lambda *given: slept.append(given[-1]))
    lines = FollowedFile(tmp_path / "a.csv")
    for _ in range(100):
        assert lines.take() == []
        lines.wait(0.2)
    assert not slept
    lines.take()
    lines.wait(0.2)
    assert slept == [0.2]
    lines.close()


@pytest.mark.slow
@pytest.mark.parametrize("piped", [False, True])
def test_a_line_of_100_megabytes_delays_nothing(piped: bool, tmp_path: Path) -> None:
    text = b"".join([HEADER, *ROWS[:200]]).decode() + "x" * 100_000_000 + "\n" + b"".join(ROWS[200:]).decode()
    (tmp_path / "a.csv").write_text(text)
    began = time.monotonic()
    done = run(
        "watch", GOLDEN / "watch-v1.ccm", "-" if piped else tmp_path / "a.csv", "--once", stdin=text if piped else None
    )
    logging.getLogger(__name__).warning("%s: %.1f s", "pipe" if piped else "file", time.monotonic() - began)
    assert done.returncode == 3, done.stderr
    assert "400 rows in all" in done.stderr
    assert "1 line left out" in done.stderr


def test_the_longest_line_is_a_flag(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"".join([HEADER, *ROWS[:20], b"x" * 300 + b"\n", *ROWS[20:]]))
    model = GOLDEN / "watch-v1.ccm"
    done = run("watch", model, tmp_path / "a.csv", "--once", "--longest-line", 200)
    assert "line 22 must be at most 200 bytes long; it is longer: left out" in done.stderr
    assert "400 rows in all" in done.stderr
    done = run("watch", model, tmp_path / "a.csv", "--once", "--longest-line", 0)
    assert done.returncode == 2
    assert "longest_line must be at least 1 byte; got 0" in done.stderr
