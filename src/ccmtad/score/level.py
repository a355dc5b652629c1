"""What counts as normal may drift: the level that losses are measured against follows it, slowly, and never an event.

The first rows of a stream set the level by their median: plants change between training and use. After that it moves by
a fixed small step towards each new loss, so that it tracks the median however large a loss is. It stands still during
an event; only one that outlasts `accept` rows is taken for the new normal. It never falls below the level of training.
"""

import math
from bisect import bisect_left
from typing import Any

from ..compiled import kernel

__all__ = ["FIELDS", "GOES_BY", "LEVELS", "PLACE_ACCEPTED", "TINY", "WITHIN", "accepting", "follow", "measure"]

TINY = 1e-12  # a loss; smaller ones are all alike
PLACE_ACCEPTED = 1_000  # rows after which an unusual place of values is the usual one
FASTER_WHEN_ACCEPTED = 3.0  # times as fast, once an event has become the new normal

GOES_BY = {"settle": 0, "drift": 0.0, "accept": 0}  # settings

FIELDS = {
    "level": 0.0,  # logarithm of the normal loss, as it stands
    "settled": 0,  # rows that have set it so far
    "high": 0,  # rows above the threshold, up to the newest
}
LEVELS = (-745.0, 709.7)  # logarithms whose exponential is a number
WITHIN = {"level": LEVELS}


@kernel
def measure(track: Any, normal: float, settle: int, settling: Any, loss: float) -> float:
    """The loss in units of the level, which is at least `normal`, training's. No level follows an infinite loss.

    `settling` holds the logarithms met so far, ascending.
    """
    if math.isinf(loss):
        return loss
    met = track.settled
    if met < settle:
        new = math.log(max(loss, TINY))
        place = bisect_left(settling, new, 0, met)
        settling[place + 1 : met + 1] = settling[place:met]
        settling[place] = new
        met += 1
        track.settled = met
        middle = met // 2
        median = settling[middle] if met % 2 == 1 else (settling[middle - 1] + settling[middle]) / 2
        track.level = max(normal, median)
    return loss / math.exp(track.level)


@kernel
def follow(track: Any, normal: float, rules: Any, loss: float, high: bool, accept: int) -> None:
    """Moves on, after the row has been judged; `accept` rows of an event make it the new normal, where it is not 0."""
    track.high = track.high + 1 if high else 0
    if track.settled < rules.settle or (high and not 0 < accept < track.high):
        return
    step = rules.drift * FASTER_WHEN_ACCEPTED if high else rules.drift
    if math.log(max(loss, TINY)) > track.level:
        track.level = track.level + step
    else:
        track.level = max(normal, track.level - step)


@kernel
def accepting(track: Any, rules: Any, accept: int) -> bool:
    """Whether the newest row is the first whose event is taken for the new normal."""
    return rules.drift > 0.0 and 0 < accept == track.high - 1  # type: ignore[no-any-return]
