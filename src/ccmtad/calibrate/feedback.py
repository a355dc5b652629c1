"""What people said of events: dismissed, confirmed, or taken back. The last word on each event counts.

A dismissed event makes the channels it blames milder from then on, each so far that the event would have been normal,
and changes nothing else. The rows of a confirmed one are kept out of what is normal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..score.combine import Combiner
from ..score.signals import ABOVE, BELOW, ERROR, GONE_LIMIT, KINDS, MIDDLE, STEP, STILL_LIMIT
from .calibration import Calibration

__all__ = ["Verdict", "Word", "in_force", "merged", "milder", "plain", "verdicts"]

Floats = NDArray[np.float64]
Word = Literal["dismissed", "confirmed", "undone"]

ROOM = 1.1  # times as far as the event came, and no further
LOST, FROZEN, UNLIKE = KINDS


@dataclass(frozen=True)
class Verdict:
    """One word on one event."""

    event: str  # its id
    word: Word
    at: str  # when it was said, ISO 8601
    kind: str
    severity: float
    channels: tuple[str, ...]  # the most blamed
    times: tuple[float | None, ...]  # their largest errors, in units of the usual ones
    values: tuple[float | None, ...]  # there
    expected: tuple[float | None, ...]
    start: str | None = None  # times, where the rows had some
    end: str | None = None


def merged(first: Iterable[Verdict], second: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Both, each word once, in the order they were said."""
    together = {(one.event, one.word, one.at): one for one in (*first, *second)}
    return tuple(sorted(together.values(), key=lambda one: one.at))


def in_force(said: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """The last word on each event, where it is not taken back."""
    last = {one.event: one for one in said}
    return tuple(one for one in last.values() if one.word != "undone")


def milder(
    said: Iterable[Verdict], channels: tuple[str, ...], combiner: Combiner, calibration: Calibration, limits: Floats
) -> tuple[Combiner, Calibration, Floats]:
    """How channels are judged after what was dismissed."""
    unit, limits, unlike = combiner.unit.copy(), limits.copy(), calibration.unlike
    place = {name: i for i, name in enumerate(channels)}
    for one in in_force(said):
        if one.word != "dismissed":
            continue
        if one.kind == UNLIKE:
            unlike = max(unlike, 2.0 * float(np.log(ROOM * one.severity)))
        for name, times, value, expected in zip(one.channels, one.times, one.values, one.expected, strict=True):
            if name not in place:
                continue
            c = place[name]
            if one.kind in (LOST, FROZEN):
                limits[GONE_LIMIT if one.kind == LOST else STILL_LIMIT, c] *= ROOM * one.severity
            elif one.kind != UNLIKE and times is not None:
                error = (ROOM * times) ** 2 * combiner.unit[c]
                unit[c] = max(unit[c], error / calibration.quiet)
                limits[ERROR, c] = max(limits[ERROR, c], error)
                if value is not None and expected is not None:
                    away = value - limits[MIDDLE, c]
                    side = ABOVE if away > 0 else BELOW
                    limits[side, c] = max(limits[side, c], ROOM * abs(away))
                    limits[STEP, c] = max(limits[STEP, c], ROOM * abs(value - expected))
    return replace(combiner, unit=unit), replace(calibration, unlike=unlike), limits


def plain(said: Iterable[Verdict]) -> list[dict[str, Any]]:
    """As JSON knows them."""
    return [asdict(one) for one in said]


def verdicts(told: Any) -> tuple[Verdict, ...]:
    """What `plain` wrote."""
    try:
        return tuple(_verdict(one) for one in told)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"feedback must hold whole verdicts; got {error}") from error


def _verdict(told: Mapping[str, Any]) -> Verdict:
    word = told["word"]
    if word not in ("dismissed", "confirmed", "undone"):
        raise ValueError(f"the word {word!r}")
    names = tuple(str(name) for name in told["channels"])
    times, values, expected = (
        tuple(None if value is None else float(value) for value in told[column])
        for column in ("times", "values", "expected")
    )
    severity = float(told["severity"])
    numbers = [value for value in (*times, *values, *expected) if value is not None]
    fits = len(times) == len(values) == len(expected) == len(names)
    if not np.isfinite([severity, *numbers]).all() or severity < 0 or not fits:
        raise ValueError("numbers that do not fit")
    start, end = (None if told[name] is None else str(told[name]) for name in ("start", "end"))
    said = (str(told["event"]), word, str(told["at"]), str(told["kind"]))
    return Verdict(*said, severity, names, times, values, expected, start, end)
