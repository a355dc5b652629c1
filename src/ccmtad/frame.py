"""Anything table-like becomes a `Frame`: numbers, channel names, and times where there are any."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import ChannelError, InputError, SettingError
from .wording import got, is_text, some
from .zones import check_zone, moments

if TYPE_CHECKING:
    import narwhals as nw  # a user who has no table needs no narwhals

__all__ = ["CACHED", "Frame", "Origin", "Others", "inside", "nanoseconds"]

Floats = NDArray[np.float64]
Times = NDArray[np.datetime64]


log = logging.getLogger("ccmtad")

CACHED = 16_384  # numbers that stay in the cache
NANOSECONDS = np.dtype("datetime64[ns]")
LATEST = 9.2e9  # seconds from 1970 that nanoseconds can hold
NEVER = int(np.iinfo(np.int64).min)  # what numpy calls NaT


@dataclass(frozen=True)
class Origin:
    """The table that a frame was made from, as far as an answer that is to be joined with it must know."""

    library: str  # such as "polars"
    time: str | None = None  # its time column
    unit: str = "ns"  # of that


@dataclass(frozen=True, eq=False)
class Frame:
    """A multivariate series in the order it arrived. Made from any table by `Frame.of`."""

    values: Floats  # (rows, channels), original units; NaN where missing
    channels: tuple[str, ...]
    times: Times | None = None  # (rows,), nanoseconds, UTC; None where unknown
    named: bool = True  # whether the channel names came with the data, or are only positions
    zone: str | None = None  # the time zone that times came in, and are shown in; None: none was said, or UTC
    origin: Origin | None = None
    argument: InitVar[str] = "frame"  # what messages call it

    def __post_init__(self, argument: str) -> None:
        _check(self.values, self.channels, self.times, argument)
        if self.zone is not None:
            check_zone(self.zone)

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        time: str | None = None,
        times: Any = None,
        argument: str = "table",
        infinite_is_missing: bool = False,
    ) -> "Frame":
        """Reads numpy `(rows, channels)`, nested sequences, pandas, polars (lazy ones too) or pyarrow. What it holds is
        a copy.

        Times come from the column named by `time`, else from the one called "time", the only one of a datetime type, or
        a pandas `DatetimeIndex`. A numeric time column is read as seconds. For a table without times, numpy's say,
        `times` gives one for each row: datetimes, ISO texts, or seconds since 1970. `argument` names the table in
        messages. An infinite value is an error, or a missing value where that is asked for: then it is logged.
        """
        if isinstance(table, Frame) and times is None:
            return table
        made = (
            _Parts(**{one.name: getattr(table, one.name) for one in fields(cls)})
            if isinstance(table, Frame)
            else cls._read(table, time, argument)
        )
        if times is not None:
            if made.times is not None:
                raise InputError(f"times must be None for {argument} with times of its own; got {got(times)}")
            made.times, made.zone = _given_times(times, len(made.values))
        if infinite_is_missing and (infinite := np.isinf(made.values)).any():
            log.warning("%s: %d infinite values are taken as missing, as a stream takes them", argument, infinite.sum())
            made.values[infinite] = np.nan
        return cls(made.values, made.channels, made.times, made.named, made.zone, made.origin, argument)

    @staticmethod
    def _read(table: Any, time: str | None, argument: str) -> "_Parts":
        if isinstance(table, np.ndarray) and time is None:
            return _from_array(table, argument)
        import narwhals as nw
        from narwhals.exceptions import DuplicateError

        try:
            native = nw.from_native(table, pass_through=True)
        except DuplicateError as error:
            raise InputError(f"{argument} must have distinct column names; got {error}") from error
        if isinstance(native, nw.LazyFrame):
            try:
                native = native.collect()
            except Exception as error:  # whatever its plan may do
                raise InputError(f"{argument} must be a lazy table that can be collected; got {error}") from error
        if isinstance(native, nw.DataFrame):
            return _from_dataframe(native, time, argument)
        if time is not None:
            raise InputError(f"time must be None for {argument} without named columns; got {time!r}")
        return _from_array(table, argument)

    def align(
        self, channels: Sequence[str], *, named: bool = True, argument: str = "table", allow_missing: bool | None = None
    ) -> Self:
        """This frame with its channels in the given order.

        A missing or extra one is an error that names it; with `allow_missing` the missing ones have no values, the
        extra ones are left out, and both are logged. Then, too, at least one must be there. (None is as False, where
        the one who asks has no way to allow it.)
        """
        if self.channels == tuple(channels) and self.named == named:
            return self
        if not (named and self.named):
            if len(channels) != len(self.channels):
                raise ChannelError(
                    f"{argument} must have the {len(channels)} channels of the fitted data; got {len(self.channels)}"
                )
            return replace(self, channels=tuple(channels), named=named)
        others = Others.of(self.channels, channels, argument, allow_missing=allow_missing)
        if others.told:
            log.warning("%s: %s", argument, others.told)
        values = np.full((len(self), len(channels)), np.nan) if others.missing else np.empty((len(self), len(channels)))
        position = {name: i for i, name in enumerate(self.channels)}
        for i, name in enumerate(channels):
            if name in position:
                values[:, i] = self.values[:, position[name]]
        return replace(self, values=values, channels=tuple(channels))


@dataclass(frozen=True)
class Others:
    """How the channels that are there differ from those that were fitted."""

    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @classmethod
    def of(cls, found: Iterable[str], fitted: Sequence[str], argument: str, *, allow_missing: bool | None) -> Self:
        """An error where they differ, unless that is allowed and some are the same."""
        there, known = dict.fromkeys(found), frozenset(fitted)
        made = cls(
            tuple(name for name in fitted if name not in there), tuple(name for name in there if name not in known)
        )
        none = len(made.missing) == len(fitted)
        if (made.missing or made.extra) and (not allow_missing or none):
            parts = [f"missing: {some(made.missing)}"] * bool(made.missing)
            parts += [f"not fitted: {some(made.extra)}"] * bool(made.extra)
            cure = ": allow_missing=True judges the others alone" * (allow_missing is False and not none)
            raise ChannelError(f"{argument} must have the channels of the fitted data; {'; '.join(parts)}{cure}")
        return made

    @property
    def told(self) -> str:
        """What comes of it, in words; "" where they are the same."""
        parts = [f"{some(self.missing)} missing: judged without, as a lost signal"] * bool(self.missing)
        parts += [f"{some(self.extra)} not fitted: left out"] * bool(self.extra)
        return "; ".join(parts)


@dataclass
class _Parts:
    """What a frame is made of, not yet checked."""

    values: Floats
    channels: tuple[str, ...]
    times: Times | None
    named: bool
    zone: str | None = None
    origin: Origin | None = None


def _from_array(table: Any, argument: str) -> _Parts:
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
    values = np.array(array, dtype=np.float64, order="C")  # a copy: the caller's may change
    return _Parts(values, channels, None, named=False)


def _from_dataframe(table: "nw.DataFrame[Any]", time: str | None, argument: str) -> _Parts:
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
    column = None if chosen is None else series[columns.index(chosen)]
    times, zone = _index_times(table, argument) if column is None else _times(column, argument)
    channels = tuple(name for name in columns if name != chosen)
    values = np.empty((len(table), len(channels)))
    for i, name in enumerate(channels):
        values[:, i] = _numbers(series[columns.index(name)], name, argument)
    kind = None if column is None else column.dtype
    unit = kind.time_unit if isinstance(kind, nw.Datetime) else "ns"
    origin = Origin(table.implementation.name.lower(), chosen, unit)
    return _Parts(values, channels, times, named=True, zone=zone, origin=origin)


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


def _times(column: "nw.Series[Any]", argument: str) -> tuple[Times, str | None]:
    import narwhals as nw

    place = f"column {str(column.name)!r}"
    if column.dtype.is_numeric():
        seconds = column.cast(nw.Float64).to_numpy()
        far = np.flatnonzero(~(np.abs(seconds) < LATEST))
        if len(far):
            got = "none" if np.isnan(seconds[far[0]]) else f"{seconds[far[0]]:g} (milliseconds?)"
            raise InputError(f"{argument} must have seconds as a time in every row; {place} has {got} in row {far[0]}")
        return np.round(seconds * 1e9).astype(np.int64).astype("datetime64[ns]"), None
    if isinstance(column.dtype, nw.Date):
        column = column.cast(nw.Datetime("us"))
    if not isinstance(column.dtype, nw.Datetime):
        raise InputError(f"{argument} must have datetimes or seconds as times; {place} has {column.dtype}")
    zone = None if column.dtype.time_zone is None else _zone_called(str(column.dtype.time_zone))
    if zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return _as_nanoseconds(column.to_numpy(), place, argument), zone


def _zone_called(name: str) -> str:
    """The name of a zone as a table has it. Some libraries' zones have none that others know: UTC, then."""
    try:
        return check_zone(name)
    except SettingError:
        return "UTC"


def _given_times(times: Any, rows: int) -> tuple[Times, str | None]:
    """Times beside a table: datetimes, texts or seconds, and the zone that they are in."""
    zone: tzinfo | None = getattr(times, "tz", None) or getattr(getattr(times, "dt", None), "tz", None)
    array = times if isinstance(times, np.ndarray) else None
    if array is None or array.dtype.kind not in "Mbiuf":
        listed = times.tolist() if isinstance(times, np.ndarray) else list(times) if _many(times) else None
        if listed is None:
            raise InputError(f"times must be a list or array, one for each row; got {got(times)}")
        zone = zone or next((one.tzinfo for one in listed if isinstance(one, datetime)), None)
        array = np.array([nanoseconds(one) for one in listed], dtype=object)
        array = np.array([NEVER if one is None else one for one in array], dtype=np.int64).astype("datetime64[ns]")
    if array.shape != (rows,):
        raise InputError(f"times must hold one for each of the {rows:,} rows; got shape {array.shape}")
    if array.dtype.kind != "M":
        far = ~(np.abs(array.astype(np.float64)) < LATEST)
        if far.any():
            row = int(far.argmax())
            raise InputError(f"times must be seconds from 1678 to 2261; got {array[row]} in row {row} (milliseconds?)")
        array = np.round(array.astype(np.float64) * 1e9).astype(np.int64).astype("datetime64[ns]")
    return _as_nanoseconds(array, "it", "times"), None if zone is None else _zone_called(str(zone))


def _many(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _index_times(table: "nw.DataFrame[Any]", argument: str) -> tuple[Times | None, str | None]:
    import narwhals as nw

    index = nw.maybe_get_index(table)
    if index is None or getattr(index, "dtype", None) is None:
        return None, None
    zone = None
    if getattr(index, "tz", None) is not None:
        zone, index = _zone_called(str(index.tz)), index.tz_convert("UTC").tz_localize(None)
    if index.dtype.kind != "M":
        return None, None
    return _as_nanoseconds(index.to_numpy(), "its index", argument), zone


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
        shown = frame.times.astype(np.int64)
        begins, ends = (_said(moment, frame.zone) for moment in (first, last))
        within = (shown >= begins) & (shown <= ends)
        if not within.any():
            raise InputError(
                f"{argument} must hold spans with rows in them (times are {frame.zone or 'UTC'} unless they say); "
                f"got {span!r}"
            )
        rows |= within
    return rows


def _said(time: object, zone: str | None) -> int:
    """A time that someone gave, in the zone of the rows where it names none."""
    moment = nanoseconds(time) or 0
    if zone is None:
        return moment
    told = datetime.fromisoformat(time) if isinstance(time, str) else time
    if getattr(told, "tzinfo", None) is not None:
        return moment
    return int(moments(np.array([moment]), zone)[0][0])


def _infinite(values: Floats) -> tuple[int, int] | None:
    """Row and channel of the first infinite value; a few rows at a time, which stay in the cache."""
    block = max(1, CACHED // values.shape[1])
    for first in range(0, len(values), block):
        found = np.isinf(values[first : first + block])
        if found.any():
            row, channel = np.argwhere(found)[0]
            return first + int(row), int(channel)
    return None


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
    infinite = _infinite(values)
    if infinite is not None:
        row, channel = infinite
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
