"""A live stream: one row in, one step out. Constant time and memory however long it runs."""

import math
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ChannelError, InputError
from .frame import nanoseconds
from .model import Model
from .network.engine import Engine
from .prepare.scale import clip
from .results import Step
from .score.lifecycle import Lifecycle
from .score.tracks import Scorer

__all__ = ["Stream", "Streams"]

Floats = NDArray[np.float64]
ACCEPTED = "this event has lasted so long that its level is taken for the new normal from here on"
Row = Any  # a sequence, a 1-D array, or a mapping by channel name


@dataclass(slots=True)
class Tally:
    """What a stream has met."""

    rows: int = 0  # given to it, the ignored ones included
    late: int = 0  # ignored: not later than the row before
    gaps: int = 0  # pauses that restarted the window
    missing: int = 0  # values that were missing or infinite


class Stream:
    """The state of one entity. `update` is the only call that advances it."""

    def __init__(self, model: Model) -> None:
        if not model.settings.online:
            raise InputError("a stream must be online; this model averages with smoothing='centred', which looks ahead")
        settings, channels = model.settings, len(model.channels)
        self.model = model
        self.engine: Engine = model.engine
        self.tally = Tally()
        self.last_time: int | None = None  # nanoseconds
        self.untimed = False  # the newest row came without a time
        self.held = model.fallback.copy()  # the last value of each channel
        self.age = np.full(channels, -1)  # rows since then; -1: none yet
        self.averaged = np.zeros((settings.smooth, channels))  # ring of scaled rows
        self.ring = np.zeros((2 * settings.window, self.engine.width), dtype=np.float32)  # embedded rows, kept twice
        self.filled = 0  # rows since the start of this stretch
        self.scorer = Scorer(model.calibration)
        self.lifecycle = Lifecycle(model.channels, model.calibration.threshold)

    def update(self, row: Row, time: object = None) -> Step:
        """Judges the newest row. Bad input is an error before anything has changed."""
        now = self._take(self._values(row), nanoseconds(time))
        if isinstance(now, Step):
            return now
        back = self.engine.reconstruct_embedded(now.window[None])[0]
        return self._judge(now, back)

    def snapshot(self) -> bytes:
        """The whole state as bytes: `detector.stream(resume=...)` goes on from it, in this process or another."""
        from . import snapshot  # it reads and writes streams

        return snapshot.take(self)

    def _take(self, values: Floats, moment: int | None) -> "Step | _Ready":
        """Everything up to the network: a finished step where the row cannot be judged."""
        index = self.tally.rows
        stamp = None if moment is None else np.datetime64(moment, "ns")
        if moment is not None and self.last_time is not None and moment <= self.last_time:
            self.tally.rows += 1
            self.tally.late += 1
            return self._unjudged(index, ("late or duplicate row ignored",))

        notes: list[str] = []
        self.tally.rows += 1
        event, change = None, None
        pause = self.model.longest_pause
        if moment is not None and self.last_time is not None and pause is not None and not self.untimed:
            waited = moment - self.last_time
            if waited > round(pause * 1e9):
                self.tally.gaps += 1
                notes.append(f"gap of {waited * 1e-9:g} s: window restarted")
                event, change = self._restart()
        if moment is not None:
            self.last_time = moment
        elif self.last_time is not None:
            notes.append("no time given: the next pause is not measured")
        self.untimed = moment is None

        present = self._hold(values, notes)
        scaled = self._average(self.model.scaler(self.held))
        x = clip(scaled)
        embedded = self.engine.embed(x[None])[0]
        window = self.model.settings.window
        slot = self.filled % window
        self.ring[slot] = self.ring[slot + window] = embedded
        self.filled += 1
        if self.filled < window or (present is not None and not present.any()):
            if self.filled >= window:
                self.scorer.restart()
                event, change = self.lifecycle.unjudged()
            return self._unjudged(index, tuple(notes), event, change)
        return _Ready(index, stamp, x, self.ring[slot + 1 : slot + 1 + window], present, tuple(notes))

    def _judge(self, now: "_Ready", back: NDArray[Any]) -> Step:
        """Everything after the network."""
        combiner = self.model.combiner
        error = np.square(now.x - back)[None]
        present = None if now.present is None else now.present[None]
        loss = float(combiner.loss(error, present)[0])
        if math.isnan(loss):  # numbers too large to be averaged
            self.scorer.restart()
            return self._unjudged(now.index, now.notes, *self.lifecycle.unjudged())
        p, b, score, alarm, _ = self.scorer.step(loss)
        notes = (*now.notes, ACCEPTED) if self.scorer.accepting else now.notes
        later = partial(_blame, self.model, now.x[None], error, present)
        blame = later() if alarm else None
        event, change = self.lifecycle.step(now.index, now.time, b, score, blame)
        health = self.scorer.health()
        return Step(now.index, True, loss, p, b, score, alarm, event, change, health, notes, later)

    def _unjudged(self, index: int, notes: tuple[str, ...], event: Any = None, change: Any = None) -> Step:
        nobody, health = partial(_nobody, len(self.model.channels)), self.scorer.health()
        return Step(index, False, float("nan"), 1.0, 0.0, 0.0, False, event, change, health, notes, nobody)

    def _hold(self, values: Floats, notes: list[str]) -> NDArray[np.bool_] | None:
        """Missing values replaced by the last ones; which channels may be judged (None: all)."""
        missing = ~np.isfinite(values)
        if not missing.any():
            self.held[:] = values
            self.age[:] = 0
            return None
        self.tally.missing += int(missing.sum())
        self.held[~missing] = values[~missing]
        self.age[missing & (self.age >= 0)] += 1
        self.age[~missing] = 0
        present = (self.age >= 0) & (self.age <= self.model.settings.hold_rows)
        out = [self.model.channels[i] for i in np.flatnonzero(~present)]
        held = [self.model.channels[i] for i in np.flatnonzero(missing & present)]
        notes += [f"missing, last value held: {', '.join(held)}"] * bool(held)
        notes += [f"missing, left out: {', '.join(out)}"] * bool(out)
        return None if present.all() else present

    def _average(self, scaled: Floats) -> Floats:
        length = len(self.averaged)
        if length == 1:
            return scaled
        self.averaged[self.filled % length] = scaled
        seen = min(self.filled + 1, length)
        average: Floats = self.averaged[:seen].sum(axis=0) / seen
        return average

    def _restart(self) -> Any:
        self.filled = 0
        self.held[:] = self.model.fallback
        self.age[:] = -1
        self.scorer.restart()
        return self.lifecycle.unjudged()

    def _values(self, row: Row) -> Floats:
        channels = self.model.channels
        if hasattr(row, "to_dict"):  # a pandas Series: by name, as a mapping
            row = row.to_dict()
        if isinstance(row, Mapping):
            missing = [name for name in channels if name not in row]
            extra = [str(name) for name in row if name not in channels]
            if missing or extra:
                parts = [f"missing: {', '.join(missing)}"] * bool(missing)
                parts += [f"not fitted: {', '.join(extra)}"] * bool(extra)
                raise ChannelError(f"row must have the channels of the fitted data; {'; '.join(parts)}")
            row = [row[name] for name in channels]
        if isinstance(row, str | bytes | Set):
            raise InputError(f"row must be a sequence, an array or a mapping by channel name; got {row!r}")
        try:
            if isinstance(row, np.ma.MaskedArray):
                row = np.ma.filled(row.astype(np.float64), np.nan)
            plain = np.asarray(row if isinstance(row, np.ndarray) else [np.nan if v is None else v for v in row])
            if plain.dtype.kind not in "biufO":
                raise TypeError(f"values of type {plain.dtype}")
            values = plain.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"row must hold numbers; got {error}") from error
        if values.shape != (len(channels),):
            raise ChannelError(f"row must have {len(channels)} values, one per channel; got shape {values.shape}")
        return values


@dataclass(slots=True)
class _Ready:
    """A row that can be judged, on its way through the network."""

    index: int
    time: np.datetime64 | None
    x: NDArray[np.float32]  # (channels,) scaled
    window: NDArray[np.float32]  # (time, width) embedded
    present: NDArray[np.bool_] | None
    notes: tuple[str, ...]


class Streams:
    """Many entities of one model, stepped together: the network sees all their windows at once."""

    def __init__(self, model: Model, keys: Iterable[Hashable]) -> None:
        self.model = model
        self.each = {key: Stream(model) for key in keys}

    def __getitem__(self, key: Hashable) -> Stream:
        return self.each[key]

    def update(self, rows: Mapping[Any, Row], time: object = None) -> dict[Hashable, Step]:
        """One row for each key given, all of one time, or with a time for each key in a mapping."""
        unknown = [key for key in rows if key not in self.each]
        if unknown:
            raise InputError(f"rows must be for the keys of these streams; got {unknown[0]!r}")
        times = time if isinstance(time, Mapping) else dict.fromkeys(rows, time)
        if set(times) != set(rows):
            raise InputError(f"time must be given for the keys of rows; got {list(times)!r}")
        # All are read before any is taken: an error changes nothing.
        read = {key: (self.each[key]._values(row), nanoseconds(times[key])) for key, row in rows.items()}
        taken = {key: self.each[key]._take(*given) for key, given in read.items()}
        ready = {key: now for key, now in taken.items() if isinstance(now, _Ready)}
        steps = {key: now for key, now in taken.items() if isinstance(now, Step)}
        if ready:
            backs = self.model.engine.reconstruct_embedded(np.stack([now.window for now in ready.values()]))
            for (key, now), back in zip(ready.items(), backs, strict=True):
                steps[key] = self.each[key]._judge(now, back)
        return {key: steps[key] for key in rows}


def _nobody(channels: int) -> NDArray[np.float32]:
    return np.zeros(channels, dtype=np.float32)


def _blame(
    model: Model, rows: NDArray[np.float32], error: NDArray[Any], present: NDArray[np.bool_] | None
) -> NDArray[np.float32]:
    shares: NDArray[np.float32] = model.combiner.blame(error, model.blamable(rows, present))[0].astype(np.float32)
    return shares
