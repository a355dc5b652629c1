"""What people said of events: dismissed, confirmed, or taken back. The last word on each event counts.

A dismissed event makes every channel that was beyond normal in it milder from then on, blamed or not, each so far that
the event would have been normal, and changes nothing else. The rows of a confirmed one are kept out of what is normal.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..score.channels import ABOVE, ASTRAY, BELOW, ERROR, GONE_LIMIT, KINDS, LEEWAY, MIDDLE, STEP, STILL_LIMIT
from ..score.combine import LARGEST_LOSS, Combiner
from ..score.step import Rise
from ..wording import got, is_text
from .calibration import Calibration

__all__ = [
    "LARGEST_SIZE",
    "ROOM",
    "SCALED_RANGE",
    "Verdict",
    "Word",
    "in_force",
    "merged",
    "milder",
    "plain",
    "verdicts",
]

MOMENT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?", re.ASCII)

Floats = NDArray[np.float64]
Word = Literal["dismissed", "confirmed", "undone"]

LARGEST_SIZE = 1e150  # of an error in units of the usual one: its square is a number
ROOM = 1.1  # times as far as the event came, and no further
SCALED_RANGE = 2.0
LOST, FROZEN, UNLIKE, EXCURSION = KINDS


@dataclass(frozen=True)
class Verdict:
    """One word on one event."""

    event: str  # its id
    word: Word
    at: str  # when it was said, ISO 8601
    kind: str
    severity: float
    channels: tuple[str, ...]  # the most blamed, then others that were thrown off
    times: tuple[float | None, ...]  # their largest errors, in units of the usual ones
    values: tuple[float | None, ...]  # there
    expected: tuple[float | None, ...]
    start: str | None = None  # times, where the rows had some
    end: str | None = None
    astray: tuple[float | None, ...] = ()  # how far they came from what the others tell, in ranges of training
    steps: tuple[float | None, ...] = ()  # how large a step would have been as far beyond what was seen
    far: tuple[float | None, ...] = ()  # from the middle of their ranges, in distances that are no evidence
    places: tuple[float | None, ...] = ()  # values at the farthest, where that alarmed


def merged(first: Iterable[Verdict], second: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Both, each word once, in the order they were said."""
    together = {(one.event, one.word, one.at): one for one in (*first, *second)}
    return tuple(sorted(together.values(), key=lambda one: one.at))


def in_force(said: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """The last word on each event, where it is not taken back."""
    last = {one.event: one for one in said}
    return tuple(one for one in last.values() if one.word != "undone")


def milder(
    said: Iterable[Verdict], channels: tuple[str, ...], combiner: Combiner, distances: Combiner | None,
    calibration: Calibration, limits: Floats, span: Floats,
) -> tuple[Combiner, Combiner | None, Calibration, Floats]:  # fmt: skip
    """How channels are judged after what was dismissed. `span` are their ranges in training.

    The channel that is blamed most, and each that was on an excursion, may shift as far again from wherever it normally
    is; to either side, since what controls a process answers a wrong reading with one beyond the other end.
    """
    unit, usual, limits, unlike = combiner.unit.copy(), limits, limits.copy(), calibration.unlike
    far_unit = np.empty(0) if distances is None else distances.unit.copy()
    number = {name: i for i, name in enumerate(channels)}
    for one in in_force(said):
        if one.word != "dismissed":
            continue
        if one.kind == UNLIKE:
            excused = 2.0 * float(np.log(max(ROOM * one.severity, 1.0)))
            unlike = Rise(*(max(limit, excused) for limit in unlike))
        unknown = (None,) * len(one.channels)
        told = zip(
            one.channels, one.times, one.values, one.expected, one.astray or unknown, one.steps or unknown,
            one.far or unknown, one.places or unknown, strict=True,
        )  # fmt: skip
        for name, times, value, expected, off, jump, far, place in told:
            if name not in number:
                continue
            c = number[name]
            if off is not None:
                limits[ASTRAY, c] = max(limits[ASTRAY, c], ROOM * off * SCALED_RANGE)
            if far is not None and distances is not None:
                far_unit[c] = max(far_unit[c], min((ROOM * far) ** 2 * float(distances.unit[c]), LARGEST_LOSS))
            if place is not None:  # to go there and back is normal
                away = place - float(limits[MIDDLE, c])
                side, other = (ABOVE, BELOW) if away > 0 else (BELOW, ABOVE)
                limits[side, c] = max(limits[side, c], ROOM * abs(away))
                if np.isfinite(usual[other, c]):
                    limits[STEP, c] = max(limits[STEP, c], ROOM * (abs(away) + float(usual[other, c])))
            if jump is not None:
                limits[STEP, c] = max(limits[STEP, c], ROOM * jump)
                if len(limits) > LEEWAY:
                    limits[LEEWAY, c] = np.inf  # it was beyond a limit of its own: no switch any more
            if one.kind in (LOST, FROZEN):
                line = GONE_LIMIT if one.kind == LOST else STILL_LIMIT
                limits[line, c] = max(limits[line, c], usual[line, c] * max(ROOM * one.severity, 1.0))
            elif one.kind != UNLIKE:
                if times is not None:
                    error = min((ROOM * times) ** 2 * float(combiner.unit[c]), LARGEST_LOSS)
                    unit[c] = max(unit[c], min(error / calibration.quiet, LARGEST_LOSS))
                    limits[ERROR, c] = max(limits[ERROR, c], error)
                if value is not None and expected is not None:
                    if name == one.channels[0] or one.kind == EXCURSION:
                        shift = ROOM * max(abs(value - expected), (off or 0.0) * float(span[c]))
                        for line in (ABOVE, BELOW, STEP):
                            limits[line, c] = max(limits[line, c], usual[line, c] + shift)
                    away = value - float(limits[MIDDLE, c])
                    side, other = (ABOVE, BELOW) if away > 0 else (BELOW, ABOVE)
                    step = abs(value - expected)
                    if usual[side, c] < abs(away) and np.isfinite(usual[other, c]):
                        step = max(step, abs(away) + float(usual[other, c]))  # from anywhere normal to there
                    limits[side, c] = max(limits[side, c], ROOM * abs(away))
                    limits[STEP, c] = max(limits[STEP, c], ROOM * step)
    far_away = None if distances is None else replace(distances, unit=far_unit)
    return replace(combiner, unit=unit), far_away, replace(calibration, unlike=unlike), limits


def plain(said: Iterable[Verdict]) -> list[dict[str, Any]]:
    """As JSON knows them."""
    return [asdict(one) for one in said]


def verdicts(told: object) -> tuple[Verdict, ...]:
    """What `plain` wrote."""
    if not isinstance(told, list):
        raise FileError(f"feedback must be a list of verdicts; got {got(told)}")
    try:
        return tuple(_verdict(one) for one in told)
    except KeyError as error:
        raise FileError(f"feedback must hold whole verdicts; got one without {error}") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise FileError(f"feedback must hold whole verdicts; got {error}") from error


def _verdict(told: Mapping[str, Any]) -> Verdict:
    if not isinstance(told, Mapping):
        raise TypeError(got(told))
    word = told["word"]
    if word not in ("dismissed", "confirmed", "undone"):
        raise ValueError(f"the word {got(word)}")
    names = tuple(_text(name) for name in _list(told["channels"]))
    times, values, expected, astray, steps, far, places = (
        tuple(
            None if value is None else _number(value) for value in _list(told.get(column, []) if late else told[column])
        )
        for column, late in (
            ("times", False),
            ("values", False),
            ("expected", False),
            ("astray", True),
            ("steps", True),
            ("far", True),
            ("places", True),
        )
    )
    severity = _number(told["severity"])
    for size in (severity, *times, *astray, *steps, *far):
        if size is not None and not 0.0 <= size <= LARGEST_SIZE:
            raise ValueError(f"the size {size:g}")
    late_ones = {len(one) for one in (astray, steps, far, places)}
    if not len(times) == len(values) == len(expected) == len(names) or late_ones - {0, len(names)}:
        raise ValueError("numbers that do not fit the channels")
    start, end = (None if told[name] is None else _moment(told[name]) for name in ("start", "end"))
    said = (_text(told["event"]), word, _text(told["at"]), _text(told["kind"]))
    return Verdict(*said, severity, names, times, values, expected, start, end, astray, steps, far, places)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{got(value)}, which is no list")
    return value


def _number(value: object) -> float:
    if type(value) not in (int, float) or not np.isfinite(float(value)):  # type: ignore[arg-type]
        raise ValueError(f"{got(value)}, which is no number")
    return float(value)  # type: ignore[arg-type]


def _text(value: object) -> str:
    if not is_text(value):
        raise TypeError(f"{got(value)}, which is no text")
    return str(value)


def _moment(value: object) -> str:
    """A time as an event tells it, in UTC."""
    text = _text(value).removesuffix("Z")
    if not MOMENT.fullmatch(text):  # numpy would take more, time zones with a warning
        raise ValueError(f"{got(value)}, which is no time")
    np.datetime64(text, "ns")
    return str(value)
