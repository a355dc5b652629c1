"""What a user says about a file, or what was found out about one like it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from ..errors import SettingError
from ..wording import got, is_text
from ..zones import check_zone

__all__ = ["GROUPS", "LARGEST", "MISSING", "TIMES", "Book", "Reading"]

MISSING = ("", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "-nan", "#N/A")  # cells that hold no value
LARGEST = 1 << 28  # bytes that any file may unpack to
TIMES = 100  # times its own bytes that a larger one may
GROUPS = {".": r"\.", ",": ",", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}  # what may part thousands, as a pattern
LONGEST_OPTION, MOST_OPTIONS = 1_000, 10_000  # characters of a name or format, and how many of them

Book = dict[str, float]  # words, in lower case, and the numbers that they stand for


@dataclass(frozen=True)
class Reading:
    """How to read a file; what is left out is found. A model keeps it for the files that come after."""

    time: str | None = None  # the time column
    time_format: str | None = None  # as of strptime; ISO 8601 and seconds since 1970 need none
    missing: tuple[str, ...] = ()  # more cells that hold no value
    drop: tuple[str, ...] = ()  # columns to leave out
    largest: int = LARGEST  # bytes that a file may unpack to; a hundred times its own are always allowed
    timezone: str | None = None  # of times that name none; answers are told in it
    day_first: bool | None = None  # 03.04.2026 is the third of April, or the fourth of March
    thousands: str | None = None  # what parts thousands: one of . , ' or a blank; "" where nothing does
    tag: str | None = None  # in a file of one value a row, the column that names the channel ..
    value: str | None = None  # .. and the one that holds its value
    words: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()  # by column, the numbers that words stand for
    kept: tuple[str, ...] = ()  # options that were not said of this file: what does not fit it is passed over

    def __post_init__(self) -> None:
        if not isinstance(self.largest, int) or self.largest < 0:
            raise SettingError(f"largest must be a whole number of bytes, 0 or more; got {got(self.largest)}")
        for name in ("time", "time_format", "tag", "value"):
            value = getattr(self, name)
            if value is not None and (not is_text(value) or len(value) > LONGEST_OPTION):
                raise SettingError(f"{name} must be a text of at most {LONGEST_OPTION:,} characters; got {got(value)}")
        if self.timezone is not None:
            check_zone(self.timezone)
        if self.time_format is not None:
            _check_format(self.time_format)
        if self.thousands not in (None, "", *GROUPS):
            raise SettingError(f"thousands must be one of . , ' or a blank, or empty; got {got(self.thousands)}")
        if (self.tag is None) != (self.value is None):
            raise SettingError("tag and value must both be given, or neither")

    @cached_property
    def nothing(self) -> frozenset[str]:
        """Cells that hold no value."""
        return frozenset((*MISSING, *self.missing))

    @cached_property
    def no_numbers(self) -> frozenset[float]:
        """Numbers that stand for a missing value, however they are written."""
        found = set()
        for text in self.missing:
            try:
                found.add(float(text))
            except ValueError:
                continue
        return frozenset(found)

    @cached_property
    def books(self) -> dict[str, Book]:
        """By column, the numbers that words stand for."""
        return {name: dict(book) for name, book in self.words}

    def over(self, kept: "Reading | None") -> tuple["Reading", tuple[str, ...]]:
        """This one, with what it leaves open taken from one that was kept; and what wins over that, in words."""
        if kept is None:
            return self, ()
        taken: dict[str, Any] = {}
        told = []
        for name, usual in _USUAL.items():
            given, before = getattr(self, name), getattr(kept, name)
            if given == usual and before != usual:
                taken[name] = before
            elif given not in (usual, before) and before != usual and name != "words":
                told.append(f"{name}={got(given)} instead of {got(before)}, which the model was fitted with")
        if ("tag" in taken) != ("value" in taken):
            taken.pop("tag", None), taken.pop("value", None)
        return replace(self, **taken, kept=tuple(taken)), tuple(told)

    def facts(self) -> dict[str, Any]:
        """What is not as usual, as JSON knows it."""
        told = {name: getattr(self, name) for name, usual in _USUAL.items() if getattr(self, name) != usual}
        if "words" in told:
            told["words"] = self.books
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def of(cls, told: object) -> Self:
        """What `facts` told. Whoever wrote it is not trusted: a `SettingError` names what is wrong."""
        if not isinstance(told, dict) or not told.keys() <= _USUAL.keys():
            raise SettingError(f"reading must hold {', '.join(_USUAL)} and nothing else; got {got(told)}")
        made = dict(told)
        for name in ("missing", "drop"):
            if name in made:
                made[name] = _texts(name, made[name])
        if "words" in made:
            made["words"] = _words(made["words"])
        if not isinstance(made.get("day_first"), bool | None):
            raise SettingError(f"day_first must be true or false; got {got(made['day_first'])}")
        if not isinstance(made.get("thousands"), str | None):
            raise SettingError(f"thousands must be a text; got {got(made['thousands'])}")
        return cls(**made)


_USUAL = {one.name: one.default for one in fields(Reading) if one.name not in ("largest", "kept")}


def _check_format(pattern: str) -> None:
    """Python finds what is wrong with a format only when it is used, and then in several ways."""
    try:
        datetime.strptime("", pattern)
    except ValueError as error:
        if "bad directive" not in str(error) and "stray %" not in str(error):
            return  # an empty text is not so written, and should not be
        raise SettingError(f"time_format must be a format as of strptime; got {got(pattern)}: {error}") from error
    except (re.error, LookupError, OverflowError) as error:
        raise SettingError(f"time_format must have each part once; got {got(pattern)}: {error}") from error


def _texts(name: str, told: object) -> tuple[str, ...]:
    right = isinstance(told, list) and len(told) <= MOST_OPTIONS and all(map(is_text, told))
    if not right or any(len(one) > LONGEST_OPTION for one in told):  # type: ignore[attr-defined]
        raise SettingError(f"{name} must be a list of texts; got {got(told)}")
    return tuple(told)  # type: ignore[arg-type]


def _words(told: object) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    if not isinstance(told, Mapping) or len(told) > MOST_OPTIONS:
        raise SettingError(f"words must be books of numbers by column; got {got(told)}")
    made = []
    for name, book in told.items():
        right = isinstance(book, Mapping) and len(book) <= MOST_OPTIONS and all(map(is_text, (name, *book)))
        if not right or not all(type(code) in (int, float) and abs(code) <= MOST_OPTIONS for code in book.values()):
            raise SettingError(f"words must be books of numbers by column; got {got(book)} for {got(name)}")
        made.append((name, tuple((word, float(code)) for word, code in book.items())))
    return tuple(made)
