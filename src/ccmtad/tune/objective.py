"""What a setting is worth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..bench import methods
from ..bench.datasets import Entity
from ..bench.inject import LEAST_FITTED, LEAST_ROWS, Ground
from ..bench.protocol import judge
from ..errors import InputError
from ..fit import TrainingSeries, threads
from ..frame import Frame
from ..prepare import missing, timeline
from ..settings import Settings

__all__ = ["Objective", "Oracle", "Score", "Worth"]

PRICE = 0.05  # what an event too many costs: as much as a twentieth of the faults missed
STEPS = 4  # parts of the faults of an entity: a trial may be given up after each


@dataclass(frozen=True)
class Score:
    """What was found, and what it cost, so far."""

    found: int  # faults
    faults: int  # that were there, but for those put where there was an alarm already
    false: int  # events in normal rows
    allowed: float  # of those, by the budget

    @property
    def value(self) -> float:
        """The share of the faults that was found, less a twentieth for each false event that was not allowed."""
        return self.found / max(self.faults, 1) - PRICE * max(0.0, self.false - self.allowed)

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.found + other.found, self.faults + other.faults, self.false + other.false,
            self.allowed + other.allowed,
        )  # fmt: skip


class Worth(Protocol):
    """An objective: higher is better. Told step by step, so that what is hopeless can be given up."""

    @property
    def name(self) -> str: ...

    @property
    def channels(self) -> int: ...

    def steps(self, settings: Settings) -> Iterator[tuple[float, dict[str, Any]]]: ...


class Objective:
    """Faults injected into normal rows that are held back, and false events where there is none. No labels.

    Each series is fitted on its first 70 %, and judged on the rest: one fault a run, of every kind, the same for every
    setting.
    """

    name = "injected faults"

    def __init__(self, frames: Sequence[Frame], seed: int = 0) -> None:
        self.frames, self.seed = [_whole(frame) for frame in frames], seed
        for frame in frames:
            if Ground.of(frame, Settings(), seed) is None:
                most = max(LEAST_FITTED / 0.7, LEAST_ROWS / 0.3)
                raise InputError(f"data must hold at least {most + 1:,.0f} rows to be tuned on; got {len(frame):,}")

    @property
    def channels(self) -> int:
        return min(len(frame.channels) for frame in self.frames)

    def steps(self, settings: Settings) -> Iterator[tuple[float, dict[str, Any]]]:
        done = Score(0, 0, 0, 0.0)
        for frame in self.frames:
            for so_far in self._series(frame, settings):
                now = done + so_far
                yield now.value, vars(now)
            done = now

    def _series(self, frame: Frame, settings: Settings) -> Iterator[Score]:
        rows_per_alarm = settings.rows_per_alarm(timeline.median_period(frame.times))
        if np.isfinite(rows_per_alarm):  # rows are judged without their times
            settings = settings.but(budget=f"1/{rows_per_alarm:.6f} rows")
        ground = Ground.of(frame, settings, self.seed)
        assert ground is not None  # it was long enough when this was made
        order = np.random.default_rng(self.seed).permutation(len(ground.faults))
        ground = Ground(ground.train, ground.values, ground.first, tuple(ground.faults[i] for i in order))
        with threads(settings.threads):
            watching = methods.find("ccmtad").watching(TrainingSeries.of(ground.train, settings))
            untouched = ground.untouched(watching)
            false = sum(event.alarm >= ground.first for event in untouched.events)
            allowed = (len(ground.values) - ground.first) / rows_per_alarm
            found = faults = 0
            marks = {round((i + 1) * len(ground.faults) / STEPS) for i in range(STEPS)}
            for number, told in enumerate(ground.judged(watching, untouched), 1):
                if not told["masked"]:
                    found, faults = found + told["found"], faults + 1
                if number in marks:
                    yield Score(found, faults, false, allowed)


class Oracle:
    """The paper's way: the best F1 on the test labels, over all alphas and thresholds. It has seen them."""

    name = "oracle F1, on test labels"

    def __init__(self, entity: Entity) -> None:
        self.entity = entity

    @property
    def channels(self) -> int:
        return len(self.entity.train.channels)

    def steps(self, settings: Settings) -> Iterator[tuple[float, dict[str, Any]]]:
        with threads(settings.threads):
            series = TrainingSeries.of(self.entity.train, settings)
            fitted = methods.find("ccmtad").fit(series, self.entity.test)
            columns = judge(fitted, self.entity.truth.anomalous, settings, series.rows_per_alarm, every_epoch=False)
        best = columns["oracle"]
        yield float(best.counts.f1), {"oracle_alpha": best["alpha"], "oracle_threshold": best["threshold"]}


def _whole(frame: Frame) -> Frame:
    """Without missing values: a fault's size is in ranges of its channel."""
    return Frame(missing.fill(frame.values), frame.channels, frame.times, frame.named)
