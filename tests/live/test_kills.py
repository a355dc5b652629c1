"""Kills at any moment, while the source is renamed, copied, truncated and taken back, and clocks are set back."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ccmtad import files
from ccmtad.live.watch import MAGIC, VERSION

from .writer import MODEL, Writer, series

log = logging.getLogger(__name__)


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


def killed(folder: Path, kills: int, blocks: int, seed: int, longest: float = 3.0, *, upwards: bool = False) -> None:
    """Each watch lives for a part of `longest` seconds at most, and must have lost nothing in the end."""
    dice = random.Random(seed)
    lines = series(blocks)
    whole, out, errors, state = (folder / name for name in ("whole.csv", "out", "errors", "state"))
    whole.write_text("".join(lines))
    (folder / "live").mkdir()
    writer = Writer(folder / "live" / "log", lines, dice, upwards)
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


def test_ten_kills_while_files_are_rotated_upwards_and_packed_lose_nothing(tmp_path: Path) -> None:
    killed(tmp_path, kills=10, blocks=4, seed=3, upwards=True)


@pytest.mark.slow
def test_two_hundred_kills_while_files_are_rotated_lose_nothing(tmp_path: Path) -> None:
    killed(tmp_path, kills=200, blocks=60, seed=2, longest=8.0)
