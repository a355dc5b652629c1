"""Rows to steps to notices, with a state on disk from which a killed watch goes on exactly.

Notices are written first, and the state after them. Whatever happens in between, the next run reads the same rows again
and writes the same notices again, with the same ids and revisions: nothing is lost, and what is repeated can be told.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..detector import Detector
from ..errors import FileError
from ..files import open_sealed, seal
from ..lanes import ACCEPTED, AHEAD, RIGHT_AGAIN
from ..results import Change, Step, Verdict
from ..stream import Stream
from ..wording import count, iso, lasting
from .journal import Journal, Notice
from .lock import Lock
from .outbox import Post
from .silence import SILENT, Silence
from .sources import Mark, Row, Source

__all__ = ["Watch"]

log = logging.getLogger("ccmtad")

MAGIC = b"CCMTADwa"
VERSION = 3
SAVED_EVERY = 1.0  # seconds between two states on disk
IDLE_WAIT = 0.2  # seconds to wait for more rows
LOUD_GAPS = 10  # gaps that are told of one by one
NOTHING_TOLD: dict[str, Any] = {"standing": (), "waiting": {}}  # of a state before there were sinks
ROWS_BETWEEN_HEALTH_NOTES = 1_000


@dataclass
class Watch:
    """One model over one source of rows."""

    detector: Detector
    source: Source
    name: str
    state: Path | None = None
    emit: Callable[[Notice], object] = lambda _: None
    post: Post = field(default_factory=Post)  # sinks, which are told too, each as it can
    heard: Callable[[], Iterable[Verdict]] = lambda: ()  # what people have said of events since it was last asked
    zone: str | None = None  # that times are told in; None: UTC
    stopped: bool = False  # set it, from a signal say, and `run` returns after the rows at hand

    stream: Stream = field(init=False)
    events: int = field(default=0, init=False)  # opened, in earlier runs too
    new: int = field(default=0, init=False)  # of them in this run
    rows: int = field(default=0, init=False)  # rows of this run

    def __post_init__(self) -> None:
        self.journal = Journal(self.name, zone=self.zone)
        self.silence = Silence(self.detector.model_.longest_pause)
        self._health = ""
        self._told_at = 0  # row of the last note on health
        self._gaps = 0
        self.unsaved: FileError | None = None  # why the last state could not be saved
        self._lock: Lock | None = None
        try:
            if self.state is not None:
                self._lock = Lock(self.state)
                if self._lock.held:
                    files.sweep(self.state)
            if self.state is not None and self.state.exists():
                self._resume(files.read(self.state))
            else:
                self.stream = self.detector.stream()
                self._save(self.source.mark())  # an unwritable place is an error now, not at the first event
        except BaseException:
            self.close()
            raise
        self._saved = self._where(self.source.mark())

    def run(self) -> None:
        """Reads until the source ends, or `stopped`."""
        try:
            self._run()
        finally:
            self.close()

    def close(self) -> None:
        """Nothing more is read, and the state is free for another watch."""
        self.post.close(0.0)
        self.source.close()
        if self._lock is not None:
            self._lock.release()

    def _run(self) -> None:
        self.post.start()
        due = time.monotonic() + SAVED_EVERY
        while not self.stopped:
            rows = self.source.take()
            if rows is None:
                break
            if rows:
                self._heard(rows[0])
            for row in rows:
                self._row(row)
            if time.monotonic() >= due or self.source.full:
                self._listen()
                self._checkpoint()
                due = time.monotonic() + SAVED_EVERY
            if not rows:
                self._look()
                self.source.wait(IDLE_WAIT)
        self._checkpoint()
        self.post.close()
        self._checkpoint()  # of what still waits

    def _heard(self, row: Row) -> None:
        ended = self.silence.heard(row.time)
        if ended is not None:
            log.warning("row %d: rows come again", self.stream.tally.rows)
            self._tell(ended, SILENT)

    def _look(self) -> None:
        began = self.silence.look(self.stream.tally.rows, self.stream.last_time, troubled=bool(self.source.trouble))
        if began is not None:
            why = f": the source {self.source.trouble}" * bool(self.source.trouble)
            log.warning("no row has come for %s%s", lasting(self.silence.limit), why)
            self._tell(began, SILENT)

    def _listen(self) -> None:
        """Takes up what people have said of events."""
        said = tuple(self.heard())
        if said:
            self.stream.heed(said)
            log.warning("row %d: what was said of %s is heeded", self.stream.tally.rows, count(len(said), "event"))

    def _row(self, row: Row) -> None:
        self.rows += 1
        step = self.stream.update(row.values, None if row.time is None else np.datetime64(row.time, "ns"))
        for change in step.changes:
            self._tell(change)
        self._note(step)

    def _tell(self, change: Change | None, of: str = "") -> None:
        notice = None if change is None else self.journal.take(change, of)
        if notice is not None:
            self.events += notice.change == "opened"
            self.new += notice.change == "opened"
            self.emit(notice)
            self.post.take(notice)

    def _note(self, step: Step) -> None:
        for note in step.notes:
            if note == ACCEPTED or note.startswith((AHEAD, RIGHT_AGAIN)):
                log.warning("row %d: %s", step.index, note)
            elif note.startswith("gap") and self._gaps < LOUD_GAPS:
                self._gaps += 1
                more = "; further ones are only counted" if self._gaps == LOUD_GAPS else ""
                log.warning("row %d: %s%s", step.index, note, more)
        if step.index - self._told_at >= ROWS_BETWEEN_HEALTH_NOTES and step.health.state != self._health:
            if self._health or step.health.state != "healthy":
                log.warning("row %d: calibration is %s: %s", step.index, step.health.state, step.health.advice)
            self._health, self._told_at = step.health.state, step.index

    @property
    def saved_rows(self) -> int:
        """Rows up to which the state on disk goes."""
        return self._saved[0]

    def _checkpoint(self) -> None:
        """Puts the state on disk. A disk that is full now may not be later: the next one tries again."""
        mark = self.source.mark()
        where = self._where(mark)
        if where == self._saved:
            return
        try:
            self._save(mark)
        except FileError as error:
            if self.unsaved is None:
                log.warning("state cannot be saved, and stays at row %d until it can: %s", self.saved_rows, error)
            self.unsaved = error
            return
        news = where[:-1] != self._saved[:-1]  # else only letters have been delivered
        self._saved, self.unsaved = where, None
        if news:
            self.source.commit(mark)

    def _where(self, mark: Mark) -> tuple[int, Mark, int | None, int]:
        """What makes a state another than the one on disk."""
        return self.stream.tally.rows, mark, self.silence.open, self.post.waiting

    def _save(self, mark: Mark) -> None:
        if self.state is None:
            return
        facts = {"name": self.name, "mark": mark, "journal": self.journal.state(), "events": self.events}
        facts |= {"silence": self.silence.state(), "post": self.post.state()}
        snapshot = np.frombuffer(self.stream.snapshot(), dtype=np.uint8)
        files.write(seal(MAGIC, VERSION, {"snapshot": snapshot}, facts), self.state)

    def _resume(self, data: bytes) -> None:
        what = f"state {str(self.state)!r}"
        arrays, facts = open_sealed(data, MAGIC, VERSION, what)
        try:
            self.stream = self._resumed(arrays["snapshot"].tobytes(), what)
            if facts["name"] != self.name:
                raise FileError(f"{what} must be of the watch {self.name!r}; got one of {facts['name']!r}")
            if "journal" not in facts:
                facts = self._of_version_1(facts)
            self.journal.restore(facts["journal"])
            self.silence.restore(facts.get("silence", (None, None)))
            self.post.restore(facts.get("post", NOTHING_TOLD))
            self.events = int(facts["events"])
            if not self.source.resume(facts["mark"], self.stream.tally.rows):
                self.journal.part += 1
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{what} must hold a whole watch; got {error!r}") from error

    def _resumed(self, snapshot: bytes, what: str) -> Stream:
        try:
            return self.detector.stream(resume=snapshot)
        except FileError as error:
            raise FileError(f"{what} must be of this model with this budget; got another: {error}") from error

    def _of_version_1(self, facts: dict[str, Any]) -> dict[str, Any]:
        """What version 1 wrote, as later ones do. Its ids had no kind of event in them."""
        told = {}
        if int(facts["revision"]) and self.stream.lanes.active(0):
            event = self.stream.lanes.event(0)
            name = f"{self.name}+{facts['part']}" if facts["part"] and event.alarm_time is None else self.name
            identity = f"{name}-{iso(event.alarm_time) or event.alarm}"
            told = {event.kind: [identity, facts["revision"], facts["severity"]]}
        mark = {"lines": facts["mark"], "fresh": facts["fresh"], "parser": facts["parser"]}
        mark |= {"rows": self.stream.tally.rows, "time": self.stream.last_time}
        return {**facts, "mark": mark, "journal": {"part": facts["part"], "told": told}}
