"""What a Parquet file says of itself, looked at before anyone believes it: how many values, in pages of what sizes.

The footer and the head of every page are Thrift structures in the compact protocol. Whoever reads a page makes room for
as much as its head claims; a damaged head, or one made on purpose, can claim more than there is.
"""

from typing import Any

from ..errors import InputError
from .unpacked import CELL, Bound

__all__ = ["check"]

MAGIC = b"PAR1"
DEEPEST = 32  # structures within each other; the format has 6
FIXED, TEXT = 7, 6  # physical types: bytes of one length, and of any
VIEW = 16  # bytes that polars takes for a text, beside the text

Struct = dict[int, Any]  # by the number of the field


def check(data: bytes, bound: Bound) -> None:
    """Refuses a file whose pages do not fit into it, or whose values would take more than it may become."""
    length = int.from_bytes(data[-8:-4], "little")
    end = len(data) - 8 - length
    try:
        if data[-4:] != MAGIC or end < len(MAGIC):
            raise ValueError("no footer at its end")
        footer = Compact(data, end, len(data) - 8).struct()
        widths = [_width(leaf) for leaf in footer[2] if not leaf.get(5)]
        size = 0
        for group in footer.get(4, []):
            for width, column in zip(widths, group[1], strict=True):
                values, packed = _pages(data, column[3], end)
                size += max(width * max(values, group[3]), packed)
        bound.check(size)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        why = f"{type(error).__name__} {error}" if isinstance(error, LookupError | TypeError) else error
        raise InputError(f"{bound.place} must be a whole Parquet file; got one with {why}") from error


def _width(leaf: Struct) -> int:
    """Bytes that a value of a column takes in memory."""
    return max(CELL, leaf.get(2, 0) if leaf.get(1) == FIXED else VIEW if leaf.get(1) == TEXT else 0)


def _pages(data: bytes, column: Struct, end: int) -> tuple[int, int]:
    """How many values the pages of a column hold, and how many bytes they unpack to."""
    values, packed, at = 0, 0, column[9]
    if 0 < column.get(11, 0) < at:  # the dictionary comes first
        at = column[11]
    last = at + column[7]
    if not len(MAGIC) <= at <= last <= end:
        raise ValueError(f"a column in bytes {at:,} to {last:,} of {end:,}")
    while at < last:
        reader = Compact(data, at, last)
        head = reader.struct()
        at = reader.at + head[3]
        if not reader.at <= at <= last or head[2] < 0:
            raise ValueError(f"a page of {head[3]:,} bytes for {head[2]:,} where {last - reader.at:,} are left")
        packed += head[2]
        if 7 in head:
            if not 0 <= head[7][1] <= head[2]:
                raise ValueError(f"a dictionary of {head[7][1]:,} values in {head[2]:,} bytes")
        elif 5 in head or 8 in head:
            count = head[5 if 5 in head else 8][1]
            if count < 0:
                raise ValueError(f"a page of {count:,} values")
            values += count
    if values != column[5]:
        raise ValueError(f"a column of {column[5]:,} values and {values:,} in its pages")
    return values, packed


class Compact:
    """Reads Thrift's compact protocol within some bytes; an `IndexError` or `ValueError` where they are none."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def struct(self, depth: int = 0) -> Struct:
        if depth > DEEPEST:
            raise ValueError("structures too deep within each other")
        found: Struct = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            found[field] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 1 | 2 | 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._unsigned())
            case 9 | 10:
                head = self._byte()
                size = head >> 4 if head >> 4 < 15 else self._unsigned()
                return [self._value(head & 15, depth) for _ in range(self._backed(size))]
            case 11:
                size = self._backed(self._unsigned())
                kinds = self._byte() if size else 0
                return [(self._value(kinds >> 4, depth), self._value(kinds & 15, depth)) for _ in range(size)]
            case 12:
                return self.struct(depth + 1)
        raise ValueError(f"a value of the unknown kind {kind}")

    def _byte(self) -> int:
        if self.at >= self.end:
            raise ValueError("an end within a structure")
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        start, self.at = self.at, self.at + self._backed(count)
        return self.data[start : self.at]

    def _backed(self, count: int) -> int:
        """Every element takes a byte at least."""
        if count > self.end - self.at:
            raise ValueError(f"{count:,} elements in {self.end - self.at:,} bytes")
        return count

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
