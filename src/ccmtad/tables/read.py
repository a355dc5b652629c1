"""A whole file at once."""

import io
import logging
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, MissingExtraError
from ..frame import Frame
from ..wording import got, printable, some
from . import parquet
from .dialect import DECIMAL_COMMA, TRUTHS, Dialect, decoded
from .reading import Reading
from .times import HOW, check_epoch, epoch, is_moment, is_time_name, moment, time_column
from .unpacked import GZIP, Bound, check_sparse, gunzipped, stored

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read"]

log = logging.getLogger("ccmtad")

ISO = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%d %H:%M")  # read fast
DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
LONGEST_TIME = 1_000  # bytes
UNNAMED = "\0"  # a column whose name is empty is called this and its place


def read(
    path: str | Path, how: Reading | None = None, *, fitted: Collection[str] = (), argument: str = "data"
) -> Frame:
    """A file as a frame. `fitted` are channels that cannot be the time column; `argument` names the file in errors."""
    how = how or Reading()
    place = f"{argument} {str(path)!r}"
    try:
        data = stored(Path(path), place, how.largest)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{argument} must be a readable file; got {str(path)!r}: {why}") from error
    try:
        import polars as pl
    except ImportError as error:
        raise MissingExtraError("reading CSV and Parquet needs polars: pip install 'ccmtad[cli]'") from error
    try:
        return _frame(data, how, fitted, place)
    except pl.exceptions.PanicException as error:  # polars gives up on some damaged files so; it is no Exception
        raise InputError(f"{place} must be a whole table; got one that cannot be read: {_first_line(error)}") from None


def _frame(data: bytes, how: Reading, fitted: Collection[str], place: str) -> Frame:
    import polars as pl

    bound = Bound(place, how.largest, len(data))
    table, named = (_parquet(data, bound), True) if data[:4] == b"PAR1" else _text(data, how, bound)
    for name in how.drop:
        if name not in table.columns:
            raise InputError(f"drop must name columns of {place}; got {name!r}, and they are {some(table.columns)}")
    table = table.drop(how.drop)
    names = [name for name in table.columns if not name.startswith(UNNAMED)]
    time = time_column(names, how.time, fitted, place) or _only_times(table, how, fitted)
    unnamed = [name for name in table.columns if name.startswith(UNNAMED) and name != time]
    if unnamed:
        log.warning("%s: %d columns without a name are left out", place, len(unnamed))
        table = table.drop(unnamed)
    if not table.height:
        raise InputError(f"{place} must have rows below its header; got none")
    if time is not None:
        table = table.with_columns(_times(table[time], how, place))
    for name, kind in table.schema.items():
        if kind == pl.String and name != time and table[name].count():
            cell = _first(table[name])
            cure = (
                f"time={name!r} with time_format='%d.%m.%Y %H:%M:%S', say, tells how to read it"
                if DATE.search(cell)
                else f"leave it out with drop={name!r}"
            )
            raise InputError(f"{place} must hold numbers; column {name!r} holds {got(cell)}: {cure}")
    frame = Frame.of(_without_markers(table, how, time), time=time, argument=place)
    return frame if named else Frame(frame.values, frame.channels, frame.times, named=False)


def _parquet(data: bytes, bound: Bound) -> "pl.DataFrame":
    import polars as pl

    parquet.check(data, bound)
    try:
        return pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{bound.place} must be a whole Parquet file; got {_first_line(error)}") from error


def _text(data: bytes, how: Reading, bound: Bound) -> tuple["pl.DataFrame", bool]:
    """The table of a text file, and whether it had names."""
    import polars as pl

    place = bound.place
    if data.startswith(GZIP):
        data = gunzipped(data, bound)
    if data.startswith(b"CCMTAD"):
        raise InputError(f"{place} must be CSV, JSON lines or Parquet; got a file that ccmtad wrote: is it the model?")
    data = decoded(data, place).encode()
    data = re.sub(rb"(?m)^[ \r]*\n", b"", data) if re.search(rb"(?m)^[ \r]*\n", data) else data  # blank lines
    first = data.partition(b"\n")[0].decode().strip(" \r\n")
    if not first:
        raise InputError(f"{place} must begin with a line of column names or numbers; got an empty one")
    if first.startswith("{"):
        check_sparse(data, bound)
        return _numbers(_json_lines(data, place), Dialect(",", None), how, place), True
    if first.startswith("["):
        raise InputError(f"{place} must hold one JSON object per line; got a JSON array")
    dialect = Dialect.of(first)
    columns = len(dialect.cells(first))
    _check_ragged(data, dialect, columns, place)
    names = [name or f"{UNNAMED}{i}" for i, name in enumerate(dialect.header or map(str, range(columns)))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{place} must have distinct column names; got {some(twice)} more than once")
    try:
        table = pl.read_csv(
            io.BytesIO(data),
            has_header=False,
            skip_rows=int(dialect.header is not None),
            new_columns=names,
            separator=dialect.separator,
            infer_schema=how.time_format is None,  # else 01032026 would lose its zero
            infer_schema_length=None,
            null_values=sorted(how.nothing),
        )
    except pl.exceptions.NoDataError:
        table = pl.DataFrame({name: [] for name in names})
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise InputError(f"{place} must be a readable CSV table; got {_first_line(error)}") from error
    return _numbers(table, dialect, how, place), dialect.header is not None


def _json_lines(data: bytes, place: str) -> "pl.DataFrame":
    import polars as pl

    try:
        table = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{place} must hold one flat JSON object per line; got {_first_line(error)}") from error
    for name, kind in table.schema.items():
        if kind.is_nested():
            raise InputError(f"{place} must hold one flat JSON object per line; key {name!r} holds a {kind}")
    return table


def _check_ragged(data: bytes, dialect: Dialect, columns: int, place: str, block: int = 1 << 24) -> None:
    """Every line must have as many cells as the first."""
    separator, line, first = ord(dialect.separator), 0, 0
    while first < len(data):
        cut = data.rfind(b"\n", first, first + block) + 1 or data.find(b"\n", first + block) + 1 or len(data)
        text = data[first:cut].rstrip(b"\n") + b"\n"
        numbers = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero(numbers == ord("\n"))
        cells = np.diff(np.searchsorted(np.flatnonzero(numbers == separator), ends), prepend=0) + 1
        if b'"' in text:
            quotes = np.diff(np.searchsorted(np.flatnonzero(numbers == ord('"')), ends), prepend=0)
            starts = np.r_[0, ends[:-1] + 1]
            for i in np.flatnonzero(quotes):
                cells[i] = len(dialect.cells(text[starts[i] : ends[i]].decode().rstrip("\r")))
        wrong = np.flatnonzero(cells != columns)
        if len(wrong):
            raise InputError(
                f"{place} must have {columns} cells in every line, as in its first; "
                f"got {cells[wrong[0]]} in line {line + wrong[0] + 1}"
            )
        line, first = line + len(ends), cut


def _numbers(table: "pl.DataFrame", dialect: Dialect, how: Reading, place: str) -> "pl.DataFrame":
    """Columns of text made numbers where they are: with blanks, words for true and false, or decimal commas."""
    import polars as pl

    commas = {}  # a cell of each column that has decimal commas
    points = [name for name, kind in table.schema.items() if kind == pl.Float64]
    truths = {word: str(value) for word, value in TRUTHS.items()}
    done = []
    for name in table.columns:
        if table[name].dtype != pl.String or name in how.drop:
            continue
        if how.time_format is not None and (name == how.time or is_time_name(name)):
            continue  # digits may be a date
        cells = table[name].str.strip_chars()
        cells = cells.set(cells.is_in(sorted(how.nothing)), None)
        with_comma = cells.str.contains(f"^(?:{DECIMAL_COMMA.pattern})$").fill_null(False)
        if dialect.separator != "," and with_comma.any():
            commas[name] = cells.filter(with_comma)[0]
            plain = cells.set(cells.str.contains(".", literal=True), "?").str.replace(",", ".", literal=True)
        else:
            plain = cells.replace(truths)
        numbers = plain.cast(pl.Float64, strict=False)
        wrong = numbers.is_null() & cells.is_not_null()
        if not wrong.any():
            done.append(numbers.alias(name))
        elif (~wrong & cells.is_not_null()).any():
            row = int(wrong.arg_true()[0])
            raise InputError(
                f"{place} must hold numbers; column {name!r} has {cells[row]!r} in row {row}: "
                f"if that is a missing value, say missing={cells[row]!r}; if this is no channel, drop={name!r}"
            )
        else:
            done.append(cells.alias(name))
    if commas and points:
        name, cell = next(iter(commas.items()))
        raise InputError(
            f"{place} must have one decimal mark; column {name!r} has {cell!r}, column {points[0]!r} a decimal point"
        )
    return table.with_columns(done)


def _without_markers(table: "pl.DataFrame", how: Reading, time: str | None) -> "pl.DataFrame":
    """Numbers that stand for a missing value, taken out."""
    import polars as pl

    if not how.no_numbers:
        return table
    markers = sorted(how.no_numbers)
    return table.with_columns(
        pl.when(pl.col(name).cast(pl.Float64).is_in(markers)).then(None).otherwise(pl.col(name)).alias(name)
        for name, kind in table.schema.items()
        if kind.is_numeric() and name != time
    )


def _only_times(table: "pl.DataFrame", how: Reading, fitted: Collection[str]) -> str | None:
    """The only column that holds times, whatever its name."""
    import polars as pl

    found = [
        name
        for name, kind in table.schema.items()
        if name not in fitted
        and (kind in (pl.Datetime, pl.Date) or (kind == pl.String and is_moment(_first(table[name]), how)))
    ]
    return found[0] if len(found) == 1 else None


def _times(column: "pl.Series", how: Reading, place: str) -> "pl.Series":
    """The time column as datetimes, UTC."""
    import polars as pl

    if column.dtype.is_numeric() and how.time_format is not None:
        column = column.cast(pl.Int64).cast(pl.String)
    if column.dtype.is_numeric():
        check_epoch(str(column.drop_nulls()[0]) if column.count() else "", f"column {column.name!r} of {place}")
        largest = float(np.nanmax(np.abs(column.cast(pl.Float64).to_numpy()), initial=0.0))
        if not largest * epoch(largest) < 2**63:
            raise InputError(f"{place} must have times from 1678 to 2261; column {column.name!r} has {largest:g}")
        if column.dtype.is_integer():
            return (column.cast(pl.Int64) * epoch(largest)).cast(pl.Datetime("ns"))
        return (column * epoch(largest)).round().cast(pl.Int64).cast(pl.Datetime("ns"))
    if column.dtype != pl.String:
        return column
    long = column.str.len_bytes() > LONGEST_TIME  # a million rows of Parquet may share one long text
    if long.any():
        cell = _first(column.filter(long))
        raise InputError(f"{place} must have times in {HOW}; column {column.name!r} has {got(cell)}")
    if how.time_format is None:
        for form in ISO:
            try:
                years = column.str.to_datetime(form, time_unit="us").dt.year()
            except pl.exceptions.PolarsError:
                continue
            far = ((years < 1678) | (years > 2261)).arg_true()
            if len(far):
                raise InputError(
                    f"{place} must have times from 1678 to 2261; column {column.name!r} has {column[int(far[0])]!r} in "
                    f"row {far[0]}"
                )
            return column.str.to_datetime(form, time_unit="ns")
    times = []
    for row, cell in enumerate(column.to_list()):
        try:
            times.append(moment(cell or "", how))
        except (ValueError, InputError):
            rule = f"in {HOW}" if how.time_format is None else f"written as {how.time_format!r}"
            raise InputError(
                f"{place} must have times {rule}; column {column.name!r} has {cell!r} in row {row}"
            ) from None
    return pl.Series(column.name, times, dtype=pl.Int64).cast(pl.Datetime("ns"))


def _first(column: "pl.Series") -> str:
    """The first cell that holds a text."""
    found = column.drop_nulls()
    return str(found[0]) if len(found) else ""


def _first_line(error: BaseException) -> str:
    return printable(str(error).strip().partition("\n")[0])
