"""The life of an event in a stream: opened, updated, resolved, reopened, final. Constant memory."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..results import Change, Event

__all__ = ["Lifecycle"]

Time = np.datetime64


@dataclass(slots=True)
class Lifecycle:
    """Follows the score of one stream; the twin of `events.find`, row by row."""

    channels: tuple[str, ...]
    threshold: float
    onset: int = -1  # last judged row with score 0, or the first judged row; -1: none judged yet
    onset_time: Time | None = None
    positive: int = -1  # last row with positive evidence
    positive_time: Time | None = None
    active: bool = False  # an event exists whose excursion is not over
    in_alarm: bool = False
    start: int = -1
    alarm: int = -1
    end: int = -1
    start_time: Time | None = None
    alarm_time: Time | None = None
    end_time: Time | None = None
    peak: float = 0.0
    alarmed: int = 0  # rows in alarm
    blame: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # summed over them

    def step(
        self, index: int, time: Time | None, evidence: float, score: float, blame: NDArray[np.float32] | None
    ) -> tuple[Event | None, Change | None]:
        """One judged row; `blame` is given where it is in alarm."""
        change: Change | None = None
        if self.onset < 0 or score == 0.0:
            self.onset, self.onset_time = index, time
        if blame is not None:
            change = self._alarm(index, time, score, blame)
        elif self.in_alarm:
            self.in_alarm, change = False, "resolved"
            self.end, self.end_time = self.positive, self.positive_time
        if evidence > 0.0:
            self.positive, self.positive_time = index, time
        if self.active and score == 0.0:
            self.active, change = False, "final"
        return (None if change is None else self.event()), change

    def unjudged(self) -> tuple[Event | None, Change | None]:
        """A row that could not be judged ends everything: the next judged one starts afresh."""
        self.onset, self.onset_time = -1, None
        if not self.active:
            return None, None
        if self.in_alarm:
            self.end, self.end_time = self.positive, self.positive_time
        self.active = self.in_alarm = False
        return self.event(), "final"

    def _alarm(self, index: int, time: Time | None, score: float, blame: NDArray[np.float32]) -> Change:
        change: Change = "updated" if self.in_alarm else "reopened"
        if not self.active:
            change, self.active = "opened", True
            self.start, self.start_time = self.onset, self.onset_time
            self.alarm, self.alarm_time = index, time
            self.peak, self.alarmed, self.blame = 0.0, 0, np.zeros(len(self.channels))
        self.in_alarm = True
        self.peak = max(self.peak, score)
        self.alarmed += 1
        self.blame += blame
        return change

    def event(self) -> Event:
        """The event as it stands."""
        mean = self.blame / self.alarmed
        order = [int(i) for i in np.argsort(-mean, kind="stable") if mean[i] > 0]
        return Event(
            start=self.start,
            alarm=self.alarm,
            end=None if self.in_alarm else self.end,
            severity=self.peak / self.threshold,
            channels=tuple(self.channels[i] for i in order),
            blame=tuple(float(mean[i]) for i in order),
            start_time=self.start_time,
            alarm_time=self.alarm_time,
            end_time=None if self.in_alarm else self.end_time,
        )
