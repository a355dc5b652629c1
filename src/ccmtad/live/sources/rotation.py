"""The files that a followed one was moved or copied to, from the oldest to the newest."""

import glob
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from .place import LOOK, digest

__all__ = ["Known", "moved", "newer", "same_file"]

MOVED = re.compile(r"[.-]\d[\dT._-]*")  # what rotation puts behind a name
DATED = 5  # digits that make a date, or a moment, and no number
MOST_KNOWN = 64  # files that are known again


@dataclass(frozen=True)
class Known:
    """A file that need not be read any more, by its inode and its first bytes."""

    inode: int
    length: int
    head: str

    @classmethod
    def of(cls, descriptor: int, length: int = LOOK) -> "Known":
        begin = os.pread(descriptor, min(length, LOOK), 0)
        return cls(os.fstat(descriptor).st_ino, len(begin), digest(begin))

    def is_at(self, path: Path) -> bool:
        try:
            with path.open("rb", buffering=0) as file:
                return self == Known.of(file.fileno(), self.length)
        except OSError:
            return False


def moved(path: Path) -> list[Path]:
    """Those beside the followed file (sensors.csv.1, sensors.csv-20260301) by their names, the oldest first.

    Of numbers the largest is the oldest, of dates the smallest. Times of change tell nothing: clocks are set back.
    """
    found = []
    for one in path.parent.glob(f"{glob.escape(path.name)}?*"):
        suffix = one.name.removeprefix(path.name)
        if MOVED.fullmatch(suffix) and _inode(one):
            numbers = [int(number) for number in re.findall(r"\d+", suffix)]
            dated = sum(map(str.isdigit, suffix)) >= DATED
            found.append(((0, numbers) if dated else (1, [-number for number in numbers]), one))
    return [one for _, one in sorted(found)]


def newer(path: Path, known: list[Known]) -> list[Path]:
    """Those that came after every known one, and the followed file itself; all, where none of the known is there."""
    files = moved(path)
    for last in range(len(files), 0, -1):
        inode = _inode(files[last - 1])
        if any(one.inode == inode and one.is_at(files[last - 1]) for one in known):
            files = files[last:]
            break
    return [*files, path] if path.exists() else files


def same_file(path: Path, descriptor: int) -> bool:
    """Whether the open file is the one of that name."""
    try:
        there = path.stat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _inode(path: Path) -> int:
    """Of a regular file; 0 for anything else, and for one that moved on while we looked."""
    try:
        status = path.stat()
    except OSError:
        return 0
    return status.st_ino if stat.S_ISREG(status.st_mode) else 0
