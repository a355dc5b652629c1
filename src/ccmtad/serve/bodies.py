"""Bodies of requests as rows: JSON, lines of JSON, CSV. What is wrong is said before anything is done."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ..errors import InputError
from ..frame import LATEST
from ..model import Model
from ..tables.lines import Parser
from ..tables.reading import Reading
from ..tables.times import epoch, moment
from ..wording import got, some
from .refusal import Refusal
from .rows import NEVER

__all__ = ["json_of", "rows_of_json", "rows_of_lines", "sequence_of", "time_of", "values_of_json"]

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]  # (rows, channels), and their times
PLAIN = Reading()
LARGEST_SEQUENCE = 2**62


def json_of(body: bytes) -> Any:
    """What a body says; `NaN` and `Infinity` are no JSON: null marks a missing value."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, "bad-json", f"body must be JSON (null marks a missing value); got {error}") from error


def rows_of_json(told: Any, model: Model, most: int) -> Rows:
    """Of `{"times": [...], "values": [[...], ...]}`, `{"rows": [{"time", "values"}, ...]}` or one such row."""
    if not isinstance(told, Mapping):
        raise _wrong("body must be an object", told)
    if "rows" in told:
        rows = told["rows"]
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise _wrong("rows must be a list of objects with values and a time", rows)
        values, times = [row.get("values") for row in rows], [row.get("time") for row in rows]
    elif "times" in told or (isinstance(told.get("values"), list) and _nested(told["values"])):
        values, times = told.get("values"), told.get("times")  # type: ignore[assignment]
        if not isinstance(values, list) or not isinstance(times, list | None):
            raise _wrong("values and times must be lists", told)
        times = [None] * len(values) if times is None else times
        if len(times) != len(values):
            raise Refusal(422, "bad-rows", f"times must be as many as rows, {len(values)}; got {len(times)}")
    else:
        values, times = [told.get("values")], [told.get("time")]
    if not 0 < len(values) <= most:
        raise Refusal(413 if values else 422, "bad-rows", f"rows must be 1 to {most:,}; got {len(values):,}")
    channels = told.get("channels")
    return _values(values, model, channels), _times(times)


def _nested(values: Sequence[Any]) -> bool:
    return bool(values) and isinstance(values[0], list | dict)


def _values(rows: list[Any], model: Model, channels: Any) -> NDArray[np.float64]:
    names = model.channels
    if channels is not None:
        if not isinstance(channels, list) or not all(isinstance(one, str) for one in channels):
            raise _wrong("channels must be a list of names", channels)
        if len(set(channels)) != len(channels):
            raise Refusal(422, "bad-channels", "channels must be distinct")
        _check_names(channels, names)
    place = {name: i for i, name in enumerate(names)}
    if any(isinstance(row, Mapping) for row in rows):
        rows = [_by_name(row, place) for row in rows]
        channels = None
    array = _numbers(rows)
    wanted = len(names) if channels is None else len(channels)
    if array.ndim != 2 or array.shape[1] != wanted:
        raise Refusal(422, "bad-rows", f"values must be {wanted} numbers in each row, one for each channel")
    if channels is not None:
        whole = np.full((len(array), len(names)), np.nan)
        whole[:, [place[name] for name in channels]] = array
        array = whole
    return array


def _by_name(row: Any, place: Mapping[str, int]) -> list[Any]:
    if not isinstance(row, Mapping):
        raise _wrong("values must be by name in every row, or in none", row)
    if not row.keys() <= place.keys():
        _check_names(row, tuple(place))
    return [row.get(name) for name in place]


def _check_names(found: Any, names: Sequence[str]) -> None:
    extra = [name for name in found if name not in names]
    if extra:
        raise Refusal(422, "bad-channels", f"channels must be of the fitted data; not fitted: {some(extra)}")


def _numbers(rows: list[Any]) -> NDArray[np.float64]:
    try:
        array = np.array(rows)
    except ValueError as error:
        raise Refusal(422, "bad-rows", "values must have one number for each channel in every row") from error
    if array.dtype.kind == "O" and array.ndim == 2:
        wrong = next((one for row in rows for one in row if one is not None and type(one) not in (int, float)), None)
        if wrong is not None:
            raise _wrong("values must be numbers, or null where missing", wrong)
        array = np.array(rows, dtype=np.float64)  # null reads as NaN
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise _wrong("values must be numbers, or null where missing", rows[0])
    return array.astype(np.float64)


def _times(times: list[Any]) -> NDArray[np.int64]:
    if all(type(one) in (int, float) for one in times):
        numbers = np.array(times)
        sizes = np.abs(numbers.astype(np.float64))
        units = {epoch(float(size)) for size in (sizes.min(), sizes.max())}
        if len(units) == 1 and numbers.dtype.kind in "if":
            (unit,) = units
            if float(sizes.max()) * unit < LATEST * 1e9:
                whole = numbers * unit if numbers.dtype.kind == "i" else np.round(numbers * unit)
                return whole.astype(np.int64)
    return np.array([NEVER if one is None else time_of(one) for one in times], dtype=np.int64)


def time_of(time: Any, what: str = "time") -> int:
    """One time: ISO 8601, or seconds (or milli-, micro-, nanoseconds, by their size) since 1970."""
    try:
        if isinstance(time, bool) or not isinstance(time, str | int | float):
            raise ValueError(time)
        return moment(time if isinstance(time, str) else repr(time), PLAIN)
    except (ValueError, InputError, OverflowError) as error:
        raise _wrong(f"{what} must be ISO 8601 or seconds since 1970", time, "bad-time") from error


def sequence_of(value: Any) -> int | None:
    """The number of a first row."""
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= LARGEST_SEQUENCE:
        raise _wrong("sequence must be a whole number from 0", value)
    return value


def rows_of_lines(body: bytes, model: Model, most: int) -> tuple[Rows, tuple[str, ...]]:
    """Of CSV or lines of JSON, read as `ccmtad watch` reads them; and notes on what was odd."""
    parser = Parser(model.channels, model.named)
    values: list[list[float]] = []
    times: list[int] = []
    notes: list[str] = []
    for number, line in enumerate(body.split(b"\n"), 1):
        try:
            row = parser.row(line) if parser.kind else parser.first(line)
        except InputError as error:
            raise Refusal(422, "bad-rows", f"line {number}: {error}") from error
        if row is None:
            continue
        if len(values) == most:
            raise Refusal(413, "bad-rows", f"rows must be 1 to {most:,}; got more")
        values.append(row.values)
        times.append(NEVER if row.time is None else row.time)
        notes += row.notes
    if not values:
        raise Refusal(422, "bad-rows", "body must hold at least one row; got none")
    return (np.array(values, dtype=np.float64), np.array(times, dtype=np.int64)), tuple(notes)


def values_of_json(told: Any, model: Model, most: int) -> tuple[tuple[str, float, int], ...]:
    """Of `{"values": [{"channel", "value", "time"}, ...]}`."""
    values = told.get("values") if isinstance(told, Mapping) else None
    if not isinstance(values, list) or not all(isinstance(one, Mapping) for one in values):
        raise _wrong("values must be a list of objects with channel, value and time", values)
    if not 0 < len(values) <= most * 10:
        raise Refusal(413 if values else 422, "bad-values", f"values must be 1 to {10 * most:,}; got {len(values):,}")
    known, found = frozenset(model.channels), []
    for one in values:
        channel, value = one.get("channel"), one.get("value")
        if not isinstance(channel, str) or channel not in known:
            raise Refusal(422, "bad-channels", f"channel must be one of the fitted data; got {got(channel)}")
        if value is not None and type(value) not in (int, float):
            raise _wrong("value must be a number, or null where missing", value)
        found.append((channel, math.nan if value is None else float(value), time_of(one.get("time"))))
    return tuple(found)


def _wrong(rule: str, value: Any, kind: str = "bad-rows") -> Refusal:
    return Refusal(422, kind, f"{rule}; got {got(value)}")
