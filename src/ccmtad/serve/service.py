"""A service: store, models, engine and feed, put together."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import func, select

from ..detector import Detector
from ..errors import CcmtadError
from ..results import Verdict
from ..wording import count
from .alerts.alerting import Alerting
from .engine import Engine
from .feed import Feed
from .keys import Keys
from .lease import Lease
from .limits import Limits
from .metrics import Metrics
from .models import Loaded, Models
from .names import is_model_name
from .refusal import Refusal
from .settings import MIB, ServeSettings
from .store.store import Store
from .store.tables import entities, events

__all__ = ["Service"]

log = logging.getLogger("ccmtad")


class Service:
    """All that a process of the service has. `start` and `stop` are called by the app."""

    def __init__(self, settings: ServeSettings, store: Store | None = None) -> None:
        self.settings = settings
        self.store = Store(settings.store) if store is None else store
        self.models = Models(settings.models, self.store)
        self.keys = Keys(self.store)
        self.limits = Limits(settings.rate)
        self.metrics = Metrics()
        self.feed = Feed(self.store)
        self.lease = Lease(self.store, settings.url, settings.lease)
        self.engine = Engine(
            settings, self.store, self.models, self.lease, self.metrics, self.feed.wake, self._keep_in_file_later
        )
        owned = self.engine.owned
        self.metrics.watch(owned.all, self.open_events, lambda: len(owned.unloaded))
        self.alerting = Alerting(settings, self.store, self.lease, self.metrics)
        self.open_streams = 0  # server-sent event streams
        self.stopping = False
        self._files = threading.Lock()  # one writes a model's file at a time
        self._later = ThreadPoolExecutor(1, "ccmtad-files")  # what the engine does not wait for
        self._of: dict[str, str] = {}  # model of an entity

    async def start(self) -> None:
        """Begins to take rows."""
        await self.feed.start()
        self.engine.start()
        self.alerting.start()

    async def stop(self) -> None:
        """Writes what there is, and lets go."""
        self.stopping = True
        await self.feed.stop()
        await self.alerting.stop()
        self.engine.stop()
        self._later.shutdown()
        self.store.close()

    def known(self, entity: str, asked: str | None) -> Loaded | None:
        """The model of an entity, where that can be said without asking the store."""
        name = self._of.get(entity)
        return self.models.loaded.get(name) if name is not None and asked in (None, name) else None

    def model_of(self, entity: str, asked: str | None) -> Loaded:
        """The model that judges an entity: its own, or for a new one that which is asked for, or the only one."""
        name = self._of.get(entity)
        if name is None:
            with self.store.read() as connection:
                name = connection.execute(select(entities.c.model).where(entities.c.name == entity)).scalar()
            if name is not None:
                self._of[entity] = name
        if name is not None and asked is not None and asked != name:
            raise Refusal(409, "other-model", f"entity {entity!r} belongs to model {name!r}; got {asked!r}")
        name = name or asked
        if name is None:
            if len(self.models) != 1:
                there = count(len(self.models), "model")
                raise Refusal(422, "which-model", f"model must be given for a new entity: there are {there}")
            (only,) = self.models
            return only
        return self.model(name)

    def model(self, name: str) -> Loaded:
        """By its name, which is looked up and never a path."""
        if not is_model_name(name) or name not in self.models:
            raise Refusal(404, "no-model", "there is no such model")
        return self.models[name]

    def keep_in_file(self, name: str, verdict: Verdict) -> None:
        """What was said of an event becomes part of the model's file, where that can be written: `ccmtad detect` heeds
        it. The store has it in any case."""
        loaded = self.models.loaded.get(name)
        if loaded is None or loaded.path is None:
            return
        try:
            with self._files:
                Detector.load(loaded.path).heed([verdict]).save(loaded.path)
        except CcmtadError as error:
            log.warning("what was said of %r is kept in the store, not in the model's file: %s", verdict.event, error)

    def _keep_in_file_later(self, name: str, verdict: Verdict) -> None:
        self._later.submit(self.keep_in_file, name, verdict)

    def open_events(self) -> dict[str, int]:
        """How many go on, by kind."""
        with self.store.read() as connection:
            found = connection.execute(
                select(events.c.kind, func.count()).where(events.c.open.is_(True)).group_by(events.c.kind)
            )
            return {row[0]: row[1] for row in found}

    def estimate(self) -> str:
        """What it will take in memory, in words."""
        with self.store.read() as connection:
            there = connection.execute(
                select(entities.c.model, func.count()).group_by(entities.c.model)
            ).all()  # fmt: skip
        numbers: dict[str, int] = {row[0]: row[1] for row in there}
        lines = []
        for loaded in self.models:
            each, number = loaded.state_bytes, numbers.get(loaded.name, 0)
            now = f"; {count(number, 'entity').replace('entitys', 'entities')}: {each * number / MIB:.1f} MiB"
            lines.append(
                f"model {loaded.name}: {each / 1024:.0f} KiB for each entity{now * bool(number)}, "
                f"{each * 1000 / MIB:.0f} MiB for 1,000"
            )
        lines.append(f"queue: up to {self.settings.queue / MIB:.0f} MiB")
        return "\n".join(lines)

    def status(self) -> dict[str, Any]:
        """Whether rows are taken, and why not."""
        engine = self.engine
        self.metrics.ready.set(engine.ready and not engine.trouble)
        self.metrics.queue.set(engine.queued)
        return {"ready": engine.ready and not engine.trouble, "trouble": engine.trouble, "queued": engine.queued}

    def left_out(self) -> dict[str, dict[str, str]]:
        """Entities of this process that cannot be judged, and models that cannot be used, each with the reason."""
        entities = {name: one.why for name, one in dict(self.engine.owned.unloaded).items()}
        return {"entities": entities, "models": {name: one.why for name, one in dict(self.models.bad).items()}}
