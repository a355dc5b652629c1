"""What all sources on a server share: it may go away and come back, and a mark says where to go on.

A source of this kind connects when it is asked for rows, and again after any failure, from the place after the last
message taken: what was fetched and not taken is fetched again, so a connection may end at any moment."""

import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from ...errors import FileError, MissingExtraError
from ...model import Model
from ...tables.lines import Row
from ...tables.reading import Reading
from ..address import Address
from . import Mark
from .payload import Message, PayloadOptions, Payloads

__all__ = ["Connected"]

log = logging.getLogger("ccmtad")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between two tries to connect
BATCH = 500  # messages taken at once


class Connected(ABC):
    """Rows of a server's messages. Who writes one says how to connect, fetch, go to a place and let go."""

    name: ClassVar[str] = ""
    schemes: ClassVar[tuple[str, ...]] = ()
    Options: ClassVar[type[PayloadOptions]] = PayloadOptions
    extra: ClassVar[tuple[str, str]]  # the package that it needs, and the extra that has it

    def __init__(
        self,
        address: Address,
        model: Model,
        reading: Reading | None = None,
        *,
        watch: str = "watch",
        once: bool = False,
        kept: bool = True,
    ) -> None:
        """`watch` is the name of who reads; with `once`, it ends where there is nothing more for now; `kept` says
        whether marks are kept, to go on from after the process has ended."""
        self.address, self.watch, self.once, self.kept = address, watch, once, kept
        self.options: Any = address.options(self.Options, self.further)
        self.payloads = Payloads(model, reading or Reading(), self.options)
        self.trouble = ""
        self.place: Any = None  # after the last message taken; None: at the start
        self._fetched: deque[Message] = deque()
        self._connected = False
        self.ended = False  # with `once`: there was nothing more
        self._pause, self._next = FIRST_PAUSE, 0.0
        self.check()
        try:
            self.failures = self.load()
        except ImportError as error:
            package, extra = self.extra
            raise MissingExtraError(
                f"reading from {self.address.scheme}:// needs {package}: pip install 'ccmtad[{extra}]'"
            ) from error

    def further(self, name: str) -> bool:  # noqa: ARG002  none, unless a kind says so
        """Whether an option is one of the library beneath."""
        return False

    @abstractmethod
    def check(self) -> None:
        """Refuses an address that cannot be meant, before anything is connected to."""

    @abstractmethod
    def load(self) -> tuple[type[Exception], ...]:
        """Imports the library that is needed; the errors by which it says that the server is not at hand."""

    @abstractmethod
    def connect(self) -> None:
        """Connects, and goes to `place`."""

    @abstractmethod
    def fetch(self, seconds: float) -> list[Message] | None:
        """The next messages, waiting so long for the first; None where it is known that there are none now."""

    @abstractmethod
    def disconnect(self) -> None:
        """Lets go of whatever is held, in whatever state it is."""

    def acknowledge(self, place: Any) -> None:  # noqa: B027  most servers need not be told
        """The server may forget what came up to a place."""

    def identity(self) -> str:
        """What a mark is a place in."""
        return f"{self.name} {self.address.path}"

    @property
    def left_out(self) -> int:
        return self.payloads.left_out

    @property
    def full(self) -> bool:
        """Whether nothing more comes until what was taken is committed."""
        return False

    def take(self) -> list[Row] | None:
        if not self._fetched:
            self._fetch(0.0)
        rows: list[Row] = []
        for _ in range(min(BATCH, len(self._fetched))):
            rows += self.taken(self._fetched.popleft())
        if rows or self._fetched or not self.ended:
            return rows
        return self.payloads.flush() or None

    def taken(self, message: Message) -> list[Row]:
        """Takes a message: the place is after it."""
        self.passed(message)
        return self.rows(message)

    def passed(self, message: Message) -> None:
        """The place is after a message, whatever it holds."""
        self.place = message.place

    def rows(self, message: Message) -> list[Row]:
        """What a message holds."""
        return self.payloads.rows(message)

    def wait(self, seconds: float) -> None:
        began = time.monotonic()
        if not self._fetched and not self._fetch(seconds):
            time.sleep(max(seconds - (time.monotonic() - began), 0.0))

    def _fetch(self, seconds: float) -> bool:
        """Whether the server was at hand."""
        if not self._connected and time.monotonic() < self._next:
            return False
        done = self._tried(lambda: self._connect_and_fetch(seconds))
        if done and self.trouble:
            log.warning("%s is there again", self.address.shown)
            self.trouble = ""
        return done

    def _connect_and_fetch(self, seconds: float) -> None:
        if not self._connected:
            self.connect()
            self._connected = True
        found = self.fetch(seconds)
        self._pause = FIRST_PAUSE
        self.ended = self.once and found is None
        self._fetched.extend(found or ())

    def _tried(self, action: Callable[[], object]) -> bool:
        try:
            action()
            return True
        except self.failures as error:
            said = self.address.clean(error).strip().splitlines()
            why = f"cannot be read: {said[0] if said else type(error).__name__}"
            if why != self.trouble:
                log.warning("%s %s; it is tried again", self.address.shown, why)
            self.trouble = why
        self._let_go()
        self._next = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return False

    def _let_go(self) -> None:
        """What was fetched and not taken is fetched again, from the place."""
        self._fetched.clear()
        self._connected = False
        try:
            self.disconnect()
        except self.failures as error:  # it is as gone as can be
            log.debug("%s did not close: %s", self.address.shown, self.address.clean(error))

    def mark(self) -> Mark:
        return {"source": self.identity(), "place": self.place, "payloads": self.payloads.state()}

    def resume(self, mark: Mark, rows: int) -> bool:  # noqa: ARG002  its rows have times, and need no count
        if mark["source"] != self.identity():
            raise FileError(f"state must be of the source {self.identity()!r}; got one of {mark['source']!r}")
        self.place = mark["place"]
        self.payloads.restore(mark["payloads"])
        return True

    def commit(self, mark: Mark) -> None:
        if self._connected:
            self._tried(lambda: self.acknowledge(mark["place"]))

    def close(self) -> None:
        self._let_go()
