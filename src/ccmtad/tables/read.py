"""A whole file at once."""

import io
import logging
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np

from ..errors import InputError, MissingExtraError
from ..frame import Frame
from ..wording import count, got, printable, some
from . import long, parquet
from .column_times import Times, read_times
from .dialect import DECIMAL_COMMA, TRUTHS, Dialect, decoded, grouped, is_units, parted_by
from .reading import GROUPS, LARGEST, Book, Reading
from .times import is_moment, time_column
from .unpacked import GZIP, Bound, check_sparse, gunzipped, stored
from .words import book_of, said

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Loaded", "load", "opened", "read", "table_of"]

T = TypeVar("T")

log = logging.getLogger("ccmtad")

DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
MOST_DIFFERENT = 1_000  # words of a column that are looked at
LONGEST_CELL = 1_000  # bytes: a million rows of Parquet may share one long text, which no step may write out
MOST_UNITS = 3  # lines below a header that may tell units
UNNAMED = "\0"  # a column whose name is empty is called this and its place
PARTED = r"^[+-]?\d{1,3}(?:[.,'\u2019 \u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Loaded:
    """A file, and how it was read: with what was found out about it, for those that come after."""

    frame: Frame
    reading: Reading


def read(
    path: str | Path, how: Reading | None = None, *, fitted: Collection[str] = (), argument: str = "data"
) -> Frame:
    """A file as a frame. `fitted` are channels that cannot be the time column; `argument` names the file in errors."""
    return load(path, how, fitted=fitted, argument=argument).frame


def load(
    path: str | Path,
    how: Reading | None = None,
    *,
    fitted: Collection[str] = (),
    argument: str = "data",
    infinite_is_missing: bool = False,
) -> Loaded:
    """A file as a frame, with how it was read. An infinite value is an error, or a missing one where that is asked."""
    how = how or Reading()
    return opened(path, how, argument, lambda data, place: _loaded(data, how, fitted, place, infinite_is_missing))


def opened(path: str | Path, how: Reading, argument: str, then: Callable[[bytes, str], T]) -> T:
    """What is made of the bytes of a file; what it is called in errors goes with them."""
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
        return then(data, place)
    except pl.exceptions.PanicException as error:  # polars gives up on some damaged files so; it is no Exception
        raise InputError(f"{place} must be a whole table; got one that cannot be read: {_first_line(error)}") from None


def table_of(
    data: bytes, how: Reading, place: str, texts: Collection[str] = ()
) -> tuple["pl.DataFrame", Dialect, bool]:
    """The columns as they stand in a file, how its cells are written, and whether it names them; those of `texts` stay
    as they are written."""
    bound = Bound(place, how.largest, len(data))
    if data[:4] == b"PAR1":
        return _parquet(data, bound), Dialect(",", None, groups=how.thousands or ""), True
    return _text(data, how, bound, texts)


def _loaded(data: bytes, how: Reading, fitted: Collection[str], place: str, infinite_is_missing: bool) -> Loaded:
    import polars as pl

    table, dialect, named = table_of(data, how, place)
    absent = [name for name in how.drop if name not in table.columns]
    if absent and "drop" not in how.kept:
        raise InputError(f"drop must name columns of {place}; got {absent[0]!r}, and they are {some(table.columns)}")
    table = table.drop([name for name in how.drop if name not in absent])
    names = [name for name in table.columns if not name.startswith(UNNAMED)]
    time = time_column(names, how.time, fitted, place, "time" in how.kept) or _only_times(table, how, fitted)
    unnamed = [name for name in table.columns if name.startswith(UNNAMED) and name != time]
    if unnamed:
        log.warning("%s: %d columns without a name are left out", place, len(unnamed))
        table = table.drop(unnamed)
    if not table.height:
        raise InputError(f"{place} must have rows below its header; got none")
    found = None if time is None else read_times(table[time], how, place)
    settled = how if found is None else replace(how, day_first=found.day_first)
    columns = None if time is None else long.columns_of(table, time, how, fitted)
    if time is not None and found is not None:
        by = None if columns is None else table[columns[0]]
        table = table.with_columns(_moments(found, by, how, place).alias(time))
        if columns is not None:
            table, told = long.pivoted(table, time, columns, Bound(place, how.largest, len(data)))
            for one in told:
                log.warning("%s: %s", place, one)
            settled = replace(settled, tag=columns[0], value=columns[1])
    table, words = _numbers(table, dialect, how, time, fitted, place)
    for name, kind in table.schema.items():
        if kind == pl.String and name != time and table[name].count():
            _refuse_words(table[name], fitted, place)
    table = _without_markers(table, how, time)
    frame = Frame.of(table, time=time, argument=place, infinite_is_missing=infinite_is_missing)
    zone = how.timezone if found is None or how.timezone is not None else found.zone
    frame = replace(frame, named=named, zone=None if time is None else zone, origin=None)
    books = {**how.books, **words}
    settled = replace(
        settled, time=time if named and time is not None and not time.startswith(UNNAMED) else how.time,
        thousands=dialect.groups or how.thousands, largest=LARGEST, kept=(),
        words=tuple((name, tuple(book.items())) for name, book in books.items()),
    )  # fmt: skip
    return Loaded(frame, settled)


def _refuse_words(column: "pl.Series", fitted: Collection[str], place: str) -> NoReturn:
    cell, name = _first(column), column.name
    if name in fitted:
        cure = "it was a channel of numbers when the model was fitted"
    elif DATE.search(cell):
        cure = f"time={name!r} with time_format='%d.%m.%Y %H:%M:%S', say, tells how to read it"
    else:
        cure = f"leave it out with drop={name!r}"
    raise InputError(f"{place} must hold numbers; column {name!r} holds {got(cell)}: {cure}")


def _moments(found: Times, tags: "pl.Series | None", how: Reading, place: str) -> "pl.Series":
    """Times as moments. In a file of one value a row, each channel's follow each other."""
    import polars as pl

    groups = None if tags is None else tags.cast(pl.String).rank("dense").fill_null(0).to_numpy()
    moments, told = found.moments(how.timezone, groups)
    for one in told:
        log.warning("%s: %s", place, one)
    return pl.Series(moments).cast(pl.Datetime("ns"))


def _parquet(data: bytes, bound: Bound) -> "pl.DataFrame":
    import polars as pl

    parquet.check(data, bound)
    try:
        table = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{bound.place} must be a whole Parquet file; got {_first_line(error)}") from error
    texts = [name for name, kind in table.schema.items() if kind in (pl.Categorical, pl.Enum)]
    return table.with_columns(pl.col(texts).cast(pl.String)) if texts else table


def _text(data: bytes, how: Reading, bound: Bound, texts: Collection[str] = ()) -> tuple["pl.DataFrame", Dialect, bool]:
    """The table of a text file, how its cells are written, and whether it had names."""

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
        return _json_lines(data, place), Dialect(",", None, groups=how.thousands or ""), True
    if first.startswith("["):
        raise InputError(f"{place} must hold one JSON object per line; got a JSON array")
    dialect = Dialect.of(first, how.thousands)
    columns = len(dialect.cells(first))
    _check_ragged(data, dialect, columns, place)
    names = [name or f"{UNNAMED}{i}" for i, name in enumerate(dialect.header or map(str, range(columns)))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{place} must have distinct column names; got {some(twice)} more than once")
    above = int(dialect.header is not None)
    if above:
        units = _units(data, dialect, how)
        above += len(units)
        for cells in units:
            log.warning("%s: a row of units below the header is left out: %s", place, some([c for c in cells if c]))
    infer = how.time_format is None and not dialect.groups
    table = _csv(data, dialect, names, above, how, place, infer, texts)
    if how.thousands is None:
        groups = _parted(table, dialect, how)
        if groups is not None:
            dialect = Dialect.of(first, groups[0])
            log.warning("%s: %r is read as %r", place, groups[1], dialect.number(groups[1]))
            table = _csv(data, dialect, names, above, how, place, False, texts)
    return table, dialect, dialect.header is not None


def _csv(
    data: bytes,
    dialect: Dialect,
    names: list[str],
    above: int,
    how: Reading,
    place: str,
    infer: bool,
    texts: Collection[str],
) -> "pl.DataFrame":
    import polars as pl

    try:
        return pl.read_csv(
            io.BytesIO(data),
            has_header=False,
            skip_rows=above,
            new_columns=names,
            schema_overrides={name: pl.String for name in texts if name in names},
            separator=dialect.separator,
            infer_schema=infer,  # else 01032026 would lose its zero, and 1.234 would be one and a bit
            infer_schema_length=None,
            null_values=sorted(how.nothing),
        )
    except pl.exceptions.NoDataError:
        return pl.DataFrame({name: [] for name in names})
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise InputError(f"{place} must be a readable CSV table; got {_first_line(error)}") from error


def _units(data: bytes, dialect: Dialect, how: Reading) -> list[list[str]]:
    """Lines below the header that tell units. Where what follows them is words too, they are words themselves."""
    file = io.BytesIO(data)  # which copies nothing
    file.readline()
    lines = [file.readline().decode().strip(" \r\n") for _ in range(MOST_UNITS + 1)]
    found: list[list[str]] = []
    for line in lines:
        cells = dialect.cells(line) if line else []
        if not is_units(cells, how) or _in_books(dialect, cells, how):
            return found if line else []
        found.append(cells)
    return []


def _in_books(dialect: Dialect, cells: list[str], how: Reading) -> bool:
    """Whether a cell holds a word that its column is known to hold."""
    return any(cell.lower() in how.books.get(name, {}) for name, cell in zip(dialect.header or (), cells, strict=False))


def _parted(table: "pl.DataFrame", dialect: Dialect, how: Reading) -> tuple[str, str] | None:
    """What parts thousands, and a number in which it does."""
    import polars as pl

    cells: set[str] = set()
    for name, kind in table.schema.items():
        if kind == pl.String and name not in how.drop:
            stripped = table[name].drop_nulls().str.strip_chars()
            commas = f"|^(?:{DECIMAL_COMMA.pattern})$" if dialect.separator == "," else ""
            cells.update(stripped.filter(stripped.str.contains(PARTED + commas)).unique().to_list())
    groups = parted_by(cells, dialect.separator)
    return None if groups is None else (groups, min(cell for cell in cells if grouped(groups).fullmatch(cell)))


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


def _numbers(
    table: "pl.DataFrame", dialect: Dialect, how: Reading, time: str | None, fitted: Collection[str], place: str
) -> tuple["pl.DataFrame", dict[str, Book]]:
    """Columns of text made numbers where they are: with blanks, decimal commas, parted thousands, words. And what words
    were found to stand for."""
    import polars as pl

    commas = {}  # a cell of each column that has decimal commas
    points = [name for name, kind in table.schema.items() if kind == pl.Float64 and name != time]
    words: dict[str, Book] = {}
    done = []
    for name in table.columns:
        if table[name].dtype != pl.String or name == time:
            continue
        long = table[name].str.len_bytes() > LONGEST_CELL
        if long.any():
            _refuse_words(table[name].filter(long), fitted, place)
        cells = table[name].str.strip_chars()
        cells = cells.set(cells.is_in(sorted(how.nothing)), None)
        plain = _unparted(cells, dialect.groups)
        with_comma = plain.str.contains(f"^(?:{DECIMAL_COMMA.pattern})$").fill_null(False)
        if (dialect.separator != "," or dialect.mark == ",") and dialect.mark != "." and with_comma.any():
            commas[name] = cells.filter(with_comma)[0]
            plain = plain.set(plain.str.contains(".", literal=True), "?").str.replace(",", ".", literal=True)
        elif dialect.mark == ",":
            plain = plain.set(plain.str.contains(".", literal=True), "?")
        numbers = plain.cast(pl.Float64, strict=False)
        wrong = numbers.is_null() & cells.is_not_null()
        book = how.books.get(name)
        if book is None and wrong.any():
            book = _book(cells, wrong)
            if book is not None and not book.keys() <= TRUTHS.keys():
                words[name] = book
            if book is not None:
                log.warning("%s: words of column %r are read as numbers: %s", place, name, said(book))
        if book is not None and wrong.any():
            numbers, wrong = _coded(cells, numbers, wrong, book, name in how.books, place)
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
    if commas and points and not dialect.groups:
        name, cell = next(iter(commas.items()))
        raise InputError(
            f"{place} must have one decimal mark; column {name!r} has {cell!r}, column {points[0]!r} a decimal point"
        )
    return table.with_columns(done), words


def _unparted(cells: "pl.Series", groups: str) -> "pl.Series":
    """Without what parts thousands."""
    import polars as pl

    if not groups:
        return cells
    parted = pl.col(cells.name).str.contains(f"^(?:{grouped(groups).pattern})$")
    bare = pl.col(cells.name).str.replace_all(GROUPS[groups], "")
    return cells.to_frame().select(pl.when(parted).then(bare).otherwise(pl.col(cells.name))).to_series()


def _book(cells: "pl.Series", wrong: "pl.Series") -> Book | None:
    """What the words of a column stand for, where it holds a few words, or the two of a switch beside 0 and 1."""
    different = cells.filter(wrong).unique()
    if len(different) > MOST_DIFFERENT:
        return None
    found, beside = different.to_list(), cells.filter(~wrong).drop_nulls().unique()
    if not len(beside):
        return book_of(found, cells.count())
    switch = book_of(found, 0)
    return switch if switch is not None and set(beside) <= {"0", "1"} else None


def _coded(
    cells: "pl.Series", numbers: "pl.Series", wrong: "pl.Series", book: Book, kept: bool, place: str
) -> tuple["pl.Series", "pl.Series"]:
    """Words as the numbers they stand for. One that a kept book does not have is a missing value, and said."""
    import polars as pl

    codes = cells.str.to_lowercase().replace_strict(book, default=None, return_dtype=pl.Float64)
    coded = numbers.fill_null(codes)
    unknown = coded.is_null() & wrong
    if kept and unknown.any():
        different = cells.filter(unknown).unique(maintain_order=True)
        log.warning(
            "%s: column %r has %s, which no word was when the model was fitted (%s): %s taken as missing",
            place, cells.name, some(different.head(9).to_list()), ", ".join(book), count(int(unknown.sum()), "cell"),
        )  # fmt: skip
        unknown = unknown & False
    return coded, unknown


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
        and (kind in (pl.Datetime, pl.Date) or (kind == pl.String and is_moment(_first(table[name]).strip(), how)))
    ]
    return found[0] if len(found) == 1 else None


def _first(column: "pl.Series") -> str:
    """The first cell that holds a text."""
    found = column.drop_nulls()
    return str(found[0]) if len(found) else ""


def _first_line(error: BaseException) -> str:
    return printable(str(error).strip().partition("\n")[0])
