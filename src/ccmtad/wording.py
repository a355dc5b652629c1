"""How times, spans and lists of names are worded, wherever a person reads them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

__all__ = ["count", "iso", "lasting", "listed", "moment", "now", "number", "some", "span", "stamp"]


def stamp(time: np.datetime64) -> str:
    """2026-03-01 12:00:00, for people."""
    return str(time.astype("datetime64[s]")).replace("T", " ")


def iso(time: np.datetime64 | None) -> str | None:
    """2026-03-01T12:00:00Z, for machines, with no more decimals than it has."""
    if time is None:
        return None
    text = str(time.astype("datetime64[ns]"))
    return text.rstrip("0").rstrip(".") + "Z"


def now() -> str:
    """The time of day, to the microsecond: what is said later sorts later."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment(row: int, time: np.datetime64 | None) -> str:
    """A time to the second, or a row."""
    return f"row {row:,}" if time is None else stamp(time)


def span(seconds: float) -> str:
    """In the unit that reads best."""
    for unit, size in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 0.999 * size:
            number = f"{seconds / size:.3g}"
            return f"{number} {unit.rstrip('s') if number == '1' else unit}"
    return f"{seconds:.3g} s"


def count(number: int, thing: str) -> str:
    """1 row, 2 rows."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def some(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def lasting(seconds: float) -> str:
    """In the two largest units: 3 h 5 min."""
    left = round(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        whole, left = divmod(left, size)
        if whole or (unit == "s" and not parts):
            parts.append(f"{whole} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def number(value: float) -> str:
    """Three figures, and none of them an exponent where it can be read without."""
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3g}"
    return f"{float(f'{value:.3g}'):,.10g}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first names as they are, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
