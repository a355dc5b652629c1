"""Anything table-like becomes a `Frame`: numbers, channel names, and times where there are any."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import ChannelError, InputError
from .wording import got, is_text, some

if TYPE_CHECKING:
    import narwhals as nw  # a user who has no table needs no narwhals

__all__ = ["Frame", "inside", "nanoseconds"]

Floats = NDArray[np.float64]
Times = NDArray[np.datetime64]

Parts = tuple[Floats, tuple[str, ...], Times | None, bool]  # values, channels, times, whether the channels are named

log = logging.getLogger("ccmtad")

NANOSECONDS = np.dtype("datetime64[ns]")
LATEST = 9.2e9  # seconds from 1970 that nanoseconds can hold


@dataclass(frozen=True, eq=False)
class Frame:
    """A multivariate series in the order it arrived. Made from any table by `Frame.of`."""

    values: Floats  # (rows, channels), original units; NaN where missing
    channels: tuple[str, ...]
    times: Times | None = None  # (rows,), nanoseconds, UTC; None where unknown
    named: bool = True  # whether the channel names came with the data, or are only positions

    def __post_init__(self) -> None:
        _check(self.values, self.channels, self.times, "frame")

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(
        cls, table: Any, *, time: str | None = None, argument: str = "table", infinite_is_missing: bool = False
    ) -> "Frame":
        """Reads numpy `(rows, channels)`, nested sequences, pandas, polars or pyarrow. What it holds is a copy.

        Times come from the column named by `time`, else from the one called "time", the only one of a datetime type, or
        a pandas `DatetimeIndex`. A numeric time column is read as seconds. `argument` names the table in messages.
        An infinite value is an error, or a missing value where that is asked for: then it is logged.
        """
        if isinstance(table, Frame):
            return table
        values, channels, times, named = cls._read(table, time, argument)
        if infinite_is_missing and (infinite := np.isinf(values)).any():
            log.warning("%s: %d infinite values are taken as missing, as a stream takes them", argument, infinite.sum())
            values[infinite] = np.nan
        _check(values, channels, times, argument)
        return cls(values, channels, times, named)

    @staticmethod
    def _read(table: Any, time: str | None, argument: str) -> "Parts":
        if isinstance(table, np.ndarray) and time is None:
            return _from_array(table, argument)
        import narwhals as nw
        from narwhals.exceptions import DuplicateError

        try:
            native = nw.from_native(table, eager_only=True, pass_through=True)
        except DuplicateError as error:
            raise InputError(f"{argument} must have distinct column names; got {error}") from error
        if isinstance(native, nw.DataFrame):
            return _from_dataframe(native, time, argument)
        if time is not None:
            raise InputError(f"time must be None for {argument} without named columns; got {time!r}")
        return _from_array(table, argument)

    def align(self, channels: Sequence[str], *, named: bool = True, argument: str = "table") -> Self:
        """This frame with its channels in the given order; a missing or extra one is an error that names it."""
        if not (named and self.named):
            if len(channels) != len(self.channels):
                raise ChannelError(
                    f"{argument} must have the {len(channels)} channels of the fitted data; got {len(self.channels)}"
                )
            return type(self)(self.values, tuple(channels), self.times, named)
        if self.channels == tuple(channels):
            return self
        missing = [name for name in channels if name not in self.channels]
        extra = [name for name in self.channels if name not in channels]
        if missing or extra:
            parts = [f"missing: {some(missing)}"] * bool(missing) + [f"not fitted: {some(extra)}"] * bool(extra)
            raise ChannelError(f"{argument} must have the channels of the fitted data; {'; '.join(parts)}")
        position = {name: i for i, name in enumerate(self.channels)}
        order = [position[name] for name in channels]
        return type(self)(np.take(self.values, order, axis=1), tuple(channels), self.times)


def _from_array(table: Any, argument: str) -> Parts:
    try:
        array = table if isinstance(table, np.ma.MaskedArray) else np.asarray(table)
    except ValueError as error:
        raise InputError(f"{argument} must be a rectangular table of numbers; got rows of unequal length") from error
    if array.ndim != 2:
        hint = "; for a single channel write x[:, None]" if array.ndim == 1 else ""
        raise InputError(f"{argument} must have two dimensions (rows, channels); got shape {array.shape}{hint}")
    if array.dtype.kind == "O":
        try:
            array = array.astype(float)  # None reads as missing
        except (TypeError, ValueError) as error:
            raise InputError(f"{argument} must hold numbers; got {error}") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"{argument} must hold real numbers; got values of type {array.dtype}")
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    channels = tuple(str(i) for i in range(array.shape[1]))
    return np.array(array, dtype=np.float64, order="C"), channels, None, False  # a copy: the caller's may change


def _from_dataframe(table: "nw.DataFrame[Any]", time: str | None, argument: str) -> Parts:
    import narwhals as nw

    columns = [str(name) for name in table.columns]
    if len(set(columns)) != len(columns):
        twice = sorted({name for name in columns if columns.count(name) > 1})
        raise InputError(f"{argument} must have distinct column names; got {some(twice)} more than once")
    series = [table[:, i] for i in range(len(columns))]  # by position: pandas columns may be named by numbers
    temporal = [name for name, one in zip(columns, series, strict=True) if isinstance(one.dtype, nw.Datetime | nw.Date)]
    if time is not None and time not in columns:
        raise InputError(f"time must be a column of {argument}; got {time!r}, and the columns are {some(columns)}")
    if time is None and len(temporal) > 1:
        raise InputError(
            f"{argument} must have one time column; got {some(temporal)}: "
            "choose with Frame.of(table, time=...) and drop the others"
        )
    usual = "time" if "time" in columns and not temporal else None  # a number called time is one
    chosen = time if time is not None else next(iter(temporal), usual)
    times = _index_times(table, argument) if chosen is None else _times(series[columns.index(chosen)], argument)
    channels = tuple(name for name in columns if name != chosen)
    values = np.empty((len(table), len(channels)))
    for i, name in enumerate(channels):
        values[:, i] = _numbers(series[columns.index(name)], name, argument)
    return values, channels, times, True


def _numbers(column: "nw.Series[Any]", name: str, argument: str) -> Floats:
    import narwhals as nw

    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return column.cast(nw.Float64).to_numpy().astype(np.float64)
    if bool(column.is_null().all()):  # a dead sensor's column has no type to go by
        return np.full(len(column), np.nan)
    if column.dtype == nw.Object:  # pandas columns that mix None, numbers, or worse
        values = column.to_list()
        missing = column.is_null().to_list()
        wrong = next((v for v, gone in zip(values, missing, strict=True) if not gone and not isinstance(v, Real)), None)
        if wrong is None:
            return np.array([np.nan if gone else float(v) for v, gone in zip(values, missing, strict=True)])
    else:
        wrong = next(value for value in column.to_list() if value is not None)
    raise InputError(f"{argument} must hold numbers; column {name!r} holds {wrong!r} ({column.dtype})")


def _times(column: "nw.Series[Any]", argument: str) -> Times:
    import narwhals as nw

    place = f"column {str(column.name)!r}"
    if column.dtype.is_numeric():
        seconds = column.cast(nw.Float64).to_numpy()
        far = np.flatnonzero(~(np.abs(seconds) < LATEST))
        if len(far):
            got = "none" if np.isnan(seconds[far[0]]) else f"{seconds[far[0]]:g} (milliseconds?)"
            raise InputError(f"{argument} must have seconds as a time in every row; {place} has {got} in row {far[0]}")
        return np.round(seconds * 1e9).astype(np.int64).astype("datetime64[ns]")
    if isinstance(column.dtype, nw.Date):
        column = column.cast(nw.Datetime("us"))
    if not isinstance(column.dtype, nw.Datetime):
        raise InputError(f"{argument} must have datetimes or seconds as times; {place} has {column.dtype}")
    if column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return _as_nanoseconds(column.to_numpy(), place, argument)


def _index_times(table: "nw.DataFrame[Any]", argument: str) -> Times | None:
    import narwhals as nw

    index = nw.maybe_get_index(table)
    if index is None or getattr(index, "dtype", None) is None:
        return None
    if getattr(index, "tz", None) is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    if index.dtype.kind != "M":
        return None
    return _as_nanoseconds(index.to_numpy(), "its index", argument)


def _as_nanoseconds(times: Times, place: str, argument: str) -> Times:
    seconds = times.astype("datetime64[s]")
    far = np.flatnonzero(np.isnat(seconds) | (np.abs(seconds.astype(np.int64)) >= LATEST))
    if len(far):
        got = "none" if np.isnat(seconds[far[0]]) else str(seconds[far[0]])
        raise InputError(
            f"{argument} must have a time from 1678 to 2261 in every row; {place} has {got} in row {far[0]}"
        )
    return times.astype("datetime64[ns]")


def nanoseconds(time: object) -> int | None:
    """One time as nanoseconds since 1970, UTC. Without a zone it is taken as UTC; numbers are seconds."""
    if time is None:
        return None
    usual = time.item() if type(time) is np.datetime64 and time.dtype == NANOSECONDS else None  # quickly
    try:
        found = _moment(time) if usual is None else usual
    except Exception:  # as odd as its class may be
        found = None
    if found is None or abs(found) >= LATEST * 1e9:
        raise InputError(
            f"time must be a datetime, an ISO date and time, or seconds since 1970, from 1678 to 2261; got {got(time)}"
        )
    return found


def _moment(time: object) -> int | None:
    """Nanoseconds since 1970, as far off as it may be; None for what is no time."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    if isinstance(time, bool | np.bool_ | np.timedelta64) or type(time).__name__ == "NaTType":  # pandas' is a datetime
        return None
    if isinstance(time, datetime):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        since = aware - datetime(1970, 1, 1, tzinfo=UTC)
        microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        return microseconds * 1_000 + int(getattr(time, "nanosecond", 0))  # pandas has those
    if isinstance(time, Real) and abs(float(time)) < LATEST:
        return round(float(time) * 1e9)
    if isinstance(time, np.datetime64) and not np.isnat(time):
        fine = np.datetime_data(time.dtype)[0] in ("ps", "fs", "as")  # too fine to be far off
        years = 0 if fine else int(time.astype("datetime64[Y]").astype(np.int64))  # a far one would wrap in seconds
        if abs(years) < 300 and abs(int(time.astype("datetime64[s]").astype(np.int64))) < LATEST:
            return int(time.astype("datetime64[ns]").astype(np.int64))
    return None


def inside(frame: Frame, spans: Iterable[Any], argument: str) -> NDArray[np.bool_]:
    """The rows inside any of the spans: (first, last) pairs, both inclusive, of row numbers or of times."""
    rows = np.zeros(len(frame), dtype=np.bool_)
    for span in spans:
        try:
            first, last = span
        except (TypeError, ValueError):
            raise InputError(f"{argument} must list (first, last) pairs of rows or times; got {span!r}") from None
        if isinstance(first, Integral) and isinstance(last, Integral):
            if not 0 <= int(first) <= int(last) < len(frame):
                raise InputError(f"{argument} must hold rows 0 <= first <= last < {len(frame)}; got {span!r}")
            rows[int(first) : int(last) + 1] = True
            continue
        if frame.times is None or isinstance(first, Real) or isinstance(last, Real):
            raise InputError(f"{argument} must hold two row numbers, or two times where rows have times; got {span!r}")
        moments = frame.times.astype(np.int64)
        within = (moments >= (nanoseconds(first) or 0)) & (moments <= (nanoseconds(last) or 0))
        if not within.any():
            raise InputError(
                f"{argument} must hold spans with rows in them (times are UTC unless they say); got {span!r}"
            )
        rows |= within
    return rows


def _check(values: Any, channels: Sequence[str], times: Any, argument: str) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 2:
        raise InputError(f"{argument} must have float64 values of two dimensions (rows, channels): use Frame.of(table)")
    rows, width = values.shape
    if width == 0:
        raise InputError(f"{argument} must have at least one channel; got none")
    if rows == 0:
        raise InputError(f"{argument} must have at least one row; got none")
    if len(channels) != width or len(set(channels)) != width:
        raise InputError(f"{argument} must have {width} distinct channel names; got {some(list(channels))}")
    if not all(map(is_text, channels)):
        raise InputError(f"{argument} must have channel names that can be written; got {some(list(channels))}")
    infinite = np.isinf(values)
    if infinite.any():
        row, channel = (int(i) for i in np.argwhere(infinite)[0])
        raise InputError(
            f"{argument} must be finite (NaN marks a missing value); "
            f"got {values[row, channel]} in row {row}, channel {channels[channel]!r}"
        )
    if times is not None:
        if not isinstance(times, np.ndarray) or times.dtype != np.dtype("datetime64[ns]") or times.shape != (rows,):
            raise InputError(f"{argument} must have one datetime64[ns] for each of its {rows} rows as times, or None")
        if np.isnat(times).any():
            row = int(np.flatnonzero(np.isnat(times))[0])
            raise InputError(f"{argument} must have a time in every row; got none in row {row}")
