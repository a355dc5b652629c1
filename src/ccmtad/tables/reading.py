"""What a user says about a file."""

from dataclasses import dataclass
from functools import cached_property

from ..errors import SettingError
from ..wording import got

__all__ = ["LARGEST", "MISSING", "TIMES", "Reading"]

MISSING = ("", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "-nan", "#N/A")  # cells that hold no value
LARGEST = 1 << 28  # bytes that any file may unpack to
TIMES = 100  # times its own bytes that a larger one may


@dataclass(frozen=True)
class Reading:
    """How to read a file; what is left out is found."""

    time: str | None = None  # the time column
    time_format: str | None = None  # as of strptime; ISO 8601 and seconds since 1970 need none
    missing: tuple[str, ...] = ()  # more cells that hold no value
    drop: tuple[str, ...] = ()  # columns to leave out
    largest: int = LARGEST  # bytes that a file may unpack to; a hundred times its own are always allowed

    def __post_init__(self) -> None:
        if not isinstance(self.largest, int) or self.largest < 0:
            raise SettingError(f"largest must be a whole number of bytes, 0 or more; got {got(self.largest)}")

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
