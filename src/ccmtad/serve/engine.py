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
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from ..errors import StoreError
from ..results import Verdict
from .drafting import Answered, Drafting
from .entity import Draft
from .lease import Lease, LeaseLostError
from .metrics import Metrics
from .models import Models
from .owned import MEND_AFTER, Owned
from .refusal import Refusal
from .rows import Batch, Chunk, Receipt
from .settings import ServeSettings
from .store import log as rows_log
from .store import words
from .store.store import Store
from .store.tables import windows
from .upkeep import Upkeep
from .values import Values, ValuesReceipt
from .waiting import RETRY, Ticket, Waiting
from .windows import Window

__all__ = ["Engine"]

log = logging.getLogger("ccmtad")

EVERY_FEW = 5  # looks around: what is free is claimed at least so often
TICK = 1.0  # seconds between two looks around


@dataclass
class Round:
    """What is under way."""

    tickets: list[Ticket] = field(default_factory=list)
    drafts: dict[str, Draft] = field(default_factory=dict)
    receipts: list[Answered] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    at: int = 0


class Engine:
    """Takes rows, and steps the streams of the entities that are ours."""

    def __init__(
        self, settings: ServeSettings, store: Store, models: Models, lease: Lease, metrics: Metrics,
        told: Callable[[], None] = lambda: None, learnt: Callable[[str, Verdict], None] = lambda *_: None,
    ) -> None:  # fmt: skip
        self.settings, self.store, self.models, self.lease, self.metrics = settings, store, models, lease, metrics
        self.owned = Owned(settings, store, models, lease)
        self.upkeep = Upkeep(settings, store)
        self.waiting = Waiting(settings.queue)
        self.drafting = Drafting(settings, store, models)
        self.told = told  # called after each commit that may have told of something
        self.learnt = learnt  # called with a model and a word on an event that is over, which was said before it was
        self.ready = False
        self.dead = False  # it cannot go on
        self.trouble = ""  # why nothing can be written
        self.stages = (self.gather, self.claim, self.draft, self.write, self.answer, self.step)
        self._round = Round()
        self._changed: set[str] = set()  # models that are to be taken up
        self._due = 0.0
        self._began = 0  # when it could first take rows: what senders held back meanwhile comes after that
        self._renewed = 0.0
        self._thread = threading.Thread(target=self._run, name="ccmtad-engine", daemon=True)

    # What other threads call.

    def start(self) -> None:
        """Begins to work; `ready` once all that was left behind is judged."""
        self._thread.start()

    def stop(self) -> None:
        """Writes what there is, lets go of everything, and ends."""
        self.waiting.close()
        if self._thread.ident is not None:
            self._thread.join()

    def submit(self, item: Batch | Values) -> "Future[Receipt | ValuesReceipt]":
        """Puts rows or values into the queue; what comes back is set when they are on the disk."""
        try:
            return self.waiting.put(item)
        except Refusal as refusal:
            if refusal.status == 429:
                self.metrics.refused.inc()
            raise

    def wake(self) -> None:
        """Something was said of an event, a window or a model has changed, an owner has gone: look now."""
        self.waiting.nudge()

    @property
    def queued(self) -> int:
        """Bytes that wait."""
        return self.waiting.size

    # What its own thread does.

    def _run(self) -> None:
        try:
            while not self._begin():
                time.sleep(RETRY)
            while not self.waiting.closed:
                self.round()
            self._end()
        except BaseException as error:  # a defect, and no way to go on: whoever looks after the process must know
            log.exception("the engine has failed")
            self.ready, self.dead, self.trouble = False, True, f"the engine has failed: {error!r}"
            self.waiting.close()
            self.waiting.refuse()

    def _begin(self) -> bool:
        """Takes over what nobody owns."""
        try:
            self.lease.begin()
            self.import_words()
            self._look_at_windows()
            self.lease.bury()
            self.owned.take_free()
            self.ready, self.trouble, self._began = True, "", time.time_ns()
            return True
        except StoreError as error:
            self._failed(error)
            return self.waiting.closed

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
        except Exception as error:  # a defect: what is not acknowledged is refused, and all is made again from the log
            log.exception("a round has failed")
            self._refuse_all(Refusal(503, "failed", f"the service has failed: {error}", retry=RETRY))
            self._again()
        finally:
            self._round = Round()

    def gather(self) -> None:
        """What waits, as far as one round takes it."""
        self._round.tickets, nudged = self.waiting.take(None if self.owned.outcome else self._due)
        if nudged or time.monotonic() >= self._due:
            self._due = time.monotonic() + TICK
            self._look()
        self._round.at = time.time_ns()

    def _look(self) -> None:
        """At all that is no row."""
        if self.lease.bury() or not self.upkeep.rounds % EVERY_FEW:
            self.owned.take_free()
        self.owned.look()
        self._flush()
        self.upkeep.work()
        self._changed |= {one.name for one in self.models.refresh()}
        if self._changed:
            self.import_words()
            self.owned.changed(self._changed)
            self._changed = set()
        self.owned.mend()
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
            if now - max(entity.heard, self._began) > 1e9 * (waiting.grace + waiting.period):
                self._round.tickets.append(Ticket(Values(entity.name, entity.model, (), flush=True)))

    def claim(self) -> None:
        """Entities that come for the first time become ours; those of others are refused, with the owner's address."""
        wanted = {one.item.entity: one.item.model for one in self._round.tickets}
        new = [name for name in wanted if name not in self.owned.entities and name not in self.owned.unloaded]
        if new:
            self._claim({name: wanted[name] for name in new})
        for name in wanted:
            if name in self.owned.unloaded:
                text = f"entity {name!r} cannot be judged: {self.owned.unloaded[name].why}"
                self._refuse(name, Refusal(503, "not-judged", text, retry=MEND_AFTER))

    def _claim(self, wanted: dict[str, str]) -> None:
        new = list(wanted)
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
        by_entity: dict[str, list[Ticket]] = {}
        for ticket in this.tickets:
            by_entity.setdefault(ticket.item.entity, []).append(ticket)
        for name, tickets in by_entity.items():
            draft, answered = self.drafting.draft(self.owned.entities[name], tickets, this.at)
            if not answered:
                continue
            this.drafts[name] = draft
            this.receipts += answered
            chunk = draft.chunk(self.owned.groups[draft.entity.model].words, this.at)
            if chunk is not None:
                this.chunks.append(chunk)

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
            self._written()

    def _written(self) -> None:
        """What came of rows is on the disk: others may know."""
        learnt = self.owned.outcome.written()
        self.told()
        for model, word in learnt:
            self.learnt(model, word)
        if learnt:
            self.wake()  # streams heed it from the next row on

    def parts(self, this: Round) -> Iterable[Callable[[Any], None]]:
        """What is written, in order."""
        heads = [draft.head(this.at) for draft in this.drafts.values()]
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
        self.waiting.pause(0.2)

    def _lost(self, error: LeaseLostError) -> None:
        log.warning("%s: starting anew", error)
        self._refuse_all(Refusal(503, "lease-lost", "the service takes over anew: send it again", retry=RETRY))
        self.owned.drop()
        self.ready = False
        self._begin()

    def _again(self) -> None:
        """Makes all that is ours from the store anew; what cannot be made is left aside."""
        names = [*self.owned.entities, *self.owned.unloaded]
        self.owned.drop()
        with contextlib.suppress(StoreError):
            self._look_at_windows()
            self.owned.claim_some(names)

    def _end(self) -> None:
        """The last snapshots, and nothing is ours any more."""
        self.waiting.refuse()
        try:
            self.owned.snap_all()
            with self.store.write() as connection:
                self.lease.renew(connection)
                self.owned.outcome.write(self.store, connection)
            self._written()
            self.lease.end()
        except StoreError as error:
            log.error("the end could not be written; the log will be replayed: %s", error)
