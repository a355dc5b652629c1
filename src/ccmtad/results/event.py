"""Something an operator should know, and the one list of what is told of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..calibrate.feedback import Verdict, Word, verdicts
from ..errors import InputError
from ..frame import nanoseconds
from ..wording import count, iso, lasting, listed, moment, number, printable

__all__ = ["EVENT_COLUMNS", "MOST_BLAMED", "WORTH_A_WORD", "Column", "Event", "Peak", "measured", "plain", "said_of"]

WORTH_A_WORD = 0.1  # share of the blame
MOST_BLAMED = 8  # channels of an event that a notice names
NO_NEWS = 3.0  # usual errors: where the network expected nearly what came
MOST_PEAKS = 64  # that are told of in full, in a notice too: what it takes to dismiss it

ERRORS = "the largest error, or distance, in usual ones"
MEASURED = {
    "signal lost": "times as long as it may be missing",
    "frozen": "times as long as it may stand still",
    "unlike training": "times the errors of training",
    "excursion": "times as far as its limit",
}

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Time = np.datetime64


@dataclass(frozen=True)
class Peak:
    """What a channel did where its error was largest."""

    channel: str
    times: float | None  # the error, in units of the channel's usual one; None where the event is not about errors
    value: float | None
    expected: float | None
    astray: float | None = None  # how far it came, on average, from what the others tell, in ranges of training
    step: float | None = None  # how large a step would have been as far beyond what was seen; None where it was not
    far: float | None = None  # from the middle of its range, in distances that are no evidence; None where not told
    place: float | None = None  # the value where it was farthest; None where that is not what alarmed


@dataclass(frozen=True)
class Event:
    """Something an operator should know. Indices are rows of the input; times are None where the input had none.

    `alarm` is when the alarm was raised, as seen online. `start` and `end` are corrected in hindsight: `start` is
    known at the alarm, `end` once the score has fallen back to the threshold (None while it has not).

    Example:
        for event in detector.detect(recent).events:
            print(event.id, event.severity, event.sentence)
    """

    start: int  # first row, inclusive
    alarm: int  # row at which the alarm was raised
    end: int | None  # last row, inclusive; None while open
    severity: float  # how large: the largest error or distance in usual ones, or how many times too long, or too far
    channels: tuple[str, ...]  # most blamed first
    blame: tuple[float, ...]  # share of the loss of each of these, averaged over the rows in alarm
    peaks: tuple[Peak, ...] = ()  # what each did at its worst: the most blamed, then others that were thrown off
    start_time: Time | None = None
    alarm_time: Time | None = None
    end_time: Time | None = None
    kind: str = "anomaly"  # or "signal lost", "frozen", "unlike training", "excursion"
    zone: str | None = None  # that times are told in; they are UTC, as is what the id is made of

    @classmethod
    def of(
        cls,
        rows: tuple[int, int, int | None],
        times: tuple[Time | None, Time | None, Time | None],
        channels: Sequence[str],
        blame: Floats,
        peaks: Floats,
        thrown_off: Bools | None = None,
        **measures: Any,
    ) -> Self:
        """Makes one of what the tracks found.

        Args:
            rows: start, alarm and end.
            times: of these rows.
            channels: all of them.
            blame: of each of all channels.
            peaks: (7, channels): what each did at its worst: times, value, expected, astray, step, far, place.
            thrown_off: which were beyond normal, blamed or not.
            measures: `severity`, and `kind` where it is no anomaly.

        Returns:
            The event.

        Example:
            event = Event.of((3, 4, None), (None,) * 3, ("a",), np.ones(1), np.ones((7, 1)), severity=2.0)
            print(event.open, event.channels)
        """
        order = np.argsort(-blame, kind="stable")[: int((blame > 0).sum())]
        names = tuple([channels[i] for i in order.tolist()])
        start, alarm, end = rows
        shares = tuple(blame[order].astype(np.float64).tolist())
        stamps: dict[str, Any] = dict(zip(("start_time", "alarm_time", "end_time"), times, strict=True))
        first = order[:MOST_BLAMED]
        if thrown_off is not None:
            others = thrown_off.copy()
            others[first] = False
            rest = others.nonzero()[0]
            first = np.r_[first, rest[np.argsort(-peaks[0, rest], kind="stable")]][:MOST_PEAKS]
        told = zip(first.tolist(), peaks[:, first].T.tolist(), strict=True)
        worst = tuple(
            [Peak(channels[i], *[value if isfinite(value) else None for value in values]) for i, values in told]
        )
        return cls(start=start, alarm=alarm, end=end, channels=names, blame=shares, peaks=worst, **stamps, **measures)

    @property
    def id(self) -> str:
        """What tells it from every other event of its series: its kind, and the time of its alarm (or the row)."""
        return f"{self.kind}-{iso(self.alarm_time) or self.alarm}"

    def verdict(self, word: Word, at: str) -> Verdict:
        """A word on it, as it is kept.

        Args:
            word: "dismissed", "confirmed" or "undone".
            at: when it was said, ISO 8601 in UTC.

        Returns:
            A `Verdict`, for `Detector.heed`.

        Example:
            said = event.verdict("dismissed", "2026-03-01T12:00:00Z")
            detector.heed([said])
        """
        told = self.peaks
        return Verdict(
            self.id, word, at, self.kind, self.severity, tuple(peak.channel for peak in told),
            tuple(peak.times for peak in told), tuple(peak.value for peak in told),
            tuple(peak.expected for peak in told), iso(self.start_time), iso(self.end_time),
            tuple(peak.astray for peak in told), tuple(peak.step for peak in told), tuple(peak.far for peak in told),
            tuple(peak.place for peak in told),
        )  # fmt: skip

    @property
    def open(self) -> bool:
        """Whether it was still going on at the last row."""
        return self.end is None

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return f"{self._what()}, {self._how_long()}"

    @property
    def others(self) -> str:
        """The channels blamed beside the first, where there are some that matter, in words that follow the sentence."""
        if self.kind not in ("anomaly", "excursion"):
            return ""
        blamed = [
            name for name, share in zip(self.channels[1:3], self.blame[1:], strict=False) if share >= WORTH_A_WORD
        ]
        return f"; also {' and '.join(map(printable, blamed))}" if blamed else ""

    def _what(self) -> str:
        first = printable(self.channels[0]) if self.channels else "no channel"
        peak = self.peaks[0] if self.peaks else None
        if self.kind == "signal lost":
            return f"{listed(self.channels)} missing" if self.channels else "no rows at all"
        if self.kind == "frozen":
            at = "" if peak is None or peak.value is None else f" at {number(peak.value)}"
            return f"{listed(self.channels)} standing still{at}"
        if self.kind == "unlike training":
            return f"errors {number(self.severity)} times those of training, most in {listed(self.channels)}"
        if self.kind == "excursion" and peak is not None and peak.expected is None and peak.step is not None:
            return f"{first} moving by {number(peak.step)} in one row, further than it does"
        if peak is None or peak.value is None or peak.expected is None:
            return f"{first} other than expected"
        if self.kind == "excursion":
            return f"{first} at {number(peak.value)}, beyond its own limits (usually {number(peak.expected)})"
        if peak.place is not None and (peak.times is None or peak.times < NO_NEWS):
            return f"{first} at {number(peak.place)}, farther out than it usually is"
        away = peak.value - peak.expected
        return f"{first} {number(abs(away))} {'above' if away > 0 else 'below'} the {number(peak.expected)} expected"

    def _how_long(self) -> str:
        if self.end is None:
            return f"since {moment(self.start, self.start_time, self.zone)}"
        if self.start_time is None or self.end_time is None or self.end_time == self.start_time:
            return f"for {count(self.end - self.start + 1, 'row')}"
        return f"for {lasting(float((self.end_time - self.start_time) / np.timedelta64(1, 's')))}"


def measured(kind: str) -> str:
    """What the severity of such an event is."""
    return MEASURED.get(kind, ERRORS)


@dataclass(frozen=True)
class Column:
    """One thing that is told of an event, wherever events are listed."""

    name: str  # to machines: JSON, CSV
    value: Callable[[Event], Any]  # as JSON knows it
    title: str = ""  # to people; "" where they are not told
    text: Callable[[Event], str] = str
    number: bool = False  # set flush right


def _told(row: str) -> Callable[[Event], str]:
    """A row of an event, or its time, for people."""

    def text(event: Event) -> str:
        where = getattr(event, row)
        return "still open" if where is None else moment(where, getattr(event, f"{row}_time"), event.zone)

    return text


# Every list of events (the terminal's, JSON, JSON lines, notices, reports) is made of these.
EVENT_COLUMNS = (
    Column("id", lambda event: event.id),
    Column("kind", lambda event: event.kind),
    Column("start", lambda event: event.start, "start", _told("start")),
    Column("alarm", lambda event: event.alarm, "alarm", _told("alarm")),
    Column("end", lambda event: event.end, "end", _told("end")),
    Column("start_time", lambda event: iso(event.start_time, event.zone)),
    Column("alarm_time", lambda event: iso(event.alarm_time, event.zone)),
    Column("end_time", lambda event: iso(event.end_time, event.zone)),
    Column(
        "severity",
        lambda event: round(event.severity, 4),
        "severity",
        lambda event: number(event.severity),
        number=True,
    ),
    Column("channels", lambda event: list(event.channels)),
    Column("blame", lambda event: [round(share, 4) for share in event.blame]),
    Column("peaks", lambda event: [_short(vars(peak)) for peak in event.peaks]),
    Column(
        "sentence", lambda event: event.sentence, "what",
        lambda event: event.sentence + event.others,
    ),
)  # fmt: skip


def _short(values: Mapping[str, str | float | None]) -> dict[str, str | float | None]:
    """Six figures are enough."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in values.items()}


def plain(event: Event, blamed: int | None = None) -> dict[str, Any]:
    """An event as JSON knows it: rows, times as ISO 8601 (in UTC, or in the zone they came in), the most
    blamed channels first.

    Args:
        event: of a detection or a stream.
        blamed: how many channels; all where None.

    Returns:
        A value for each of an event's columns.

    Example:
        told = plain(event, blamed=3)
        print(told["id"], told["sentence"])
    """
    shown = replace(event, channels=event.channels[:blamed], blame=event.blame[:blamed])
    return {column.name: column.value(shown) for column in EVENT_COLUMNS}


def said_of(told: Mapping[str, Any], word: Word, at: str) -> Verdict:
    """A word on an event that `plain` told of; its id may be longer, by the name of an entity say.

    Args:
        told: the event, as a line of `watch` or `detect --json` has it.
        word: "dismissed", "confirmed" or "undone".
        at: when it was said, ISO 8601 in UTC.

    Returns:
        A `Verdict`, for `Detector.heed`.

    Raises:
        InputError: where something of the event is missing.

    Example:
        said = said_of(plain(event), "confirmed", "2026-03-01T12:00:00Z")
        detector.heed([said])
    """
    absent = [name for name in ("kind", "severity", "channels", "start_time", "end_time") if name not in told]
    if absent:
        raise InputError(f"events must be as detect or watch wrote them; {told['id']!r} has no {absent[0]}")
    # Before 0.2.0, peaks were those of the channels in their order.
    peaks = [
        {"channel": name, "astray": None, "step": None, "far": None, "place": None, **one}
        for name, one in zip_longest(told["channels"], told["peaks"])
        if one is not None
    ]
    words = {
        "event": told["id"], "word": word, "at": at, "kind": told["kind"], "severity": told["severity"],
        "channels": [one["channel"] for one in peaks], "times": [one["times"] for one in peaks],
        "values": [one["value"] for one in peaks], "expected": [one["expected"] for one in peaks],
        "astray": [one["astray"] for one in peaks], "steps": [one["step"] for one in peaks],
        "far": [one["far"] for one in peaks], "places": [one["place"] for one in peaks],
        "start": _in_utc(told["start_time"]), "end": _in_utc(told["end_time"]),
    }  # fmt: skip
    (made,) = verdicts([words])
    return made


def _in_utc(told: object) -> object:
    """A time that was told in a zone."""
    if not isinstance(told, str) or told.endswith("Z"):
        return told
    return iso(np.datetime64(nanoseconds(told) or 0, "ns"))
