"""Which column is the time, and what moment a cell means."""

import math
import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from ..errors import InputError
from ..frame import nanoseconds
from ..wording import some
from .reading import Reading

__all__ = ["HOW", "check_epoch", "epoch", "is_moment", "is_time_name", "moment", "time_column"]

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
DIGITS = re.compile(r"(19|20|21)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\d{4}|\d{6})?")  # 20260301, 202603011200, ..
SERIAL = re.compile(r"[2-7]\d{4}(\.\d+)?")  # days since 1900, 1954 to 2118
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
HOW = "ISO 8601 (2026-03-01 12:00:00) or seconds since 1970; else say time_format='%d.%m.%Y %H:%M:%S'"


def time_column(columns: Sequence[str], asked: str | None, fitted: Collection[str], place: str) -> str | None:
    """The column asked for, or the one with the name of a time."""
    if asked is not None:
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
    if how.time_format is not None:
        return nanoseconds(datetime.strptime(cell, how.time_format)) or 0
    match = ISO.fullmatch(cell)
    if match is not None:
        return _iso(match)
    try:
        number = float(cell)
    except ValueError:
        return nanoseconds(cell) or 0
    if not math.isfinite(number):
        raise ValueError(cell)
    exact = int(cell) if cell.lstrip("-").isdecimal() else number
    return _checked(round(exact * epoch(abs(number))))


def is_moment(cell: str, how: Reading | None = None) -> bool:
    """Whether a cell is a time, and not a mere number."""
    if how is None or how.time_format is None:
        how = Reading()
        if not ISO.fullmatch(cell):
            return False
    try:
        return moment(cell, how) is not None
    except (ValueError, InputError):
        return False


def epoch(size: float) -> int:
    """Nanoseconds in the unit that a number of this size counts since 1970."""
    return next((unit for least, unit in EPOCHS if size >= least), 10**9)


def check_epoch(cell: str, place: str) -> None:
    """Refuses numbers that are a date rather than a count of seconds: 20260301, or a spreadsheet's 46042.75."""
    if DIGITS.fullmatch(cell) or SERIAL.fullmatch(cell):
        raise InputError(f"{place} must have times in {HOW}; got {cell!r}, which looks like a date, not like seconds")


def _iso(match: re.Match[str]) -> int:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    day_of = datetime(int(year), int(month), int(day), tzinfo=UTC)
    since = day_of - FIRST + timedelta(hours=int(hour or 0), minutes=int(minute or 0), seconds=int(second or 0))
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        raise ValueError(match[0])
    if zone is not None and zone.upper() != "Z":
        since -= (1 if zone[0] == "+" else -1) * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    whole = (since.days * 86_400 + since.seconds) * 10**9
    return _checked(whole + int((fraction or "").ljust(9, "0")))


def _checked(counted: int) -> int:
    """Within what nanoseconds can hold."""
    if abs(counted) >= 2**63:
        raise ValueError(counted)
    return nanoseconds(np.datetime64(counted, "ns")) or 0
