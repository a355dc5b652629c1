"""What came too long ago goes: rows that no stream would be made again from, scores, and events that are over.

By when it came, not by the times of the rows: history that is sent today stays as long as what happens today.
"""

import logging
import time

from sqlalchemy import delete, exists, select

from .settings import ServeSettings
from .store import log as rows_log
from .store.store import Store
from .store.tables import events, notices, scores, words

__all__ = ["Upkeep"]

log = logging.getLogger("ccmtad")

EVERY = 60  # looks around between two cleanings


class Upkeep:
    """Retention."""

    def __init__(self, settings: ServeSettings, store: Store) -> None:
        self.settings, self.store = settings, store
        self.rounds = 0

    def work(self) -> None:
        """Now and then."""
        self.rounds += 1
        if self.rounds % EVERY == 1:
            self.clean(time.time_ns())

    def clean(self, now: int) -> None:
        """What came before the spans that are kept."""
        rows, told = now - int(self.settings.keep_rows * 1e9), now - int(self.settings.keep_events * 1e9)
        with self.store.write() as connection:
            rows_log.forget(connection, rows)
            connection.execute(delete(scores).where(scores.c.at < rows))
        with self.store.write() as connection:
            old = select(events.c.id).where(events.c.final.is_(True), events.c.at < told)
            # What was dismissed stays dismissed: such words are kept for as long as their model.
            connection.execute(delete(notices).where(notices.c.event.in_(old), notices.c.at < told))
            connection.execute(delete(events).where(events.c.final.is_(True), events.c.at < told))
            gone = ~exists().where(events.c.id == words.c.event)  # said when its event had just gone
            connection.execute(delete(words).where(gone, words.c.verdict.is_(None)))
