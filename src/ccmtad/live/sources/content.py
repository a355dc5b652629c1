"""The bytes of a file by their place: as they are stored, or as they were before the file was packed."""

import bz2
import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["PACKED", "SEALED", "Content", "Packed"]

PACKED: dict[str, Callable[[IO[bytes]], Any]] = {".gz": gzip.open, ".bz2": bz2.open}  # what can be unpacked here
SEALED = (".xz", ".zst", ".lz4", ".zip", ".Z")  # what cannot
BLOCK = 1 << 18
NEAR = 1 << 16  # bytes that are kept before a place, to look back at


class Content:
    """A file as it is stored."""

    damage = ""  # why it could not be read to its end

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.inode = self.status().st_ino

    def read(self, length: int, offset: int) -> bytes:
        """So many bytes from there; fewer where it ends."""
        return os.pread(self.file.fileno(), length, offset)

    def size(self) -> int:
        """Bytes that it is known to have."""
        return self.status().st_size

    def reach(self, position: int) -> int:
        """The position, or its size, if that is less."""
        return min(self.size(), position)

    def status(self) -> os.stat_result:
        return os.fstat(self.file.fileno())

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> "Content":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Packed(Content):
    """A file that was packed after it was rotated away. It is unpacked from its start on, and never as a whole: memory
    stays the same however much it holds."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file)
        self._open = PACKED[path.suffix]
        self._rewind()

    def _rewind(self) -> None:
        self.file.seek(0)
        self._stream = self._open(self.file)
        self._near = b""
        self._end = 0  # after what was unpacked

    def read(self, length: int, offset: int) -> bytes:
        if offset < self._end - len(self._near):
            self._rewind()
        while self._end < offset + length and (block := self._block(min(BLOCK, offset + length - self._end))):
            self._end += len(block)
            kept = NEAR + max(self._end - offset, 0)
            self._near = (self._near + block)[-kept:]
        first = offset - (self._end - len(self._near))
        return self._near[first : first + length] if first < len(self._near) else b""

    def _block(self, length: int) -> bytes:
        """Up to so many more bytes: of a damaged file all that come before the damage."""
        pieces, found = [], 0
        try:
            while found < length and (piece := self._stream.read1(length - found)):
                pieces.append(piece)
                found += len(piece)
        except (OSError, EOFError, zlib.error) as error:
            self.damage = str(error)
        return b"".join(pieces)

    def size(self) -> int:
        return self._end

    def reach(self, position: int) -> int:
        return position if position <= 0 or self.read(1, position - 1) else self._end
