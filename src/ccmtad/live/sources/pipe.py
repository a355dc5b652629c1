"""Lines of a pipe."""

import logging
import os
import select
from collections.abc import Callable

from . import Mark
from .split import LONGEST_LINE, Line, Splitter

__all__ = ["Pipe"]

log = logging.getLogger("ccmtad")

CHUNK = 1 << 18  # bytes read at once


class Pipe:
    """Lines of standard input. It cannot be read twice: who writes to it must know what was acknowledged."""

    def __init__(
        self,
        descriptor: int,
        *,
        completed: bool = False,
        longest_line: int = LONGEST_LINE,
        acknowledge: Callable[[int, str | None], object] | None = None,
    ) -> None:
        """With `completed`, a last line that has not ended is left out: its sender will send it whole.

        `acknowledge` is told how many rows need not be sent again, and the time of the last of them.
        """
        self.descriptor, self.completed, self.acknowledge = descriptor, completed, acknowledge
        self.fresh, self.trouble = True, ""
        self.splitter = Splitter(longest_line)
        self.ended = False

    def take(self) -> list[Line] | None:
        if self.ended:
            return None
        if not select.select([self.descriptor], [], [], 0)[0]:
            return []  # a read would wait, and nothing else could be done meanwhile
        chunk = os.read(self.descriptor, CHUNK)
        if not chunk:
            self.ended = True
            rest = b"" if self.completed else self.splitter.rest
            return [rest.rstrip(b"\r")] if rest else None
        return self.splitter.feed(chunk)

    def wait(self, seconds: float) -> None:
        select.select([self.descriptor], [], [], seconds)

    def mark(self) -> None:
        return None

    def resume(self, mark: Mark | None, rows: int) -> bool:  # noqa: ARG002  there is no place to go to
        log.warning("going on after row %d: send what came after it", rows)
        return True

    def commit(self, rows: int, time: str | None) -> None:
        if self.acknowledge is not None:
            self.acknowledge(rows, time)

    def close(self) -> None:
        """The descriptor is its owner's."""
