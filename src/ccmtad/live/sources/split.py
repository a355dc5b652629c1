"""Bytes cut into lines, in time that grows with the bytes and with memory that does not."""

from dataclasses import dataclass

from ...errors import SettingError

__all__ = ["LONGEST_LINE", "Cut", "Line", "Splitter", "TooLong"]

LONGEST_LINE = 1 << 20  # bytes: what has no end before them is no row


@dataclass(frozen=True)
class TooLong:
    """A line that cannot be given, and the rule it breaks."""

    why: str


@dataclass(frozen=True)
class Cut:
    """The end of one file and the first line of the next: one row in two files, or half a row and a whole one."""

    before: bytes
    line: bytes


Line = bytes | TooLong | Cut


class Splitter:
    """Takes chunks as they are read and gives the lines that have ended; one that is too long is told of once."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        if longest < 1:
            raise SettingError(f"longest_line must be at least 1 byte; got {longest}")
        self.longest = longest
        self.reset()

    def reset(self) -> None:
        """As at the beginning of a file."""
        self._parts: list[bytes] = []
        self.pending = 0  # bytes since the last line end
        self._skipping = False  # within a line that is too long

    @property
    def rest(self) -> bytes:
        """What came after the last line end."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that end in this chunk."""
        found: list[Line] = []
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            found += self._add(piece)
            if not self._skipping:
                found.append(self.rest.rstrip(b"\r"))
            self.reset()
        return found + self._add(rest)

    def _add(self, piece: bytes) -> list[Line]:
        self.pending += len(piece)
        if self._skipping:
            return []
        self._parts.append(piece)
        if self.pending <= self.longest:
            return []
        self._parts, self._skipping = [], True
        return [TooLong(f"must be at most {self.longest:,} bytes long; it is longer")]
