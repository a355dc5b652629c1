"""SQLite: one file beside which others lie, write-ahead logged, each commit forced to the disk."""

import errno
import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, ColumnElement, Connection, Engine, create_engine, event, literal_column
from sqlalchemy.dialects.sqlite import insert

from ....errors import FileError
from . import Hold

__all__ = ["SQLITE"]

BUSY_SECONDS = 10  # that one writer waits for another
FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
PLAIN = "reading"  # execution option: this transaction writes nothing


class FileHold:
    """A locked file."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor, self.path = descriptor, path

    def release(self) -> None:
        """Lets go, and leaves nothing behind."""
        if self.descriptor >= 0:
            self.path.unlink(missing_ok=True)
            os.close(self.descriptor)
            self.descriptor = -1


class Sqlite:
    """One machine, no server."""

    name = "sqlite"
    insert = staticmethod(insert)
    now: ColumnElement[float] = literal_column("((julianday('now') - 2440587.5) * 86400.0)")

    def engine(self, url: URL) -> Engine:
        """In WAL mode, `synchronous=FULL`: a commit is on the disk when it returns."""
        if url.database in (None, "", ":memory:"):
            raise FileError("store must be a file that lasts; got a database in memory")
        engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
        return engine

    def in_turn(self, connection: Connection) -> None:
        """There is one writer at a time."""

    def hold(self, engine: Engine, number: int) -> Hold | None:
        """A lock on a file beside the store."""
        database = Path(os.path.realpath(str(engine.url.database)))
        path = database.with_name(f"{database.name}.process-{number}")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno != errno.EWOULDBLOCK:
                raise
            return None
        return FileHold(descriptor, path)

    def full(self, error: BaseException) -> bool:
        """A full disk shows as `SQLITE_FULL`, or as a write that failed."""
        code = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in FULL


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we say where a transaction begins
    for line in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=4000"):
        connection.execute(f"PRAGMA {line}")


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get(PLAIN, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


SQLITE = Sqlite()
