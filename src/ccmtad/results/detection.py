"""The answer for a whole series."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError
from ..frame import Frame
from ..score.health import Health
from ..score.level import PLACE_ACCEPTED
from ..wording import count
from ..zones import zone_of
from .event import Event
from .learnt import Learnt

__all__ = ["Detection"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


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
        """Whether an event lasted so long that its level was taken for the new normal.

        Its alarm may then have ended although nothing was repaired.

        Args:
            event: one of `events`.

        Returns:
            True where it did.

        Example:
            for event in result.events:
                print(event.id, result.accepted(event))
        """
        return self.accepted_after(event) > 0

    def accepted_after(self, event: Event) -> int:
        """After how many rows an event's level was taken for the new normal.

        Args:
            event: one of `events`.

        Returns:
            `accept`, or 1,000 where values at an unusual place alarmed, if that is less; 0 where it was not.

        Example:
            for event in result.events:
                print(event.id, result.accepted_after(event))
        """
        settings = self.learnt.settings
        if settings.accept == 0 or settings.drift == 0:
            return 0
        place = any(peak.place is not None for peak in event.peaks)
        accept = min(settings.accept, PLACE_ACCEPTED) if place else settings.accept
        rows = slice(event.start, len(self) if event.end is None else event.end + 1)
        high = self.score[rows][~np.isnan(self.loss[rows])] > self.threshold  # late rows do not count
        edges = np.flatnonzero(np.diff(np.r_[False, high, False]))
        return accept if (edges[1::2] - edges[::2]).max(initial=0) > accept else 0

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
