"""Lines of a file that others write to, with the place up to which they have been taken."""

import logging
import os
import select
import time
from pathlib import Path
from typing import IO

from ...errors import InputError
from ...wording import count
from . import Mark
from .place import OldPlace, Place, Trail
from .rotation import Found, Known, MovedOnError, find, is_current, listed, newer, opened
from .split import LONGEST_LINE, Cut, Line, Splitter

__all__ = ["FollowedFile"]

log = logging.getLogger("ccmtad")

CHUNK = 1 << 18  # bytes read at once
GRACE = 2.0  # seconds that the file which was moved away last must be quiet before its successor is read
MOST_KNOWN = 64  # files read before that are known again


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
        self.older = Known.all([one for one in listed(path) if one.path != path][-MOST_KNOWN:])  # they are not read
        self._at(None, Place())
        if path.exists() or once:
            self._at(opened(path), Place())
        else:
            log.warning("waiting for %s, which is not there yet", path)

    def _at(self, file: IO[bytes] | None, place: Place, *, copy: bool = False, carried: bytes = b"") -> None:
        """Goes on in this file, at this place."""
        if self.file is not None and self.file is not file:
            self.file.close()
        self.file, self.trail = file, Trail(place)
        self.copy = copy  # somebody copied the followed file there: nobody writes to it
        self.carried = carried  # the end of the file before, whose line may go on here
        self.splitter.reset()
        self.fresh = place.position == 0
        self.size = 0  # as last seen
        self.quiet_since: float | None = None  # since when there was nothing more in a file that was moved away
        self.idle = False  # whether the last look found nothing

    def take(self) -> list[Line] | None:
        self.idle = True
        try:
            return self._take()
        except MovedOnError:
            return []

    def _take(self) -> list[Line] | None:
        if self.file is None:
            self._follow(newer(self.path, self.older))
            return []
        here = self.file.fileno()
        try:
            chunk = os.pread(here, CHUNK, self.trail.offset)
            if not self.trail.intact(here) or self._overtaken(self.file):
                self._rewritten()  # what came before is not what was read: nor is this what follows it
                return []
            self.size = os.fstat(here).st_size
        except OSError as error:
            if self.once:
                raise InputError(f"source must be a readable file; got {str(self.path)!r}: {error.strerror}") from error
            self._tell(f"cannot be read: {error.strerror}")
            return []
        if chunk:
            self.idle, self.quiet_since = False, None
            self.trail.took(chunk)
            return self._joined(self.splitter.feed(chunk))
        return self._end(self.file)

    def _end(self, file: IO[bytes]) -> list[Line] | None:
        """There is nothing more in this file now."""
        if is_current(self.path, file):
            self._tell("")
        elif following := newer(self.path, [*self.older, self._known(file)]):
            self._follow(following)
            return []
        else:
            self._tell("is gone")
        if not self.once:
            return []
        last = b"" if self.completed else self.carried + self.splitter.rest
        if not last:
            return None
        self.trail.took_rest()
        self.splitter.reset()
        self.carried = b""
        return [last.rstrip(b"\r")]

    def _joined(self, lines: list[Line]) -> list[Line]:
        """The first line of a file may have begun in the one that was read before it."""
        if self.carried and lines:
            first, before, self.carried = lines[0], self.carried, b""
            return [Cut(before, first) if isinstance(first, bytes) else first, *lines[1:]]
        return lines

    def _follow(self, files: list[Found]) -> None:
        """Goes on to the next file. Only the one that was moved away last may still be written to: it must be quiet."""
        for one in files:
            current = one.path == self.path
            try:
                new = one.open()
            except InputError as error:
                if current:
                    self._tell(f"cannot be read: {error}")
                    break
                log.warning("%s is left out: %s", one.path, error)
                continue
            if self._grown() or (current and self._awaited(new)):
                new.close()
                break
            self._tell("")
            self._leave(new, current=current)
            break

    def _grown(self) -> bool:
        """Whether something was written here after the last look, and before the new file was there."""
        self.idle = self.file is None or os.fstat(self.file.fileno()).st_size <= self.trail.offset
        return not self.idle

    def _awaited(self, new: IO[bytes]) -> bool:
        """Whether there may come more before the lines of the new one: from a slow writer, or a copy being made."""
        if self.once or self.file is None or (self.trail.place.telling and self._held_by(new)):
            return False
        if self.copy and not self._held_by(new):
            return False
        now = time.monotonic()
        self.quiet_since = self.quiet_since or now
        return now - self.quiet_since < GRACE or not (self.copy or os.fstat(new.fileno()).st_size)

    def _held_by(self, new: IO[bytes]) -> bool:
        """Whether all that was read here is there too: then this is a copy of it, perhaps not whole yet."""
        return self.trail.place.at(new.fileno()) is not None and self.trail.intact(new.fileno())

    def _leave(self, new: IO[bytes], *, current: bool) -> None:
        """From the end of a file to the start of the next, or to the same place there, if this is a copy of it."""
        place, rest = self.trail.place, self.splitter.rest
        if current and place.telling and self._held_by(new):
            self._at(new, place)
            return
        if self.file is not None:
            self.older = [*self.older, self._known(self.file)][-MOST_KNOWN:]
        self._at(new, Place(), copy=self.copy and not current, carried=self.carried + rest)  # copied once, copied again

    def _known(self, file: IO[bytes]) -> Known:
        return Known.of(file, self.trail.place.position)

    def _rewritten(self) -> None:
        """What was read last is no longer there: the file was truncated, and perhaps grew again."""
        unread = self.size - self.trail.place.position
        if not self._found(self.trail.place, self.file):
            lost = f", and at least {count(unread, 'byte')} were not read before" * (unread > 0)
            log.warning("the followed file was written anew: it is read from its start%s", lost)
            self._start()

    def _overtaken(self, file: IO[bytes]) -> bool:
        """Whether it was copied away before enough was read to know it again by what it holds."""
        if self.trail.place.telling:
            return False
        among = [one.is_file(file) for one in newer(self.path, self.older)]
        return any(among) and not among[0]

    def _start(self) -> None:
        """From the start of the first file that was not read."""
        self._at(None, Place())
        self._follow(newer(self.path, self.older))

    def _found(self, place: Place | OldPlace, own: IO[bytes] | None) -> bool:
        """Goes to a place, in its own file or a copy, or to what is left of it; False where there is nothing of it."""
        files = newer(self.path, self.older)
        found = find(place, own, files)
        if found is not None:
            file, there = found
            copy = self.copy if file is own else True
            self._at(file, there, copy=copy, carried=b"" if there.position else self.carried)
            return True
        if not isinstance(place, Place):
            return False
        kept = None if own is None else place.kept(own.fileno())
        if kept is not None:
            back = count(place.position - kept.position, "byte")
            log.warning("the followed file was taken back by %s that had been read: it is read on from there", back)
            self._at(own, kept)
            return True
        return self._covered(place, files)

    def _covered(self, place: Place, files: list[Found]) -> bool:
        """Whether there is a copy that ends before the place: its original was read further before it was truncated."""
        for one in files:
            try:
                with one.open() as copy:
                    covered = one.path != self.path and place.covers(copy.fileno())
                    known = Known.of(copy)
            except InputError:
                continue
            if covered:
                self.older = [*self.older, known][-MOST_KNOWN:]
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
        while True:
            try:
                return self._resumed(mark, rows)
            except MovedOnError:
                continue

    def _resumed(self, mark: Mark, rows: int) -> bool:
        if "older" in mark:
            self.older = [Known(*one) for one in mark["older"]]
            if "position" not in mark:
                self._start()
                return True
            place: Place | OldPlace = Place.of(mark)
            own = self._marked(newer(self.path, self.older), mark)
        else:  # of version 2, or 1: which files were there before is not known
            place, files, beside = OldPlace(mark["position"], mark["head"], mark["tail"]), listed(self.path), self.older
            own = self._marked(files, mark)
            self.older = [] if own is None else Known.all(files[: [one.is_file(own) for one in files].index(True)])
        self.copy, self.carried = bool(mark.get("copy")), mark.get("carried", "").encode("latin-1")
        try:
            if (own is not None or place.position) and self._found(place, own):
                return True
        finally:
            if own is not None and own is not self.file:
                own.close()
        log.warning(
            "the followed file is another one than before: it is read from its start, and what the old one may have "
            "held after row %d is not read",
            rows,
        )
        if "older" not in mark:
            self.older = beside
        self._start()
        return False

    def _marked(self, files: list[Found], mark: Mark) -> IO[bytes] | None:
        """The file that was marked, if it is still there, by the inode: what it holds is looked at later."""
        try:
            return next((one.open() for one in files if one.inode == mark["file"][1]), None)
        except InputError:
            return None

    def _tell(self, trouble: str) -> None:
        """Says once that there is nothing to read, and why; and that there is again."""
        if trouble and not self.trouble:
            log.warning("source %s %s: waiting", self.path, trouble)
        elif self.trouble and not trouble:
            log.warning("source %s can be read again", self.path)
        self.trouble = trouble
