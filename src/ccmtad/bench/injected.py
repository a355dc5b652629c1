"""Faults put into normal rows: what happens is known exactly, and nobody's labels are needed.

One fault a run. Sizes are in ranges of the channel: its largest training value less its smallest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAULTS", "Fault", "Injected", "schedule"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIZES, LENGTHS = (0.3, 1.0, 3.0, 10.0), (1, 10, 100)
CHANNELS = 6  # of an entity, or of those that move, that each fault is tried on
PLACES = 3  # that a fault of many channels is tried at
NOISE, GAIN, DRIFT = 0.3, 2.0, 1.0  # standard deviation, factor around the middle, and last value of a ramp


@dataclass(frozen=True)
class Fault:
    """What can happen to some rows of some channels."""

    name: str
    rows: int
    damage: Callable[[Floats, "Place"], Floats]  # (rows, touched channels) as they were, and as they become
    touches: int = 1  # channels; 0: all that move, -1: half of them, -2: all there are


@dataclass(frozen=True, eq=False)
class Place:
    """What a fault needs to know of where it is."""

    before: Floats  # (touched,) the row before
    middle: Floats  # (touched,) training medians
    low: Floats  # (touched,) training range
    span: Floats
    random: np.random.Generator


@dataclass(frozen=True, eq=False)
class Injected:
    """One fault at one place."""

    fault: Fault
    start: int  # first row
    channels: Ints
    seed: int

    @property
    def last(self) -> int:
        return self.start + self.fault.rows - 1

    def into(self, values: Floats, train: Floats) -> Floats:
        """The series with the fault in it, up to nothing after it: the rest is as it was."""
        made, rows = values.copy(), slice(self.start, self.last + 1)
        low, high = train.min(axis=0)[self.channels], train.max(axis=0)[self.channels]
        place = Place(
            values[self.start - 1, self.channels],
            np.median(train[:, self.channels], axis=0),
            low,
            high - low,
            np.random.default_rng(self.seed),
        )
        made[rows, self.channels] = self.fault.damage(values[rows, self.channels], place)
        return made


def _offset(size: float) -> Callable[[Floats, Place], Floats]:
    return lambda values, place: values + size * place.span * place.random.choice((-1.0, 1.0))


def _ramp(rows: int) -> Floats:
    return np.arange(1, rows + 1)[:, None] / rows


FAULTS: tuple[Fault, ...] = (
    *(
        Fault(f"{size:g} ranges, {rows} row{'s' * (rows > 1)}", rows, _offset(size))
        for size in SIZES
        for rows in LENGTHS
    ),
    Fault("frozen", 200, lambda values, place: np.broadcast_to(place.before, values.shape)),
    Fault("missing", 200, lambda values, _: np.full_like(values, np.nan)),
    Fault("all missing", 200, lambda values, _: np.full_like(values, np.nan), touches=-2),
    Fault("swapped", 100, lambda values, _: values[:, ::-1], touches=2),
    Fault("noise", 100, lambda values, place: values + NOISE * place.span * place.random.standard_normal(values.shape)),
    Fault("gain", 100, lambda values, place: place.middle + GAIN * (values - place.middle)),
    Fault(
        "drift",
        100,
        lambda values, place: values + DRIFT * place.span * place.random.choice((-1.0, 1.0)) * _ramp(len(values)),
    ),
    Fault("regime never seen", 200, lambda values, place: 2 * place.low + place.span - values, touches=-1),
)


def schedule(train: Floats, first: int, end: int, seed: int, faults: Sequence[Fault] = FAULTS) -> list[Injected]:
    """Every fault at seeded places between the rows `first` and `end`, in channels that move in both parts.

    The same for every method. Empty where there is no room.
    """
    moving = np.flatnonzero(np.ptp(train, axis=0) > 1e-12 * np.abs(train).max(axis=0))
    random = np.random.default_rng(seed)
    if not len(moving):
        return []
    chosen = random.permutation(moving)[:CHANNELS]
    made = []
    for fault in faults:
        room = end - fault.rows - first
        if room < 1:
            continue
        for number in range(PLACES if fault.touches < 1 else len(chosen)):
            if fault.touches == 1:
                channels = chosen[number : number + 1]
            elif fault.touches == 2:
                others = moving[moving != chosen[number]]
                if not len(others):
                    continue
                channels = np.array([chosen[number], random.choice(others)])
            elif fault.touches == -1:
                channels = np.sort(random.permutation(moving)[: max(1, len(moving) // 2)])
            else:
                channels = np.arange(train.shape[1])
            start = first + int(random.integers(room))
            made.append(Injected(fault, start, channels, int(random.integers(2**31))))
    return made
