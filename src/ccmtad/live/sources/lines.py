"""Rows from lines of CSV or JSON, wherever the lines come from."""

import logging
from typing import Any, Protocol

import numpy as np

from ...errors import InputError
from ...tables.lines import BadLineError, Parser, Row
from ...wording import iso
from . import Mark
from .split import Cut, Line, TooLong

__all__ = ["LineSource", "Lines"]

log = logging.getLogger("ccmtad")

LOUD_LINES = 10  # bad lines that are told of one by one


class Lines(Protocol):
    """Lines, one after the other."""

    fresh: bool  # whether the next line is the first of a file
    trouble: str  # why there is nothing to take, such as "is gone"; "" while all is well

    def take(self) -> list[Line] | None:
        """The lines that are there and not taken yet, without their ends; None after the last one."""

    def wait(self, seconds: float) -> None:
        """Sleeps until there may be more, or for so long."""

    def mark(self) -> Mark | None:
        """The place after the lines taken; None where it cannot be gone back to."""

    def resume(self, mark: Mark | None, rows: int) -> bool:
        """Goes to a mark; False where it cannot be found."""

    def commit(self, rows: int, time: str | None) -> None:
        """So many rows in all are safe, the last of them of this time."""

    def close(self) -> None:
        """Nothing more is taken."""


class LineSource:
    """Lines, and what a parser makes of them. A line that holds no row is left out, and told of."""

    def __init__(self, lines: Lines, parser: Parser) -> None:
        self.lines, self.parser = lines, parser
        self.left_out = 0
        self.read = 0  # lines of this run
        self.rows = 0  # of all runs
        self.time: int | None = None  # of the last row that had one

    full = False  # lines are kept by who wrote them

    @property
    def trouble(self) -> str:
        return self.lines.trouble

    def take(self) -> list[Row] | None:
        lines = self.lines.take()
        return None if lines is None else [row for line in lines if (row := self._row(line)) is not None]

    def _row(self, line: Line) -> Row | None:
        self.read += 1
        try:
            if isinstance(line, TooLong):
                raise BadLineError(line.why)
            if isinstance(line, Cut):
                line, row = self._whole(line)
            else:
                row = self._parsed(line)
        except BadLineError as error:
            if not self.parser.kind:  # the very first line of all
                raise InputError(f"source must begin with a line that can be read; the first {error}") from error
            self._leave_out(str(error))
            return None
        if line.strip():
            self.lines.fresh = False
        if row is not None:
            self.rows += 1
            self.time = self.time if row.time is None else row.time
            for note in row.notes:
                log.warning("line %d: %s", self.read, note)
        return row

    def _parsed(self, line: bytes) -> Row | None:
        return self.parser.first(line) if self.lines.fresh else self.parser.row(line)

    def _whole(self, cut: Cut) -> tuple[bytes, Row | None]:
        """The two halves, if together they are a row; else the second one, and the first is left out."""
        whole = cut.before + cut.line
        try:
            return whole, self.parser.row(whole) if self.parser.kind else self.parser.first(whole)
        except InputError as error:
            self._leave_out(str(error))
        return cut.line, self._parsed(cut.line)

    def _leave_out(self, why: str) -> None:
        self.left_out += 1
        if self.left_out <= LOUD_LINES:
            more = "; further ones are only counted" if self.left_out == LOUD_LINES else ""
            log.warning("line %d %s: left out%s", self.read, why, more)

    def wait(self, seconds: float) -> None:
        self.lines.wait(seconds)

    def mark(self) -> Mark:
        place: dict[str, Any] = {"lines": self.lines.mark(), "fresh": self.lines.fresh, "rows": self.rows}
        return {**place, "time": self.time, "parser": self.parser.state()}

    def resume(self, mark: Mark, rows: int) -> bool:
        self.parser.resume(mark["parser"])
        self.rows, time = rows, mark["time"]
        self.time = None if time is None else int(time)
        found = self.lines.resume(mark["lines"], rows)
        if found and mark["lines"] is not None:
            self.lines.fresh = bool(mark["fresh"])
        return found

    def commit(self, mark: Mark) -> None:
        time = mark["time"]
        self.lines.commit(mark["rows"], None if time is None else iso(np.datetime64(time, "ns")))

    def close(self) -> None:
        self.lines.close()
