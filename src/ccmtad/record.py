"""Records: numbers by name. Each part of a row's way declares its own fields, with what they start as."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import FileError
from .wording import got

__all__ = ["MOST_COUNTED", "NEVER", "Layout", "Records", "assign", "readable"]

NEVER = int(np.iinfo(np.int64).min)  # a time that has not come: what numpy calls NaT

MOST_COUNTED = 2**53  # rows: more than any stream lives, and far from where numbers wrap
LARGEST = float(np.finfo(float).max)

Start = float | int | bool | tuple[float, ...]
Bounds = tuple[float, float]
Records = Any  # a structured array where code is compiled, a list of plain objects where it is not


class Layout:
    """The fields of a record. The value a field starts as says what it holds: numbers, counts, flags, a few numbers."""

    def __init__(
        self, *parts: Mapping[str, Any], signed: tuple[str, ...] = (), within: Mapping[str, Bounds] | None = None
    ) -> None:
        self.start: dict[str, Start] = {}
        self.signed = signed  # counts that may be negative: rows and times that have not come
        self.within = within or {}  # what a number can be, where a step could not go on from any other
        for part in parts:
            twice = self.start.keys() & part.keys()
            assert not twice, f"declared twice: {twice}"
            self.start |= part

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        kinds = {bool: "?", int: "i8", float: "f8"}
        return np.dtype(
            [
                (name, "f8", (len(value),)) if isinstance(value, tuple) else (name, kinds[type(value)])
                for name, value in self.start.items()
            ],
            align=True,
        )

    def array(self, shape: int | tuple[int, ...]) -> NDArray[Any]:
        """Records as compiled code takes them."""
        return np.full(shape, self._first, self.dtype)

    def empty(self, number: int) -> NDArray[Any]:
        """The same with anything in them; numpy's own `empty` takes three times as long over records."""
        return np.ndarray(number, self.dtype, bytearray(number * self.dtype.itemsize))

    @cached_property
    def _first(self) -> NDArray[Any]:
        made = np.zeros((), self.dtype)
        for name, value in self.start.items():
            made[name] = value
        return made

    def plain(self) -> SimpleNamespace:
        """One record as the interpreter takes it."""
        made = SimpleNamespace(**self.start)
        for name in self._lists:
            setattr(made, name, list(getattr(made, name)))
        return made

    @cached_property
    def _lists(self) -> list[str]:
        return [name for name, value in self.start.items() if isinstance(value, tuple)]

    def many(self, number: int, compiled: bool) -> Records:
        """So many records, one after the other."""
        return self.array(number) if compiled else [self.plain() for _ in range(number)]

    def of(self, compiled: bool, rows: Sequence[Mapping[str, Any]]) -> Records:
        """Records with these values."""
        made = self.many(len(rows), compiled)
        for record, values in zip(made, rows, strict=True):
            for name, value in values.items():
                assign(record, name, value)
        return made

    def state(self, record: Any) -> dict[str, Any]:
        """A record as JSON knows it."""
        plain = isinstance(record, SimpleNamespace)
        values = {name: getattr(record, name) if plain else record[name].tolist() for name in self.start}
        return {name: list(value) if isinstance(value, list) else value for name, value in values.items()}

    def restore(self, record: Any, told: Mapping[str, Any]) -> None:
        """Puts a record into a state that was told; an error names the field that does not fit."""
        for name, start in self.start.items():
            value = told[name]
            if not self._fits(name, value, start):
                raise FileError(f"snapshot must hold a valid {name}; got {got(value)}")
            assign(record, name, list(value) if isinstance(start, tuple) else value)

    def _fits(self, name: str, value: object, start: Start) -> bool:
        low, high = self.within.get(name, (-math.inf, math.inf))
        if isinstance(start, tuple):
            return isinstance(value, list) and len(value) == len(start) and all(_inside(x, low, high) for x in value)
        if isinstance(start, bool):
            return isinstance(value, bool)
        if isinstance(start, int):
            least, most = (NEVER, -NEVER - 1) if name in self.signed else (0, MOST_COUNTED)
            return type(value) is int and least <= value <= most
        return _inside(value, low, high)


def assign(record: Any, name: str, value: Any) -> None:
    """Sets one field of a record of either sort."""
    if isinstance(record, SimpleNamespace):
        setattr(record, name, value)
    else:
        record[name] = value


def readable(records: Records, number: int) -> Any:
    """One record whose fields the interpreter reads as attributes, of either sort."""
    return records[number] if isinstance(records, list) else records.view(np.recarray)[number]


def _inside(value: object, low: float, high: float) -> bool:
    """Whether it is a number, a finite one, and within the bounds."""
    return type(value) in (float, int) and -LARGEST <= value <= LARGEST and low <= value <= high  # type: ignore[operator]
