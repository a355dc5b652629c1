"""Where notices go to: one file for each kind, found by the scheme of its URL.

A sink delivers what it is given, or raises. Whether, when and how often it is asked again is the outbox's business, not
its own: see `live/outbox.py`.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

from ...errors import MissingExtraError
from ..address import Address
from ..alert import Standing

__all__ = ["Letter", "RefusedError", "Sink"]


@dataclass(frozen=True)
class Letter:
    """A notice on its way, and how its event stood then."""

    standing: Standing

    @property
    def notice(self) -> dict[str, Any]:
        """What is told: the fields of `watch`, and `entity`."""
        return self.standing.event

    @property
    def id(self) -> str:
        """The same as often as it is told: of event and revision."""
        return f"{self.notice['id']}-{self.notice['revision']}"

    @property
    def line(self) -> bytes:
        """JSON, without an end of line."""
        return json.dumps(self.notice, ensure_ascii=False).encode()


class RefusedError(Exception):
    """A letter will never be taken, however often it is sent."""


@dataclass(frozen=True)
class NoOptions:
    """Of a kind that has none."""


class Sink(ABC):
    """One place that notices go to."""

    name: ClassVar[str] = ""
    schemes: ClassVar[tuple[str, ...]] = ()
    Options: ClassVar[type] = NoOptions
    extra: ClassVar[tuple[str, str] | None] = None  # the package that it needs, and the extra that has it
    most: ClassVar[int] = 100  # letters delivered at once: all of them, or it is said that none was
    again: float | None = None  # seconds after which it wants to be told how events stand, news or not

    def __init__(self, address: Address) -> None:
        self.address = address
        self.options: Any = address.options(self.Options, self.further)
        self.check()
        try:
            self.load()
        except ImportError as error:
            assert self.extra is not None
            package, extra = self.extra
            raise MissingExtraError(
                f"telling {address.scheme}:// needs {package}: pip install 'ccmtad[{extra}]'"
            ) from error

    @property
    def place(self) -> str:
        """What it is known by in a state: two that differ in a token are two. No secret can be read from it."""
        address, given = self.address, sorted(self.address.given.items())
        parts = (address.scheme, address.user, address.password, address.hosts, address.path, given)
        return f"{address.shown} {blake2b(repr(parts).encode(), digest_size=8).hexdigest()}"

    def further(self, name: str) -> bool:  # noqa: ARG002  none, unless a kind says so
        """Whether an option is one of the library beneath."""
        return False

    def check(self) -> None:  # noqa: B027
        """Refuses an address that cannot be meant, before anything is connected to."""

    def load(self) -> None:  # noqa: B027
        """Imports the library that is needed."""

    @abstractmethod
    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:
        """Tells all of them, in order; any error says that they are to be told again, a `RefusedError` never. Beside
        them, how all events stand that go on or ended a short while ago."""

    def close(self) -> None:  # noqa: B027
        """Lets go of its connection; the next delivery may make another."""
