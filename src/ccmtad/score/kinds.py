"""Events of other kinds than anomalies, as they begin, go on and end, from what is remembered of the channels.

A channel that is missing, or stands still, for longer than its limit is an event; so are losses that have settled far
above those of training; and values and steps beyond their limits, in the middle of an anomaly that the channel has no
part in: it may be what hides the next one.
"""

import math
from typing import Any

from ..compiled import hot_kernel, kernel
from .channels import (
    BEYOND,
    BLAME,
    DISTANT,
    EXCURSION,
    FAR_STEP,
    FAR_VALUE,
    FARTHEST,
    FARTHEST_STEP,
    FARTHEST_VALUE,
    FROZEN,
    GONE,
    GONE_LIMIT,
    LAST,
    LOST,
    MIDDLE,
    NOTICED,
    OWN,
    PART,
    SAME,
    STEP,
    STOOD,
    TOLD,
    UNLIKE,
    WORSE,
    longest_still,
)  # fmt: skip
from .events import FINAL, NONE, OPENED, UPDATED

__all__ = ["A_PART", "ONE_STORY", "conditions", "excursion", "risen_too_far"]

RETURNED = 0.8  # share of its limit that the level must come back to, for an event to be over
ONE_STORY = 24  # rows of an anomaly in which whatever goes beyond its limits belongs to it
A_PART = 100  # rows that what a channel does belongs to an anomaly that it had a part in


@hot_kernel
def conditions(
    kinds: Any, counts: Any, since: Any, traces: Any, limits: Any, lost: int, frozen: int, row: int, met: int, time: int
) -> tuple[int, int]:
    """What so many lost and frozen channels change; nothing to do where there are none, and no event is open."""
    changes = (NONE, NONE)
    if lost > 0 or kinds[LOST].open:
        changes = (_beyond(kinds, LOST, counts, since, traces, limits, lost, row, met, time), NONE)
    if frozen > 0 or kinds[FROZEN].open:
        still = _beyond(kinds, FROZEN, counts, since, traces, limits, frozen, row, met, time)
        changes = (changes[0], still)
    return changes


@kernel
def _beyond(
    kinds: Any, kind: int, counts: Any, since: Any, traces: Any, limits: Any, number: int, row: int, met: int, time: int
) -> int:
    """Channels that have been in a state for too long: which, since when, and by how much."""
    start, start_time, farthest, blame, joined = row, time, 0.0, BLAME + kind, False
    count = GONE if kind == LOST else SAME
    if number > 0:
        for c in range(traces.shape[1]):
            if not kinds[kind].open:
                traces[blame, c] = 0.0
            longest = limits[GONE_LIMIT, c] if kind == LOST else longest_still(traces, limits, c, met)
            if counts[count, c] > longest and (kind == LOST or counts[GONE, c] == 0):
                joined = joined or traces[blame, c] == 0.0
                traces[blame, c] += 1.0
                traces[STOOD, c] = traces[LAST, c]
                farthest = max(farthest, counts[count, c] / max(longest, 1.0))
                if since[count, c] < start:
                    start, start_time = since[count, c], since[count + 2, c]
    change = _follow(kinds[kind], number, row, time, start, start_time, farthest)
    return UPDATED if change == NONE and joined else change


@kernel
def risen_too_far(kinds: Any, traces: Any, risen: float, limit: float, row: int, time: int) -> int:
    """What a level that has risen so far, in logarithms, above that of training changes."""
    condition = kinds[UNLIKE]
    number = 1 if risen > (limit * RETURNED if condition.open else limit) else 0
    if number > 0 and not condition.open:
        for c in range(traces.shape[1]):
            traces[BLAME + UNLIKE, c] = traces[WORSE, c]
    return _follow(condition, number, row, time, row, time, math.exp(min(risen, 600.0) / 2.0) if number > 0 else 0.0)


@hot_kernel
def excursion(
    kinds: Any, counts: Any, traces: Any, limits: Any, lasted: int, far: float, row: int, time: int
) -> int:  # fmt: skip
    """What values and steps beyond their limits change, in a row of an anomaly that has `lasted` for so many rows.

    Those of its first rows belong to it, and so does what a channel does that has had a part in it lately. `far` is 0
    where nothing new is beyond a limit.
    """
    condition = kinds[EXCURSION]
    if lasted == 0:
        return _follow(condition, 0, row, time, row, time, 0.0)
    if lasted == 1:
        traces[PART] = 0.0
        traces[TOLD] = 0.0
    number, farthest, news = 0, 0.0, False
    if lasted > ONE_STORY and (far > 0.0 or condition.open or condition.alarm > row - lasted):
        number, farthest, news = _out(condition, counts, traces, limits, lasted)
    _have_part(kinds, counts, traces, lasted)
    change = _follow(condition, number, row, time, row, time, farthest)
    return UPDATED if change == NONE and number > 0 and news else change


@kernel
def _out(condition: Any, counts: Any, traces: Any, limits: Any, lasted: int) -> tuple[int, float, bool]:
    """How many channels are out on an excursion, how many times its limit the farthest is, and whether one is new, or
    has come further."""
    number, farthest, news, blame = 0, 0.0, False, BLAME + EXCURSION
    for c in range(traces.shape[1]):
        if not condition.open:
            traces[blame, c] = 0.0
        far, value = traces[BEYOND, c], traces[LAST, c]
        if traces[blame, c] == 0.0:
            if not _begins(traces, c, far, lasted):
                continue
            traces[FARTHEST_VALUE, c] = math.nan
            traces[FARTHEST_STEP, c] = 0.0
        # A step that is no news is the way back.
        if counts[GONE, c] == 0 and (counts[FAR_VALUE, c] != 0 or counts[FAR_STEP, c] > 0):
            number += 1
            farthest = max(farthest, far)
            if far > traces[blame, c]:
                news = True
                traces[blame, c] = far
                traces[TOLD, c] = max(traces[TOLD, c], far)
            traces[FARTHEST_STEP, c] = max(traces[FARTHEST_STEP, c], min(far * limits[STEP, c], FARTHEST))
            known, middle = traces[FARTHEST_VALUE, c], limits[MIDDLE, c]
            if counts[FAR_VALUE, c] != 0 and not abs(value - middle) <= abs(known - middle):  # known may be NaN
                news = True
                traces[FARTHEST_VALUE, c] = value
    return number, farthest, news


@kernel
def _begins(traces: Any, c: int, far: float, lasted: int) -> bool:
    """Whether what a channel does is news, and none of its own doing; or further than what was told of it by far."""
    told, part = traces[TOLD, c], traces[PART, c]
    apart = part == 0.0 or lasted - part > A_PART
    return (traces[OWN, c] > 0.0 and apart) or (told > 0.0 and far > NOTICED * told)  # type: ignore[no-any-return]


@kernel
def _have_part(kinds: Any, counts: Any, traces: Any, lasted: int) -> None:
    """The channels that are beyond their limits by themselves, lost, frozen or so far out that this alarms have a part
    in what is going on, and so has the one that is worst; the errors of others may be its doing."""
    worst, lost, frozen = 0, kinds[LOST].open, kinds[FROZEN].open
    for c in range(traces.shape[1]):
        if traces[WORSE, c] > traces[WORSE, worst]:
            worst = c
        far = counts[GONE, c] == 0 and (counts[FAR_VALUE, c] != 0 or counts[FAR_STEP, c] != 0)
        far = far or traces[DISTANT, c] > 0.0
        if far or (lost and traces[BLAME + LOST, c] > 0.0) or (frozen and traces[BLAME + FROZEN, c] > 0.0):
            traces[PART, c] = lasted
    traces[PART, worst] = lasted


@kernel
def _follow(condition: Any, number: int, row: int, time: int, start: int, start_time: int, farthest: float) -> int:
    # Interpreted, numbers may be numpy's: a record keeps Python's.
    if number == 0:
        if not condition.open:
            return NONE
        condition.open = False
        return FINAL
    change = NONE
    if not condition.open:
        change = OPENED
        condition.open = True
        condition.channels = 0
        condition.start = int(start)
        condition.start_time = int(start_time)
        condition.alarm = row
        condition.alarm_time = time
        condition.peak = 0.0
    elif number > condition.channels:
        change = UPDATED
    condition.channels = int(max(condition.channels, number))
    condition.end = row
    condition.end_time = time
    condition.peak = float(max(condition.peak, farthest))
    return change
