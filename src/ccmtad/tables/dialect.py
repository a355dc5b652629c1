"""How a line of text is cut into cells, which line is a header, and what is a number."""

import codecs
import csv
import re
from dataclasses import dataclass
from typing import Self

from ..errors import InputError
from .reading import MISSING
from .times import is_moment

__all__ = ["TRUTHS", "Dialect", "as_text", "decoded", "is_number"]

TRUTHS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """The lines of one text file."""

    separator: str
    header: tuple[str, ...] | None  # None: the first line holds values already
    mark: str = ""  # of decimals, "." or ",": "" until one is seen

    @classmethod
    def of(cls, first: str) -> Self:
        """From the first line of a file."""
        bare = re.sub(r'"[^"]*"', "", first)
        separator = next((mark for mark in "\t;,|" if mark in bare), ",")  # commas may be decimal ones
        cells = cls(separator, None).cells(first)
        return cls(separator, tuple(cells) if _is_header(cells) else None)

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
        if "," in cell:
            if self.separator == "," or self.mark == "." or not DECIMAL_COMMA.fullmatch(cell):
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
