"""Which column is the time, and what moment a cell means."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from ..errors import InputError
from ..frame import nanoseconds
from ..wording import some
from ..zones import Clock
from .reading import Reading

__all__ = [
    "DATED", "HOW", "Written", "ambiguous", "check_epoch", "day_first", "epoch", "is_moment", "is_time_name", "moment",
    "time_column", "written",
]  # fmt: skip

NAMES = (
    "time",
    "timestamp",
    "datetime",
    "date",
    "date_time",
    "date time",
    "ts",
    "@timestamp",
    "_time",
    "timestamp_utc",
)
EPOCHS = ((1e17, 1), (1e14, 10**3), (1e11, 10**6))  # numbers from here on count nano-, micro-, milliseconds
ISO = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)? ?(Z|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
# 31.12.2026 or 12/31/2026, with or without a time of day: which number is the day must be known.
DATED = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})[./-](\d{4})"
    r"(?:,? +(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: ?([AaPp])\.?[Mm]\.?)?)?(?: ?(Z|[+-]\d{2}:?\d{2}))?",
    re.ASCII,
)
DIGITS = re.compile(r"(19|20|21)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\d{4}|\d{6})?")  # 20260301, 202603011200, ..
SERIAL = re.compile(r"[2-7]\d{4}(\.\d+)?")  # days since 1900, 1954 to 2118
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
HOW = "ISO 8601 (2026-03-01 12:00:00) or seconds since 1970; else say time_format='%d.%m.%Y %H:%M:%S'"


@dataclass(frozen=True)
class Written:
    """A time as it stands in a cell."""

    shown: int  # nanoseconds since 1970, as the clock of the one who wrote it shows it
    offset: int | None  # nanoseconds that this clock is ahead of UTC; None where the cell does not say

    def moment(self, clock: Clock | None) -> int:
        """Nanoseconds since 1970, UTC, by a clock where the cell names no zone."""
        if self.offset is None and clock is not None:
            return clock.moment(self.shown)
        found = self.shown - (self.offset or 0)
        return found if clock is None else clock.saw(found)


def time_column(
    columns: Sequence[str], asked: str | None, fitted: Collection[str], place: str, kept: bool = False
) -> str | None:
    """The column asked for, or the one with the name of a time. One that was `kept` from another file may be absent."""
    if asked is not None and (asked in columns or not kept):
        if asked not in columns:
            raise InputError(f"time must be a column of {place}; got {asked!r}, and they are {some(columns)}")
        return asked
    found = [name for name in columns if is_time_name(name) and name not in fitted]
    if len(found) > 1:
        raise InputError(
            f"{place} must have one time column; got {some(found)}: choose with time={found[0]!r}, drop={found[1]!r}"
        )
    return found[0] if found else None


def is_time_name(name: str) -> bool:
    """Whether a column is called what time columns are called."""
    return name.strip().lower() in NAMES


def moment(cell: str, how: Reading) -> int:
    """One time cell as nanoseconds since 1970; ValueError or InputError where it is none."""
    return written(cell, how).moment(None if how.timezone is None else Clock(how.timezone))


def written(cell: str, how: Reading) -> Written:
    """What a time cell says; ValueError or InputError where it is none."""
    if how.time_format is not None:
        return _of(datetime.strptime(cell, how.time_format))
    match = ISO.fullmatch(cell)
    if match is not None:
        return _iso(match)
    match = DATED.fullmatch(cell)
    if match is not None:
        return _dated(match, how)
    try:
        number = float(cell)
    except ValueError:
        return _of(datetime.fromisoformat(cell))
    if not math.isfinite(number):
        raise ValueError(cell)
    exact = int(cell) if cell.lstrip("-").isdecimal() else number
    return Written(_checked(round(exact * epoch(abs(number)))), 0)


def day_first(largest: int, other: int) -> bool | None:
    """Which of two numbers is the day, by the largest that a column has of each; None where both may be."""
    return True if largest > 12 >= other else False if other > 12 >= largest else None


def ambiguous(cell: str, place: str) -> InputError:
    """No one knows which number is the day."""
    return InputError(
        f"{place} must say which number of its times is the day; none is above 12, as in {cell!r}: "
        "say day_first=True or day_first=False"
    )


def is_moment(cell: str, how: Reading | None = None) -> bool:
    """Whether a cell is a time, and not a mere number."""
    if how is None or how.time_format is None:
        how = Reading()
        dated = DATED.fullmatch(cell)
        if dated is not None:
            return any(_is_date(dated, first) for first in (True, False))
        if not ISO.fullmatch(cell):
            return False
    try:
        return written(cell, how) is not None
    except (ValueError, InputError):
        return False


def _is_date(match: re.Match[str], day_first: bool) -> bool:
    try:
        _dated(match, Reading(day_first=day_first))
    except (ValueError, InputError):
        return False
    return True


def epoch(size: float) -> int:
    """Nanoseconds in the unit that a number of this size counts since 1970."""
    return next((unit for least, unit in EPOCHS if size >= least), 10**9)


def check_epoch(cell: str, place: str) -> None:
    """Refuses numbers that are a date rather than a count of seconds: 20260301, or a spreadsheet's 46042.75."""
    if DIGITS.fullmatch(cell) or SERIAL.fullmatch(cell):
        raise InputError(f"{place} must have times in {HOW}; got {cell!r}, which looks like a date, not like seconds")


def _of(time: datetime) -> Written:
    shift = time.utcoffset()
    offset = None if shift is None else (shift.days * 86_400 + shift.seconds) * 10**9 + shift.microseconds * 10**3
    found = nanoseconds(time) or 0
    return Written(found + (offset or 0), offset)


def _iso(match: re.Match[str]) -> Written:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    return _composed((year, month, day), (hour, minute, second, fraction), zone)


def _dated(match: re.Match[str], how: Reading) -> Written:
    one, _, other, year, hour, minute, second, fraction, half, zone = match.groups()
    first = day_first(int(one), int(other)) if how.day_first is None else how.day_first
    if first is None:
        raise ambiguous(match[0], "a time")
    if half is not None:
        if not 1 <= int(hour) <= 12:
            raise ValueError(match[0])
        hour = str(int(hour) % 12 + 12 * (half in "pP"))
    day, month = (one, other) if first else (other, one)
    return _composed((year, month, day), (hour, minute, second, fraction), zone)


def _composed(date: tuple[str, ...], time: tuple[str | None, ...], zone: str | None) -> Written:
    year, month, day = map(int, date)
    hour, minute, second = (int(part or 0) for part in time[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{hour}:{minute}:{second}")
    since = datetime(year, month, day, tzinfo=UTC) - FIRST + timedelta(hours=hour, minutes=minute, seconds=second)
    whole = (since.days * 86_400 + since.seconds) * 10**9 + int((time[3] or "").ljust(9, "0"))
    offset = None if zone is None else 0
    if zone is not None and zone.upper() != "Z":
        ahead = (int(zone[1:3]) * 3_600 + int(zone[-2:]) * 60) * 10**9
        offset = ahead if zone[0] == "+" else -ahead
    _checked(whole - (offset or 0))
    return Written(whole, offset)


def _checked(counted: int) -> int:
    """Within what nanoseconds can hold."""
    if abs(counted) >= 2**63:
        raise ValueError(counted)
    return nanoseconds(np.datetime64(counted, "ns")) or 0
