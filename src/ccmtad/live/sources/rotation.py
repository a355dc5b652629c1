"""The files that a followed one was moved, copied or packed to, from the oldest to the newest."""

import glob
import os
import re
import stat
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ...errors import InputError
from .content import PACKED, SEALED, Content, Packed
from .place import LOOK, OldPlace, Place, digest

__all__ = [
    "Found",
    "Known",
    "MovedOnError",
    "counts_upwards",
    "find",
    "is_current",
    "is_later",
    "listed",
    "newer",
    "opened",
]

MOVED = re.compile(r"[.-]\d[\dT._-]*")  # what rotation puts behind a name
DATED = 5  # digits that make a date, or a moment, and no number


class MovedOnError(Exception):
    """A file has another name than a moment ago: look again."""


@dataclass(frozen=True)
class Found:
    """A file, as it was seen."""

    path: Path
    inode: int
    number: int | None = None  # where names are counted, and no dates
    ending: str = ""  # of what packed it
    stamp: tuple[int, int] = field(default=(0, 0), compare=False)  # bytes and time of change: of a packed one they stay

    def open(self) -> Content:
        """The file that was seen; an `InputError` where it cannot be read."""
        if self.ending in SEALED:
            known = ", ".join(PACKED)
            raise InputError(f"a rotated file must be plain or one of {known}; got {str(self.path)!r}")
        try:
            content = opened(self.path)
        except InputError:
            if self.path.exists():
                raise
            raise MovedOnError from None
        if not self.is_file(content):
            content.close()
            raise MovedOnError
        return Packed(content.file, self.path) if self.ending else content

    def is_file(self, content: Content) -> bool:
        return content.inode == self.inode


@dataclass(frozen=True)
class Known:
    """A file that need not be read any more, by its inode and its first bytes. One that was packed since is another
    file, which holds the same: there it is known by what it was read up to. Inodes are given to others, too: one that
    holds too little to be known again must have kept its size."""

    inode: int
    length: int
    head: str
    size: int = 0  # up to where it was read; without a tail, the bytes that it has
    tail: str = ""  # of the bytes before that; "": not known
    telling: bool = False  # whether what it holds tells it from others

    @classmethod
    def at(cls, inode: int, place: Place, stored: int, begin: bytes = b"") -> "Known":
        """Read up to a place; it has so many bytes, and begins so: half a line counts too, where there is no more."""
        if place.telling:
            return cls(inode, len(place.head), digest(place.head), place.position, digest(place.tail), telling=True)
        head = begin or place.head
        return cls(inode, len(head), digest(head), stored)

    @classmethod
    def left_out(cls, found: Found) -> "Known":
        """One that cannot be read."""
        return cls.at(found.inode, Place(), found.stamp[0])

    @classmethod
    def of(cls, content: Content) -> "Known":
        """An open one that is not read at all."""
        head, stored = content.read(LOOK, 0), content.status().st_size
        if isinstance(content, Packed):
            return cls(content.inode, len(head), digest(head), stored, telling=Place(len(head), head).telling)
        return cls.at(content.inode, Place(stored, head, content.read(LOOK, max(stored - LOOK, 0))), stored)

    @classmethod
    def all(cls, files: list[Found]) -> "list[Known]":
        """Those that can be read, and those that never can."""
        known = []
        for one in files:
            try:
                with one.open() as content:
                    known.append(cls.of(content))
            except (InputError, MovedOnError):
                if one.ending in SEALED:
                    known.append(cls.left_out(one))
        return known

    def is_at(self, found: Found) -> bool:
        same = self.inode == found.inode and (self.telling or self.size == found.stamp[0])
        try:
            if found.ending:
                stored = Stored(found.inode, *found.stamp, found)
                return self._begins(stored.head()) and (same or self._ends_in(stored))
            if not same:
                return False
            with found.open() as content:
                return self._begins(content.read(self.length, 0))
        except InputError:
            return same and not self.length
        except MovedOnError:
            return False

    def _begins(self, head: bytes) -> bool:
        return digest(head[: self.length]) == self.head

    def _ends_in(self, stored: "Stored") -> bool:
        """Whether a packed file holds all that was read; or only that, as it was packed before more was written."""
        if not self.telling:
            return (self.length > 0 or self.size == 0) and stored.ends_at(self.size)
        return self.tail != "" and stored.before(self.size) in (self.tail, None)


@dataclass(frozen=True)
class Stored:
    """A packed file, whatever it is called now. What is in it is looked at once."""

    inode: int
    size: int
    changed: int
    found: Found = field(compare=False)

    @lru_cache(maxsize=1_000)  # noqa: B019  few files, and each of them small
    def head(self) -> bytes:
        with self.found.open() as content:
            return content.read(LOOK, 0)

    @lru_cache(maxsize=1_000)  # noqa: B019
    def before(self, position: int) -> str | None:
        """What tells the bytes before a position; None where it ends earlier: it was packed before all was written."""
        with self.found.open() as content:
            there = content.read(min(LOOK, position), max(position - LOOK, 0))
            return digest(there) if content.reach(position) == position else None

    @lru_cache(maxsize=1_000)  # noqa: B019
    def ends_at(self, position: int) -> bool:
        with self.found.open() as content:
            return content.reach(position + 1) == position


def listed(path: Path, upwards: bool | None = None) -> list[Found]:
    """The followed file, last, and those beside it (sensors.csv.1, sensors.csv-20260301, sensors.csv.2.gz), the oldest
    first.

    Of dates the smallest is the oldest. Of numbers it is the largest, unless they count `upwards`; where that is not
    known, those with zeros before them (000001) do. Times of change tell nothing: clocks are set back.
    """
    moved = []
    names = {one.name: one for one in path.parent.glob(f"{glob.escape(path.name)}?*")}
    for name, one in names.items():
        ending = one.suffix if one.suffix in PACKED or one.suffix in SEALED else ""
        suffix = name.removeprefix(path.name).removesuffix(ending)
        if not MOVED.fullmatch(suffix) or (ending and name.removesuffix(ending) in names):
            continue  # while a file is being packed, both are there
        numbers = re.findall(r"\d+", suffix)
        padded = len(numbers) == 1 and numbers[0] != "0" and numbers[0].startswith("0")
        counted = padded or sum(map(len, numbers)) < DATED
        rising = not counted or (padded if upwards is None else upwards)
        order = [int(number) if rising else -int(number) for number in numbers]
        moved.append((counted, order, one, int(numbers[0]) if counted else None, ending))
    files = []
    for _, _, one, number, ending in (*sorted(moved, key=lambda it: it[:3]), (True, [], path, None, "")):
        try:
            status = one.stat()
        except OSError:
            continue  # moved on while we looked
        if one == path or stat.S_ISREG(status.st_mode):
            files.append(Found(one, status.st_ino, number, ending, (status.st_size, status.st_mtime_ns)))
    return files


def counts_upwards(path: Path, known: list[Known], newest: Known | None, before: bool | None) -> bool | None:
    """Whether the newest of the numbered files has the largest number, as far as the files tell: `newest` came after
    the other known ones, what is not known after all of them, and what is packed before what is not packed yet. None
    where they do not tell, now or `before`."""
    old, last, new, packed, plain = (set[int]() for _ in range(5))
    for one in listed(path):
        if one.number is not None:
            if newest is not None and newest.telling and newest.is_at(one):
                last.add(one.number)
            elif any(other.telling and other.is_at(one) for other in known):
                old.add(one.number)
            elif not any(other.is_at(one) for other in known):
                new.add(one.number)
            (packed if one.ending else plain).add(one.number)
    told = _rises(old, last)
    if told is None and before is None:  # a file that is not known tells less: anyone may have put it there
        told = _rises(old | last, new)
        told = _rises(packed, plain) if told is None else told
    return before if told is None else told


def _rises(before: set[int], after: set[int]) -> bool | None:
    if before and after:
        if max(before) < min(after):
            return True
        if min(before) > max(after):
            return False
    return None


def newer(path: Path, known: list[Known], upwards: bool | None = None) -> list[Found]:
    """Those that came after every known one, and the followed file itself; all, where none of the known is there.

    A known file that hardly holds anything says nothing of those before it: another one may have its inode now."""
    while True:
        files = listed(path, upwards)
        there = [[old for old in known if one.path != path and old.is_at(one)] for one in files]
        last = max((i for i, found in enumerate(there) if any(old.telling for old in found)), default=-1)
        if listed(path, upwards) == files:  # nobody renamed them meanwhile
            return [one for one, found in list(zip(files, there, strict=True))[last + 1 :] if not found]


def find(place: Place | OldPlace, own: Content | None, files: list[Found]) -> tuple[Content, Place] | None:
    """Where a place is now: in its own file, or else in the oldest of these that is a copy of it."""
    there = None if own is None else place.at(own)
    if own is not None and there is not None and (place.telling or not is_later(own, files)):
        return own, there
    for one in files if place.telling else files[:1]:
        try:
            copy = one.open()
        except InputError:
            continue
        if (there := place.at(copy)) is not None:
            return copy, there
        copy.close()
    return None


def holds(place: Place, found: Found) -> bool:
    """Whether a file holds what was read up to a place."""
    try:
        with found.open() as content:
            return place.at(content) is not None
    except InputError:
        return False


def is_later(content: Content, files: list[Found]) -> bool:
    """Whether an open file is one of these, under its name or packed, and not the first of them."""
    own = Known.of(content)
    among = [one.is_file(content) or own.is_at(one) for one in files]
    return any(among) and not among[0]


def is_current(path: Path, content: Content) -> bool:
    """Whether the open file is the one of that name."""
    try:
        return os.path.samestat(path.stat(), content.status())
    except OSError:
        return False


def opened(path: Path) -> Content:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            what = "a folder" if path.is_dir() else "which is neither"
            raise InputError(f"source must be a file, or - for standard input; got {str(path)!r}, {what}")
        return Content(path.open("rb", buffering=0))
    except OSError as error:
        raise InputError(f"source must be a readable file; got {str(path)!r}: {error.strerror}") from error
