"""Somebody who writes to a file, and others who rotate it, in every way at once."""

import gzip
import os
import random
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden"
MODEL = GOLDEN / "watch-v1.ccm"


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
    upwards: bool = False  # rotated files count so, and all but the last are packed
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
        old = self._shift()
        self.path.rename(old)
        self._put(old, self._line_end())
        self.path.write_text(self.lines[0] if self.dice.random() < 0.5 else "")
        self.began = self.written

    def copytruncate(self, _: int) -> None:
        """Copied and truncated, within a line too."""
        shutil.copyfile(self.path, self._shift())
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

    def _shift(self) -> Path:
        """Makes room for one more, and says where."""
        names = {int(one.name.split(".")[1]): one for one in self.path.parent.glob(f"{self.path.name}.*")}
        if self.upwards:
            last = max(names, default=0)
            if last:
                packed = names[last].with_name(f"{names[last].name}.gz")
                packed.write_bytes(gzip.compress(names[last].read_bytes(), 1))
                names[last].unlink()
            return self.path.with_name(f"{self.path.name}.{last + 1}")
        for number in sorted(names, reverse=True):
            names[number].rename(self.path.with_name(f"{self.path.name}.{number + 1}"))
        return self.path.with_name(f"{self.path.name}.1")
