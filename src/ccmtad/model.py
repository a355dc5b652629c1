"""A fitted model as plain values: all that detecting needs, and all that is ever saved."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibrate.calibration import SMALL_SHARE, Calibration
from .calibrate.feedback import LARGEST_SIZE, ROOM, SCALED_RANGE, Verdict, merged, milder
from .calibrate.limits import Tails, nothing
from .calibrate.sight import TIMES, rows_to_alarm
from .errors import SettingError
from .frame import Frame
from .network.clusters import Clusters
from .network.engine import Engine
from .network.guess import Guess
from .network.shapes import Architecture
from .prepare import missing, smooth, timeline, windows
from .prepare.scale import CLIP, Scaler, clip, scaled_and_clipped
from .results import Learnt
from .score.channels import ASTRAY, ERROR, STEP
from .score.combine import LARGEST_LOSS, Combiner
from .settings import Settings
from .tables.reading import Reading

__all__ = ["BLOCK", "Model", "Series", "check_state", "prepare", "reference_name", "series"]

BLOCK = 4_096  # rows that are made ready at a time
LARGEST_STATE = 2**28  # bytes that one stream remembers


@dataclass(frozen=True, eq=False)
class Series:
    """A frame made ready for the engine: late and duplicate rows dropped, scaled, smoothed, clipped."""

    kept: NDArray[np.int64]  # the input row of each row here
    rows: NDArray[np.float32]  # (rows, channels)
    present: NDArray[np.bool_] | None  # (rows, channels) which may be judged; None: all
    ends: NDArray[np.int64]  # last rows of the windows
    start: NDArray[np.bool_]  # (rows,) after a pause, or the first


@dataclass(frozen=True, eq=False)
class Model:
    """What fitting learnt."""

    settings: Settings
    channels: tuple[str, ...]
    named: bool  # whether the channel names came with the training data
    period: float | None  # median seconds between training rows; None where times were unknown
    fallback: NDArray[np.float64]  # (channels,) training medians: where a channel sits before its first value
    scaler: Scaler
    clusters: Clusters
    weights: Mapping[str, NDArray[np.float32]]
    combiner: Combiner
    calibration: Calibration
    correlation: NDArray[np.float32] | None = None  # (channels, channels) of the training rows, 0 where one is constant
    tails: Tails | None = None  # how far is too far, channel by channel; None in older files, and in the paper
    guess: Guess | None = None  # of each channel by the others; None in older files, and in the paper
    distances: Combiner | None = None  # of how far values are from where they usually are; None where no track looks
    feedback: tuple[Verdict, ...] = ()  # what people said of events
    reading: Reading | None = None  # how the file that it was fitted on was read; None where it was no file
    learnt_as: "Model | None" = None  # the model as it was fitted, where this is one that heeds feedback

    @cached_property
    def architecture(self) -> Architecture:
        """The shape of the network."""
        return Architecture.of(self.settings, self.clusters)

    @cached_property
    def engine(self) -> Engine:
        """The inference engine of these weights."""
        return Engine(self.weights, self.architecture)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that detecting needs and that is an array, by name."""
        tracks = self.calibration.tracks
        return {
            **{f"network.{name}": weight for name, weight in self.weights.items()},
            "fallback": self.fallback,
            "scaler.low": self.scaler.low,
            "scaler.span": self.scaler.span,
            "clusters": self.clusters.label,
            "combiner.unit": self.combiner.unit,
            **{reference_name(i): track.reference for i, track in enumerate(tracks)},
            **({} if self.tails is None else self.tails.arrays),
            **({} if self.guess is None else {f"guess.{name}": array for name, array in vars(self.guess).items()}),
            **({} if self.distances is None else {"distances.unit": self.distances.unit}),
        }

    @cached_property
    def heeding(self) -> "Model":
        """The model with what people said of events taken to heart."""
        if not self.feedback:
            return self
        combiner, distances, calibration, limits = milder(
            self.feedback, self.channels, self.combiner, self.distances, self.calibration, self.limits, self.scaler.span
        )
        made = replace(self, combiner=combiner, distances=distances, calibration=calibration, learnt_as=self)
        made.__dict__["limits"] = limits
        return made

    def told(self, said: Iterable[Verdict]) -> "Model":
        """The model as it was fitted, with more feedback."""
        base = self if self.learnt_as is None else self.learnt_as
        return replace(base, feedback=merged(base.feedback, said))

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of all that the state of a stream depends on: what ties a snapshot to its model. A word on an
        event is no part of it."""
        if self.learnt_as is not None:
            return self.learnt_as.fingerprint
        known = {"budget": None, "threshold": None, "alpha": None}  # the tracks say what came of them
        facts = {
            "settings": {**self.settings.live, **known},
            "channels": self.channels,
            "period": self.period,
            "alpha": self.calibration.alpha,
            "tracks": [[track.rows, track.normal, track.threshold] for track in self.calibration.tracks],
        }
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
        for name, array in sorted(self.arrays.items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @cached_property
    def limits(self) -> NDArray[np.float64]:
        """(limits, channels): how far is too far, and how long too long; with three rows more where a channel is a
        switch."""
        tails = nothing(len(self.channels)) if self.tails is None else self.tails
        return tails.limits(self.settings.rows_per_alarm(self.period) / SMALL_SHARE)

    @property
    def guessing(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weight and the bias of the guesses; empty where there are none."""
        return (np.empty((0, 0)), np.empty(0)) if self.guess is None else (self.guess.weight, self.guess.bias)

    @cached_property
    def far_unit(self) -> NDArray[np.float64]:
        """What squared distances are measured in; empty where no track looks at them."""
        return np.empty(0) if self.distances is None else self.distances.unit

    def away(self, rows: NDArray[np.float32], present: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """(rows, channels) squared distances of scaled rows, 0 where a channel is not judged; without channels where no
        track looks at them."""
        if self.distances is None:
            return np.empty((len(rows), 0))
        away = np.square(rows.astype(np.float64))
        return away if present is None else np.where(present, away, 0.0)

    def distance(self, away: NDArray[np.float64], present: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """How far rows are away, one number for each."""
        return np.zeros(len(away)) if self.distances is None else self.distances.loss(away, present)

    @cached_property
    def sight(self) -> dict[int, int | None]:
        """For an error of so many times the usual one, how many rows it must last for an alarm; None: it has none."""
        return {times: rows_to_alarm(self.calibration, self.limits, self.combiner.unit, times) for times in TIMES}

    @property
    def longest_pause(self) -> float | None:
        """Seconds between two rows above which the window restarts."""
        return timeline.longest_pause(self.period, self.settings.gap)

    @cached_property
    def still(self) -> NDArray[np.bool_]:
        """(channels,) constant in training."""
        if self.correlation is None:
            return np.zeros(len(self.channels), dtype=np.bool_)
        still: NDArray[np.bool_] = np.diag(self.correlation) == 0.0
        return still

    def blamable(self, rows: NDArray[np.float32], present: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """Which channels of each row may be blamed: not one that sits where it always sat, though it may be
        reconstructed badly because others broke."""
        if not self.still.any():
            return present
        moved: NDArray[np.bool_] = ~(self.still & (rows == -1.0))
        return moved if present is None else np.logical_and(present, moved)

    def unclipped(self, values: NDArray[np.float64], error: NDArray[Any]) -> NDArray[np.float64]:
        """Squared errors of rows with these raw values as they would be had nothing been clipped."""
        if self.settings.smooth > 1:  # then a row is more than its own values
            return error
        with np.errstate(invalid="ignore", over="ignore"):
            over = np.abs(self.scaler(values)) - CLIP
            over = np.where(np.isfinite(values) & (over > 0.0), over, 0.0)
            if not over.any():
                return error
            whole: NDArray[np.float64] = np.minimum(np.square(np.sqrt(error) + over), LARGEST_LOSS * self.combiner.unit)
        return whole

    @np.errstate(over="ignore", invalid="ignore")
    def peaks(self, peaks: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The largest squared errors of an event, the values there, how far it came from what the others tell, how many
        times its own limit, and as far as is no evidence from the middle of its range (that again where it alarmed, and
        the values there), as an event tells them: in units of the channel's usual error, in ranges and as a
        step, whatever was dismissed; and which channels were beyond normal."""
        learnt = self if self.learnt_as is None else self.learnt_as
        error, value, expected, off, own, far, out, place = peaks
        usual, limits = learnt.combiner.unit, learnt.limits
        beyond = (ROOM**2 * error > np.minimum(learnt.calibration.quiet * usual, limits[ERROR])) | (
            (ROOM * off > limits[ASTRAY]) | (own > 0.0) | (far > 0.0)
        )
        strayed = np.full(len(off), np.nan) if learnt.guess is None else off / SCALED_RANGE
        distant = np.full(len(far), np.nan)
        if learnt.distances is not None:
            wide = np.sqrt(self.far_unit / learnt.far_unit)
            distant = np.where(far > 0.0, np.minimum(far * wide, LARGEST_SIZE), np.nan)
        told = np.sqrt(error / usual), value, expected, strayed, self.as_steps(own), distant
        return np.stack([*told, np.where(out > 0.0, place, np.nan)]), beyond

    @np.errstate(over="ignore", invalid="ignore")
    def as_steps(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """How large a step would have been so many times as far as its limit; NaN where it was within."""
        return np.where(own > 0.0, np.minimum(own * self.limits[STEP], LARGEST_SIZE), np.nan)

    @property
    def reach(self) -> NDArray[np.float64]:
        """(channels,): how far from what is expected is no evidence of anything, in the input's units."""
        with np.errstate(over="ignore"):
            reach: NDArray[np.float64] = self.scaler.span / 2 * np.sqrt(self.combiner.unit * self.calibration.quiet)
        return reach

    @property
    def learnt(self) -> Learnt:
        """What explains an answer."""
        calibration = self.calibration
        return Learnt(
            self.settings,
            tuple(tuple(self.channels[i] for i in members) for members in self.clusters.members),
            self.correlation,
            self.period,
            calibration.alpha,
            len(calibration.reference),
            calibration.tracks[0].shares,
            calibration.support,
            self.feedback,
            self.reach,
        )

    def series(self, frame: Frame) -> Series:
        """Prepares a frame for detection; nothing in it looks ahead (unless smoothing is centred)."""
        return series(frame, self.scaler, self.fallback, self.period, self.settings)


def check_state(settings: Settings, channels: int) -> None:
    """Whether what a stream has to remember of so many channels stays within reason."""
    for name, kept in (("smooth", settings.smooth), ("window", settings.window)):
        if 8 * kept * channels > LARGEST_STATE:
            most = LARGEST_STATE // (8 * channels)
            raise SettingError(f"{name} must be at most {most:,} rows for {channels:,} channels; got {kept:,}")


def reference_name(track: int) -> str:
    """What the normal losses of a track are called in files."""
    return "calibration.reference" if track == 0 else f"calibration.reference.{track}"


def series(
    frame: Frame, scaler: Scaler, fallback: NDArray[np.float64], period: float | None, settings: Settings
) -> Series:
    """Drops late rows, holds missing values, scales, and finds the windows: a few thousand rows at a time, so that
    nothing of the size of the data is made but what the network takes."""
    longest = timeline.longest_pause(period, settings.gap)
    kept = np.flatnonzero(timeline.kept(frame.times, len(frame), longest))
    times = frame.times if frame.times is None or len(kept) == len(frame) else frame.times[kept]
    start = timeline.starts(times, len(kept), longest)
    ends = windows.ends(start, settings.window)
    rows, present = np.empty((len(kept), len(fallback)), dtype=np.float32), None
    holding, before = missing.Holding(settings.hold_rows, fallback), np.empty((0, len(fallback)))
    # An average that looks ahead is made of the whole series; it is for reproduction only.
    block = max(BLOCK, 4 * settings.smooth) if settings.online else max(len(kept), 1)
    for first in range(0, len(kept), block):
        part = slice(first, min(first + block, len(kept)))
        given = frame.values[part] if len(kept) == len(frame) else frame.values[kept[part]]
        values, there = holding.take(given, start[part])
        # An average reaches back over the rows before, no further than their start.
        reach = slice(part.start - len(before), part.stop)
        whole = np.concatenate([before, values]) if len(before) else values
        begins = start[reach].copy()
        begins[:1] = True
        rows[part] = prepare(whole, begins, scaler, settings)[len(before) :]
        before = whole[max(len(whole) - settings.smooth + 1, 0) :] if settings.smooth > 1 else before
        if there is not None and not there.all():
            present = np.ones(rows.shape, dtype=np.bool_) if present is None else present
            present[part] = there
    return Series(kept, rows, present, ends, start)


@np.errstate(over="ignore", invalid="ignore")  # a value of 1e308, scaled: it is clipped
def prepare(
    values: NDArray[np.float64], start: NDArray[np.bool_], scaler: Scaler, settings: Settings
) -> NDArray[np.float32]:
    """Scale, smooth, clip."""
    if settings.smooth == 1:
        return scaled_and_clipped(values, scaler)
    average = smooth.trailing if settings.smoothing == "trailing" else smooth.centred
    return clip(average(scaler(values), settings.smooth, start))
