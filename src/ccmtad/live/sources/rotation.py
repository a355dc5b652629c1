"""The files that a followed one was moved or copied to, from the oldest to the newest."""

import glob
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...errors import InputError
from .place import LOOK, OldPlace, Place, digest

__all__ = ["Found", "Known", "MovedOnError", "find", "is_current", "listed", "newer", "opened"]

MOVED = re.compile(r"[.-]\d[\dT._-]*")  # what rotation puts behind a name
DATED = 5  # digits that make a date, or a moment, and no number


class MovedOnError(Exception):
    """A file has another name than a moment ago: look again."""


@dataclass(frozen=True)
class Found:
    """A file, as it was seen."""

    path: Path
    inode: int

    def open(self) -> IO[bytes]:
        """The file that was seen; an `InputError` where it cannot be read."""
        try:
            file = opened(self.path)
        except InputError:
            if self.path.exists():
                raise
            raise MovedOnError from None
        if not self.is_file(file):
            file.close()
            raise MovedOnError
        return file

    def is_file(self, file: IO[bytes]) -> bool:
        return os.fstat(file.fileno()).st_ino == self.inode


@dataclass(frozen=True)
class Known:
    """A file that need not be read any more, by its inode and its first bytes."""

    inode: int
    length: int
    head: str

    @classmethod
    def of(cls, file: IO[bytes], length: int = LOOK) -> "Known":
        """An open one, of which so many bytes at least will stay as they are."""
        begin = os.pread(file.fileno(), min(length, LOOK), 0)
        return cls(os.fstat(file.fileno()).st_ino, len(begin), digest(begin))

    @classmethod
    def all(cls, files: list[Found]) -> "list[Known]":
        """Those that can be read."""
        known = []
        for one in files:
            try:
                with one.open() as file:
                    known.append(cls.of(file))
            except (InputError, MovedOnError):
                continue
        return known

    def is_at(self, found: Found) -> bool:
        if self.inode != found.inode:
            return False
        try:
            with found.open() as file:
                return self == Known.of(file, self.length)
        except (InputError, MovedOnError):
            return False


def listed(path: Path) -> list[Found]:
    """The followed file, last, and those beside it (sensors.csv.1, sensors.csv-20260301), the oldest first.

    Of numbers the largest is the oldest, of dates the smallest. Times of change tell nothing: clocks are set back.
    """
    moved = []
    for one in path.parent.glob(f"{glob.escape(path.name)}?*"):
        suffix = one.name.removeprefix(path.name)
        if MOVED.fullmatch(suffix):
            numbers = [int(number) for number in re.findall(r"\d+", suffix)]
            dated = sum(map(str.isdigit, suffix)) >= DATED
            moved.append(((0, numbers) if dated else (1, [-number for number in numbers]), one))
    files = []
    for one in (*(one for _, one in sorted(moved)), path):
        try:
            status = one.stat()
        except OSError:
            continue  # moved on while we looked
        if one == path or stat.S_ISREG(status.st_mode):
            files.append(Found(one, status.st_ino))
    return files


def newer(path: Path, known: list[Known]) -> list[Found]:
    """Those that came after every known one, and the followed file itself; all, where none of the known is there."""
    while True:
        files = listed(path)
        moved = [one for one in files if one.path != path]
        last = max((i for i, one in enumerate(moved) if any(old.is_at(one) for old in known)), default=-1)
        if listed(path) == files:  # nobody renamed them meanwhile
            return files[last + 1 :]


def find(place: Place | OldPlace, own: IO[bytes] | None, files: list[Found]) -> tuple[IO[bytes], Place] | None:
    """Where a place is now: in its own file, or else in the oldest of these that is a copy of it."""
    there = None if own is None else place.at(own.fileno())
    if own is not None and there is not None:
        among = [one.is_file(own) for one in files]
        if place.telling or not any(among) or among[0]:
            return own, there
    for one in files if place.telling else files[:1]:
        try:
            copy = one.open()
        except InputError:
            continue
        if (there := place.at(copy.fileno())) is not None:
            return copy, there
        copy.close()
    return None


def is_current(path: Path, file: IO[bytes]) -> bool:
    """Whether the open file is the one of that name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        return False


def opened(path: Path) -> IO[bytes]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            what = "a folder" if path.is_dir() else "which is neither"
            raise InputError(f"source must be a file, or - for standard input; got {str(path)!r}, {what}")
        return path.open("rb", buffering=0)
    except OSError as error:
        raise InputError(f"source must be a readable file; got {str(path)!r}: {error.strerror}") from error
