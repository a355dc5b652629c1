"""A line of CSV or JSON as one row for a stream."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ChannelError, InputError
from ..frame import Others
from ..wording import some, stamp
from ..zones import Clock
from .dialect import Dialect, as_text, decoded, is_units
from .long import looks_long
from .reading import Reading
from .times import DATED, HOW, ambiguous, check_epoch, day_first, is_moment, time_column, written

__all__ = ["BadLineError", "Parser", "Row"]

KINDS = {
    b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "a gzip file", b"PAR1": "Parquet: try detect",
    b"[": "a JSON array", b"CCMTAD": "a file that ccmtad wrote",
}  # fmt: skip
NOTES = 100  # different things that are told of
ABSENT = -1  # the place of a channel that is not there


@dataclass(frozen=True)
class Row:
    """What a stream takes."""

    values: list[float]  # one for each fitted channel, NaN where missing
    time: int | None  # nanoseconds since 1970
    notes: tuple[str, ...] = ()  # what was odd, told once each
    key: str | None = None  # the entity it is of, where a source has several


class BadLineError(InputError):
    """A line that holds no row: it is left out, and told of."""


@dataclass
class Parser:
    """Reads lines in the order they come. The first one tells CSV from JSON and must fit the model's channels.

    Later lines may be worse: what is no number is missing, a JSON key may be absent, and a line that cannot be cut into
    as many cells as the header is a `BadLineError`. The first line of a later file may be a header again.
    """

    channels: tuple[str, ...]
    named: bool
    how: Reading = field(default_factory=Reading)
    allow_missing: bool | None = None  # whether channels may be missing, or others there; None: no one can say so
    kind: str = ""  # "csv" or "json", "" before the first line
    dialect: Dialect = field(default_factory=lambda: Dialect(",", None))
    width: int = 0  # cells of a line
    columns: tuple[int, ...] = ()  # where each channel is in a line
    time: str | int | None = None  # where the time is: a JSON key, or a place in a line
    extra: int | None = None  # a column that is the time if its first cell is one
    rows: bool = False  # whether there was one
    below: bool = False  # whether the line before was a header, or units below one
    told: set[str] = field(default_factory=set)  # notes are given once
    pending: list[str] = field(default_factory=list)  # notes for the next row
    clock: Clock | None = None  # by which times are read that name no zone

    def __post_init__(self) -> None:
        if self.how.timezone is not None:
            self.clock = Clock(self.how.timezone)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.channels)

    def first(self, line: bytes) -> Row | None:
        """The first line of a file: a header, or a row."""
        if self.kind:  # of a later file: as any later line, unless it is a header
            text = as_text(line).strip(" \r\n")
            header = self.kind == "csv" and bool(text) and self._is_header(text)
            self.below = header
            return None if header else self.row(line)
        for begin, what in KINDS.items():
            if line.startswith(begin):
                raise InputError(f"source must be CSV or JSON lines, as plain text in UTF-8; got {what}")
        text = decoded(line, "source").strip(" \r\n")
        if not text:
            return None
        if text.startswith("{"):
            return self._first_object(text)
        dialect = Dialect.of(text, self.how.thousands)
        self._fit(dialect, dialect.cells(text))
        self.kind, self.below = "csv", dialect.header is not None
        return self.row(line) if dialect.header is None else None

    def row(self, line: bytes) -> Row | None:
        """Any later line; None for an empty one."""
        text = line.decode(errors="replace").strip(" \r\n")
        if not text:
            return None
        row = self._object(text) if self.kind == "json" else self._cells(text)
        if row is None:
            return None
        self.rows, self.below = True, False
        notes, self.pending = (*self.pending, *row.notes), []
        return replace(row, notes=notes) if notes else row

    def state(self) -> dict[str, Any]:
        """What was learnt about the lines, as JSON knows it."""
        names = ("kind", "width", "columns", "time", "extra", "rows", "below")
        clock = None if self.clock is None else [self.clock.latest, self.clock.before]
        found = {"dialect": asdict(self.dialect), "clock": clock, "day_first": self.how.day_first}
        return {**{name: getattr(self, name) for name in names}, **found}

    def resume(self, state: dict[str, Any]) -> None:
        """Goes on with what was learnt."""
        header = state["dialect"]["header"]
        self.dialect = Dialect(**{**state["dialect"], "header": None if header is None else tuple(header)})
        for name in ("kind", "width", "time", "extra", "rows"):
            setattr(self, name, state[name])
        self.columns = tuple(state["columns"])
        self.below = bool(state.get("below", False))
        if self.how.day_first is None and state.get("day_first") is not None:
            self.how = replace(self.how, day_first=bool(state["day_first"]))
        if self.clock is not None and state.get("clock") is not None:
            latest, before = (None if moment is None else int(moment) for moment in state["clock"])
            self.clock.latest, self.clock.before = latest, before

    def _is_header(self, text: str) -> bool:
        """Whether the first line of a later file is a header that fits: its columns are taken, in their new order."""
        try:
            dialect = Dialect.of(text, self.how.thousands)
        except InputError:
            return False
        if dialect.header is None:
            return False
        known = {*self.channels, *(self.dialect.header or ())}
        had_time = self.time is not None
        try:
            self._fit(replace(dialect, mark=self.dialect.mark), list(dialect.header))
        except InputError:
            if 2 * len(known.intersection(dialect.header)) >= len(dialect.header):
                raise  # it is a header, of other channels
            return False
        if self.extra is not None and had_time:
            self.time, self.extra = self.extra, None  # the time again, as its first cell told in an earlier file
        return True

    def _fit(self, dialect: Dialect, cells: list[str]) -> None:
        """Finds the channels and the time among the cells of a first line; an error leaves everything as it was."""
        if dialect.header is None:
            columns, time, extra = self._by_position(cells)
        else:
            columns, time, extra = self._by_name(list(dialect.header))
        self.dialect, self.width, self.columns, self.time, self.extra = dialect, len(cells), columns, time, extra

    def _by_name(self, header: list[str]) -> tuple[tuple[int, ...], int | None, int | None]:
        names = [name for name in header if name]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"source must have distinct column names; got {some(twice)} more than once")
        for name in self.how.drop:
            if name not in names and "drop" not in self.how.kept:
                raise InputError(f"drop must name columns of source; got {name!r}, and they are {some(names)}")
        names = [name for name in names if name not in self.how.drop]
        time = self._time_among(names)
        found = [name for name in names if name != time]
        unnamed = [i for i, name in enumerate(header) if not name]
        extra = unnamed[0] if unnamed and time is None else None
        if self.named:
            others = [name for name in found if name not in self.channels]
            if time is None and len(others) == 1 and not unnamed:  # perhaps it holds times
                extra = header.index(others[0])
                found.remove(others[0])
            self._check_names(found)
            columns = tuple(header.index(name) if name in header else ABSENT for name in self.channels)
        else:
            _check_count(len(found), len(self.channels))
            columns = tuple(header.index(name) for name in found)
        return columns, None if time is None else header.index(time), extra

    def _time_among(self, names: list[str]) -> str | None:
        time = time_column(names, self.how.time, self.channels if self.named else (), "source", "time" in self.how.kept)
        tagged = self.how.tag in names and self.how.value in names
        if self.named and (tagged or looks_long(names, time)) and not set(names) & set(self.channels):
            raise InputError(
                "source must hold all channels in every row; got one value a row, a tag and a value: detect reads such "
                "files whole; to be watched, their rows must be put together first"
            )
        return time

    def _check_names(self, found: Collection[str]) -> None:
        others = Others.of(found, self.channels, "source", allow_missing=self.allow_missing)
        if others.told:
            self._tell(self.pending, others.told)

    def _by_position(self, cells: list[str]) -> tuple[tuple[int, ...], int | None, None]:
        asked = [name for name in ("time", "drop") if getattr(self.how, name) and name not in self.how.kept]
        if asked:
            raise InputError("time and drop must name columns of source, which has no header")
        times = [i for i, cell in enumerate(cells) if is_moment(cell, self.how)]
        time = times[0] if len(times) == 1 else None
        columns = tuple(i for i in range(len(cells)) if i != time)
        _check_count(len(columns), len(self.channels))
        return columns, time, None

    def _cells(self, text: str) -> Row | None:
        try:
            cells = self.dialect.cells(text)
        except InputError as error:
            raise BadLineError(str(error)) from error
        if len(cells) != self.width:
            raise BadLineError(f"must have {self.width} cells, as its first line; got {len(cells)}")
        if self.below and self._is_units(cells):
            units = some([cell for cell in cells if cell])
            self._tell(self.pending, f"a row of units below the header is left out: {units}")
            return None
        if self.extra is not None:
            self._settle_extra(cells[self.extra])
        notes: list[str] = []
        when = self._moment(cells[self.time] if isinstance(self.time, int) else None, notes)
        quick = self.dialect.separator == "," and self.dialect.mark != "," and not self.how.no_numbers
        if quick and "_" not in text and ABSENT not in self.columns:
            plain = _floats([cells[i] for i in self.columns])
            if plain is not None:
                return Row(plain, when, tuple(notes))
        values = [
            math.nan if i == ABSENT else self._number(name, cells[i], notes)
            for name, i in zip(self.channels, self.columns, strict=True)
        ]
        return Row(values, when, tuple(notes))

    def _is_units(self, cells: list[str]) -> bool:
        books, header = self.how.books, self.dialect.header or ()
        known = any(cell.lower() in books.get(name, {}) for name, cell in zip(header, cells, strict=False))
        return not known and is_units(cells, self.how)

    def _settle_extra(self, cell: str) -> None:
        """The first row tells whether a column that is no channel holds times."""
        extra, header = self.extra, self.dialect.header or ()
        assert extra is not None
        if is_moment(cell, self.how):
            self.time = extra
        elif header[extra]:
            there = [name for name, i in zip(self.channels, self.columns, strict=True) if i != ABSENT]
            self._check_names([*there, header[extra]])
        self.extra = None

    def _number(self, name: str, cell: str, notes: list[str]) -> float:
        if cell in self.how.nothing:
            return math.nan
        book = self.how.books.get(name)
        if book is not None and cell.lower() in book:
            return book[cell.lower()]
        try:
            value = self.dialect.number(cell)
        except ValueError:
            what = "number" if book is None else f"word that was fitted ({', '.join(book)})"
            self._tell(notes, f"channel {name!r} has {cell!r}, which is no {what}: taken as missing")
            return math.nan
        if not self.dialect.mark and self.dialect.separator != ",":
            mark = "," if "," in cell else "." if "." in cell else ""
            self.dialect = replace(self.dialect, mark=mark)
        return math.nan if value in self.how.no_numbers else value

    def _first_object(self, text: str) -> Row:
        found = _object(text)
        names = [name for name in found if name not in self.how.drop]
        if not self.named:
            raise ChannelError(
                "source must be CSV: this model was fitted on channels without names, and JSON has names"
            )
        time = self._time_among(names)
        others = [name for name in names if name not in self.channels and name != time]
        if (
            time is None
            and len(others) == 1
            and isinstance(found[others[0]], str)
            and is_moment(found[others[0]], self.how)
        ):
            time = others.pop()
        if others or not set(names) & set(self.channels):
            self._check_names([name for name in names if name != time])
        self.kind, self.time = "json", time
        row = self._object(text)
        self.rows = True
        notes, self.pending = (*self.pending, *row.notes), []
        return replace(row, notes=notes) if notes else row

    def _object(self, text: str) -> Row:
        return self.mapping(_object(text))

    def mapping(self, found: Mapping[str, Any]) -> Row:
        """What a JSON object, or anything of its kind, says of the channels and the time."""
        notes: list[str] = []
        values = [self._value(name, found.get(name), notes) for name in self.channels]
        for name in found:
            if name not in self._known and name != self.time and name not in self.how.drop:
                self._tell(notes, f"key {name!r} is not a fitted channel: left out")
        cell = found.get(self.time) if isinstance(self.time, str) else None
        when = self._moment(str(cell) if isinstance(cell, int | float) else cell, notes)
        return Row(values, when, tuple(notes))

    def _value(self, name: str, value: object, notes: list[str]) -> float:
        if value is None or (isinstance(value, str) and value in self.how.nothing):
            return math.nan
        try:
            if not isinstance(value, int | float | str):
                raise ValueError(value)
            book = self.how.books.get(name, {})
            if isinstance(value, str) and value.strip().lower() in book:
                return book[value.strip().lower()]
            number = self.dialect.number(value.strip()) if isinstance(value, str) else float(value)
        except (ValueError, OverflowError):
            self._tell(notes, f"channel {name!r} has {str(value)[:40]!r}, which is no number: taken as missing")
            return math.nan
        return math.nan if number in self.how.no_numbers else number

    def _moment(self, cell: object, notes: list[str]) -> int | None:
        if self.time is None:
            return None
        text = cell.strip() if isinstance(cell, str) else ""
        if not self.rows and self.how.time_format is None:
            check_epoch(text, "source")
            self._settle_day(text)
        try:
            told = written(text, self.how)
            found = told.moment(self.clock)
            if self.clock is not None and told.offset is None and (self.clock.doubled or self.clock.skipped):
                self._tell_of_clock(told.shown, notes)
            return found
        except (ValueError, InputError):
            if self.rows:
                raise BadLineError(f"must have a time; got {cell!r}") from None
            rule = f"in {HOW}" if self.how.time_format is None else f"written as {self.how.time_format!r}"
            raise InputError(f"source must have times {rule}; got {cell!r} in its first row") from None

    def _settle_day(self, text: str) -> None:
        """The first row tells which number of a time is the day, where no one has said so."""
        match = DATED.fullmatch(text)
        if match is None or self.how.day_first is not None:
            return
        first = day_first(int(match[1]), int(match[3]))
        if first is None and max(int(match[1]), int(match[3])) <= 12:
            raise ambiguous(text, "source")
        self.how = replace(self.how, day_first=first)

    def _tell_of_clock(self, shown: int, notes: list[str]) -> None:
        assert self.clock is not None
        day = stamp(np.datetime64(shown, "ns"))[:10]
        if self.clock.doubled:
            told = "show some times twice: the order of the rows tells which"
        else:
            told = "never show some of these times: is the time zone right?"
        self._tell(notes, f"on {day} clocks of {self.how.timezone} {told}")

    def _tell(self, notes: list[str], note: str) -> None:
        if note not in self.told and len(self.told) < NOTES:
            self.told.add(note)
            notes.append(note)


def _floats(cells: list[str]) -> list[float] | None:
    """The usual case at once; None where a cell needs a closer look."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return None


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadLineError(f"must be a JSON object; got {text[:40]!r}: {error}") from error
    if not isinstance(found, dict):
        raise BadLineError(f"must be a JSON object; got {text[:40]!r}")
    return found


def _check_count(found: int, fitted: int) -> None:
    if found != fitted:
        raise ChannelError(f"source must have the {fitted} channels of the fitted data; got {found}")
