"""Lines to rows to steps to notices, with a state on disk from which a killed watch goes on exactly.

Notices are written first, and the state after them. Whatever happens in between, the next run reads the same rows again
and writes the same notices again, with the same ids and revisions: nothing is lost, and what is repeated can be told.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..detector import Detector
from ..errors import FileError
from ..files import open_sealed, seal
from ..results import Step
from ..stream import ACCEPTED, Stream
from ..tables import Reading
from ..tables.lines import BadLineError, Parser
from ..wording import iso
from .journal import Journal, Notice
from .lines import FollowedFile, Lines, Mark

__all__ = ["Acknowledged", "Watch"]

log = logging.getLogger("ccmtad")

MAGIC = b"CCMTADwa"
VERSION = 1
EVERY = 1.0  # seconds between two states on disk
IDLE = 0.2  # seconds to wait for more lines
LOUD = 10  # bad lines, or gaps, that are told of one by one
SELDOM = 1_000  # rows between two notes on health


@dataclass(frozen=True)
class Acknowledged:
    """Rows that need not be sent again: all notices of them are written, and the state that follows them is on disk."""

    rows: int
    time: str | None  # of the last one


@dataclass
class Watch:
    """One model over one source of lines."""

    detector: Detector
    lines: Lines
    name: str
    how: Reading = field(default_factory=Reading)
    state: Path | None = None
    emit: Callable[[Notice], object] = lambda _: None
    acknowledge: Callable[[Acknowledged], object] = lambda _: None
    stopped: bool = False  # set it, from a signal say, and `run` returns after the lines at hand

    stream: Stream = field(init=False)
    events: int = field(default=0, init=False)  # opened, in earlier runs too
    new: int = field(default=0, init=False)  # of them in this run
    bad: int = field(default=0, init=False)  # lines of this run that were left out
    read: int = field(default=0, init=False)  # lines of this run
    rows: int = field(default=0, init=False)  # rows of this run

    def __post_init__(self) -> None:
        model = self.detector.model_
        self.parser = Parser(model.channels, model.named, self.how)
        self.journal = Journal(self.name)
        self._health = ""
        self._told_at = 0  # row of the last note on health
        self._gaps = 0
        self._failing = False  # whether the last state could not be saved
        try:
            if self.state is not None and self.state.exists():
                self._resume(files.read(self.state))
            else:
                self.stream = self.detector.stream()
                self._save()  # an unwritable place is an error now, not at the first event
        except BaseException:
            self.lines.close()
            raise
        self._saved = self._where()

    def run(self) -> None:
        """Reads until the source ends, or `stopped`."""
        try:
            self._run()
        finally:
            self.lines.close()

    def _run(self) -> None:
        due = time.monotonic() + EVERY
        while not self.stopped:
            lines = self.lines.take()
            if lines is None:
                break
            for line in lines:
                self._line(line)
            if time.monotonic() >= due:
                self._checkpoint()
                due = time.monotonic() + EVERY
            if not lines:
                self.lines.wait(IDLE)
        self._checkpoint()

    def _line(self, line: bytes) -> None:
        self.read += 1
        try:
            row = self.parser.first(line) if self.lines.fresh else self.parser.row(line)
        except BadLineError as error:
            if not self.parser.kind:  # the very first line of all
                raise
            self.bad += 1
            if self.bad <= LOUD:
                more = "; further ones are only counted" if self.bad == LOUD else ""
                log.warning("line %d %s: left out%s", self.read, error, more)
            return
        if line.strip():
            self.lines.fresh = False
        if row is None:
            return
        self.rows += 1
        for note in row.notes:
            log.warning("line %d: %s", self.read, note)
        self._step(self.stream.update(row.values, None if row.time is None else np.datetime64(row.time, "ns")))

    def _step(self, step: Step) -> None:
        notice = self.journal.take(step)
        if notice is not None:
            self.events += notice.change == "opened"
            self.new += notice.change == "opened"
            self.emit(notice)
        for note in step.notes:
            if note == ACCEPTED:
                log.warning("row %d: %s", step.index, note)
            elif note.startswith("gap") and self._gaps < LOUD:
                self._gaps += 1
                more = "; further ones are only counted" if self._gaps == LOUD else ""
                log.warning("row %d: %s%s", step.index, note, more)
        if step.health.state != self._health and step.index - self._told_at >= SELDOM:
            if self._health or step.health.state != "healthy":
                log.warning("row %d: calibration is %s: %s", step.index, step.health.state, step.health.advice)
            self._health, self._told_at = step.health.state, step.index

    def _checkpoint(self) -> None:
        """Puts the state on disk. A disk that is full now may not be later: the next one tries again."""
        where = self._where()
        if self.state is None or where == self._saved:
            return
        try:
            self._save()
        except FileError as error:
            if not self._failing:
                log.warning("state cannot be saved, and stays at row %d until it can: %s", self._saved[0], error)
            self._failing = True
            return
        self._saved, self._failing = where, False
        last = self.stream.last_time
        self.acknowledge(Acknowledged(where[0], None if last is None else iso(np.datetime64(last, "ns"))))

    def _where(self) -> tuple[int, Mark | None]:
        return self.stream.tally.rows, self.lines.mark()

    def _save(self) -> None:
        if self.state is None:
            return
        facts = {
            "mark": self.lines.mark(),
            "fresh": self.lines.fresh,
            "name": self.name,
            "part": self.journal.part,
            "events": self.events,
            "revision": self.journal.revision,
            "severity": self.journal.severity,
            "parser": self.parser.state(),
        }
        snapshot = np.frombuffer(self.stream.snapshot(), dtype=np.uint8)
        files.write(seal(MAGIC, VERSION, {"snapshot": snapshot}, facts), self.state)

    def _resume(self, data: bytes) -> None:
        what = f"state {str(self.state)!r}"
        arrays, facts = open_sealed(data, MAGIC, VERSION, what)
        try:
            self.stream = self._resumed(arrays["snapshot"].tobytes(), what)
            if facts["name"] != self.name:
                raise FileError(f"{what} must be of the watch {self.name!r}; got one of {facts['name']!r}")
            self.journal = Journal(self.name, int(facts["part"]), int(facts["revision"]), float(facts["severity"]))
            self.events = int(facts["events"])
            self.parser.resume(facts["parser"])
            self._go_to(facts["mark"], bool(facts["fresh"]))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{what} must hold a whole watch; got {error!r}") from error

    def _resumed(self, snapshot: bytes, what: str) -> Stream:
        try:
            return self.detector.stream(resume=snapshot)
        except FileError as error:
            raise FileError(f"{what} must be of this model with this budget; got another: {error}") from error

    def _go_to(self, mark: dict[str, Any] | None, fresh: bool) -> None:
        if mark is None or not isinstance(self.lines, FollowedFile):
            log.warning("going on after row %d: send what came after it", self.stream.tally.rows)
        elif self.lines.resume(mark):
            self.lines.fresh = fresh
        else:
            log.warning(
                "the followed file is another one than before: it is read from its start, and what the old one may "
                "have held after row %d is not read",
                self.stream.tally.rows,
            )
            self.journal.part += 1
