"""Rows of a PostgreSQL table: `postgresql://user@host/database?table=readings`. The place is the last (time, id)."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ...errors import CcmtadError, SettingError
from ...tables.reading import Reading
from ...tables.times import moment
from ..address import option
from .connected import BATCH, Connected
from .payload import Message, PayloadOptions

__all__ = ["Postgresql"]

SECOND = 1_000_000_000


@dataclass(frozen=True)
class PostgresqlOptions(PayloadOptions):
    """Options of postgresql://; those of libpq, such as sslmode, are known too."""

    table: str = option("", "Table or view to read; with its schema as SCHEMA.TABLE.")
    time: str = option("time", "Column of the time.")
    id: str = option("id", "Column that tells rows of one time apart, rising.")
    late: float = option(5.0, "Seconds after its time within which a row is committed.", least=0)
    every: float = option(1.0, "Seconds between two looks.", least=0)
    timeout: float = option(10.0, "Seconds that a look may take.", least=0.1)


class Postgresql(Connected):
    """Rows after a (time, id), in that order.

    A row is read once the database's clock is `late` seconds past its time: until then another one may still be
    committed before it. A row committed later than that, before one that was read, is not seen.
    """

    name = "postgresql"
    schemes = ("postgresql", "postgres")
    extra = ("psycopg", "sql")
    Options = PostgresqlOptions

    def check(self) -> None:
        if not self.options.table:
            raise SettingError(f"postgresql:// must name a table: ?table=readings; got {self.address.shown!r}")
        reading = self.payloads.reading
        self._time = reading.time or self.options.time
        self._look_again = 0.0
        ours = () if self.options.id in self.payloads.model.channels else (self.options.id,)
        self._times = Reading()  # as the database writes them, whatever files are like
        self.payloads = replace(
            self.payloads, reading=replace(reading, time=self._time, time_format=None, drop=(*reading.drop, *ours))
        )

    def further(self, name: str) -> bool:
        from psycopg import pq

        return name in {one.keyword.decode() for one in pq.Conninfo.get_defaults()}

    def load(self) -> tuple[type[Exception], ...]:
        import psycopg

        self._library = psycopg
        self._connection: Any = None
        self._query = self._written()
        return psycopg.Error, OSError

    def identity(self) -> str:
        return f"{self.name} {self.options.table} {self._time} {self.options.id}"

    def _written(self) -> Any:
        sql = self._library.sql
        names = {"table": sql.Identifier(*self.options.table.split(".")), "limit": sql.Literal(BATCH)}
        names |= {"time": sql.Identifier("t", self._time), "id": sql.Identifier("t", self.options.id)}
        return {
            first: sql.SQL(
                "select {time}::text, {id}::text, to_json(t)::text, clock_timestamp() from {table} t "
                + ("where {time} is not null " if first else "where ({time}, {id}) > (%s, %s) ")
                + "order by {time}, {id} limit {limit}"
            ).format(**names)
            for first in (True, False)
        }

    def connect(self) -> None:
        timeout = round(self.options.timeout * 1_000)
        given = {"host": ",".join(name for name, _ in self.address.hosts) or None,
                 "port": ",".join(str(port or 5432) for _, port in self.address.hosts) or None,
                 "user": self.address.user or None, "password": self.address.password or None,
                 "dbname": self.address.path or None, **self.address.rest(PostgresqlOptions)}  # fmt: skip
        options = f"{given.pop('options', None) or ''} -c statement_timeout={timeout} -c timezone=UTC -c datestyle=ISO"
        asked: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        asked.setdefault("connect_timeout", str(max(round(self.options.timeout), 2)))
        self._connection = self._library.connect(**asked, options=options, autocommit=True)
        self._look_again = 0.0

    def fetch(self, seconds: float) -> list[Message] | None:
        now = time.monotonic()
        if now < self._look_again:
            if not self.once:
                time.sleep(min(seconds, self._look_again - now))
                return []
            time.sleep(self._look_again - now)
        with _within(self._connection, self.options.timeout + 1.0):
            found = self._connection.execute(self._query[self.place is None], self.place or ()).fetchall()
        messages = list(self._due(found))
        if len(messages) < BATCH:
            self._look_again = time.monotonic() + self.options.every
        return messages if messages else None

    def _due(self, found: list[tuple[str, str, str, datetime]]) -> Iterator[Message]:
        """Those before which no other can be committed any more."""
        for when, number, row, now in found:
            try:
                at = moment(when.removesuffix("+00"), self._times)
            except (ValueError, CcmtadError):
                if when == "infinity":
                    return
                at = None  # of another calendar: it is left out
            if at is not None and at > (now.timestamp() - self.options.late) * SECOND:
                return
            yield Message(row.encode(), [when, number], self.options.table)

    def disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


@contextmanager
def _within(connection: Any, seconds: float) -> Iterator[None]:
    """Ends a connection whose server does not answer: it cannot be asked to stop then, and would be waited for."""
    held = socket.socket(fileno=socket.dup(connection.fileno()))
    alarm = threading.Timer(seconds, lambda: held.shutdown(socket.SHUT_RDWR))
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
        alarm.join()
        held.close()
