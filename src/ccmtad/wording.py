"""How times, spans and lists of names are worded, wherever a person reads them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from . import zones

__all__ = [
    "count", "got", "is_text", "iso", "lasting", "listed", "moment", "now", "number", "printable", "some", "span",
    "stamp",
]  # fmt: skip

HARMLESS = "\u200c\u200d\u00a0\u3000"  # joiners and blanks, needed to write some languages
LONGEST_VALUE = 120  # characters of a wrong value that an error repeats


def printable(text: str) -> str:
    """What may go to a terminal, a log or a page: codes that would move the cursor, colour, ring, turn the direction of
    writing or begin another line are written as escapes, as `repr` writes them."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in HARMLESS else one.encode("unicode_escape").decode() for one in text
    )


def is_text(value: object) -> bool:
    """Whether it can be written: half a character (a lone surrogate, as in a file name that is not UTF-8) cannot."""
    return isinstance(value, str) and not any("\ud800" <= one <= "\udfff" for one in value)


def got(value: object) -> str:
    """A wrong value as an error tells it: never an error of its own, never a page."""
    try:
        text = repr(value)
    except Exception:  # whatever its class may do; a whole number of 5,000 figures
        text = f"a value of type {type(value).__name__}"
    text = printable(text)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def stamp(time: np.datetime64, zone: str | None = None) -> str:
    """2026-03-01 12:00:00, for people, as clocks of a zone show it."""
    if zone is not None:
        time = np.datetime64(zones.wall(_nanoseconds(time), zone), "ns")
    return str(time.astype("datetime64[s]")).replace("T", " ")


def iso(time: np.datetime64 | None, zone: str | None = None) -> str | None:
    """2026-03-01T12:00:00Z, for machines, with no more decimals than it has; in a zone 2026-03-01T13:00:00+01:00."""
    if time is None:
        return None
    offset = 0 if zone is None else zones.offset_at(_nanoseconds(time), zone)
    text = str((time.astype("datetime64[ns]") + np.timedelta64(offset, "ns")).astype("datetime64[ns]"))
    return text.rstrip("0").rstrip(".") + ("Z" if zone in (None, "UTC") else _signed(offset // 10**9))


def _nanoseconds(time: np.datetime64) -> int:
    return int(time.astype("datetime64[ns]").astype(np.int64))


def _signed(seconds: int) -> str:
    """+02:00; older local times are off by seconds, too."""
    hours, rest = divmod(abs(seconds), 3_600)
    text = f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}"
    return f"{text}:{rest % 60:02}" if rest % 60 else text


def now() -> str:
    """The time of day, to the microsecond: what is said later sorts later."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment(row: int, time: np.datetime64 | None, zone: str | None = None) -> str:
    """A time to the second, or a row."""
    return f"row {row:,}" if time is None else stamp(time, zone)


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
    """The first names, and how many more there are."""
    shown = ", ".join(map(printable, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
