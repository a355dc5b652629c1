"""A live stream: one row in, one step out."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from . import snapshot
from .frame import nanoseconds
from .lanes import Lanes
from .model import Model
from .network.engine import Engine
from .record import NEVER
from .results import Event, Health, Step, Tally, Verdict
from .row import values_of
from .wording import now

__all__ = ["Stream"]

ONE = np.zeros(1, dtype=np.int64)


class Stream:
    """The state of one entity. `update` is the only call that advances it.

    Example:
        stream = detector.stream()
        step = stream.update(row, time="2026-03-01 12:00")
    """

    def __init__(self, model: Model, engine: Engine | None = None) -> None:
        self.lanes = Lanes(model, 1, engine)
        self._time = np.empty(1, dtype=np.int64)

    def update(self, row: Any, time: object = None) -> Step:
        """Judges the newest row.

        Args:
            row: a sequence or array in the order of the channels, or a mapping by name.
            time: a datetime, ISO text or seconds since 1970; with it, late rows are ignored and pauses noticed.

        Returns:
            A `Step`: score, alarm, and what the row did to events.

        Raises:
            InputError: where the row cannot be used; then nothing has changed.

        Example:
            step = stream.update(row, time="2026-03-01 12:00")
            print(step.alarm, [change.event.sentence for change in step.changes])
        """
        values, moment = values_of(row, self.model.channels), nanoseconds(time)
        self._time[0] = NEVER if moment is None else moment
        return self.lanes.update(ONE, values.reshape(1, -1), self._time).step(0)

    @property
    def model(self) -> Model:
        """What it goes by, feedback included."""
        return self.lanes.model

    def dismiss(self, event: Event) -> None:
        """From the next row on, channels beyond normal in it are judged so mildly that it would have been normal.

        Args:
            event: of this stream, or of its detector's answers.

        Example:
            stream.dismiss(event)
            print(stream.feedback[-1].word)
        """
        self.heed([event.verdict("dismissed", now())])

    def confirm(self, event: Event) -> None:
        """This event was real: its rows are kept out of every later fit and recalibration.

        Args:
            event: of this stream, or of its detector's answers.

        Example:
            stream.confirm(event)
            detector.heed(stream.feedback)
        """
        self.heed([event.verdict("confirmed", now())])

    def undo(self, event: Event) -> None:
        """Takes back what was said of this event.

        Args:
            event: that was dismissed or confirmed.

        Example:
            stream.dismiss(event)
            stream.undo(event)
        """
        self.heed([event.verdict("undone", now())])

    def heed(self, said: Iterable[Verdict]) -> None:
        """Takes words on events to heart, from the next row on.

        Args:
            said: verdicts, such as a detector's `feedback_`.

        Example:
            stream.heed(detector.feedback_)
            print(len(stream.feedback))
        """
        self.lanes.heed(said)

    @property
    def feedback(self) -> tuple[Verdict, ...]:
        """All that was said of events, in order."""
        return self.model.feedback

    def snapshot(self) -> bytes:
        """The whole state as bytes: `detector.stream(resume=...)` goes on from it, in this process or another.

        Returns:
            Bytes, sealed: a damaged snapshot is refused.

        Example:
            state = stream.snapshot()
            stream = detector.stream(resume=state)
        """
        return snapshot.take(self.lanes, 0)

    def resume(self, state: bytes) -> None:
        """Goes on from a snapshot, which must be of this model.

        Args:
            state: what `snapshot()` gave.

        Raises:
            FileError: where it is damaged, or of another model.

        Example:
            stream.resume(stream.snapshot())
            print(stream.tally.rows)
        """
        snapshot.restore(self.lanes, 0, state)

    @property
    def tally(self) -> Tally:
        """What the stream has met."""
        return self.lanes.tally(0)

    @property
    def last_time(self) -> int | None:
        """Of the newest row that had a time, in nanoseconds since 1970."""
        return self.lanes.last_time(0)

    @property
    def health(self) -> Health:
        """Whether the calibration still fits."""
        return self.lanes.health(0)
