"""The store: a database behind two doors, one to read and one to write."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from ...errors import FileError, StoreError
from ...registry import gather
from . import migrations
from .dialects import Dialect
from .dialects.sqlite import PLAIN

__all__ = ["Store"]

log = logging.getLogger("ccmtad")


class Store:
    """Where everything lasts. What `write` yields is one transaction: all of it, on the disk, or nothing.

    store = Store("sqlite:///plant.db")
    with store.write() as connection: ...
    """

    def __init__(self, url: str) -> None:
        """Opens it, and brings its tables to the newest version. `url` may be the path of an SQLite file."""
        self.url = _url(url)
        dialects = gather("serve.store.dialects")
        name = self.url.get_backend_name()
        if name not in dialects:
            raise FileError(f"store must be of a known database, {', '.join(sorted(dialects))}; got {name!r}")
        self.dialect: Dialect = dialects[name]
        self.insert: Callable[..., Any] = self.dialect.insert
        self.engine = self.dialect.engine(self.url)
        self._one_writer = threading.Lock()  # in this process: they queue here, in order, and not at the database
        try:
            with self._understood():
                migrations.upgrade(self.engine, self.dialect)
        except BaseException:
            self.close()
            raise

    @property
    def shown(self) -> str:
        """Its URL, without a password."""
        return self.url.render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that changes nothing."""
        with self._understood(), self.engine.connect() as connection:
            yield connection.execution_options(**{PLAIN: True})

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction. It is durable when the block has ended; an error in the block undoes it."""
        with self._one_writer, self._understood(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Errors of the database as ours."""
        try:
            yield
        except (OperationalError, InterfaceError, InternalError) as error:
            full = self.dialect.full(error.orig) if error.orig is not None else False
            raise StoreError(f"store must take what is written; got {error.orig}", full=full) from error
        except PoolTimeoutError as error:
            raise StoreError(f"store must answer; got {error}") from error

    def close(self) -> None:
        """Ends all connections; one that another thread still has ends when it is given back."""
        event.listen(self.engine, "checkin", _end)
        self.engine.dispose()


def _end(_: object, entry: ConnectionPoolEntry) -> None:
    entry.invalidate()


def _url(text: str) -> URL:
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text)))
    try:
        return make_url(text)
    except ArgumentError as error:
        raise FileError(
            f"store must be a path, or a URL such as sqlite:///plant.db or postgresql://host/name; got {text!r}"
        ) from error
