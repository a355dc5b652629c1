"""Lines of a file that others write to, with the place up to which they have been taken."""

import logging
import os
import select
import stat
import time
from pathlib import Path
from typing import IO

from ...errors import InputError
from ...wording import count
from . import Mark
from .place import OldPlace, Place, Trail
from .rotation import MOST_KNOWN, Known, moved, newer, same_file
from .split import LONGEST_LINE, Cut, LeftOut, Line, Splitter

__all__ = ["FollowedFile"]

log = logging.getLogger("ccmtad")

CHUNK = 1 << 18  # bytes read at once
GRACE = 2.0  # seconds that the file which was moved away last must be quiet before its successor is read


class FollowedFile:
    """A growing file, as `tail -F` reads it: also after it was rotated away, copied and truncated, or written anew.

    A line counts once it has ended. With `once`, what is there is read to its end, and no more; a last line that has
    not ended is then taken too, unless it is left to be `completed` and read another time.
    """

    def __init__(
        self, path: Path, *, once: bool = False, completed: bool = False, longest_line: int = LONGEST_LINE
    ) -> None:
        self.path, self.once, self.completed = path, once, completed
        self.splitter = Splitter(longest_line)
        self.file: IO[bytes] | None = None  # None: it is not there yet
        self.trouble = ""  # why there is nothing to read
        self._at(None, Place())
        self.older = _known(moved(path))  # what lies there already is not read
        if path.exists() or once:
            self._at(_opened(path), Place())
        else:
            log.warning("waiting for %s, which is not there yet", path)

    def _at(self, file: IO[bytes] | None, place: Place, *, copy: bool = False) -> None:
        """Goes on in this file, at this place."""
        if self.file is not None and self.file is not file:
            self.file.close()
        self.file, self.trail, self.copy = file, Trail(place), copy  # copy: nobody writes to it
        self.splitter.reset()
        self.fresh = place.position == 0
        self.carried = b""  # the end of the file before, whose line may go on here
        self.size = 0  # as last seen
        self.quiet_since: float | None = None  # since when there was nothing more in a file that was moved away
        self.idle = False  # whether the last look found nothing

    def take(self) -> list[Line] | None:
        self.idle = True
        if self.file is None:
            self._follow(newer(self.path, self.older))
            return []
        here = self.file.fileno()
        try:
            chunk = os.pread(here, CHUNK, self.trail.offset)
            if not self.trail.intact(here):
                self._rewritten(self.file)
                return []
            self.size = os.fstat(here).st_size
        except OSError as error:
            if self.once:
                raise InputError(f"source must be a readable file; got {str(self.path)!r}: {error.strerror}") from error
            self._tell(f"cannot be read: {error.strerror}")
            return []
        if same_file(self.path, here):
            self._tell("")
        if chunk:
            self.idle, self.quiet_since = False, None
            self.trail.took(chunk)
            return self._joined(self.splitter.feed(chunk))
        return self._end(here)

    def _end(self, here: int) -> list[Line] | None:
        """There is nothing more in this file now."""
        if not same_file(self.path, here):
            following = newer(self.path, [*self.older, Known.of(here, self.trail.place.position)])
            if following:
                return self._follow(following)
            self._tell("is gone")
        if not self.once:
            return []
        last = b"" if self.completed else self.splitter.rest
        if not last:
            return None
        self.trail.took_rest()
        self.splitter.reset()
        return self._joined([last.rstrip(b"\r")])

    def _joined(self, lines: list[Line]) -> list[Line]:
        """The first line of a file may have begun in the copy that was read before it."""
        if self.carried and lines:
            first, before, self.carried = lines[0], self.carried, b""
            return [Cut(before, first) if isinstance(first, bytes) else first, *lines[1:]]
        return lines

    def _follow(self, files: list[Path]) -> list[Line]:
        """Goes on to the next file. Only the one that was moved away last may still be written to: it must be quiet."""
        for path in files:
            try:
                new = _opened(path)
            except InputError as error:
                if path == self.path:
                    self._tell(f"cannot be read: {error}")
                elif path.exists():
                    log.warning("%s is left out: %s", path, error)
                    continue
                return []  # moved on while we looked
            if path == self.path and self._awaited(new):
                new.close()
                return []
            left: list[Line] = []
            carried = self.splitter.rest if self.copy else b""
            if self.file is not None:
                if self.splitter.rest and not carried:
                    left = [LeftOut("must end before its file is moved away; it does not")]
                self.older = [*self.older, Known.of(self.file.fileno(), self.trail.place.position)][-MOST_KNOWN:]
            self._at(new, Place(), copy=self.copy and path != self.path)  # who copies once copies again
            self.carried = carried
            self._tell("")
            return left
        return []

    def _awaited(self, new: IO[bytes]) -> bool:
        """Whether the file that was moved away may get more lines before those of the new one."""
        if self.once or self.copy or self.file is None:
            return False
        now = time.monotonic()
        self.quiet_since = self.quiet_since or now
        return now - self.quiet_since < GRACE or not os.fstat(new.fileno()).st_size

    def _rewritten(self, file: IO[bytes]) -> None:
        """What was read last is no longer there: the file was truncated, and perhaps grew again."""
        unread = self.size - self.trail.place.position
        if not self._found(self.trail.place, file):
            lost = f", and at least {count(unread, 'byte')} were not read before" * (unread > 0)
            log.warning("the followed file was written anew: it is read from its start%s", lost)
            self._start()

    def _start(self) -> None:
        """From the start of the first file that was not read."""
        self._at(None, Place())
        self._follow(newer(self.path, self.older))

    def _found(self, place: Place | OldPlace, own: IO[bytes] | None) -> bool:
        """Goes to a place: in its own file, or else in a copy of it, or else to what is left of it."""
        files = newer(self.path, self.older)
        if own is not None and (there := place.at(own.fileno())) is not None:
            first = not files or same_file(files[0], own.fileno()) or not any(same_file(f, own.fileno()) for f in files)
            if place.telling or first:
                self._at(own, there)
                return True
        if not place.telling:
            return False
        for path in files:
            if (copy := _readable(path)) is None:
                continue
            if (there := place.at(copy.fileno())) is not None:
                self._at(copy, there, copy=True)
                return True
            copy.close()
        return isinstance(place, Place) and (self._kept(place, own) or self._covered(place, files))

    def _kept(self, place: Place, own: IO[bytes] | None) -> bool:
        """Whether only the last lines were taken back."""
        kept = None if own is None else place.kept(own.fileno())
        if kept is None:
            return False
        taken_back = count(place.position - kept.position, "byte")
        log.warning("the followed file was taken back by %s that had been read: it is read on from there", taken_back)
        self._at(own, kept)
        return True

    def _covered(self, place: Place, files: list[Path]) -> bool:
        """Whether there is a copy that ends before the place: its original was read further before it was truncated."""
        for path in files:
            if path != self.path and (copy := _readable(path)) is not None:
                with copy:
                    if place.covers(copy.fileno()):
                        self.older = [*self.older, Known.of(copy.fileno())][-MOST_KNOWN:]
                        self._start()
                        return True
        return False

    def wait(self, seconds: float) -> None:
        if self.idle:  # there may be much to read before a line ends
            select.select([], [], [], seconds)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def mark(self) -> Mark | None:
        older = [[one.inode, one.length, one.head] for one in self.older]
        if self.file is None:
            return {"older": older}
        status = os.fstat(self.file.fileno())
        return {
            **self.trail.place.state(), "file": [status.st_dev, status.st_ino], "copy": self.copy,
            "carried": self.carried.decode("latin-1"), "older": older,
        }  # fmt: skip

    def commit(self, rows: int, time: str | None) -> None:
        """Nobody has to be told."""

    def resume(self, mark: Mark | None, rows: int) -> bool:
        """Goes to a mark: in the file that was marked, wherever it was moved to, or else in a copy of it."""
        if mark is None:
            return True  # there was no file yet
        old = "older" not in mark  # of version 2, or 1
        if not old:
            self.older = [Known(*one) for one in mark["older"]]
        if "position" not in mark:
            self._start()
            return True
        place = OldPlace(mark["position"], mark["head"], mark["tail"]) if old else Place.of(mark)
        known, self.older = self.older, [] if old else self.older
        own = next((f for path in newer(self.path, self.older) if (f := _readable(path, mark["file"][1]))), None)
        if self._found(place, own):
            if self.file is own:
                self.copy, self.carried = bool(mark.get("copy")), mark.get("carried", "").encode("latin-1")
            elif own is not None:
                own.close()
            return True
        if own is not None:
            own.close()
        log.warning(
            "the followed file is another one than before: it is read from its start, and what the old one may have "
            "held after row %d is not read",
            rows,
        )
        self.older = known
        self._start()
        return False

    def _tell(self, trouble: str) -> None:
        """Says once that there is nothing to read, and why; and that there is again."""
        if trouble and not self.trouble:
            log.warning("source %s %s: waiting", self.path, trouble)
        elif self.trouble and not trouble:
            log.warning("source %s can be read again", self.path)
        self.trouble = trouble


def _opened(path: Path) -> IO[bytes]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            what = "a folder" if path.is_dir() else "which is neither"
            raise InputError(f"source must be a file, or - for standard input; got {str(path)!r}, {what}")
        return path.open("rb", buffering=0)
    except OSError as error:
        raise InputError(f"source must be a readable file; got {str(path)!r}: {error.strerror}") from error


def _readable(path: Path, inode: int | None = None) -> IO[bytes] | None:
    """The file, if it can be opened, and has that inode."""
    try:
        file = _opened(path)
    except InputError:
        return None
    if inode in (None, os.fstat(file.fileno()).st_ino):
        return file
    file.close()
    return None


def _known(paths: list[Path]) -> list[Known]:
    files = [file for path in paths[-MOST_KNOWN:] if (file := _readable(path)) is not None]
    known = [Known.of(file.fileno()) for file in files]
    for file in files:
        file.close()
    return known
