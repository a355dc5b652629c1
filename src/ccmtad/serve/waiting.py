"""Rows and values that wait for the writer: in the order they came, and no more than there is room for."""

import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from .refusal import Refusal
from .rows import Batch, Receipt
from .values import Values, ValuesReceipt

__all__ = ["RETRY", "Ticket", "Waiting"]

RETRY = 1.0  # seconds after which a refused request may come again
MOST_AT_ONCE = 8 * 2**20  # bytes of rows that one round takes: an answer waits for no more


@dataclass(eq=False)
class Ticket:
    """Rows or values that wait, and who waits for the answer."""

    item: Batch | Values
    answer: "Future[Receipt | ValuesReceipt]" = field(default_factory=Future)

    def refuse(self, error: Exception) -> None:
        """It is not done."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Waiting:
    """The queue between requests and the one writer; its methods may be called from any thread."""

    def __init__(self, most: int) -> None:
        self.most = most  # bytes
        self.size = 0
        self.closed = False
        self._tickets: deque[Ticket] = deque()
        self._nudged = False
        self._more = threading.Condition()

    def put(self, item: Batch | Values) -> "Future[Receipt | ValuesReceipt]":
        """At its end; a `Refusal` where it is full or closed."""
        ticket = Ticket(item)
        with self._more:
            if self.closed:
                raise Refusal(503, "stopping", "the service is about to end: send it again", retry=RETRY)
            if self.size and self.size + item.size > self.most:
                raise Refusal(429, "queue-full", "more rows come than can be written: send it again", retry=RETRY)
            self._tickets.append(ticket)
            self.size += item.size
            self._more.notify()
        return ticket.answer

    def nudge(self) -> None:
        """There is something else to look at."""
        with self._more:
            self._nudged = True
            self._more.notify()

    def take(self, until: float | None) -> tuple[list[Ticket], bool]:
        """What waits, as far as one round takes it, and whether somebody nudged. Where there is neither, waits for it
        until this moment of the monotonic clock; None: not at all."""
        with self._more:
            if until is not None and not self._tickets and not self._nudged and not self.closed:
                self._more.wait(max(until - time.monotonic(), 0.0))
            taken, size = list[Ticket](), 0
            while self._tickets and size < MOST_AT_ONCE:
                taken.append(self._tickets.popleft())
                size += taken[-1].item.size
            self.size -= size
            nudged, self._nudged = self._nudged, False
        return taken, nudged

    def pause(self, seconds: float) -> None:
        """Waits, unless it is to end."""
        with self._more:
            if not self.closed:
                self._more.wait(seconds)

    def close(self) -> None:
        """Nothing more is taken in."""
        with self._more:
            self.closed = True
            self._more.notify()

    def refuse(self) -> None:
        """All that waits."""
        with self._more:
            left, self._tickets, self.size = self._tickets, deque(), 0
        for ticket in left:
            ticket.refuse(Refusal(503, "stopping", "the service has ended: send it again", retry=RETRY))
