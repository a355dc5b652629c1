"""What counts as normal may drift: the level that losses are measured against follows it, slowly, and never an event.

The first rows of a stream set the level by their median: plants change between training and use. After that it moves by
a fixed small step towards each new loss, so that it tracks the median however large a loss is. It stands still during
an event; only one that outlasts `accept` rows is taken for the new normal. It never falls below the level of training.
"""

import math
from bisect import insort

__all__ = ["TINY", "Level"]

TINY = 1e-12  # a loss; smaller ones are all alike
ACCEPTING = 3.0  # times as fast, once an event has become the new normal


class Level:
    """The logarithm of the normal loss, as it stands."""

    __slots__ = ("accept", "alarmed", "base", "drift", "log", "settle", "settling")

    def __init__(self, base: float, settle: int, drift: float, accept: int) -> None:
        self.base = base  # logarithm of the normal loss in training
        self.settle = settle  # rows that set the level
        self.drift = drift  # most that it moves in a row, after that
        self.accept = accept  # rows of one event after which it moves again; 0: never
        self.log = base
        self.settling: list[float] | None = [] if settle else None  # logarithms so far, ascending; None: settled
        self.alarmed = 0  # rows in alarm, up to the newest

    def measure(self, loss: float) -> float:
        """The loss in units of the level. No level follows an infinite one."""
        if math.isinf(loss):
            return loss
        if self.settling is not None:
            insort(self.settling, math.log(max(loss, TINY)))
            self.log = max(self.base, _median(self.settling))
            if len(self.settling) >= self.settle:
                self.settling = None
        return loss / math.exp(self.log)

    def follow(self, loss: float, alarm: bool) -> None:
        """Moves on, after the row has been judged."""
        self.alarmed = self.alarmed + 1 if alarm else 0
        if self.settling is not None or (alarm and not 0 < self.accept < self.alarmed):
            return
        step = self.drift * ACCEPTING if alarm else self.drift
        up = math.log(max(loss, TINY)) > self.log
        self.log = self.log + step if up else max(self.base, self.log - step)


def _median(ordered: list[float]) -> float:
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
