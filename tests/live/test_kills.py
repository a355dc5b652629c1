"""Kills at any moment, while the source is renamed, copied, truncated and taken back, and clocks are set back."""

import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccmtad import files
from ccmtad.live.watch import MAGIC, VERSION

log = logging.getLogger(__name__)

GOLDEN = Path(__file__).parents[1] / "golden"
MODEL = GOLDEN / "watch-v1.ccm"
PATIENCE = 300.0  # seconds to wait for what must happen, however busy the machine is


def series(blocks: int) -> list[str]:
    """The golden rows again and again, at later times: each block has its events."""
    header, *rows = (GOLDEN / "watch-v1.csv").read_text().splitlines(keepends=True)
    start, minute = np.datetime64("2026-03-01T15:00:00"), np.timedelta64(60, "s")
    cells = [row.partition(",")[2] for row in rows]
    return [header, *(f"{start + i * minute},{cells[i % len(cells)]}" for i in range(blocks * len(rows)))]


@dataclass
class Writer:
    """Somebody who writes lines, and whose file others rotate. Everything stays on disk, somewhere."""

    path: Path
    lines: list[str]
    dice: random.Random
    text: str = field(init=False)
    written: int = 0  # of the text
    began: int = 0  # where in the text the current file began
    done: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.text = "".join(self.lines)
        self.path.touch()
        self._put(self.path, len(self.lines[0]))

    def something(self, most: int) -> None:
        """One thing that happens to files."""
        ways = [self.write, self.write, self.write, self.rename, self.copytruncate, self.set_clock, self.take_back]
        way = self.dice.choice(ways)
        self.done[way.__name__] = self.done.get(way.__name__, 0) + 1
        way(most)

    def write(self, most: int) -> None:
        """Some bytes more, cut anywhere."""
        self._put(self.path, self.written + self.dice.randrange(most))

    def rename(self, _: int) -> None:
        """Moved away; the line that is being written is ended in the moved file, and a new one begun."""
        self._shift()
        old = self.path.with_name(f"{self.path.name}.1")
        self.path.rename(old)
        self._put(old, self._line_end())
        self.path.write_text(self.lines[0] if self.dice.random() < 0.5 else "")
        self.began = self.written

    def copytruncate(self, _: int) -> None:
        """Copied and truncated, within a line too."""
        self._shift()
        shutil.copyfile(self.path, self.path.with_name(f"{self.path.name}.1"))
        os.truncate(self.path, 0)
        self.began = self.written

    def set_clock(self, _: int) -> None:
        """All files that there are get any times, equal ones too."""
        for one in self.path.parent.glob(f"{self.path.name}*"):
            at = self.dice.choice([1_000, 2_000, time.time_ns() + 10**12])
            os.utime(one, ns=(at, at))

    def take_back(self, _: int) -> None:
        """Half a line is taken back, to be written again."""
        start = max(self.text.rfind("\n", 0, self.written) + 1, self.began)
        taken = self.written - start
        if taken:
            os.truncate(self.path, self.path.stat().st_size - taken)
            self.written = start

    def end(self) -> None:
        self._put(self.path, len(self.text))

    def _line_end(self) -> int:
        if not self.written or self.text[self.written - 1] == "\n":
            return self.written
        return self.text.index("\n", self.written) + 1

    def _put(self, path: Path, upto: int) -> None:
        with path.open("a") as file:
            file.write(self.text[self.written : upto])
        self.written = min(upto, len(self.text))

    def _shift(self) -> None:
        names = {int(one.name.rpartition(".")[2]): one for one in self.path.parent.glob(f"{self.path.name}.*")}
        for number in sorted(names, reverse=True):
            names[number].rename(self.path.with_name(f"{self.path.name}.{number + 1}"))


class Nursery:
    """Watches, one after the other."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("nursery.py")), str(MODEL)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, words: list[str]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


def told(text: str) -> dict[tuple[str, int], dict[str, Any]]:
    """Notices by id and revision; one that is told twice must say the same."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for line in text.splitlines():
        notice = json.loads(line)
        assert found.setdefault((notice["id"], notice["revision"]), notice) == notice
    return found


def rows_saved(state: Path) -> int:
    """How far a state on disk has come."""
    if not state.exists():
        return -1
    return int(files.open_sealed(state.read_bytes(), MAGIC, VERSION, "state")[1]["mark"]["rows"])


def killed(folder: Path, kills: int, blocks: int, seed: int, longest: float = 3.0) -> None:
    """Each watch lives for a part of `longest` seconds at most, and must have lost nothing in the end."""
    dice = random.Random(seed)
    lines = series(blocks)
    whole, out, errors, state = (folder / name for name in ("whole.csv", "out", "errors", "state"))
    whole.write_text("".join(lines))
    (folder / "live").mkdir()
    writer = Writer(folder / "live" / "log", lines, dice)
    most = 4 * len(writer.text) // (9 * kills) + 2  # so that the end comes near the last kill
    began, nursery = time.monotonic(), Nursery()
    try:
        nursery.ask([str(folder / "expected"), str(errors), "watch", str(MODEL), str(whole), "--once", "--quiet"])
        assert nursery.ask([]) == 3, errors.read_text()
        command = [str(out), str(errors), "watch", str(MODEL), str(writer.path), "--state", str(state)]
        nursery.ask([*command, "--once"])  # what is moved away before anyone watches is nobody's
        assert nursery.ask([]) == 0, errors.read_text()
        at_work = 0
        for _ in range(kills):
            for _ in range(dice.randrange(4)):
                writer.something(most)  # while nobody watches
            before = rows_saved(state)
            process = nursery.ask(command)
            for _ in range(dice.randrange(3)):
                time.sleep(0.2 * dice.random())
                writer.something(most)  # while it is watched
            enough = time.monotonic() + dice.choice([0.0, 0.1, 1.0]) * longest * dice.random()
            while time.monotonic() < enough and rows_saved(state) == before:
                time.sleep(0.02)  # not for what must happen: this only says where it is killed
            os.kill(process, signal.SIGKILL)
            assert nursery.ask([]) == -signal.SIGKILL, errors.read_text()
            at_work += rows_saved(state) > before
        writer.end()
        nursery.ask([*command, "--once"])
        assert nursery.ask([]) in (0, 3), errors.read_text()
    finally:
        nursery.close()
    written, expected = told(out.read_text()), told((folder / "expected").read_text())
    repeats = len(out.read_text().splitlines()) - len(written)
    log.warning(
        "%d kills, %d of them after new rows were saved; %s; %d rows, %d notices, %d lost, %d repeated; %.0f s",
        kills, at_work, writer.done, len(lines) - 1, len(expected), len(expected.keys() - written.keys()), repeats,
        time.monotonic() - began,
    )  # fmt: skip
    assert rows_saved(state) == len(lines) - 1, errors.read_text()
    assert written == expected, errors.read_text()
    assert len(expected) > blocks


def test_ten_kills_while_files_are_rotated_lose_nothing(tmp_path: Path) -> None:
    killed(tmp_path, kills=10, blocks=4, seed=1)


@pytest.mark.slow
def test_two_hundred_kills_while_files_are_rotated_lose_nothing(tmp_path: Path) -> None:
    killed(tmp_path, kills=200, blocks=60, seed=2, longest=8.0)
