"""Lines of a file that others write to, or of a pipe, with the place up to which they have been taken."""

import glob
import hashlib
import logging
import os
import re
import select
import stat
import time
from pathlib import Path
from typing import IO, Protocol

from ..errors import InputError

__all__ = ["FollowedFile", "Lines", "Mark", "Pipe"]

log = logging.getLogger("ccmtad")

CHUNK = 1 << 18  # bytes read at once
LOOK = 4_096  # bytes at the beginning and before the mark that tell one file from another
MOVED = re.compile(r"[.-]\d[\dT._-]*")  # what rotation puts behind a name
GRACE = 2.0  # seconds that a file which was moved away must be quiet before its successor is read

Mark = dict[str, object]  # a place in a file, and how to know the file again


class Lines(Protocol):
    """A source of lines."""

    fresh: bool  # whether the next line is the first of a file

    def take(self) -> list[bytes] | None:
        """The lines that are there and not taken yet, without their ends; None after the last one."""

    def wait(self, seconds: float) -> None:
        """Sleeps until there may be more, or for so long."""

    def mark(self) -> Mark | None:
        """The place after the lines taken; None where it cannot be gone back to."""

    def close(self) -> None:
        """Nothing more is taken."""


class FollowedFile:
    """A growing file, as `tail -F` reads it: also after it was rotated away, truncated or written anew.

    A line counts once it has ended. With `once`, what is there is read to its end, and no more; a last line that has
    not ended is then taken too, unless it is left to be `completed` and read another time.
    """

    def __init__(self, path: Path, *, once: bool = False, completed: bool = False) -> None:
        self.path, self.once, self.completed = path, once, completed
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                what = "a folder" if path.is_dir() else "which is neither"
                raise InputError(f"source must be a file, or - for standard input; got {str(path)!r}, {what}")
            self.file: IO[bytes] = path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"source must be a readable file; got {str(path)!r}: {error.strerror}") from error
        self._begin()

    def _begin(self) -> None:
        """At the beginning of `file`."""
        self.fresh = True
        self.position = 0  # after the last whole line taken
        self.rest = b""  # read already, its line not ended yet
        self.head = b""  # the first bytes taken
        self.tail = b""  # the last bytes taken
        self.ended = False  # whether the last read came to the end
        self.quiet_since: float | None = None  # since when there was nothing more in a file that was moved away

    def take(self) -> list[bytes] | None:
        if self.ended and self._rewritten():
            log.warning("the followed file was written anew: it is read from its start")
            self.file.seek(0)
            self._begin()
        chunk = self.file.read(CHUNK)
        self.ended = not chunk
        if chunk:
            self.quiet_since = None
            return self._whole(self.rest + chunk)
        if self._moved():
            return self._successor()
        if not self.once:
            return []
        last, self.rest = b"" if self.completed else self.rest, b""
        self._took(last)
        return [last.rstrip(b"\r")] if last else None

    def wait(self, seconds: float) -> None:
        select.select([], [], [], seconds)

    def close(self) -> None:
        self.file.close()

    def mark(self) -> Mark:
        return {
            "position": self.position, "head": _digest(self.head), "tail": _digest(self.tail),
            "file": list(_identity(os.fstat(self.file.fileno()))),
        }  # fmt: skip

    def resume(self, mark: Mark) -> bool:
        """Goes to a mark: in the file that was marked, wherever it was moved to, or else in a copy of it.

        False where there is neither.
        """
        files = self._files()
        marked = [path for path, status in files if list(_identity(status)) == mark["file"]]
        copies = [self.path, *(path for path, _ in files)] if mark["position"] else []
        return any(self._open_at(path, mark) for path in (*marked, *copies))

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        """The followed file and those it was moved to (sensors.csv.1, sensors.csv-20260301), oldest first."""
        found = []
        for path in self.path.parent.glob(f"{glob.escape(self.path.name)}*"):
            if path == self.path or MOVED.fullmatch(path.name.removeprefix(self.path.name)):
                try:
                    status = path.stat()
                except OSError:
                    continue  # moved on while we looked
                if stat.S_ISREG(status.st_mode):
                    found.append((path, status))
        return sorted(found, key=lambda one: one[1].st_mtime_ns)

    def _open_at(self, path: Path, mark: Mark) -> bool:
        before = self.file
        try:
            self.file = path.open("rb", buffering=0)
        except OSError:
            return False
        if self._seek(mark):
            before.close()
            return True
        self.file.close()
        self.file = before
        return False

    def _seek(self, mark: Mark) -> bool:
        position = mark["position"]
        if not isinstance(position, int) or position < 0:
            return False
        head = os.pread(self.file.fileno(), min(LOOK, position), 0)
        tail = os.pread(self.file.fileno(), min(LOOK, position), max(position - LOOK, 0))
        if len(head) < min(LOOK, position) or (_digest(head), _digest(tail)) != (mark["head"], mark["tail"]):
            return False
        self.file.seek(position)
        self.fresh, self.position, self.head, self.tail = position == 0, position, head, tail
        return True

    def _whole(self, data: bytes) -> list[bytes]:
        """The ended lines of what was read; the rest waits."""
        taken, newline, self.rest = data.rpartition(b"\n")
        if not newline:
            return []
        self._took(taken + newline)
        return [line.rstrip(b"\r") for line in taken.split(b"\n")]

    def _took(self, data: bytes) -> None:
        self.position += len(data)
        self.head = (self.head + data[:LOOK])[:LOOK]
        self.tail = (self.tail + data)[-LOOK:]

    def _rewritten(self) -> bool:
        """Whether what was read last is no longer there: the file was truncated, and perhaps grew again."""
        there = os.pread(self.file.fileno(), len(self.tail), self.position - len(self.tail))
        return there != self.tail

    def _moved(self) -> bool:
        """Whether another file is where this one was."""
        try:
            there = self.path.stat()
        except OSError:
            return False  # moved away, the new one is not there yet
        return _identity(there) != _identity(os.fstat(self.file.fileno()))

    def _successor(self) -> list[bytes]:
        """Goes on to the next file once nobody writes to this one any more: it may have been moved away twice."""
        now = time.monotonic()
        self.quiet_since = self.quiet_since or now
        if now - self.quiet_since < GRACE and not self.once:
            return []
        here = os.fstat(self.file.fileno())
        later = [path for path, status in self._files() if status.st_mtime_ns > here.st_mtime_ns]
        try:
            new = (later[0] if later else self.path).open("rb", buffering=0)
        except OSError:
            return []  # moved away again
        if self.rest:
            log.warning("the followed file was moved away in the middle of a line, which is left out")
        self.file.close()
        self.file = new
        self._begin()
        return []


class Pipe:
    """Lines of standard input. It cannot be read twice: who writes to it must know what was acknowledged."""

    def __init__(self, descriptor: int, *, completed: bool = False) -> None:
        """With `completed`, a last line that has not ended is left out: its sender will send it whole."""
        self.descriptor, self.completed = descriptor, completed
        self.fresh = True
        self.rest = b""
        self.ended = False

    def take(self) -> list[bytes] | None:
        if self.ended:
            return None
        if not select.select([self.descriptor], [], [], 0)[0]:
            return []  # a read would wait, and nothing else could be done meanwhile
        chunk = os.read(self.descriptor, CHUNK)
        if not chunk:
            self.ended = True
            return [self.rest.rstrip(b"\r")] if self.rest and not self.completed else None
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        return [line.rstrip(b"\r") for line in lines]

    def wait(self, seconds: float) -> None:
        select.select([self.descriptor], [], [], seconds)

    def mark(self) -> None:
        return None

    def close(self) -> None:
        """The descriptor is its owner's."""


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
