"""How databases differ, one file for each."""

from collections.abc import Callable
from typing import Any, Protocol

from sqlalchemy import URL, ColumnElement, Connection, Engine

__all__ = ["Dialect", "Hold"]


class Hold(Protocol):
    """Says that a process lives: its death lets go of it, however it dies."""

    def release(self) -> None:
        """Lets go."""


class Dialect(Protocol):
    """What the store must know of a database."""

    name: str  # as SQLAlchemy's
    insert: Callable[..., Any]  # one that knows what to do on a conflict
    now: ColumnElement[float]  # seconds since 1970 by the clock of the database

    def engine(self, url: URL) -> Engine:
        """Connections whose commits are durable."""

    def in_turn(self, connection: Connection) -> None:
        """What is numbered in this transaction becomes visible in the order of its numbers."""

    def hold(self, engine: Engine, number: int) -> Hold | None:
        """The hold of this number; None while another process has it."""

    def full(self, error: BaseException) -> bool:
        """Whether the disk is full."""
