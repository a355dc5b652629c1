"""The entities that this process owns: claimed, made again from snapshot and log, and stepped."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import orjson
from sqlalchemy import Row, exists, select

from .. import snapshot
from ..errors import StoreError
from ..lanes import Lanes
from ..live.assemble import Assembler
from ..live.journal import Journal
from ..live.silence import SILENT, Silence
from .entity import Entity, Status, tied
from .group import Group, Judged, judge
from .lease import Lease
from .models import Loaded, Models
from .outcome import Outcome
from .rows import Chunk, columns_of
from .settings import ServeSettings
from .store import log as rows_log
from .store import notices, words
from .store.log import Snapshot
from .store.store import Store
from .store.tables import entities, processes

__all__ = ["MEND_AFTER", "Owned", "Unloaded"]

log = logging.getLogger("ccmtad")

SOME = 500  # entities that are claimed in one transaction
HEALTH_EVERY = 1.0  # seconds between two looks at the health of an entity: it takes longer than a step
MEND_AFTER = 60.0  # seconds after which an entity that could not be loaded is tried again


@dataclass(frozen=True)
class Unloaded:
    """An entity that is ours, and cannot be judged."""

    model: str
    why: str
    again: float  # when it is tried again, by the monotonic clock


class Owned:
    """Entities by name, and the groups they are judged in."""

    def __init__(self, settings: ServeSettings, store: Store, models: Models, lease: Lease) -> None:
        self.settings, self.store, self.models, self.lease = settings, store, models, lease
        self.entities: dict[str, Entity] = {}
        self.by_id: dict[int, Entity] = {}
        self.groups: dict[str, Group] = {}
        self.unloaded: dict[str, Unloaded] = {}
        self.outcome = Outcome()

    def all(self) -> list[Entity]:
        """Those that are ours now; from any thread."""
        return list(self.entities.values())

    def drop(self) -> None:
        """Forgets everything: it is another's now, or to be made again."""
        self.entities, self.by_id, self.groups, self.unloaded = {}, {}, {}, {}
        self.outcome = Outcome(self.outcome.windows)

    def take_free(self) -> None:
        """Claims the entities that nobody owns, as far as their models are here."""
        gone = ~exists().where(processes.c.id == entities.c.owner)
        with self.store.read() as connection:
            free = connection.execute(select(entities.c.name, entities.c.model).where(gone)).all()
        self.claim_some([row.name for row in free if row.model in self.models])

    def claim_some(self, names: Sequence[str]) -> None:
        """However many there are."""
        for first in range(0, len(names), SOME):
            self.claim(names[first : first + SOME])

    def claim(self, names: Iterable[str], new: Mapping[str, str] = MappingProxyType({})) -> set[str]:
        """Those of these entities, and of new ones with their models, that are ours now; each goes on where it was, or
        is `unloaded`: one that cannot be made again from the store keeps no other from it."""
        with self.store.write() as connection:
            self.lease.renew(connection)
            for name, model in new.items():
                rows_log.make(self.store, connection, name, model, time.time_ns())
            rows = rows_log.known(connection, [*names, *new])
            held = self.lease.claim(connection, [row.id for row in rows.values()])
        ours = {name: row for name, row in rows.items() if row.id in held}
        for name in rows.keys() - ours.keys():
            self.unloaded.pop(name, None)  # another has it
        wanted = {name: row for name, row in ours.items() if name not in self.entities}
        self.unloaded |= {name: Unloaded(row.model, "not loaded yet", 0.0) for name, row in wanted.items()}
        for row in wanted.values():
            self._try(row)
        return set(ours)

    def _try(self, row: Row) -> None:  # type: ignore[type-arg]
        try:
            self._load(row)
            del self.unloaded[row.name]
        except StoreError:
            raise
        except Exception as error:
            log.exception("entity %r cannot be judged", row.name)
            self.outcome.forget(row.id)
            self.unloaded[row.name] = Unloaded(row.model, repr(error), time.monotonic() + MEND_AFTER)

    def mend(self) -> None:
        """Tries again what could not be loaded, now and then."""
        now = time.monotonic()
        self.claim_some([name for name, one in self.unloaded.items() if one.again <= now])

    def group(self, loaded: Loaded) -> Group:
        """The streams of a model."""
        group = self.groups.get(loaded.name)
        if group is None:
            with self.store.read() as connection:
                said = words.heeded(connection, loaded.name)
            last = said[-1][0] if said else 0
            group = self.groups[loaded.name] = Group(loaded, [one for _, one in said], last)
        return group

    def listen(self) -> None:
        """Takes up what was said of events."""
        for group in self.groups.values():
            with self.store.read() as connection:
                said = words.heeded(connection, group.loaded.name, group.words)
            if said:
                group.heed([one for _, one in said], said[-1][0])

    def _entity(self, row: Row) -> Entity:  # type: ignore[type-arg]
        loaded = self.models[row.model]
        entity = Entity(
            row.id, row.name, row.model, row.logged, row.stepped, row.newest, sequence=row.sequence, heard=row.heard
        )
        entity.journal = Journal(row.name)
        longest = loaded.model.longest_pause
        on = self.settings.silence > 0 and longest is not None
        entity.silence = Silence(max(longest or 0.0, self.settings.silence) if on else None)
        if row.status is not None:
            entity.status = Status(**orjson.loads(row.status))
        kept = None if row.assembler is None else orjson.loads(row.assembler)
        if kept is not None and _fits(kept, loaded):
            assert loaded.model.period is not None
            entity.assembler = Assembler(loaded.model.channels, loaded.model.period, self.settings.grace)
            entity.assembler.restore(kept)
        return entity

    def _load(self, row: Row) -> None:  # type: ignore[type-arg]
        """An entity as it stands after the last row in its log."""
        loaded, entity = self.models[row.model], self._entity(row)
        with self.store.read() as connection:
            last = rows_log.snapshot(connection, row.id)
        group, lanes = self.group(loaded), None
        if entity.logged:
            lanes = Lanes(loaded.model, 1, loaded.model.engine)
            self._replay(entity, loaded, lanes, last)
        group.add(entity.id, lanes)
        self.entities[entity.name] = self.by_id[entity.id] = entity
        if last is None or last.fingerprint != loaded.fingerprint:
            self.snap(entity)  # written with its next rows: it says which model those came for

    def _replay(self, entity: Entity, loaded: Loaded, lanes: Lanes, last: Snapshot | None) -> None:
        """From the snapshot to the end of the log: what was told is not told again."""
        told, position, heeded = entity.stepped, 0, 0
        memory = {} if last is None else orjson.loads(last.journal)
        if last is not None and last.fingerprint == loaded.fingerprint:
            snapshot.restore(lanes, 0, last.state)
            entity.remember(memory)
            position, heeded, entity.snapped = last.position, memory["words"], last.position
        elif last is not None:
            position = entity.offset = entity.snapped = entity.stepped
            self._restarted(entity)
        others = memory.get("columns", columns_of(loaded.model.channels)) != columns_of(loaded.model.channels)
        for chunk in rows_log.chunks(self.store, entity.id, position):
            if others or chunk.values.shape[1] != len(loaded.model.channels):
                self._pass_over(entity, chunk)
                continue
            if chunk.words > heeded:
                with self.store.read() as connection:
                    lanes.heed([one for _, one in words.heeded(connection, loaded.name, heeded, chunk.words)])
                heeded = chunk.words
            (judged,) = judge(lanes, [0], [chunk])
            if chunk.first < told:
                self.outcome.changes(entity, judged, again=True)
            else:
                self._judge(entity, judged, loaded, lanes, 0)
        entity.taken = lanes.last_time(0)

    def _pass_over(self, entity: Entity, chunk: Chunk) -> None:
        """Rows that came for a model with other channels, and were not judged before it was replaced."""
        log.warning(
            "entity %r: rows %d to %d came for a model with other channels, and are not judged",
            entity.name, chunk.first, chunk.first + len(chunk) - 1,
        )  # fmt: skip
        entity.stepped = entity.offset = entity.snapped = max(entity.stepped, chunk.first + len(chunk))
        self.outcome.stands(entity)

    def _restarted(self, entity: Entity) -> None:
        log.warning("entity %r starts anew at row %d: its model has changed", entity.name, entity.stepped)
        with self.store.read() as connection:
            bodies = {body["id"]: body for body in notices.open_of(connection, [entity.id])}
        bodies |= {one.body["id"]: one.body for one in self.outcome.told if one.entity == entity.id}  # not written yet
        self.outcome.close(entity, [one for one in bodies.values() if one["change"] != "final"], time.time_ns())

    def step(self, chunks: Sequence[Chunk]) -> None:
        """Judges what was logged."""
        by_model: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            by_model.setdefault(self.by_id[chunk.entity].model, []).append(chunk)
        for name, members in by_model.items():
            group = self.groups[name]
            for judged in group.step(members):
                self._judged(group, judged)

    def _judged(self, group: Group, judged: Judged) -> None:
        entity = self.by_id[judged.chunk.entity]
        lane = group.streams.lane(entity.id)
        self._judge(entity, judged, group.loaded, group.streams.lanes, lane)
        if entity.stepped - entity.snapped >= self.settings.snapshot_rows:
            self.snap(entity)

    def snap(self, entity: Entity) -> None:
        """A snapshot of an entity, written with the next rows."""
        group = self.groups[entity.model]
        columns = columns_of(group.model.channels)
        memory = orjson.dumps({**entity.memory(), "words": group.words, "columns": columns}).decode()
        state = group.snapshot(entity.id)
        self.outcome.snapshots[entity.id] = Snapshot(
            entity.id, entity.stepped, group.loaded.fingerprint, state, memory
        )  # fmt: skip
        entity.snapped = entity.stepped

    def snap_all(self) -> None:
        """So that nothing is to be replayed: at the end of a process."""
        for entity in self.entities.values():
            if entity.stepped > entity.snapped:
                self.snap(entity)

    def _judge(self, entity: Entity, judged: Judged, loaded: Loaded, lanes: Lanes, lane: int) -> None:
        now = time.monotonic()
        if now - entity.looked_at > HEALTH_EVERY:
            entity.health, entity.looked_at = lanes.health(lane), now
        entity.taken = lanes.last_time(lane)
        self.outcome.judged(entity, judged, loaded.model.calibration.threshold, entity.health)

    def look(self) -> None:
        """Tells of entities that have gone silent."""
        now = time.time_ns()
        for entity in self.entities.values():
            began = entity.silence.look(entity.stepped, entity.newest) if entity.stepped else None
            if began is not None:
                log.warning("entity %r has gone silent", entity.name)
                self.outcome.tell(entity, began, now, now, SILENT)
                self.snap(entity)  # no row tells of it: it is remembered at once

    def changed(self, names: Iterable[str]) -> None:
        """Takes up models that have changed: where the fingerprint holds, streams go on as they are."""
        for name in names:
            group, loaded = self.groups.get(name), self.models[name]
            due = {key: replace(one, again=0.0) for key, one in self.unloaded.items() if one.model == name}
            self.unloaded |= due
            if group is None:
                continue
            if group.loaded.fingerprint == loaded.fingerprint:
                group.loaded = loaded
                continue
            del self.groups[name]
            fresh = self.group(loaded)
            for entity in self.entities.values():
                if entity.model == name:
                    self._start_anew(entity, loaded, fresh)

    def _start_anew(self, entity: Entity, loaded: Loaded, group: Group) -> None:
        self._restarted(entity)
        entity.offset = entity.stepped
        entity.journal, entity.silence.open = Journal(entity.name), None
        if entity.assembler is not None and not _fits(tied(entity.assembler), loaded):
            entity.assembler = None
        group.add(entity.id)
        self.snap(entity)


def _fits(kept: Mapping[str, Any], loaded: Loaded) -> bool:
    """Whether values that wait are those of a model."""
    period, columns = loaded.model.period, columns_of(loaded.model.channels)
    return period is not None and kept.get("period", period) == period and kept.get("columns", columns) == columns
