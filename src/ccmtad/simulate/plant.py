"""The whole plant: both lines under their faults, read by noisy sensors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingError
from ..frame import Frame
from . import waste, water
from .disturb import wander
from .faults import KINDS, Fault
from .upset import Upset

__all__ = ["CHANNELS", "Run", "simulate", "spread"]

Floats = NDArray[np.float64]

# Every channel, in order of stages, with the standard deviation of its sensor noise (0: a state, not a measurement).
# LIT level, FIT flow, PIT pressure, DPIT pressure difference, AIT analyser, TT temperature, SIT speed, P pump,
# MV valve, B blower, UV lamp.
CHANNELS: MappingProxyType[str, float] = MappingProxyType(
    {
        # 1, intake
        "LIT101": 0.01, "FIT101": 3.0, "MV101": 0.0, "PIT101": 0.001, "AIT101": 0.05, "TT101": 0.03, "P102": 0.0,
        # 2, lift and dose
        "P101": 0.0, "SIT201": 0.003, "FIT201": 3.0, "PIT201": 0.005, "AIT201": 0.015, "AIT202": 0.01, "SIT203": 0.003,
        "LIT202": 0.005, "P204": 0.0,
        # 3, filter
        "LIT301": 0.01, "P301": 0.0, "FIT301": 3.0, "DPIT301": 0.006, "AIT301": 0.005, "MV302": 0.0, "P302": 0.0,
        "FIT302": 2.0, "MV304": 0.0,
        # 4, clear water
        "LIT401": 0.01, "SIT401": 0.002, "FIT401": 2.5, "PIT401": 0.005, "AIT401": 0.01, "UV401": 0.0, "P402": 0.0,
        # 5, tower
        "LIT501": 0.01, "FIT501": 2.5, "PIT501": 0.004, "AIT501": 0.01,
        # 6, equalisation
        "FIT601": 2.5, "LIT601": 0.01, "SIT601": 0.003, "FIT602": 2.5, "PIT602": 0.004,
        # 7, aeration
        "AIT701": 0.03, "SIT701": 0.004, "FIT701": 6.0, "B701": 0.0, "B702": 0.0, "AIT702": 0.05, "TT701": 0.03,
        # 8, settling
        "LIT801": 0.01, "P801": 0.0, "FIT801": 0.3, "AIT801": 0.05, "P802": 0.0,
    }
)  # fmt: skip
CONSTANT = {"P102": 0.0, "MV304": 0.0, "UV401": 1.0, "P402": 0.0, "P802": 0.0}  # standby, bypass, always lit
MEASUREMENTS = frozenset(name for name, noise in CHANNELS.items() if noise)
MACHINES = {
    "leak": frozenset({"FIT201", "FIT401"}),
    "stuck valve": frozenset({"MV101", "MV302"}),
    "pump trip": frozenset({"P101", "P301", "SIT401", "SIT601", "SIT701"}),
}
EPOCH = np.datetime64("2026-01-01T00:00", "ns")
MINUTE = np.timedelta64(60_000_000_000, "ns")


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated stretch of operation."""

    values: Floats  # (rows, channels) sensor readings
    times: NDArray[np.datetime64]
    faults: tuple[Fault, ...]  # in order of start, with the sizes they turned out to have
    truth: dict[str, Floats]  # noise-free value of every channel, and water that leaves unmetered ("leak 401": m³/h)

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(CHANNELS)

    @property
    def frame(self) -> Frame:
        """The readings, as a detector takes them."""
        return Frame(self.values, self.channels, self.times)


def simulate(rows: int, seed: int = 0, faults: Sequence[Fault] = ()) -> Run:
    """Runs the plant for `rows` minutes. The same seed gives the same weather, load and noise, faults or none."""
    if rows < 1:
        raise SettingError(f"rows must be at least 1; got {rows}")
    for fault in faults:
        if not 0 <= fault.start <= fault.end < rows:
            raise SettingError(f"faults must lie in rows 0 to {rows - 1}; got {fault.start} to {fault.end}")
        places = MACHINES.get(fault.kind, MEASUREMENTS if fault.kind in KINDS else frozenset())
        if fault.channel not in places:
            raise SettingError(f"{fault.kind!r} can happen at {', '.join(sorted(places))}; got {fault.channel!r}")
    random = _generators(seed)
    noise = {name: next(random).normal(0.0, sigma, rows) for name, sigma in CHANNELS.items()}
    lines = (water.WaterLine(rows, random, noise), waste.WasteLine(rows, random, noise))
    faults = tuple(sorted(faults, key=lambda fault: fault.start))
    edges = sorted({0, rows, *(f.start for f in faults), *(f.end + 1 for f in faults)})
    for first, last in pairwise(edges):
        upset = _upset([fault for fault in faults if fault.start <= first <= fault.end])
        for line in lines:
            line.run(first, last, upset)

    truth = {name: np.full(rows, value) for name, value in CONSTANT.items()}
    for module, line in ((water, lines[0]), (waste, lines[1])):
        table = np.array(line.record)
        names = (*module.RECORD, *(f"reading {name}" for name in module.CONTROLLING))
        truth |= dict(zip(names, table.T, strict=True))
    truth |= _slow(rows, random, truth, lines[0])
    values = np.column_stack([truth.pop(f"reading {n}", truth[n] + noise[n]) for n in CHANNELS])
    _disturb_readings(values, faults)
    return Run(values, EPOCH + MINUTE * np.arange(rows), tuple(_sized(f, values, truth) for f in faults), truth)


@cache
def spread() -> MappingProxyType[str, float]:
    """Standard deviation of every channel in a week of normal operation: the unit in which faults are sized."""
    return MappingProxyType({name: float(s) for name, s in zip(CHANNELS, _normal_week().std(axis=0), strict=True)})


@cache
def _normal_week() -> Floats:
    return simulate(7 * 1440).values


def _generators(seed: int) -> Iterator[np.random.Generator]:
    """One independent source for every channel and disturbance, so that a longer run begins like a shorter one."""
    return map(np.random.default_rng, np.random.SeedSequence(seed).spawn(100))


def _slow(
    rows: int, random: Iterator[np.random.Generator], truth: dict[str, Floats], line: water.WaterLine
) -> dict[str, Floats]:
    """Measurements that nothing else depends on."""
    warmth = np.sin(2.0 * np.pi * (np.arange(rows) - 540) / 1440.0)  # the sun
    return {
        "AIT101": line.turbidity,
        "AIT202": 7.6 - 0.25 * truth["AIT201"] + wander(rows, next(random), 0.03, 300),
        "TT101": 12.0 + 0.8 * warmth + wander(rows, next(random), 0.3, 500),
        "TT701": 16.0 + 0.4 * warmth + wander(rows, next(random), 0.2, 500),
    }


def _upset(faults: Sequence[Fault]) -> Upset:
    shift = {
        "sensor bias": 1.0,
        "spoofed sensor": -1.0,
    }  # a spoofed level reads low, so that the tank overfills
    return Upset(
        offset={f.channel: shift[f.kind] * _size(f) * spread()[f.channel] for f in faults if f.kind in shift},
        frozen=frozenset(f.channel for f in faults if f.kind == "frozen sensor"),
        stuck={f.channel: _stuck_at(f) for f in faults if f.kind == "stuck valve"},
        tripped=frozenset(f.channel for f in faults if f.kind == "pump trip"),
        leak={f.channel: _size(f) * spread()[f.channel] for f in faults if f.kind == "leak"},
    )


def _stuck_at(fault: Fault) -> float:
    """As far above the normal mean as its size asks, where a valve can be that far open; else nearly shut."""
    wanted = _mean(fault.channel) + _size(fault) * spread()[fault.channel]
    return wanted if wanted <= 1.0 else 0.15


def _mean(channel: str) -> float:
    return float(_normal_week()[:, list(CHANNELS).index(channel)].mean())


def _size(fault: Fault) -> float:
    if fault.size is None:
        raise SettingError(f"size must be given for a {fault.kind}; got None")
    return fault.size


def _disturb_readings(values: Floats, faults: Sequence[Fault]) -> None:
    """Faults of sensors that control nothing; those of the others acted inside the lines."""
    inside = {*water.CONTROLLING, *waste.CONTROLLING}
    for fault in faults:
        column, rows = list(CHANNELS).index(fault.channel), slice(fault.start, fault.end + 1)
        length = fault.end - fault.start + 1
        if fault.kind == "slow drift":
            values[rows, column] += _size(fault) * spread()[fault.channel] * np.arange(1, length + 1) / length
        elif fault.channel in inside:
            continue
        elif fault.kind in ("sensor bias", "spoofed sensor"):
            values[rows, column] += _size(fault) * spread()[fault.channel]
        elif fault.kind == "frozen sensor":
            values[rows, column] = values[max(fault.start - 1, 0), column]


def _sized(fault: Fault, values: Floats, truth: dict[str, Floats]) -> Fault:
    """The fault with the size it turned out to have."""
    unit, rows = spread()[fault.channel], slice(fault.start, fault.end + 1)
    if fault.kind == "stuck valve":
        return replace(fault, size=abs(_stuck_at(fault) - _mean(fault.channel)) / unit)
    if fault.kind == "pump trip":
        return replace(fault, size=_mean(fault.channel) / unit)
    if fault.kind == "frozen sensor":
        wrong = values[rows, list(CHANNELS).index(fault.channel)] - truth[fault.channel][rows]
        return replace(fault, size=float(np.sqrt(np.mean(wrong**2)) / unit))
    return fault
