"""Events judged against true faults."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..results import Detection, Event
from ..simulate import Fault

__all__ = ["Judgement", "Match", "judge"]


@dataclass(frozen=True)
class Match:
    """One true fault, and the first event whose alarm it explains (None: missed)."""

    fault: Fault
    event: Event | None
    masked_by: Event | None = None  # for a missed fault: an event that was already in alarm when it began

    @property
    def delay(self) -> int | None:
        """Rows from the fault's start to the alarm."""
        return None if self.event is None else self.event.alarm - self.fault.start

    def blamed(self, most: int = 3) -> bool:
        """Whether a truly affected channel is among the most blamed."""
        return self.event is not None and not set(self.fault.affected).isdisjoint(self.event.channels[:most])


@dataclass(frozen=True)
class Judgement:
    """How a detection did against the truth."""

    matches: tuple[Match, ...]
    false_events: tuple[Event, ...]  # alarms that no fault explains
    normal_alarm: float  # share of rows outside every fault that are in alarm

    @property
    def found(self) -> tuple[Match, ...]:
        return tuple(match for match in self.matches if match.event is not None)

    @property
    def median_delay(self) -> float:
        """Rows; NaN where nothing was found."""
        delays = [match.delay for match in self.found if match.delay is not None]
        return float(np.median(delays)) if delays else float("nan")

    @property
    def blamed(self) -> float:
        """Share of found faults with a truly affected channel among the three most blamed; NaN where none was found."""
        return float(np.mean([match.blamed() for match in self.found])) if self.found else float("nan")


def judge(detection: Detection, faults: Sequence[Fault], window: int) -> Judgement:
    """A fault is found when an alarm starts between its start and its end plus one window."""
    normal = np.ones(len(detection), dtype=np.bool_)
    for fault in faults:
        normal[fault.start : fault.end + window + 1] = False

    def explains(fault: Fault, event: Event) -> bool:
        return fault.start <= event.alarm <= fault.end + window

    def match(fault: Fault) -> Match:
        found = next((e for e in detection.events if explains(fault, e)), None)
        before = (e for e in detection.events if e.alarm < fault.start and (e.end is None or e.end >= fault.start))
        return Match(fault, found, None if found else next(before, None))

    matches = tuple(match(fault) for fault in faults)
    false = tuple(e for e in detection.events if not any(explains(f, e) for f in faults))
    return Judgement(matches, false, float(detection.alarm[normal].mean()) if normal.any() else 0.0)
