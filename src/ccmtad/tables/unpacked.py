"""How large a file may become: a small one can unpack to more than any machine has, or claim to.

What is stored as it is read costs memory in proportion to its bytes. What is packed (gzip, Parquet) or sparse (JSON
lines with other keys in every line) is counted before the memory is taken.
"""

import gzip
import io
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from .reading import LARGEST, TIMES

__all__ = ["GZIP", "Bound", "check_sparse", "gunzipped", "stored"]

GZIP = b"\x1f\x8b"  # how such a file begins
BLOCK = 1 << 20
CELL = 8  # bytes
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+:?', re.DOTALL)  # a key, where a colon follows


@dataclass(frozen=True)
class Bound:
    """Of one file."""

    place: str  # the file, as errors name it
    largest: int = LARGEST  # bytes that any file may become
    stored: int = 0  # bytes that it has
    given: bool = True  # whether who reads it can give another `largest`

    @property
    def most(self) -> int:
        """Bytes that it may become."""
        return max(self.largest, TIMES * self.stored)

    def check(self, size: int, *, more: bool = False) -> None:
        """Refuses a size; `more` says that it is not known how much more there is."""
        if size > self.most:
            wanted = max(size, 2 * self.most) if more else size
            cure = f": if you trust it, allow so many with largest={wanted}" * self.given
            raise InputError(
                f"{self.place} must unpack to at most {self.most:,} bytes; got {size:,}{' or more' * more} out of "
                f"{self.stored:,}{cure}"
            )


def stored(path: Path, place: str, largest: int = LARGEST) -> bytes:
    """All bytes of a file. One that is no regular file may have no end, and one full of holes hardly takes place."""
    found, empty = io.BytesIO(), 0
    with path.open("rb") as file:
        regular = stat.S_ISREG(path.stat().st_mode)
        while block := file.read(BLOCK):
            found.write(block)
            empty += len(block) if block.count(0) == len(block) else 0
            Bound(place, largest).check(empty if regular else found.tell(), more=True)
    return found.getvalue()


def gunzipped(data: bytes, bound: Bound) -> bytes:
    """What a gzip file holds."""
    if int.from_bytes(data[-4:], "little") > bound.most:  # so it says, if it is whole: it is only counted first
        for _ in _blocks(data, bound):
            continue
    found = io.BytesIO()
    for block in _blocks(data, bound):
        found.write(block)
    return found.getvalue()


def _blocks(data: bytes, bound: Bound) -> Iterator[bytes]:
    size = 0
    try:
        with gzip.open(io.BytesIO(data)) as file:
            while block := file.read(BLOCK):
                size += len(block)
                bound.check(size, more=True)
                yield block
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{bound.place} must be a whole gzip file; got {error}") from error


def check_sparse(data: bytes, bound: Bound) -> None:
    """JSON lines become a table with a column for every key that any line has."""
    lines = data.count(b"\n") + 1
    if CELL * lines * data.count(b":") <= bound.most:
        return
    keys: set[bytes] = set()
    first = 0
    while first < len(data):
        last = data.find(b"\n", first + BLOCK) + 1 or len(data)
        keys.update(text for text in set(STRING.findall(data, first, last)) if text.endswith(b":"))
        bound.check(CELL * lines * len(keys), more=last < len(data))
        first = last
