"""How far a file was read, and how to know it again: by what it holds, whatever its name, its inode or its times."""

import hashlib
from dataclasses import dataclass
from typing import Any

from .content import Content

__all__ = ["LOOK", "OldPlace", "Place", "Trail", "digest"]

LOOK = 4_096  # bytes at the beginning and before the place that tell one file from another


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Place:
    """After the last line taken of a file."""

    position: int = 0
    head: bytes = b""  # the first bytes of the file, up to there
    tail: bytes = b""  # the last ones before it

    @property
    def telling(self) -> bool:
        """Whether it tells a file from the next one: one line does not, many files begin with the same header."""
        return self.position > (self.head.find(b"\n") + 1 or len(self.head))

    def at(self, content: Content) -> "Place | None":
        """This place, where the file holds what was read up to it."""
        return self if self._holds_head(content) and self._there(content) == self.tail else None

    def kept(self, content: Content) -> "Place | None":
        """The end of the last line that is as it was read, where what came after it was taken back."""
        if not self._holds_head(content, min(len(self.head), self.position - len(self.tail))):
            return None
        there, end = self._there(content), len(self.tail)
        while there[:end] != self.tail[:end]:
            end = self.tail.rfind(b"\n", 0, end - 1) + 1
        position = self.position - len(self.tail) + end
        place = Place(position, self.head[:position], self.tail[:end])
        return place if end and place.telling else None

    def covers(self, content: Content) -> bool:
        """Whether the file is a copy that was made before all of this was written: it has nothing more to give."""
        size = content.reach(self.position)
        head = self.head[:size]
        return size < self.position and Place(size, head).telling and self._holds_head(content, len(head))

    def _holds_head(self, content: Content, length: int = LOOK) -> bool:
        return content.read(min(length, len(self.head)), 0) == self.head[:length]

    def _there(self, content: Content) -> bytes:
        return content.read(len(self.tail), self.position - len(self.tail))

    def state(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {"position": self.position, "head": self.head.decode("latin-1"), "tail": self.tail.decode("latin-1")}

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Place":
        """What `state` gave."""
        return cls(int(state["position"]), state["head"].encode("latin-1"), state["tail"].encode("latin-1"))


@dataclass(frozen=True)
class OldPlace:
    """As marks of version 2 and older had it: checksums of the bytes."""

    position: int
    head: str
    tail: str
    telling = True

    def at(self, content: Content) -> Place | None:
        """The place in this file, if it is there."""
        head = content.read(min(LOOK, self.position), 0)
        tail = content.read(min(LOOK, self.position), max(self.position - LOOK, 0))
        same = (digest(head), digest(tail)) == (self.head, self.tail)
        return Place(self.position, head, tail) if same and len(head) == min(LOOK, self.position) else None


class Trail:
    """What was read of a file so far, with the place after its last whole line."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.offset = place.position  # after all that was read
        self.begin, self._near = place.head, place.tail  # the first bytes read, and the last

    def took(self, chunk: bytes) -> None:
        """Read on, where it had stopped."""
        end = chunk.rfind(b"\n") + 1
        self.begin += chunk[: LOOK - len(self.begin)]
        if end:
            self._stand(self.offset + end, chunk[max(end - LOOK, 0) : end])
        self.offset += len(chunk)
        self._near = (self._near + chunk[-LOOK:])[-LOOK:]

    def took_rest(self) -> None:
        """A last line without an end counts, too."""
        self._stand(self.offset, b"")

    def intact(self, content: Content) -> bool:
        """Whether the last bytes read are still there, and so whatever was read after them belongs to them."""
        return content.read(len(self._near), self.offset - len(self._near)) == self._near

    def _stand(self, position: int, more: bytes) -> None:
        self.place = Place(position, self.begin[:position], (self._near + more)[-LOOK:])
