"""Time zones: which moment a clock on the wall means, and what it shows at a moment.

Times are nanoseconds: since 1970 in UTC for moments, since 1970 as the clock shows it for wall times. Where clocks are
set back, an hour of wall times comes twice: which of the two is meant is told from the order in which they come. Where
clocks are set forward, an hour of them never comes.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from .errors import SettingError

__all__ = ["Clock", "check_zone", "moments", "offset_at", "wall", "walls", "zone_of"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)", re.ASCII)
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+){0,3}", re.ASCII)
SECOND = 10**9
DAY = 86_400 * SECOND
FIRST, FIRST_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """By its name (Europe/Berlin), or as an offset (+02:00); a `SettingError` where there is none such."""
    match = OFFSET.fullmatch(name)
    if match is not None and int(match[2]) < 24 and int(match[3]) < 60:
        shift = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(shift if match[1] == "+" else -shift)
    try:
        if not NAME.fullmatch(name):
            raise ValueError(name)
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        raise SettingError(f"timezone must be a name such as Europe/Berlin, or an offset; got {name!r:.80}") from error


def check_zone(name: object) -> str:
    """The name of a zone that is there."""
    if not isinstance(name, str):
        raise SettingError(f"timezone must be a name such as Europe/Berlin; got a value of type {type(name).__name__}")
    zone_of(name)
    return name


def offset_at(moment: int, zone: str) -> int:
    """Nanoseconds that clocks of a zone are ahead of UTC at a moment."""
    return _shift((FIRST_UTC + timedelta(seconds=moment // SECOND)).astimezone(zone_of(zone)))


def wall(moment: int, zone: str) -> int:
    """What a clock shows at a moment."""
    return moment + offset_at(moment, zone)


def walls(times: Ints, zone: str) -> Ints:
    """What a clock shows at many moments."""
    if not len(times):
        return times
    changes, offsets = _changes(int(times.min()), int(times.max()), zone)
    shown: Ints = times + offsets[np.searchsorted(changes, times, side="right")]
    return shown


class Clock:
    """Wall times in the order they come, as moments."""

    def __init__(self, zone: str, latest: int | None = None, before: int | None = None) -> None:
        self.zone = zone_of(zone)
        self.latest, self.before = latest, before  # the two latest moments so far
        self.doubled = self.skipped = False  # whether the last one comes twice a year, or never

    def moment(self, shown: int) -> int:
        """The next one."""
        at = FIRST + timedelta(seconds=shown // SECOND)
        first, second = (_shift(at.replace(tzinfo=self.zone, fold=fold)) for fold in (0, 1))
        self.doubled, self.skipped = first > second, first < second
        found = shown - first
        if self.doubled and self._again(found, shown - second):
            found = shown - second
        return self.saw(found)

    def saw(self, moment: int) -> int:
        """Takes note of a moment that needs no telling apart."""
        if self.latest is None or moment > self.latest:
            self.latest, self.before = moment, self.latest
        return moment

    def _again(self, first: int, second: int) -> bool:
        """Whether it is the second time. A row that goes back by seconds is a late one: clocks go back by an hour, less
        the time between two rows."""
        if self.latest is None:
            return False
        step = 0 if self.before is None else self.latest - self.before
        if first > self.latest:  # rows so far apart that none goes back
            return second - self.latest == step
        return 2 * (self.latest - first + step) >= second - first


def moments(shown: Ints, zone: str) -> tuple[Ints, Bools, Bools]:
    """Wall times in the order they come, as moments, with those that come twice a year and those that never do."""
    nothing = np.zeros(len(shown), dtype=np.bool_)
    if not len(shown):
        return shown, nothing, nothing
    changes, offsets = _changes(int(shown.min()) - 2 * DAY, int(shown.max()) + 2 * DAY, zone)
    sides = np.stack([changes + offsets[:-1], changes + offsets[1:]], axis=1)
    part = np.searchsorted(np.sort(sides, axis=1).ravel(), shown, side="right")
    before, after = offsets[part // 2], offsets[(part + 1) // 2]
    doubled, skipped = before > after, before < after
    found: Ints = shown - before
    which = np.flatnonzero(doubled)
    if len(which):
        first, last = int(which[0]), int(which[-1]) + 1
        clock = Clock(zone)
        if first:
            highest = np.maximum.accumulate(found[:first])
            clock.latest = int(highest[-1])
            lower = int(np.searchsorted(highest, highest[-1], side="left"))
            clock.before = int(highest[lower - 1]) if lower else None
        alike = zip(found[first:last].tolist(), (shown - after)[first:last].tolist(), strict=True)
        for i, (one, other) in enumerate(alike, first):
            found[i] = clock.saw(other if one != other and doubled[i] and clock._again(one, other) else one)
    return found, doubled, skipped


def _changes(first: int, last: int, zone: str) -> tuple[Ints, Ints]:
    """Moments between two at which clocks are set, and their offsets: before the first, after it, and so on."""
    tz = zone_of(zone)

    def at(second: int) -> int:
        return _shift((FIRST_UTC + timedelta(seconds=second)).astimezone(tz))

    day, end = first // DAY * 86_400, (last // DAY + 1) * 86_400
    changes: list[int] = []
    offsets = [at(day)]
    while day < end:
        if at(day + 86_400) != offsets[-1]:
            low, high = day, day + 86_400
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if at(middle) == offsets[-1] else (low, middle)
            changes.append(high * SECOND)
            offsets.append(at(high))
            if offsets[-1] != at(day + 86_400):  # twice in a day: the next look begins here
                day = high - 86_400
        day += 86_400
    return np.array(changes, dtype=np.int64), np.array(offsets, dtype=np.int64)


def _shift(time: datetime) -> int:
    shift = time.utcoffset() or timedelta()
    return (shift.days * 86_400 + shift.seconds) * SECOND + shift.microseconds * 1_000
