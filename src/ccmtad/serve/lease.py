"""Who owns an entity. A process is a row that it renews with everything it writes; an entity names its process.

A process that is gone (its hold is free) or has not written for too long loses its row. Should it live on, its next
transaction finds the row missing, and writes nothing: what it has in memory is another's now.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, delete, exists, insert, or_, select, update

from ..errors import StoreError
from .store.dialects import Hold
from .store.store import Store
from .store.tables import entities, processes

__all__ = ["Lease", "LeaseLostError"]


class LeaseLostError(StoreError):
    """This process was taken for dead, and others may own what it owned."""


@dataclass
class Lease:
    """This process, as others see it."""

    store: Store
    address: str  # where rows for its entities can be sent
    seconds: float  # without a write, after which others take over
    id: int = field(default=0, init=False)
    _hold: Hold | None = field(default=None, init=False)

    def begin(self) -> None:
        """From now on this process owns what it claims."""
        self.end()
        with self.store.write() as connection:
            until = self.store.dialect.now + self.seconds
            new = insert(processes).values(address=self.address, expires=until).returning(processes.c.id)
            self.id = int(connection.execute(new).scalar_one())
            self._hold = self.store.dialect.hold(self.store.engine, self.id)

    def renew(self, connection: Connection) -> None:
        """In every transaction that writes for an entity, first: nobody else has it before this one has ended."""
        until = self.store.dialect.now + self.seconds
        found = connection.execute(update(processes).where(processes.c.id == self.id).values(expires=until))
        if found.rowcount != 1:
            raise LeaseLostError("this process must hold its lease; it was silent for so long that others took over")

    def bury(self) -> int:
        """Takes their rows from processes that are gone; how many there were."""
        with self.store.read() as connection:
            late = processes.c.expires < self.store.dialect.now
            others = connection.execute(select(processes.c.id, late).where(processes.c.id != self.id)).all()
        buried = 0
        for other, expired in others:
            hold = None if expired else self.store.dialect.hold(self.store.engine, other)
            if not expired and hold is None:
                continue
            try:
                with self.store.write() as connection:
                    gone = delete(processes).where(processes.c.id == other)
                    if hold is None:
                        gone = gone.where(processes.c.expires < self.store.dialect.now)  # it may have come back
                    buried += connection.execute(gone).rowcount
            finally:
                if hold is not None:
                    hold.release()
        return buried

    def claim(self, connection: Connection, wanted: list[int]) -> set[int]:
        """Those of these entities that are ours now: they were, or nobody's."""
        free = or_(
            entities.c.owner.is_(None),
            entities.c.owner == self.id,
            ~exists().where(processes.c.id == entities.c.owner),
        )
        taken = update(entities).where(entities.c.id == bindparam("one"), free).values(owner=self.id)
        return {one for one in wanted if connection.execute(taken, {"one": one}).rowcount}

    def owners(self, connection: Connection, names: Sequence[str]) -> dict[str, str]:
        """Where the owners of entities can be reached, as far as those are others."""
        both = entities.join(processes, processes.c.id == entities.c.owner)
        found = select(entities.c.name, processes.c.address).select_from(both)
        found = found.where(entities.c.name.in_(names), processes.c.id != self.id)
        return {row.name: row.address for row in connection.execute(found)}

    def end(self) -> None:
        """All that was ours is free."""
        if self.id:
            with self.store.write() as connection:
                connection.execute(delete(processes).where(processes.c.id == self.id))
            self.id = 0
        if self._hold is not None:
            self._hold.release()
            self._hold = None
