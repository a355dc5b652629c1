"""Anything table-like becomes a `Frame`: numbers, channel names, and times where there are any."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .errors import ChannelError, InputError

__all__ = ["Frame"]

Floats = NDArray[np.float64]
Times = NDArray[np.datetime64]


@dataclass(frozen=True, eq=False)
class Frame:
    """A multivariate series in the order it arrived."""

    values: Floats  # (rows, channels), original units; NaN where missing
    channels: tuple[str, ...]
    times: Times | None = None  # (rows,), nanoseconds, UTC; None where unknown
    named: bool = True  # whether the channel names came with the data, or are only positions

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, table: Any, *, time: str | None = None, argument: str = "table") -> "Frame":
        """Reads numpy `(rows, channels)`, nested sequences, pandas, polars or pyarrow.

        Times come from a pandas `DatetimeIndex`, from the column called `time`, or from the only column of a
        datetime type. A numeric time column is read as seconds. `argument` names the table in error messages.
        """
        if isinstance(table, Frame):
            return table
        native = nw.from_native(table, eager_only=True, pass_through=True)
        if isinstance(native, nw.DataFrame):
            frame = _from_dataframe(native, time, argument)
        elif time is not None:
            raise InputError(f"time must be None for {argument} without named columns; got {time!r}")
        else:
            frame = _from_array(table, argument)
        _check(frame, argument)
        return frame

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
            parts = [f"missing: {_names(missing)}"] * bool(missing) + [f"not fitted: {_names(extra)}"] * bool(extra)
            raise ChannelError(f"{argument} must have the channels of the fitted data; {'; '.join(parts)}")
        position = {name: i for i, name in enumerate(self.channels)}
        order = [position[name] for name in channels]
        return type(self)(np.ascontiguousarray(self.values[:, order]), tuple(channels), self.times)


def _from_array(table: Any, argument: str) -> Frame:
    try:
        array = np.asarray(table)
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
    channels = tuple(str(i) for i in range(array.shape[1]))
    return Frame(np.ascontiguousarray(array, dtype=np.float64), channels, named=False)


def _from_dataframe(table: nw.DataFrame[Any], time: str | None, argument: str) -> Frame:
    columns = [str(name) for name in table.columns]
    if len(set(columns)) != len(columns):
        twice = sorted({name for name in columns if columns.count(name) > 1})
        raise InputError(f"{argument} must have distinct column names; got {_names(twice)} more than once")
    temporal = [name for name in table.columns if isinstance(table.schema[name], nw.Datetime | nw.Date)]
    if time is not None and time not in table.columns:
        raise InputError(f"time must be a column of {argument}; got {time!r}, and the columns are {_names(columns)}")
    if time is None and len(temporal) > 1:
        raise InputError(
            f"{argument} must have one time column; got {_names(temporal)}: "
            "choose with Frame.of(table, time=...) and drop the others"
        )
    chosen = time if time is not None else next(iter(temporal), None)
    times = _index_times(table, argument) if chosen is None else _times(table[chosen], argument)
    channels = [name for name in table.columns if name != chosen]
    values = np.empty((len(table), len(channels)))
    for i, name in enumerate(channels):
        values[:, i] = _numbers(table[name], argument)
    return Frame(values, tuple(str(name) for name in channels), times)


def _numbers(column: nw.Series[Any], argument: str) -> Floats:
    if column.dtype == nw.Object:  # pandas columns that mix None, numbers, or worse
        column = nw.from_native(column.to_native(), series_only=True)
        try:
            return np.array([np.nan if v is None else float(v) for v in column.to_list()])
        except (TypeError, ValueError):
            pass
    elif column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return column.cast(nw.Float64).to_numpy().astype(np.float64)
    sample = next((value for value in column.to_list() if not _is_number(value)), None)
    raise InputError(f"{argument} must hold numbers; column {str(column.name)!r} holds {sample!r} ({column.dtype})")


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _times(column: nw.Series[Any], argument: str) -> Times:
    name = str(column.name)
    if column.dtype.is_numeric():
        seconds = column.cast(nw.Float64).to_numpy()
        if not np.isfinite(seconds).all():
            row = int(np.flatnonzero(~np.isfinite(seconds))[0])
            raise InputError(f"{argument} must have a time in every row; column {name!r} has none in row {row}")
        return np.round(seconds * 1e9).astype(np.int64).astype("datetime64[ns]")
    if isinstance(column.dtype, nw.Date):
        column = column.cast(nw.Datetime("us"))
    if not isinstance(column.dtype, nw.Datetime):
        raise InputError(f"{argument} must have datetimes or seconds in its time column {name!r}; got {column.dtype}")
    if column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    times = column.to_numpy().astype("datetime64[ns]")
    if np.isnat(times).any():
        row = int(np.flatnonzero(np.isnat(times))[0])
        raise InputError(f"{argument} must have a time in every row; column {name!r} has none in row {row}")
    return times


def _index_times(table: nw.DataFrame[Any], argument: str) -> Times | None:
    index = nw.maybe_get_index(table)
    if index is None or getattr(index, "dtype", None) is None or index.dtype.kind != "M":
        return None
    if getattr(index, "tz", None) is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    times: Times = index.to_numpy().astype("datetime64[ns]")
    if np.isnat(times).any():
        row = int(np.flatnonzero(np.isnat(times))[0])
        raise InputError(f"{argument} must have a time in every row; its index has none in row {row}")
    return times


def _check(frame: Frame, argument: str) -> None:
    rows, channels = frame.values.shape
    if channels == 0:
        raise InputError(f"{argument} must have at least one channel; got none")
    if rows == 0:
        raise InputError(f"{argument} must have at least one row; got none")
    infinite = np.isinf(frame.values)
    if infinite.any():
        row, channel = (int(i) for i in np.argwhere(infinite)[0])
        raise InputError(
            f"{argument} must be finite (NaN marks a missing value); "
            f"got {frame.values[row, channel]} in row {row}, channel {frame.channels[channel]!r}"
        )


def _names(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
