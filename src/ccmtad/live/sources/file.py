"""Lines of a file that others write to, with the place up to which they have been taken."""

import glob
import hashlib
import logging
import os
import re
import select
import stat
import time
from pathlib import Path
from typing import IO

from ...errors import InputError
from . import Mark

__all__ = ["FollowedFile"]

log = logging.getLogger("ccmtad")

CHUNK = 1 << 18  # bytes read at once
LOOK = 4_096  # bytes at the beginning and before the mark that tell one file from another
MOVED = re.compile(r"[.-]\d[\dT._-]*")  # what rotation puts behind a name
GRACE = 2.0  # seconds that a file which was moved away must be quiet before its successor is read


class FollowedFile:
    """A growing file, as `tail -F` reads it: also after it was rotated away, truncated or written anew.

    A line counts once it has ended. With `once`, what is there is read to its end, and no more; a last line that has
    not ended is then taken too, unless it is left to be `completed` and read another time.
    """

    def __init__(self, path: Path, *, once: bool = False, completed: bool = False) -> None:
        self.path, self.once, self.completed = path, once, completed
        self.file: IO[bytes] | None = None  # None: it is not there yet
        self._begin()
        if path.exists() or once:
            self._open()
        else:
            log.warning("waiting for %s, which is not there yet", path)

    def _open(self) -> None:
        """The file of that name, from its beginning."""
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):
                what = "a folder" if self.path.is_dir() else "which is neither"
                raise InputError(f"source must be a file, or - for standard input; got {str(self.path)!r}, {what}")
            self.file = self.path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"source must be a readable file; got {str(self.path)!r}: {error.strerror}") from error

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
        if self.file is None:
            if not self.path.exists():
                return []
            self._open()
        if self.ended and self._rewritten():
            log.warning("the followed file was written anew: it is read from its start")
            self._there.seek(0)
            self._begin()
        chunk = self._there.read(CHUNK)
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
        if self.file is not None:
            self.file.close()

    @property
    def _there(self) -> IO[bytes]:
        assert self.file is not None  # `take` has opened it
        return self.file

    def mark(self) -> Mark | None:
        if self.file is None:
            return None
        return {
            "position": self.position, "head": _digest(self.head), "tail": _digest(self.tail),
            "file": list(_identity(os.fstat(self._there.fileno()))),
        }  # fmt: skip

    def commit(self, rows: int, time: str | None) -> None:
        """Nobody has to be told."""

    def resume(self, mark: Mark | None, rows: int) -> bool:
        """Goes to a mark: in the file that was marked, wherever it was moved to, or else in a copy of it."""
        if mark is None:
            return True  # there was no file yet
        if self._found(mark):
            return True
        log.warning(
            "the followed file is another one than before: it is read from its start, and what the old one may have "
            "held after row %d is not read",
            rows,
        )
        return False

    def _found(self, mark: Mark) -> bool:
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
            if before is not None:
                before.close()
            return True
        self.file.close()
        self.file = before
        return False

    def _seek(self, mark: Mark) -> bool:
        position = mark["position"]
        if not isinstance(position, int) or position < 0:
            return False
        head = os.pread(self._there.fileno(), min(LOOK, position), 0)
        tail = os.pread(self._there.fileno(), min(LOOK, position), max(position - LOOK, 0))
        if len(head) < min(LOOK, position) or (_digest(head), _digest(tail)) != (mark["head"], mark["tail"]):
            return False
        self._there.seek(position)
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
        there = os.pread(self._there.fileno(), len(self.tail), self.position - len(self.tail))
        return there != self.tail

    def _moved(self) -> bool:
        """Whether another file is where this one was."""
        try:
            there = self.path.stat()
        except OSError:
            return False  # moved away, the new one is not there yet
        return _identity(there) != _identity(os.fstat(self._there.fileno()))

    def _successor(self) -> list[bytes]:
        """Goes on to the next file once nobody writes to this one any more: it may have been moved away twice."""
        now = time.monotonic()
        self.quiet_since = self.quiet_since or now
        if now - self.quiet_since < GRACE and not self.once:
            return []
        here = os.fstat(self._there.fileno())
        later = [path for path, status in self._files() if status.st_mtime_ns > here.st_mtime_ns]
        try:
            new = (later[0] if later else self.path).open("rb", buffering=0)
        except OSError:
            return []  # moved away again
        if self.rest:
            log.warning("the followed file was moved away in the middle of a line, which is left out")
        self._there.close()
        self.file = new
        self._begin()
        return []


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
