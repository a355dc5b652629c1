"""A whole column of times at once."""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..wording import got, stamp
from ..zones import Clock, check_zone, moments
from .reading import Reading
from .times import HOW, Written, ambiguous, check_epoch, day_first, epoch, written

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Times", "read_times"]

Ints = NDArray[np.int64]

# Read fast; what is written otherwise, or not alike in all rows, is read cell by cell.
ISO = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%d %H:%M")
OF_DAY = (" %H:%M:%S%.f", " %H:%M", "")
FIRST_TWO = r"^(\d{1,2})([./-])(\d{1,2})[./-]\d{4}\b"
LONGEST_TIME = 1_000  # bytes


@dataclass(frozen=True, eq=False)
class Times:
    """The times of a table as they are written."""

    shown: Ints  # (rows,) nanoseconds since 1970, as the writer's clock shows them
    naive: NDArray[np.bool_]  # (rows,) which do not say how far that clock is ahead of UTC
    offsets: Ints  # (rows,) nanoseconds that it is ahead
    zone: str | None = None  # its name, or its offset where that never changes
    day_first: bool | None = None

    def moments(self, zone: str | None, groups: NDArray[np.uint32] | None = None) -> tuple[Ints, tuple[str, ...]]:
        """Nanoseconds since 1970, UTC, by the clocks of a zone where that is not said; and what is worth telling.

        Each of the `groups` has rows that follow each other.
        """
        if zone is None or not self.naive.any():
            return self.shown - self.offsets, ()
        doubled, skipped = np.zeros(len(self.shown), dtype=np.bool_), np.zeros(len(self.shown), dtype=np.bool_)
        found = np.empty(len(self.shown), dtype=np.int64)
        order = np.arange(len(found)) if groups is None else np.argsort(groups, kind="stable")
        cuts: Ints | list[int] = [] if groups is None else np.flatnonzero(np.diff(groups[order])) + 1
        for rows in np.split(order, cuts):
            if self.naive[rows].all():
                found[rows], doubled[rows], skipped[rows] = moments(self.shown[rows], zone)
                continue
            clock = Clock(zone)
            for row in rows.tolist():
                offset = None if self.naive[row] else int(self.offsets[row])
                found[row] = Written(int(self.shown[row]), offset).moment(clock)
                doubled[row], skipped[row] = (clock.doubled, clock.skipped) if offset is None else (False, False)
        told = []
        if doubled.any():
            first, last = self.shown[doubled].min(), self.shown[doubled].max()
            between = f"{stamp(np.datetime64(int(first), 'ns'))} and {stamp(np.datetime64(int(last), 'ns'))}"
            told.append(f"clocks of {zone} show the times between {between} twice: the order of the rows tells which")
        if skipped.any():
            first = np.datetime64(int(self.shown[skipped][0]), "ns")
            told.append(f"clocks of {zone} never show {stamp(first)}: is the time zone right?")
        return found, tuple(told)


def read_times(column: "pl.Series", how: Reading, place: str) -> Times:
    """The time column of a file."""
    import polars as pl

    if column.dtype.is_numeric() and how.time_format is not None:
        column = column.cast(pl.Int64).cast(pl.String)
    if column.dtype.is_numeric():
        return _counted(column, place)
    if column.null_count() and column.dtype != pl.String:
        row = int(column.is_null().arg_true()[0])
        raise InputError(f"{place} must have a time in every row; column {column.name!r} has none in row {row}")
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("ms"))
    if isinstance(column.dtype, pl.Datetime):
        return _typed(column, place)
    if column.dtype != pl.String:
        raise InputError(f"{place} must have datetimes or seconds as times; column {column.name!r} has {column.dtype}")
    long = column.str.len_bytes() > LONGEST_TIME  # a million rows of Parquet may share one long text
    if long.any():
        cell = column.filter(long)[0]
        raise InputError(f"{place} must have times in {HOW}; column {column.name!r} has {got(cell)}")
    column = column.str.strip_chars()
    first = _day_first(column, how, place) if how.time_format is None else None
    how = how if first is None else replace(how, day_first=first)
    found = _quickly(column, first, place) if how.time_format is None else None
    return _slowly(column, how, place) if found is None else found


def _counted(column: "pl.Series", place: str) -> Times:
    import polars as pl

    check_epoch(str(column.drop_nulls()[0]) if column.count() else "", f"column {column.name!r} of {place}")
    absent = column.is_null().arg_true()
    if len(absent):
        raise InputError(f"{place} must have a time in every row; column {column.name!r} has none in row {absent[0]}")
    largest = float(np.nanmax(np.abs(column.cast(pl.Float64).to_numpy()), initial=0.0))
    if not largest * epoch(largest) < 2**63:
        raise InputError(f"{place} must have times from 1678 to 2261; column {column.name!r} has {largest:g}")
    if column.dtype.is_integer():
        counted = column.cast(pl.Int64).to_numpy() * epoch(largest)
    else:
        counted = np.round(column.cast(pl.Float64).to_numpy() * epoch(largest))
        row = int(np.isnan(counted).argmax()) if np.isnan(counted).any() else -1
        if row >= 0:
            raise InputError(f"{place} must have a time in every row; column {column.name!r} has none in row {row}")
        counted = counted.astype(np.int64)
    return Times(counted, *_alike(len(column), 0))


def _typed(column: "pl.Series", place: str) -> Times:
    import polars as pl

    assert isinstance(column.dtype, pl.Datetime)
    zone = column.dtype.time_zone
    if zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    _check_years(column, place)
    shown = column.cast(pl.Datetime("ns")).to_physical().to_numpy().astype(np.int64)
    return Times(
        shown, *_alike(len(column), None if zone is None else 0), zone=None if zone is None else check_zone(zone)
    )


def _day_first(column: "pl.Series", how: Reading, place: str) -> bool | None:
    """Whether the day comes before the month; None where times are not written so."""
    import polars as pl

    first = column.str.extract(FIRST_TWO, 1).cast(pl.Int64)
    if not first.count():
        return None
    largest, other = (int(str(one.max())) for one in (first, column.str.extract(FIRST_TWO, 3).cast(pl.Int64)))
    proved = day_first(largest, other)
    if how.day_first is not None and (proved is None or "day_first" not in how.kept):
        return how.day_first
    if proved is None and max(largest, other) <= 12:
        cell = column.filter(first.is_not_null())[0]
        raise ambiguous(cell, f"column {column.name!r} of {place}")
    return proved


def _quickly(column: "pl.Series", first: bool | None, place: str) -> Times | None:
    """All rows in one way; None where they are not so written."""
    import polars as pl

    forms: tuple[str, ...] = ISO
    if first is not None:
        mark = (re.match(FIRST_TWO, column[0] or "") or ["", "", "."])[2]
        date = f"%d{mark}%m{mark}%Y" if first else f"%m{mark}%d{mark}%Y"
        forms = tuple(date + of_day for of_day in OF_DAY)
    for form in forms:
        try:
            times = column.str.to_datetime(form, time_unit="us")
        except pl.exceptions.PolarsError:
            continue
        if times.null_count():
            return None
        _check_years(times, place, column)
        shown = column.str.to_datetime(form, time_unit="ns").to_physical().to_numpy().astype(np.int64)
        return Times(shown, *_alike(len(column), 0 if form.endswith("Z") else None), day_first=first)
    return None


def _check_years(times: "pl.Series", place: str, written: "pl.Series | None" = None) -> None:
    years = times.dt.year()
    far = ((years < 1678) | (years > 2261)).arg_true()
    if len(far):
        cell = times[int(far[0])] if written is None else written[int(far[0])]
        raise InputError(
            f"{place} must have times from 1678 to 2261; column {times.name!r} has {str(cell)!r} in row {far[0]}"
        )


def _slowly(column: "pl.Series", how: Reading, place: str) -> Times:
    found: list[Written] = []
    for row, cell in enumerate(column.to_list()):
        try:
            found.append(written(cell or "", how))
        except (ValueError, InputError):
            rule = f"in {HOW}" if how.time_format is None else f"written as {how.time_format!r}"
            raise InputError(
                f"{place} must have times {rule}; column {column.name!r} has {cell!r} in row {row}"
            ) from None
    shown = np.array([one.shown for one in found], dtype=np.int64)
    naive = np.array([one.offset is None for one in found], dtype=np.bool_)
    offsets = np.array([one.offset or 0 for one in found], dtype=np.int64)
    one = bool(len(offsets)) and not naive.any() and bool((offsets == offsets[0]).all()) and offsets[0] != 0
    return Times(shown, naive, offsets, zone=_offset(int(offsets[0])) if one else None, day_first=how.day_first)


def _offset(nanoseconds: int) -> str | None:
    """+02:00; None where it has seconds, which no zone has any more."""
    minutes, rest = divmod(abs(nanoseconds), 60 * 10**9)
    return None if rest else f"{'-' if nanoseconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


def _alike(rows: int, offset: int | None) -> tuple[NDArray[np.bool_], Ints]:
    return np.full(rows, offset is None), np.full(rows, offset or 0, dtype=np.int64)
