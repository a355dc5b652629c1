"""The score of one stream, one loss at a time: averaged, measured against its level, ranked, accumulated.

Two scales look at the same losses: one row by row, which is quick, and one through a trailing mean, which sees what is
small but lasts. Each has its own reference and threshold, and half the budget; the score is that of the scale nearer to
its threshold, in units of the first one's.
"""

import math
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..results import Health
from .accumulate import Accumulator
from .health import Pulse
from .level import Level

if TYPE_CHECKING:
    from ..calibrate.calibration import Calibration, Scale

__all__ = ["Scored", "Scorer", "Track", "averaged"]

Floats = NDArray[np.float64]


class Scored(NamedTuple):
    """One row."""

    pvalue: float
    evidence: float
    score: float
    alarm: bool
    own: float  # p-value of the row by itself


class Track:
    """One scale."""

    __slots__ = ("accumulator", "average", "level", "log_alpha", "recent", "scale")

    def __init__(self, calibration: "Calibration", scale: "Scale") -> None:
        self.scale = scale
        self.log_alpha = calibration.log_alpha
        self.accumulator = Accumulator(calibration.patience, calibration.reset)
        self.recent: deque[float] = deque(maxlen=scale.persistence)  # losses since the last restart
        self.average = math.nan  # of them
        self.level = None
        if calibration.follows:
            self.level = Level(scale.level, calibration.settle, calibration.drift, calibration.accept)

    @property
    def largest(self) -> float:
        """The largest normal loss. Averages take no more of any: what is larger is for the first scale, and would only
        leave a long shadow."""
        largest = float(self.scale.reference[-1])
        return largest if self.level is None else largest * math.exp(self.level.log)

    def restart(self) -> None:
        self.accumulator.restart()
        self.recent.clear()

    def step(self, loss: float) -> tuple[float, float, float]:
        """p-value, evidence and score of the newest loss."""
        self.recent.append(loss)
        self.average = sum(self.recent) / len(self.recent)
        measured = self.average if self.level is None else self.level.measure(self.average)
        pvalue, strength = self.scale.ranking.rank(measured)
        evidence = self.log_alpha + strength
        return pvalue, evidence, self.accumulator.step(evidence)


class Scorer:
    """Everything after the loss. `Calibration.score` folds it over a series."""

    __slots__ = ("above", "calibration", "pulse", "same", "seen", "since", "tracks")

    def __init__(self, calibration: "Calibration") -> None:
        self.calibration = calibration
        self.tracks = tuple(Track(calibration, scale) for scale in calibration.scales)
        self.pulse = Pulse()
        self.above = 0  # rows above the threshold, up to the newest
        self.since = calibration.cooldown  # rows since the last alarm, no more than the cooldown
        self.same = False  # whether the excursion of the last alarm goes on
        self.seen = False  # whether the first scale has been above its threshold, and not quiet since

    def restart(self) -> None:
        """A row that could not be judged: everything starts afresh but the levels."""
        for track in self.tracks:
            track.restart()
        self.above, self.same, self.seen = 0, False, False

    def step(self, loss: float) -> Scored:
        """Judges the newest loss."""
        quick = self.tracks[0]
        unit = quick.scale.threshold
        first = pvalue, evidence, score = quick.step(loss)
        self.seen = self.seen or score > unit
        if self.seen and quick.accumulator.negatives >= self.calibration.patience:
            self.seen = False  # an event it saw is over: averages shall not drag it on
            for track in self.tracks[1:]:
                track.restart()
        for track in self.tracks[1:]:
            p, b, s = track.step(min(loss, quick.largest))
            s *= unit / track.scale.threshold
            if s > score:
                pvalue, evidence, score = p, b, s
        alarm = self._alarm(score, unit)
        high = score > unit  # announced or not
        for track in self.tracks:
            if track.level is not None:
                track.level.follow(track.average, high)
        if not high:
            self.pulse.step(first[0])
        return Scored(pvalue, evidence, score, alarm, first[0])

    @property
    def accepting(self) -> bool:
        """Whether the newest row is the first whose event is taken for the new normal."""
        level = self.tracks[0].level
        return level is not None and level.drift > 0 and 0 < level.accept == level.alarmed - 1

    def health(self) -> Health:
        """Whether the calibration still fits."""
        quick = self.tracks[0]
        return self.pulse.read(quick.scale.shares, 0.0 if quick.level is None else quick.level.log - quick.level.base)

    def _alarm(self, score: float, threshold: float) -> bool:
        """Above the threshold, for long enough, and long enough after the last event."""
        calibration = self.calibration
        self.above = self.above + 1 if score > threshold else 0
        self.same = self.same and score > 0.0
        alarm = self.above >= calibration.duration and (self.same or self.since >= calibration.cooldown)
        self.since = 0 if alarm else min(self.since + 1, calibration.cooldown)
        self.same = self.same or alarm
        return alarm


def averaged(losses: Floats, persistence: int) -> Floats:
    """The trailing mean that a track takes, of a whole series; it starts afresh after a NaN."""
    if persistence == 1:
        return losses
    out = np.full(len(losses), np.nan)
    recent: deque[float] = deque(maxlen=persistence)
    for t, loss in enumerate(losses.tolist()):
        if math.isnan(loss):
            recent.clear()
        else:
            recent.append(loss)
            out[t] = sum(recent) / len(recent)
    return out
