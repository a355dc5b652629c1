"""The answer for one row of a stream."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..score.events import What
from ..score.health import Health
from ..score.health import read as read_health
from .event import Event

__all__ = ["Change", "Step", "Tally"]


@dataclass(frozen=True)
class Change:
    """What a row did to an event: opened (its start is known), updated (still in alarm), resolved (its end is known),
    reopened (in alarm again before the score returned to 0), final (nothing can change any more).

    Example:
        for change in stream.update(row).changes:
            print(change.what, change.event.id)
    """

    what: What
    event: Event


@dataclass(frozen=True)
class Tally:
    """What a stream has met.

    Example:
        tally = stream.tally
        print(tally.rows, tally.late, tally.gaps, tally.missing)
    """

    rows: int  # given to it, the ignored ones included
    late: int  # ignored: not later than the row before
    gaps: int  # pauses that restarted the window
    missing: int  # values that were missing or infinite


@dataclass(frozen=True, eq=False)
class Step:
    """The answer for one row of a stream. A row that could not be judged has loss NaN, p-value 1 and the rest 0.

    Example:
        step = stream.update(row)
        print(step.ready, step.score, step.alarm, step.notes)
    """

    index: int  # rows given to the stream before this one
    ready: bool  # whether the row could be judged
    loss: float
    pvalue: float
    evidence: float
    score: float
    alarm: bool
    changes: tuple[Change, ...]  # what the row did to events; there may be several at once
    notes: tuple[str, ...]  # what was odd about the row: late, missing values, a gap
    _health: tuple[int, float, float, float] = field(repr=False)
    _of: tuple[Any, int] = field(repr=False)  # the round of rows it was one of, and its place there

    @property
    def health(self) -> Health:
        """Whether the calibration still fits."""
        return read_health(*self._health)

    @property
    def blame(self) -> NDArray[np.float32]:
        """(channels,): each channel's share of the loss; 0 where the row or the channel was not judged."""
        rows, number = self._of
        share: NDArray[np.float32] = rows.blame(number)
        return share
