"""How a line of text is cut into cells, which line is a header, and what is a number."""

import codecs
import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

from ..errors import InputError
from .reading import GROUPS, MISSING, Reading
from .times import is_moment
from .words import SWITCHES

__all__ = ["TRUTHS", "Dialect", "as_text", "decoded", "grouped", "is_number", "is_units", "parted_by"]

TRUTHS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """The lines of one text file."""

    separator: str
    header: tuple[str, ...] | None  # None: the first line holds values already
    mark: str = ""  # of decimals, "." or ",": "" until one is seen
    groups: str = ""  # what parts thousands; "" where nothing does

    @classmethod
    def of(cls, first: str, thousands: str | None = None) -> Self:
        """From the first line of a file, and what parts thousands in its numbers."""
        bare = re.sub(r'"[^"]*"', "", first)
        separator = next((mark for mark in "\t;,|" if mark in bare), ",")  # commas may be decimal ones
        cells = cls(separator, None).cells(first)
        header = tuple(cells) if _is_header(cells) else None
        return cls(separator, header, {".": ",", ",": "."}.get(thousands or "", ""), thousands or "")

    def cells(self, line: str) -> list[str]:
        """One line cut into cells, without the blanks around them."""
        if '"' not in line:
            return [cell.strip() for cell in line.split(self.separator)]
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=self.separator))]
        except csv.Error as error:
            raise InputError(f"a line must be CSV; got {line[:40]!r}: {error}") from error

    def number(self, cell: str) -> float:
        """A cell as a number; ValueError where it is none, or has the other decimal mark."""
        if cell in TRUTHS:
            return TRUTHS[cell]
        if self.groups and grouped(self.groups).fullmatch(cell):
            cell = re.sub(GROUPS[self.groups], "", cell)
        if "," in cell:
            if (self.separator == "," and self.mark != ",") or self.mark == "." or not DECIMAL_COMMA.fullmatch(cell):
                raise ValueError(cell)
            return float(cell.replace(",", "."))
        if "_" in cell or (self.mark == "," and "." in cell):
            raise ValueError(cell)
        return float(cell)


def _is_header(cells: list[str]) -> bool:
    """Names, not values. Whole numbers may be names beside others, and 0, 1, 2, .. are by themselves."""
    if cells == [str(i) for i in range(len(cells))]:
        return True
    if all(not cell or is_number(cell) for cell in cells):
        return False
    return not any(
        (cell and cell in MISSING) or (is_number(cell) and not cell.isdecimal()) or is_moment(cell) for cell in cells
    )


@cache
def grouped(groups: str) -> re.Pattern[str]:
    """Numbers whose thousands are parted."""
    decimals = {".": ",", ",": r"\."}.get(groups, "[.,]")
    return re.compile(rf"[+-]?\d{{1,3}}(?:{GROUPS[groups]}\d{{3}})+(?:{decimals}\d+)?(?:[eE][+-]?\d+)?")


def parted_by(cells: Iterable[str], separator: str) -> str | None:
    """What parts thousands in some cells that would be no numbers otherwise; None where nothing is sure to.

    A mark that comes twice, or stands before the other one, parts thousands. In a file whose cells are parted by
    commas, so does a comma that always has three figures after it, unless a number begins with 0.
    """
    found: set[str] = set()
    commas: list[str] = []
    for cell in cells:
        for groups in GROUPS:
            if grouped(groups).fullmatch(cell):
                one = re.search(r"[.,]", cell[::-1])
                twice = len(re.findall(GROUPS[groups], cell)) > 1
                if groups not in ".," or twice or (one is not None and one[0] != groups):
                    found.add(groups)
        if "," in cell and is_number(cell):
            commas.append(cell)
    if not found and separator == "," and commas:
        sure = grouped(",")
        if all(sure.fullmatch(cell) and cell.lstrip("+-")[0] != "0" for cell in commas):
            return ","
    return found.pop() if len(found) == 1 else None


def is_units(cells: Sequence[str], how: Reading) -> bool:
    """Whether a line below the header tells the units of the columns: not one number, time or switch in it."""
    filled = [cell for cell in cells if cell not in how.nothing]
    return bool(filled) and not any(
        is_number(cell)
        or cell.lower() in SWITCHES
        or is_moment(cell, how)
        or any(grouped(groups).fullmatch(cell) for groups in GROUPS)
        for cell in filled
    )


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number, with a decimal point or comma."""
    try:
        float(cell.replace(",", ".", 1) if DECIMAL_COMMA.fullmatch(cell) else cell)
    except ValueError:
        return False
    return True


def decoded(data: bytes, place: str) -> str:
    """Bytes as text: UTF-8, UTF-16 where it says so, else the Windows code page that older loggers write."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    if re.search(rb"[\x00-\x08\x0e-\x1f]", data[:4096]) or b"\0" in data:
        raise InputError(f"{place} must be CSV, JSON lines or Parquet; got binary data beginning with {data[:8]!r}")
    return as_text(data)


def as_text(data: bytes) -> str:
    """UTF-8, or else the Windows code page."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")
