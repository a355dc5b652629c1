"""The one writer. Requests put rows into a queue; each round takes all that wait, of all entities, and

    gathers   what waits, and what people said of events
    claims    entities that are new here
    drafts    what is new of the rows, entity by entity
    writes    the new rows, and what came of those before them, in one transaction, forced to the disk
    answers   each request: what it is told is accepted is on the disk
    steps     the new rows; what comes of them is written in the next round, which follows at once

A process may die between any two of these. Rows are in the log or were not accepted; those that were logged and not
stepped, or stepped and not written, are judged again from the snapshot and the log, in the same order, with the same
words on events heeded before the same rows: to the same notices, with the same ids and revisions.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from sqlalchemy import select

from ..errors import StoreError
from ..live.assemble import Assembled, Assembler
from .entity import Draft, Entity
from .lease import Lease, LeaseLostError
from .metrics import Metrics
from .models import Models
from .owned import Owned
from .refusal import Refusal
from .rows import Batch, Chunk, Receipt
from .settings import ServeSettings
from .store import log as rows_log
from .store import words
from .store.store import Store
from .store.tables import windows
from .upkeep import Upkeep
from .values import Values, ValuesReceipt
from .windows import Window

__all__ = ["Engine"]

log = logging.getLogger("ccmtad")

EVERY_FEW = 5  # looks around: what is free is claimed at least so often
TICK = 1.0  # seconds between two looks around
RETRY = 1.0  # seconds after which a refused request may come again
MOST_AT_ONCE = 8 * 2**20  # bytes of rows that one round takes: an answer waits for no more


@dataclass(eq=False)
class Ticket:
    """Rows or values that wait, and who waits for the answer."""

    item: Batch | Values
    answer: "Future[Receipt | ValuesReceipt]" = field(default_factory=Future)

    def refuse(self, error: Exception) -> None:
        """It is not done."""
        if not self.answer.done():
            self.answer.set_exception(error)


@dataclass
class Round:
    """What is under way."""

    tickets: list[Ticket] = field(default_factory=list)
    drafts: dict[str, Draft] = field(default_factory=dict)
    receipts: list[tuple[Ticket, Receipt | ValuesReceipt]] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    at: int = 0


class Engine:
    """Takes rows, and steps the streams of the entities that are ours."""

    def __init__(
        self, settings: ServeSettings, store: Store, models: Models, lease: Lease, metrics: Metrics,
        told: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.settings, self.store, self.models, self.lease, self.metrics = settings, store, models, lease, metrics
        self.owned = Owned(settings, store, models, lease)
        self.upkeep = Upkeep(settings, store)
        self.told = told  # called after each commit that may have told of something
        self.ready = False
        self.dead = False  # it cannot go on
        self.trouble = ""  # why nothing can be written
        self.stages = (self.gather, self.claim, self.draft, self.write, self.answer, self.step)
        self._round = Round()
        self._waiting: deque[Ticket] = deque()
        self._size = 0
        self._more = threading.Condition()
        self._stopped = False
        self._heard = False  # something was said
        self._due = 0.0
        self._renewed = 0.0
        self._thread = threading.Thread(target=self._run, name="ccmtad-engine", daemon=True)

    # What other threads call.

    def start(self) -> None:
        """Begins to work; `ready` once all that was left behind is judged."""
        self._thread.start()

    def stop(self) -> None:
        """Writes what there is, lets go of everything, and ends."""
        with self._more:
            self._stopped = True
            self._more.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def submit(self, item: Batch | Values) -> "Future[Receipt | ValuesReceipt]":
        """Puts rows or values into the queue; what comes back is set when they are on the disk."""
        ticket = Ticket(item)
        with self._more:
            if self._stopped or self.dead:
                raise Refusal(503, "stopping", "the service is about to end: send it again", retry=RETRY)
            if self._size and self._size + item.size > self.settings.queue:
                self.metrics.refused.inc()
                raise Refusal(429, "queue-full", "more rows come than can be written: send it again", retry=RETRY)
            self._waiting.append(ticket)
            self._size += item.size
            self._more.notify()
        return ticket.answer

    def wake(self) -> None:
        """Something was said of an event, a window or a model has changed, an owner has gone: look now."""
        with self._more:
            self._heard, self._due = True, 0.0
            self._more.notify()

    @property
    def queued(self) -> int:
        """Bytes that wait."""
        return self._size

    # What its own thread does.

    def _run(self) -> None:
        try:
            while not self._begin():
                time.sleep(RETRY)
            while not self._stopped:
                self.round()
            self._end()
        except BaseException as error:  # a defect, and no way to go on: whoever looks after the process must know
            log.exception("the engine has failed")
            with self._more:
                self.ready, self.dead, self.trouble = False, True, f"the engine has failed: {error!r}"
                self._refuse_waiting()

    def _begin(self) -> bool:
        """Takes over what nobody owns."""
        try:
            self.lease.begin()
            self.import_words()
            self._look_at_windows()
            self.lease.bury()
            self.owned.take_free()
            self.ready, self.trouble = True, ""
            return True
        except StoreError as error:
            self._failed(error)
            return self._stopped

    def round(self) -> None:
        """All stages, in order; an error answers all that wait, and nothing of it is done."""
        try:
            for stage in self.stages:
                stage()
            if self.trouble:
                log.warning("the store takes what is written again")
                self.trouble = ""
        except LeaseLostError as error:
            self._lost(error)
        except StoreError as error:
            self._failed(error)
        except (
            Exception
        ) as error:  # a defect: nothing of this round is acknowledged, and all is made again from the log
            log.exception("a round has failed")
            self._refuse_all(Refusal(503, "failed", f"the service has failed: {error}", retry=RETRY))
            self._again()
        finally:
            self._round = Round()

    def gather(self) -> None:
        """What waits, as far as one round takes it."""
        with self._more:
            idle = not self._waiting and not self._heard and not self.owned.outcome and not self._stopped
            if idle:
                self._more.wait(max(self._due - time.monotonic(), 0.0))
            taken, size = self._round.tickets, 0
            while self._waiting and size < MOST_AT_ONCE:
                ticket = self._waiting.popleft()
                taken.append(ticket)
                size += ticket.item.size
            self._size -= size
            heard, self._heard = self._heard, False
        due = time.monotonic() >= self._due
        if due:
            self._due = time.monotonic() + TICK
        if heard or due:
            self._look(due)
        self._round.at = time.time_ns()

    def _look(self, due: bool) -> None:
        """At all that is no row."""
        if due:
            if self.lease.bury() or not self.upkeep.rounds % EVERY_FEW:
                self.owned.take_free()
            self.owned.look()
            self._flush()
            self.upkeep.work()
        changed = [one.name for one in self.models.refresh()]
        if changed:
            self.import_words()
            self.owned.changed(changed)
        self.owned.listen()
        self._look_at_windows()

    def _look_at_windows(self) -> None:
        with self.store.read() as connection:
            rows = connection.execute(select(windows).order_by(windows.c.id)).all()
        self.owned.outcome.windows = tuple(Window.of(row) for row in rows)

    def import_words(self) -> None:
        """What was said of events in model files, by `ccmtad dismiss` say, becomes part of what the store knows."""
        for loaded in self.models:
            if not loaded.said:
                continue
            with self.store.write() as connection:
                self.store.dialect.in_turn(connection)
                there = words.said(connection, loaded.name)
                for one in loaded.said:
                    if (one.event, one.word, one.at) not in there:
                        words.say(
                            self.store, connection, one.event, loaded.name, one.word, "", "model file", one.at, one
                        )

    def _flush(self) -> None:
        """Values that have waited long enough for others become rows."""
        now = time.time_ns()
        for entity in self.owned.entities.values():
            waiting = entity.assembler
            if waiting is None or not waiting.waiting or entity.heard is None:
                continue
            if now - entity.heard > 1e9 * (waiting.grace + waiting.period):
                self._round.tickets.append(Ticket(Values(entity.name, entity.model, (), flush=True)))

    def claim(self) -> None:
        """Entities that come for the first time become ours; those of others are refused, with the owner's address."""
        wanted = {one.item.entity: one.item.model for one in self._round.tickets}
        new = [name for name in wanted if name not in self.owned.entities]
        if not new:
            return
        with self.store.read() as connection:
            known, owners = rows_log.known(connection, new), self.lease.owners(connection, new)
            room = self.settings.most_entities - rows_log.number(connection)
        fresh = {name: wanted[name] for name in new if name not in known}
        for name in list(fresh)[max(room, 0) :]:
            del fresh[name]
            text = f"there are {self.settings.most_entities:,} entities already"
            self._refuse(name, Refusal(409, "too-many-entities", text))
        for name, row in known.items():
            if row.model not in self.models:
                text = f"entity {name!r} belongs to model {row.model!r}, which is not here"
                self._refuse(name, Refusal(409, "no-model", text))
        free = [name for name in known if known[name].model in self.models and name not in owners]
        ours = self.owned.claim(free, fresh) if free or fresh else set()
        for name in {*owners, *free, *fresh} - ours:
            text = f"entity {name!r} is owned by another process: send it there"
            self._refuse(name, Refusal(421, "owned-elsewhere", text, retry=RETRY, owner=owners.get(name)))

    def draft(self) -> None:
        """What is new, entity by entity, in the order it came."""
        this = self._round
        for ticket in this.tickets:
            item, entity = ticket.item, self.owned.entities[ticket.item.entity]
            if item.model != entity.model:
                text = f"entity {item.entity!r} belongs to model {entity.model!r}; got rows for {item.model!r}"
                ticket.refuse(Refusal(409, "other-model", text))
                continue
            if isinstance(item, Batch) and item.values.shape[1] != len(self.models[item.model].model.channels):
                ticket.refuse(Refusal(409, "model-changed", "the model has other channels now: send it again"))
                continue
            draft = this.drafts.setdefault(item.entity, Draft(entity, self._times_within))
            taken = draft.take(item) if isinstance(item, Batch) else self._assemble(draft, item)
            this.receipts.append((ticket, taken))
        for draft in this.drafts.values():
            chunk = draft.chunk(self.owned.groups[draft.entity.model].words, this.at)
            if chunk is not None:
                this.chunks.append(chunk)

    def _assemble(self, draft: Draft, item: Values) -> ValuesReceipt:
        model, before = self.models[item.model].model, draft.assembler or draft.entity.assembler
        if draft.assembler is None:
            assert model.period is not None  # asked before it was put into the queue
            fresh = Assembler(model.channels, model.period, self.settings.grace)
            draft.assembler = fresh if before is None else before.copy()
        assembler = draft.assembler
        late, rows = assembler.late, list[Assembled]()
        for channel, value, moment in item.values:
            rows += assembler.take(channel, value, moment)
        if item.flush:
            rows += assembler.flush()
        if rows:
            values, times = np.stack([one.values for one in rows]), np.array([one.time for one in rows])
            draft.take(Batch(item.entity, item.model, values, times))
        late = assembler.late - late
        return ValuesReceipt(len(item.values) - late, late, len(rows), assembler.waiting)

    def _times_within(self, entity: int, least: int, most: int) -> tuple[Any, int]:
        return rows_log.times_within(self.store, entity, least, most)

    def write(self) -> None:
        """One transaction: the lease is renewed, or nothing is written."""
        this, outcome = self._round, self.owned.outcome
        renew = time.monotonic() - self._renewed > self.settings.lease / 4
        if not (this.drafts or outcome or renew):
            return
        began = time.perf_counter()
        with self.store.write() as connection:
            for part in self.parts(this):
                part(connection)
        self._renewed = time.monotonic()
        self.metrics.commit.observe(time.perf_counter() - began)
        if outcome:
            outcome.written()
            self.told()

    def parts(self, this: Round) -> Iterable[Callable[[Any], None]]:
        """What is written, in order."""
        heads = [_head(draft, this.at) for draft in this.drafts.values()]
        return (
            self.lease.renew,
            lambda connection: self.owned.outcome.write(self.store, connection),
            lambda connection: rows_log.append(connection, this.chunks, heads),
        )

    def answer(self) -> None:
        """What is on the disk is acknowledged."""
        for draft in self._round.drafts.values():
            draft.commit(self._round.at)
        for ticket, receipt in self._round.receipts:
            ticket.answer.set_result(receipt)
            self.metrics.took(receipt)

    def step(self) -> None:
        """Judges the new rows."""
        chunks = self._round.chunks
        if chunks:
            began = time.perf_counter()
            self.owned.step(chunks)
            rows = sum(len(chunk) for chunk in chunks)
            self.metrics.stepped(rows, time.perf_counter() - began)

    # When things go wrong.

    def _refuse(self, entity: str, error: Refusal) -> None:
        for ticket in self._round.tickets:
            if ticket.item.entity == entity:
                ticket.refuse(error)
        self._round.tickets = [one for one in self._round.tickets if one.item.entity != entity]

    def _refuse_waiting(self) -> None:
        while self._waiting:
            self._waiting.popleft().refuse(
                Refusal(503, "stopping", "the service has ended: send it again", retry=RETRY)
            )

    def _refuse_all(self, error: Refusal) -> None:
        for ticket in self._round.tickets:
            ticket.refuse(error)

    def _failed(self, error: StoreError) -> None:
        """The store takes nothing: nothing of this round is acknowledged, and all of it may be sent again."""
        if not self.trouble:
            log.error("nothing can be written: %s", error)
        self.trouble = str(error)
        self.metrics.failures.inc()
        status, kind = (507, "store-full") if error.full else (503, "store-away")
        self._refuse_all(Refusal(status, kind, "the store takes nothing now: send it again later", retry=5 * RETRY))
        with self._more:
            self._more.wait(0.2)

    def _lost(self, error: LeaseLostError) -> None:
        log.warning("%s: starting anew", error)
        self._refuse_all(Refusal(503, "lease-lost", "the service takes over anew: send it again", retry=RETRY))
        self.owned.drop()
        self.ready = False
        self._begin()

    def _again(self) -> None:
        """Makes all that is ours from the store anew."""
        names = list(self.owned.entities)
        self.owned.drop()
        with contextlib.suppress(StoreError):
            self._look_at_windows()
            self.owned.claim(names)

    def _end(self) -> None:
        """The last snapshots, and nothing is ours any more."""
        with self._more:
            self._refuse_waiting()
        try:
            self.owned.snap_all()
            with self.store.write() as connection:
                self.lease.renew(connection)
                self.owned.outcome.write(self.store, connection)
            self.lease.end()
        except StoreError as error:
            log.error("the end could not be written; the log will be replayed: %s", error)


def _head(draft: Draft, at: int) -> dict[str, Any]:
    """How far the log of an entity has come."""
    entity: Entity = draft.entity
    assembler = draft.assembler or entity.assembler
    return {
        "one": entity.id,
        "logged": draft.logged,
        "newest": draft.newest,
        "sequence": draft.sequence,
        "heard": at,
        "assembler": None if assembler is None else orjson.dumps(assembler.state()).decode(),
    }
