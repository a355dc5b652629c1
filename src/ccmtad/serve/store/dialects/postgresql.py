"""PostgreSQL, for several services on one store."""

from typing import Any

from sqlalchemy import URL, ColumnElement, Connection, Engine, create_engine, event, literal_column, text
from sqlalchemy.dialects.postgresql import insert

from . import Hold

__all__ = ["POSTGRESQL"]

OURS = "hashtext('ccmtad ' || current_schema())"  # what tells our locks from those of others, of other schemas too
TURN = -1  # the lock that hands out numbers
FULL = ("53100", "53200")  # the disk, the memory of the server
LIVES = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


class SessionHold:
    """A lock that a session has."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def release(self) -> None:
        """With its session, the lock ends."""
        self.connection.invalidate()
        self.connection.close()


class Postgresql:
    """A server, by its URL."""

    name = "postgresql"
    insert = staticmethod(insert)
    now: ColumnElement[float] = literal_column("extract(epoch from clock_timestamp())::float8")

    def engine(self, url: URL) -> Engine:
        """With `synchronous_commit=on`, whatever the server's default is."""
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"), pool_pre_ping=True, connect_args={**LIVES, "connect_timeout": 10}
        )
        event.listen(engine, "connect", _prepare)
        return engine

    def in_turn(self, connection: Connection) -> None:
        """A lock until the end of the transaction: who takes a number later commits later."""
        connection.execute(text(f"SELECT pg_advisory_xact_lock({OURS}, :number)"), {"number": TURN})

    def hold(self, engine: Engine, number: int) -> Hold | None:
        """An advisory lock of a session of its own."""
        connection = engine.connect()
        got = False
        try:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            asked = text(f"SELECT pg_try_advisory_lock({OURS}, :number)")
            got = bool(connection.execute(asked, {"number": number}).scalar())
        finally:
            if not got:
                connection.close()
        return SessionHold(connection) if got else None

    def full(self, error: BaseException) -> bool:
        """The server says so by its code."""
        return getattr(error, "sqlstate", None) in FULL


def _prepare(connection: Any, _: object) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = on")
            cursor.execute("SET timezone = 'UTC'")
        connection.commit()
    except BaseException:
        connection.close()  # the pool has not got it yet
        raise


POSTGRESQL = Postgresql()
