"""One of many workers over a partitioned source: a state for each entity, and the entities of a partition saved
together with the place in it. When a worker dies, another goes on from there, as if nothing had happened."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import files, snapshot
from ..detector import Detector
from ..errors import FileError
from ..results import Change, Verdict
from ..streams import Streams
from ..tables.lines import Row
from .journal import Journal, Notice
from .shares import Shares
from .silence import SILENT, Silence
from .sources.partitioned import Partitioned
from .watch import IDLE_WAIT, SAVED_EVERY

__all__ = ["Worker"]

log = logging.getLogger("ccmtad")

MAGIC = b"CCMTADsh"
VERSION = 1
MOVED_EVERY = 30.0  # seconds between two states of a partition without rows

Name = tuple[int, str]  # of an entity among all: its partition's number, its key


@dataclass
class Entity:
    """What is remembered of an entity beside its stream."""

    journal: Journal
    silence: Silence
    newest: int | None = None  # time of its last row


@dataclass
class Partition:
    """One that is ours."""

    number: int
    place: Any = None  # after the last message judged; None: none yet
    saved: Any = None
    entities: dict[str, Entity] = field(default_factory=dict)
    changed: bool = False  # a row came, or ceased to
    next: float = 0.0  # when a place that moved on without rows is saved


@dataclass
class Worker:
    """One model over the entities of a partitioned source, sharing a folder with others of its kind."""

    detector: Detector
    source: Partitioned
    name: str
    folder: Path
    partitions: int = 16
    emit: Callable[[Notice], object] = lambda _: None
    heard: Callable[[], Iterable[Verdict]] = lambda: ()
    zone: str | None = None  # that times are told in; None: UTC
    once: bool = False  # ends where there is nothing more for now
    stopped: bool = False  # set it, from a signal say, and `run` returns after the rows at hand

    rows: int = field(default=0, init=False)  # of this run
    new: int = field(default=0, init=False)  # events opened in this run

    def __post_init__(self) -> None:
        self.source.payloads.whole = True
        self.streams: Streams = self.detector.streams(())
        self.shares = Shares(self.folder, self.source.partitions(self.partitions))
        self.owned: dict[int, Partition] = {}
        self.unsaved: FileError | None = None

    def run(self) -> None:
        """Reads until `stopped`, or with `once` until nothing more is there."""
        due = 0.0
        try:
            while not self.stopped:
                if time.monotonic() >= due:
                    self._listen()
                    self._checkpoint()
                    self._share()
                    due = time.monotonic() + SAVED_EVERY
                rows = self._take()
                self._judge(rows)
                if not rows:
                    self._look()
                    if self.once and self.source.ended:
                        break
                    self.source.wait(IDLE_WAIT)
            self._checkpoint()
        finally:
            self.close()

    def close(self) -> None:
        """Nothing more is read, and all partitions are free for others."""
        self.source.close()
        self.shares.close()

    def _share(self) -> None:
        """Takes and gives back partitions. Those taken are read from their places on."""
        claimed, surplus = self.shares.look()
        for number in surplus:
            if self.unsaved is None:
                self.streams.drop(*((number, key) for key in self.owned.pop(number).entities))
                self.shares.give_back(number)
        for number in claimed:
            self.owned[number] = self._loaded(number)
        if claimed or surplus:
            log.warning("partitions now ours: %d of %d", len(self.owned), self.shares.number)
            self.source.own({number: one.place for number, one in self.owned.items()})

    def _take(self) -> list[tuple[Partition, Row]]:
        if not self.owned:
            return []
        found = []
        for message in self.source.messages():
            part = self.owned.get(self.source.partition(message, self.shares.number))
            if part is not None and self.source.beyond(message, part.place):
                found += [(part, row) for row in self.source.rows(message)]
        for part in self.owned.values():
            part.place = self.source.reached(part.number, part.place)
        return found

    def _judge(self, rows: Sequence[tuple[Partition, Row]]) -> None:
        """In rounds of one row for each entity at most, each round one step for all."""
        waiting: dict[Name, tuple[Partition, Row]] = {}
        for part, row in rows:
            name = part.number, row.key or ""
            if name in waiting:
                self._step(waiting)
                waiting = {}
            waiting[name] = part, row
        if waiting:
            self._step(waiting)

    def _step(self, rows: dict[Name, tuple[Partition, Row]]) -> None:
        for name, (part, row) in rows.items():
            if name not in self.streams:
                self.streams.add(name)
                part.entities[name[1]] = self._entity(name[1])
            entity, part.changed = part.entities[name[1]], True
            ended, entity.newest = entity.silence.heard(row.time), row.time
            if ended is not None:
                self._tell(entity, ended, SILENT)
        times = {name: None if row.time is None else np.datetime64(row.time, "ns") for name, (_, row) in rows.items()}
        steps = self.streams.update({name: row.values for name, (_, row) in rows.items()}, times)
        self.rows += len(rows)
        for name, (part, _) in rows.items():
            for change in steps.changes.get(name, ()):
                self._tell(part.entities[name[1]], change)

    def _tell(self, entity: Entity, change: Change, of: str = "") -> None:
        notice = entity.journal.take(change, of)
        if notice is not None:
            self.new += notice.change == "opened"
            self.emit(notice)

    def _look(self) -> None:
        troubled = bool(self.source.trouble)
        for part in self.owned.values():
            for key, entity in part.entities.items():
                judged = self.streams.tally((part.number, key)).rows
                began = entity.silence.look(judged, entity.newest, troubled=troubled)
                if began is not None:
                    part.changed = True
                    self._tell(entity, began, SILENT)

    def _listen(self) -> None:
        said = tuple(self.heard())
        if said:
            self.streams.heed(said)

    def _checkpoint(self) -> None:
        """Saves the partitions where something happened; the others now and then, so that they begin not far back."""
        try:
            for part in self.owned.values():
                if part.changed or (part.place != part.saved and time.monotonic() >= part.next):
                    self._save(part)
            self.unsaved = None
        except FileError as error:
            if self.unsaved is None:
                log.warning("states cannot be saved until they can be again: %s", error)
            self.unsaved = error

    def _save(self, part: Partition) -> None:
        lanes = [self.streams.lane((part.number, key)) for key in part.entities]
        states = (snapshot.take(self.streams.lanes, lane) for lane in lanes)
        arrays = {str(i): np.frombuffer(state, dtype=np.uint8) for i, state in enumerate(states)}
        told = [[key, one.journal.state(), one.silence.state(), one.newest] for key, one in part.entities.items()]
        facts = {"name": self.name, "source": self.source.identity(), "place": part.place, "entities": told}
        facts["untimed"] = self.source.payloads.untimed
        files.write(files.seal(MAGIC, VERSION, arrays, facts), self.shares.path(part.number))
        part.saved, part.changed, part.next = part.place, False, time.monotonic() + MOVED_EVERY

    def _loaded(self, number: int) -> Partition:
        path, part = self.shares.path(number), Partition(number)
        files.sweep(path)
        if not path.exists():
            return part
        what = f"state {str(path)!r}"
        arrays, facts = files.open_sealed(files.read(path), MAGIC, VERSION, what)
        mine = {"name": self.name, "source": self.source.identity()}
        for name, wanted in mine.items():
            if facts.get(name) != wanted:
                raise FileError(f"{what} must be of the {name} {wanted!r}; got {facts.get(name)!r}")
        try:
            payloads = self.source.payloads
            payloads.untimed = max(payloads.untimed, int(facts["untimed"]))
            part.place = part.saved = facts["place"]
            for i, (key, journal, silence, newest) in enumerate(facts["entities"]):
                self.streams.add((number, key))
                self.streams.resume({(number, key): arrays[str(i)].tobytes()})
                entity = part.entities[key] = self._entity(key)
                entity.journal.restore(journal)
                entity.silence.restore(silence)
                entity.newest = newest
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{what} must hold whole entities; got {error!r}") from error
        return part

    def _entity(self, key: str) -> Entity:
        return Entity(Journal(f"{self.name}/{key}", zone=self.zone), Silence(self.detector.model_.longest_pause))
