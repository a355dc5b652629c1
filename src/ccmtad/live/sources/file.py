"""Lines of a file that others write to, with the place up to which they have been taken."""

import logging
import select
import time
from dataclasses import astuple
from pathlib import Path

from ...errors import InputError
from ...wording import count
from . import Mark
from .content import Content, Packed
from .place import OldPlace, Place, Trail
from .rotation import (
    Found,
    Known,
    MovedOnError,
    counts_upwards,
    find,
    holds,
    is_current,
    is_later,
    listed,
    newer,
    opened,
)
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
        self.file: Content | None = None  # None: it is not there yet
        self.trouble = ""  # why there is nothing to read
        self.older = Known.all([one for one in listed(path) if one.path != path])  # they are not read
        self.upwards: bool | None = None  # whether the numbers of rotated files count so; None: not known yet
        self.told: set[tuple[int, int]] = set()  # files that were told of, by inode and size
        self._at(None, Place())
        if path.exists() or once:
            self._at(opened(path), Place())
        else:
            log.warning("waiting for %s, which is not there yet", path)

    def _at(self, file: Content | None, place: Place, *, copy: bool = False, carried: bytes = b"") -> None:
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
            self._follow(self._newer())
            return []
        here = self.file
        try:
            chunk = here.read(CHUNK, self.trail.offset)
            if not self.trail.intact(here) or self._overtaken(self.file):
                self._rewritten()  # what came before is not what was read: nor is this what follows it
                return []
            self.size = here.size()
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

    def _end(self, file: Content) -> list[Line] | None:
        """There is nothing more in this file now."""
        if file.damage and self._untold(file.inode, file.size()):
            size = count(file.size(), "byte")
            log.warning("a rotated file is damaged after %s, and what followed is not read: %s", size, file.damage)
        if is_current(self.path, file):
            self._tell("")
        elif following := self._newer(self._known(file)):
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
        left_out = []
        for one in files:
            current = one.path == self.path
            try:
                new = one.open()
            except InputError as error:
                if current:
                    self._tell(f"cannot be read: {error}")
                    break
                if self._untold(one.inode, one.stamp[0]):
                    size = count(one.stamp[0], "byte")
                    log.warning("%s is left out, and what its %s hold is not read: %s", one.path, size, error)
                left_out.append(Known.left_out(one))
                continue
            if self._grown() or (current and self._awaited(new)):
                new.close()
                break
            self._tell("")
            for known in left_out:
                self._remember(known)
            self._leave(new, current=current)
            break

    def _grown(self) -> bool:
        """Whether something was written here after the last look, and before the new file was there."""
        self.idle = self.file is None or self.file.reach(self.trail.offset + 1) <= self.trail.offset
        return not self.idle

    def _awaited(self, new: Content) -> bool:
        """Whether there may come more before the lines of the new one: from a slow writer, or a copy being made."""
        if self.once or self.file is None or (self.trail.place.telling and self._held_by(new)):
            return False
        if self.copy and not self._held_by(new):
            return False
        now = time.monotonic()
        self.quiet_since = self.quiet_since or now
        return now - self.quiet_since < GRACE or not (self.copy or new.size())

    def _held_by(self, new: Content) -> bool:
        """Whether all that was read here is there too: then this is a copy of it, perhaps not whole yet."""
        return self.trail.place.at(new) is not None and self.trail.intact(new)

    def _leave(self, new: Content, *, current: bool) -> None:
        """From the end of a file to the start of the next, or to the same place there, if this is a copy of it."""
        place, rest = self.trail.place, self.splitter.rest
        if current and place.telling and self._held_by(new):
            self._at(new, place)
            return
        if self.file is not None:
            self._remember(self._known(self.file))
        copy = not current and (self.copy or isinstance(new, Packed))  # copied once, copied again
        self._at(new, Place(), copy=copy, carried=self.carried + rest)

    def _known(self, file: Content) -> Known:
        return Known.at(file.inode, self.trail.place, file.status().st_size, self.trail.begin)

    def _remember(self, known: Known) -> None:
        """The last ones read, and of those before them what is still there."""
        there, older = {one.inode for one in listed(self.path)}, [*self.older, known]
        self.older = [one for one in older[:-MOST_KNOWN] if one.inode in there] + older[-MOST_KNOWN:]

    def _newer(self, newest: Known | None = None) -> list[Found]:
        """What came after all that was read, and after this one."""
        self.upwards = counts_upwards(self.path, self.older, newest, self.upwards)
        return newer(self.path, self.older if newest is None else [*self.older, newest], self.upwards)

    def _rewritten(self) -> None:
        """What was read last is no longer there: the file was truncated, and perhaps grew again."""
        unread = self.size - self.trail.place.position
        if not self._found(self.trail.place, self.file):
            lost = f", and at least {count(unread, 'byte')} were not read before" * (unread > 0)
            log.warning("the followed file was written anew: it is read from its start%s", lost)
            self._start()

    def _overtaken(self, file: Content) -> bool:
        """Whether it was copied away before enough was read to know it again by what it holds."""
        return not self.trail.place.telling and is_later(file, self._newer())

    def _start(self) -> None:
        """From the start of the first file that was not read."""
        self._at(None, Place())
        self._follow(self._newer())

    def _found(self, place: Place | OldPlace, own: Content | None) -> bool:
        """Goes to a place, in its own file or a copy, or to what is left of it; False where there is nothing of it."""
        files = self._newer()
        found = find(place, own, files)
        if found is not None:
            file, there = found
            copy = self.copy if file is own else True
            self._at(file, there, copy=copy, carried=b"" if there.position else self.carried)
            return True
        if not isinstance(place, Place):
            return False
        kept = None if own is None else place.kept(own)
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
                    covered = one.path != self.path and place.covers(copy)
                    known = Known.of(copy)
            except InputError:
                continue
            if covered:
                self._remember(known)
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
        older = [list(astuple(one)) for one in self.older]
        if self.file is None:
            return {"older": older, "upwards": self.upwards}
        status = self.file.status()
        return {
            **self.trail.place.state(), "file": [status.st_dev, status.st_ino], "size": status.st_size,
            "copy": self.copy, "carried": self.carried.decode("latin-1"), "older": older, "upwards": self.upwards,
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
            self.older, self.upwards = [Known(*one) for one in mark["older"]], mark.get("upwards")
            if "position" not in mark:
                self._start()
                return True
            place: Place | OldPlace = self._looked(Place.of(mark), mark)
            own = self._marked(self._newer(), mark)
        else:  # of version 2, or 1: which files were there before is not known
            place, files, beside = OldPlace(mark["position"], mark["head"], mark["tail"]), listed(self.path), self.older
            own = self._marked(files, mark)
            self.older = [] if own is None else Known.all(files[: [one.is_file(own) for one in files].index(True)])
        self.copy, self.carried = bool(mark.get("copy")), mark.get("carried", "").encode("latin-1")
        try:
            if (own is not None or place.position or self._packed_next()) and self._found(place, own):
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

    def _looked(self, place: Place, mark: Mark) -> Place:
        """The place that was marked, after a look at which way numbers count."""
        last = Known.at(mark["file"][1], place, mark.get("size", 0))
        self.upwards = counts_upwards(self.path, self.older, last, self.upwards)
        if self.upwards is None:
            self.upwards = self._begins(place)
        return place

    def _begins(self, place: Place) -> bool | None:
        """Whether numbers count upwards, where the file that was read last can be the oldest one either so or so."""
        first = {upwards: newer(self.path, self.older, upwards)[:1] for upwards in (True, False)}
        found = [upwards for upwards, files in first.items() if any(holds(place, one) for one in files)]
        return found[0] if len(found) == 1 else None

    def _packed_next(self) -> bool:
        """Whether the first file that was not read is packed: it may be any, also one that had just been begun."""
        files = self._newer()
        return bool(files and files[0].ending)

    def _marked(self, files: list[Found], mark: Mark) -> Content | None:
        """The file that was marked, if it is still there, by the inode: what it holds is looked at later."""
        try:
            return next((one.open() for one in files if one.inode == mark["file"][1]), None)
        except InputError:
            return None

    def _untold(self, inode: int, size: int) -> bool:
        """Whether nothing was said of a file yet; from now on there was."""
        before = len(self.told)
        self.told.add((inode, size))
        return len(self.told) > before

    def _tell(self, trouble: str) -> None:
        """Says once that there is nothing to read, and why; and that there is again."""
        if trouble and not self.trouble:
            log.warning("source %s %s: waiting", self.path, trouble)
        elif self.trouble and not trouble:
            log.warning("source %s can be read again", self.path)
        self.trouble = trouble
