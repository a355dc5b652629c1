"""What detection returns: frozen values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import zip_longest
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .calibrate.budget import Support
from .calibrate.feedback import Verdict, Word, verdicts
from .errors import InputError, MissingExtraError
from .frame import Frame, nanoseconds
from .score.events import What
from .score.health import Health
from .score.health import read as read_health
from .settings import Settings
from .wording import count, iso, lasting, listed, moment, number, printable
from .zones import zone_of

__all__ = [
    "EVENT_COLUMNS",
    "Change",
    "Column",
    "Detection",
    "Epoch",
    "Event",
    "Health",
    "Learnt",
    "Peak",
    "Step",
    "Support",
    "Tally",
    "Verdict",
    "What",
    "plain",
    "said_of",
]

WORTH_A_WORD = 0.1  # share of the blame
MOST_BLAMED = 8  # channels of an event that a notice names
MOST_PEAKS = 64  # that are told of in full, in a notice too: what it takes to dismiss it

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Time = np.datetime64


@dataclass(frozen=True, eq=False)
class Learnt:
    """What the detector knew when it judged: the part of a fitted model that explains an answer.

    Example:
        result = detector.detect(recent)
        print(result.learnt.allowed, result.learnt.clusters)
    """

    settings: Settings
    clusters: tuple[tuple[str, ...], ...]  # channels embedded together
    correlation: NDArray[np.float32] | None  # (channels, channels) of the training rows; None in older files
    period: float | None  # median seconds between training rows; None where times were unknown
    alpha: float
    references: int  # normal losses that p-values are counted against
    shares: tuple[float, ...]  # of normal p-values below 0.1, 0.2, .. 0.9
    support: Support | None  # None where the threshold was given or is the paper's
    feedback: tuple[Verdict, ...] = ()  # what people had said of events
    reach: Floats | None = None  # (channels,) from what is expected that is no evidence of anything, input's units

    @property
    def allowed(self) -> str:
        """The budget, or the threshold where that was given instead."""
        given = self.settings.threshold
        return self.settings.budget if given == "auto" else f"threshold {given:g}, given"


@dataclass(frozen=True)
class Epoch:
    """Progress of training, once per epoch: mean squared errors of the newest row, scaled units.

    Example:
        for epoch in detector.history_:
            print(epoch.text)
    """

    number: int  # 1-based
    of: int
    training: float
    validation: float
    network: int = 1  # of those that a fit trains, the last of which is the one in use
    networks: int = 1

    @property
    def done(self) -> float:
        """The share of the fit that is done."""
        return (self.network - 1 + self.number / self.of) / self.networks

    @property
    def text(self) -> str:
        """Where the fit is, for people."""
        which = f"network {self.network} of {self.networks}, " * (self.networks > 1)
        return f"{which}epoch {self.number} of {self.of}, validation loss {self.validation:.4f}"


@dataclass(frozen=True)
class Peak:
    """What a channel did where its error was largest."""

    channel: str
    times: float | None  # the error, in units of the channel's usual one; None where the event is not about errors
    value: float | None
    expected: float | None
    astray: float | None = None  # how far it came, on average, from what the others tell, in ranges of training
    step: float | None = None  # how large a step would have been as far beyond what was seen; None where it was not


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
    severity: float  # how large: the largest error in units of the usual one, or how many times too long
    channels: tuple[str, ...]  # most blamed first
    blame: tuple[float, ...]  # share of the loss of each of these, averaged over the rows in alarm
    peaks: tuple[Peak, ...] = ()  # what each did at its worst: the most blamed, then others that were thrown off
    start_time: Time | None = None
    alarm_time: Time | None = None
    end_time: Time | None = None
    kind: str = "anomaly"  # or "signal lost", "frozen", "unlike training"
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
            peaks: (5, channels): what each did at its worst: times, value, expected, astray, step.
            thrown_off: which were beyond normal, blamed or not.
            measures: `severity`, and `kind` where it is no anomaly.

        Returns:
            The event.

        Example:
            event = Event.of((3, 4, None), (None,) * 3, ("a",), np.ones(1), np.ones((5, 1)), severity=2.0)
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
            tuple(peak.astray for peak in told), tuple(peak.step for peak in told),
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
        if self.kind != "anomaly":
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
        if peak is None or peak.value is None or peak.expected is None:
            return f"{first} other than expected"
        away = peak.value - peak.expected
        return f"{first} {number(abs(away))} {'above' if away > 0 else 'below'} the {number(peak.expected)} expected"

    def _how_long(self) -> str:
        if self.end is None:
            return f"since {moment(self.start, self.start_time, self.zone)}"
        if self.start_time is None or self.end_time is None or self.end_time == self.start_time:
            return f"for {count(self.end - self.start + 1, 'row')}"
        return f"for {lasting(float((self.end_time - self.start_time) / np.timedelta64(1, 's')))}"


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
        {"channel": name, "astray": None, "step": None, **one}
        for name, one in zip_longest(told["channels"], told["peaks"])
        if one is not None
    ]
    words = {
        "event": told["id"], "word": word, "at": at, "kind": told["kind"], "severity": told["severity"],
        "channels": [one["channel"] for one in peaks], "times": [one["times"] for one in peaks],
        "values": [one["value"] for one in peaks], "expected": [one["expected"] for one in peaks],
        "astray": [one["astray"] for one in peaks], "steps": [one["step"] for one in peaks],
        "start": _in_utc(told["start_time"]), "end": _in_utc(told["end_time"]),
    }  # fmt: skip
    (made,) = verdicts([words])
    return made


def _in_utc(told: object) -> object:
    """A time that was told in a zone."""
    if not isinstance(told, str) or told.endswith("Z"):
        return told
    return iso(np.datetime64(nanoseconds(told) or 0, "ns"))


@dataclass(frozen=True)
class Change:
    """What a row did to an event: opened (its start is known), updated (still in alarm), resolved (its end is known),
    reopened (in alarm again before the score returned to 0), final (nothing can change any more).

    Example:
        for change in stream.update(row).changes:
            print(change.what, change.event.id)
    """

    what: What
    event: Event


@dataclass(frozen=True, eq=False, repr=False)
class Detection:
    """The answer for one series, one value per input row.

    `loss`, `pvalue`, `evidence`, `score` and `alarm` are causal: nothing after a row changes them. `label` and the
    bounds of `events` are corrected in hindsight. Rows that could not be judged (the first of a window, after a gap,
    late or duplicate ones) have loss NaN, p-value 1, evidence 0, score 0 and no alarm. (A detector whose smoothing is
    "centred" looks ahead in all of them: `detector.settings.online` says so.)

    Example:
        result = detector.detect(recent)
        print(result, result.events[:3], result.score.max())
    """

    loss: Floats  # squared reconstruction error, the channels combined as the settings say
    pvalue: Floats  # how rare so large a loss is among the validation losses
    evidence: Floats  # log(alpha / p-value), natural logarithm
    score: Floats  # accumulated evidence
    alarm: Bools  # in an event of any kind, as seen online
    label: Bools  # inside an event, after boundary correction
    own_pvalue: Floats  # of the row by itself, before losses are averaged: what `health` is read from
    events: tuple[Event, ...]  # of every kind, in order of their alarms
    alarms: Mapping[str, Bools]  # rows in alarm, by kind of event; an anomaly is a score above the threshold
    threshold: float
    frame: Frame  # what was judged, its channels in the fitted order
    health: Health  # whether the calibration still fits, at the last row
    learnt: Learnt
    _blame: Callable[[], NDArray[np.float32]] = field(repr=False)
    _reconstruct: Callable[[int, int], Floats] = field(repr=False)

    def __len__(self) -> int:
        return len(self.loss)

    def __repr__(self) -> str:
        return (
            f"Detection({count(len(self), 'row')}, {count(len(self.events), 'event')}, {self.alarm.mean():.2%} of rows "
            f"in alarm, calibration {self.health.state})"
        )

    @property
    def channels(self) -> tuple[str, ...]:
        """The fitted channels, in order."""
        return self.frame.channels

    @property
    def times(self) -> NDArray[np.datetime64] | None:
        """The time of each row, UTC; None where the input had none."""
        return self.frame.times

    @property
    def zone(self) -> str | None:
        """The time zone that the input's times came in, and are told in; None where that is UTC."""
        return self.frame.zone

    @cached_property
    def blame(self) -> NDArray[np.float32]:
        """(rows, channels): each channel's share of the loss; 0 where the row or the channel was not judged."""
        return self._blame()

    def accepted(self, event: Event) -> bool:
        """Whether an event outlasted `accept` rows, so that its level was taken for the new normal.

        Its alarm may then have ended although nothing was repaired.

        Args:
            event: one of `events`.

        Returns:
            True where it did.

        Example:
            for event in result.events:
                print(event.id, result.accepted(event))
        """
        settings = self.learnt.settings
        if settings.accept == 0 or settings.drift == 0:
            return False
        rows = slice(event.start, len(self) if event.end is None else event.end + 1)
        high = self.score[rows][~np.isnan(self.loss[rows])] > self.threshold  # late rows do not count
        edges = np.flatnonzero(np.diff(np.r_[False, high, False]))
        return bool((edges[1::2] - edges[::2]).max(initial=0) > settings.accept)

    def reconstruction(self, first: int = 0, last: int | None = None) -> Floats:
        """What the network expected in rows `first` to `last`, in the input's units.

        Args:
            first: row, inclusive.
            last: row, inclusive; the last one where None.

        Returns:
            (rows, channels): NaN in rows that could not be judged.

        Raises:
            InputError: where these are no rows of it.

        Example:
            expected = result.reconstruction(event.start, event.alarm)
            print(expected[0, :3])
        """
        end = len(self) - 1 if last is None else last
        if not 0 <= first <= end < len(self):
            raise InputError(f"first and last must be rows 0 <= first <= last < {len(self)}; got {first} and {end}")
        return self._reconstruct(first, end)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The per-row values by name.

        Returns:
            `loss`, `pvalue`, `evidence`, `score`, `alarm` and `label`, one value per row each.

        Example:
            columns = result.columns()
            print(list(columns))
        """
        return {name: getattr(self, name) for name in ("loss", "pvalue", "evidence", "score", "alarm", "label")}

    def to_frame(self) -> Any:
        """The per-row values as a table that can be joined with the one that was judged: its times in the same zone.

        Returns:
            A polars DataFrame with the same time column where that was polars; else a pandas one, indexed by time where
            known (polars where pandas is absent).

        Raises:
            MissingExtraError: where both are absent.

        Example:
            table = result.to_frame()
            print(table.head())
        """
        origin = self.frame.origin
        if origin is not None and origin.library == "polars":
            return self.as_polars(origin.time or "time", origin.unit)
        if find_spec("pandas") is not None:
            return self._pandas()
        if find_spec("polars") is not None:
            return self.as_polars()
        raise MissingExtraError("to_frame needs pandas or polars: pip install pandas")

    def _pandas(self) -> Any:
        import pandas as pd

        if self.times is None:
            return pd.DataFrame(self.columns())
        index = pd.DatetimeIndex(self.times, name="time")
        if self.zone is not None:
            zone = self.zone if "/" in self.zone or self.zone == "UTC" else zone_of(self.zone)
            index = index.tz_localize("UTC").tz_convert(zone)
        return pd.DataFrame(self.columns(), index=index)

    def as_polars(self, time: str = "time", unit: str = "ns") -> Any:
        """The per-row values as a polars DataFrame, with times in the zone they came in.

        Args:
            time: what the column of times is called.
            unit: how finely it tells them: "ms", "us" or "ns".

        Returns:
            A polars DataFrame; without a column of times where they are unknown.

        Raises:
            MissingExtraError: where polars is absent.

        Example:
            table = result.as_polars()
            print(table.head())
        """
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("as_polars needs polars: pip install polars") from error

        if self.times is None:
            return pl.DataFrame(self.columns())
        times = pl.Series(time, self.times).cast(pl.Datetime(unit))  # type: ignore[arg-type]
        if self.zone is not None:  # polars has no offsets as zones
            named = not self.zone.startswith(("+", "-", "UTC+", "UTC-"))
            times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(self.zone if named else "UTC")
        return pl.DataFrame([times, *(pl.Series(name, values) for name, values in self.columns().items())])


@dataclass(frozen=True)
class Tally:
    """What a stream has met.

    Example:
        tally = stream.tally
        print(tally.rows, tally.late, tally.gaps, tally.missing)
    """

    rows: int  # given to it, the ignored ones included
    late: int  # ignored: not later than the row before
    gaps: int  # pauses that restarted the window
    missing: int  # values that were missing or infinite


@dataclass(frozen=True, eq=False)
class Step:
    """The answer for one row of a stream. A row that could not be judged has loss NaN, p-value 1 and the rest 0.

    Example:
        step = stream.update(row)
        print(step.ready, step.score, step.alarm, step.notes)
    """

    index: int  # rows given to the stream before this one
    ready: bool  # whether the row could be judged
    loss: float
    pvalue: float
    evidence: float
    score: float
    alarm: bool
    changes: tuple[Change, ...]  # what the row did to events; there may be several at once
    notes: tuple[str, ...]  # what was odd about the row: late, missing values, a gap
    _health: tuple[int, float, float, float] = field(repr=False)
    _of: tuple[Any, int] = field(repr=False)  # the round of rows it was one of, and its place there

    @property
    def health(self) -> Health:
        """Whether the calibration still fits."""
        return read_health(*self._health)

    @property
    def blame(self) -> NDArray[np.float32]:
        """(channels,): each channel's share of the loss; 0 where the row or the channel was not judged."""
        rows, number = self._of
        share: NDArray[np.float32] = rows.blame(number)
        return share
