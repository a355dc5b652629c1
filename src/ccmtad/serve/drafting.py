"""What is new of the rows and values that wait, entity by entity: nothing of it counts before it is written.

An item that cannot be taken is refused, and no other with it.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..errors import InputError, StoreError
from ..frame import LATEST
from ..live.assemble import Assembled, Assembler
from .entity import Draft, Entity
from .models import Models
from .refusal import Refusal
from .rows import Batch, Receipt
from .settings import ServeSettings
from .store import log as rows_log
from .store.store import Store
from .values import Values, ValuesReceipt
from .waiting import RETRY, Ticket

__all__ = ["Answered", "Drafting"]

log = logging.getLogger("ccmtad")

Answered = tuple[Ticket, Receipt | ValuesReceipt]
SECOND = 1_000_000_000


class Drafting:
    """Makes drafts."""

    def __init__(self, settings: ServeSettings, store: Store, models: Models) -> None:
        self.settings, self.models = settings, models
        self._times_within = partial(rows_log.times_within, store)

    def draft(self, entity: Entity, tickets: Sequence[Ticket], at: int) -> tuple[Draft, list[Answered]]:
        """What an entity gets at this moment, in the order it came, and what each is answered once it is written."""
        left = [ticket for ticket in tickets if self._fits(entity, ticket)]
        while True:
            draft, answered = Draft(entity, self._times_within), list[Answered]()
            for ticket in left:
                try:
                    answered.append((ticket, self._take(draft, ticket.item, at)))
                except StoreError:
                    raise
                except Exception as error:  # what it left in the draft goes, too: the others are taken anew without it
                    ticket.refuse(_refusal(entity, error))
                    left.remove(ticket)
                    break
            else:
                return draft, answered

    def _fits(self, entity: Entity, ticket: Ticket) -> bool:
        item = ticket.item
        if item.model != entity.model:
            text = f"entity {item.entity!r} belongs to model {entity.model!r}; got rows for {item.model!r}"
            ticket.refuse(Refusal(409, "other-model", text))
            return False
        if isinstance(item, Batch) and item.channels != self.models[item.model].model.channels:
            ticket.refuse(Refusal(409, "model-changed", "the model has other channels now: send it again"))
            return False
        return True

    def _take(self, draft: Draft, item: Batch | Values, at: int) -> Receipt | ValuesReceipt:
        return self._log(draft, item) if isinstance(item, Batch) else self._assemble(draft, item, at)

    def _log(self, draft: Draft, batch: Batch) -> Receipt:
        """Numbers that stand for a missing value, as in the file that the model was fitted on, are missing ones."""
        reading = self.models[batch.model].model.reading
        if reading is not None and reading.no_numbers:
            marked = np.isin(batch.values, list(reading.no_numbers))
            batch = replace(batch, values=np.where(marked, np.nan, batch.values))
        return draft.take(batch)

    def _assemble(self, draft: Draft, item: Values, at: int) -> ValuesReceipt:
        """A value that is stamped far ahead would make all that follow late: it is left out."""
        model, before = self.models[item.model].model, draft.assembler or draft.entity.assembler
        if draft.assembler is None:
            if model.period is None:
                raise InputError(f"model {item.model!r} must have been fitted on rows with times; it has no period")
            fresh = Assembler(model.channels, model.period, self.settings.grace)
            draft.assembler = fresh if before is None else before.copy()
        assembler = draft.assembler
        least, most = -round(LATEST * SECOND), round(LATEST * SECOND)
        if self.settings.ahead:
            most = at + round(self.settings.ahead * SECOND)
        late, ahead, rows = assembler.late, 0, list[Assembled]()
        for channel, value, moment in item.values:
            if least < moment < most:
                rows += assembler.take(channel, value, moment)
            else:
                ahead += 1
        if item.flush:
            rows += assembler.flush()
        if rows:
            values, times = np.stack([one.values for one in rows]), np.array([one.time for one in rows])
            self._log(draft, Batch(item.entity, item.model, model.channels, values, times))
        late = assembler.late - late
        return ValuesReceipt(len(item.values) - late - ahead, late, len(rows), assembler.waiting, ahead)


def _refusal(entity: Entity, error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    if isinstance(error, InputError):
        return Refusal(422, "bad-values", str(error))
    log.error("rows of entity %r cannot be taken", entity.name, exc_info=error)
    return Refusal(503, "failed", f"the service has failed: {error}", retry=RETRY)
