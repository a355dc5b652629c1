"""`bench run --inject`: fit on the first part of a training series, put faults into the rest, one a run.

Found: an event's alarm from the first injected row to the last + 24 that the untouched run does not have. Each run
first goes over the end of the fitted rows, so that the stream has settled.
"""

import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fit import TrainingSeries
from ..frame import Frame
from ..results import Detection, Event
from ..settings import Settings
from . import methods
from .datasets import Entity
from .injected import Injected, schedule
from .watching import Baseline

__all__ = ["Ground", "injected", "kept_apart"]

Record = dict[str, Any]

FITTED = 0.7  # share of the training series
AFTER = 24  # rows after a fault in which its alarm still counts
LEAST_ROWS = 300  # to inject into
LEAST_FITTED = 600
ROWS_TO_SETTLE = 1_000
NO_TIME = {"method": 0.0, "judging": 0.0}


@cache
def kept_apart() -> dict[str, frozenset[str]]:
    """Entities that no default is chosen on, by dataset: a fifth of each."""
    table = tomllib.loads(files(__package__).joinpath("kept_apart.toml").read_text(encoding="utf-8"))
    return {name: frozenset(names) for name, names in table.items()}


def injected(entity: Entity, settings: Settings, names: tuple[str, ...], seed: int) -> Iterator[Record]:
    """What each method makes of an entity: its faults one by one, and its untouched rows."""
    ground = Ground.of(entity.train, settings, seed)
    if ground is None:
        for name in names:
            yield {"method": name, "too_short": len(entity.train), "faults": [], "untouched": {}, "seconds": NO_TIME}
        return
    series = TrainingSeries.of(ground.train, settings)
    for name in names:
        start = time.perf_counter()
        watching = methods.find(name).watching(series)
        middle = time.perf_counter()
        yield {
            "method": name,
            **ground.all_judged(watching),
            "seconds": {"method": round(middle - start, 3), "judging": round(time.perf_counter() - middle, 3)},
        }


@dataclass(frozen=True, eq=False)
class Ground:
    """Normal rows to fit on, others that faults are put into, and those faults."""

    train: Frame  # to fit on
    values: NDArray[np.float64]  # to inject into: some of the same rows, to settle on, then those held back
    first: int  # of the rows held back
    faults: tuple[Injected, ...]

    @classmethod
    def of(cls, frame: Frame, settings: Settings, seed: int) -> "Ground | None":
        """None where there are too few rows."""
        cut = int(FITTED * len(frame))
        if cut < LEAST_FITTED or len(frame) - cut < LEAST_ROWS:
            return None
        begin = max(0, cut - ROWS_TO_SETTLE)
        values = frame.values
        faults = schedule(values[:cut], cut - begin + settings.window, len(values) - begin - AFTER, seed)
        return cls(_part(frame, 0, cut), values[begin:], cut - begin, tuple(faults))

    def untouched(self, watching: Baseline) -> Detection:
        """What is found where there is no fault."""
        return watching.detect(Frame(self.values, self.train.channels))

    def judged(self, watching: Baseline, untouched: Detection) -> Iterator[Record]:
        """What is made of each fault, in their order."""
        channels = self.train.channels
        before = {(event.kind, event.alarm) for event in untouched.events}
        for one in self.faults:
            end = one.last + AFTER + 1
            damaged = one.into(self.values, self.train.values)
            found = watching.detect(Frame(damaged[:end], channels))
            new = [e for e in found.events if one.start <= e.alarm and (e.kind, e.alarm) not in before]
            changed = not np.array_equal(damaged, self.values, equal_nan=True)
            yield _fault(one, new, channels, bool(untouched.alarm[one.start]), changed)

    def all_judged(self, watching: Baseline) -> Record:
        """What is made of all faults, and of the untouched rows."""
        untouched = self.untouched(watching)
        return {"faults": list(self.judged(watching, untouched)), "untouched": _untouched(untouched, self.first)}


def _fault(one: Injected, new: list[Event], channels: tuple[str, ...], masked: bool, changed: bool) -> Record:
    made: Record = {"fault": one.fault.name, "found": bool(new), "masked": masked, "changed": changed}
    if new:
        event = min(new, key=lambda event: event.alarm)
        touched = {channels[i] for i in one.channels}
        made |= {
            "kind": event.kind,
            "delay": event.alarm - one.start,
            "first": event.channels[:1] != () and event.channels[0] in touched,
            "top_three": not touched.isdisjoint(event.channels[:3]),
        }
    return made


def _untouched(found: Detection, first: int) -> Record:
    kinds: dict[str, int] = {}
    for event in found.events:
        if event.alarm >= first:
            kinds[event.kind] = kinds.get(event.kind, 0) + 1
    return {"rows": len(found) - first, "events": kinds, "alarm": int(found.alarm[first:].sum())}


def _part(frame: Frame, first: int, end: int) -> Frame:
    return Frame(frame.values[first:end], frame.channels, None, frame.named)
