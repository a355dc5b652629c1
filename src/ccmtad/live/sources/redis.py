"""Rows of a Redis stream: `redis://localhost/plant?db=0`. Each entry is a row, its fields the tags."""

import logging
from dataclasses import dataclass
from typing import Any

from ...errors import SettingError
from ..address import option
from .connected import BATCH, Connected
from .payload import Message, PayloadOptions

__all__ = ["Redis"]

log = logging.getLogger("ccmtad")

PATIENCE = 5.0  # seconds that an answer may take, beyond what was asked for
MILLISECOND = 1_000_000


@dataclass(frozen=True)
class RedisOptions(PayloadOptions):
    """Options of redis://."""

    db: int = option(0, "Number of the database.", least=0)


class Redis(Connected):
    """Entries after an id, which is the place. A row without a time has that of its id."""

    name = "redis"
    schemes = ("redis", "rediss")
    extra = ("redis", "redis")
    Options = RedisOptions

    def check(self) -> None:
        if not self.address.path:
            raise SettingError(
                f"{self.address.scheme}:// must name a stream after the host; got {self.address.shown!r}"
            )

    def load(self) -> tuple[type[Exception], ...]:
        import redis

        self._library = redis
        self._client: Any = None
        return redis.RedisError, OSError

    def connect(self) -> None:
        self._client = self._library.Redis(
            host=self.address.host,
            port=self.address.port(6379),
            db=self.options.db,
            username=self.address.user or None,
            password=self.address.password or None,
            ssl=self.address.scheme == "rediss",
            socket_connect_timeout=PATIENCE,
            socket_timeout=PATIENCE,
        )
        if self.place is not None:
            self._say_what_may_be_lost()

    def _say_what_may_be_lost(self) -> None:
        """A stream is trimmed from its start: while the last entry read is there, so are all after it."""
        if not self._client.xrange(self.address.path, self.place, self.place):
            for entry, _ in self._client.xrange(self.address.path, f"({self.place}", count=1):
                log.warning("stream was trimmed up to %s, after %s: entries between them are lost, if there were any",
                            entry.decode(), self.place)  # fmt: skip

    def fetch(self, seconds: float) -> list[Message] | None:
        block = max(round(min(seconds, PATIENCE / 2) * 1_000), 1) if seconds else None
        found = self._client.xread({self.address.path: self.place or "0-0"}, count=BATCH, block=block)
        return [self._message(entry, fields) for _, entries in found or () for entry, fields in entries] or None

    def _message(self, entry: bytes, fields: dict[bytes, bytes]) -> Message:
        place = entry.decode()
        milliseconds, sequence = _order(place)
        said = {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}
        return Message(said, place, self.address.path, milliseconds * MILLISECOND + sequence % MILLISECOND)

    def disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _order(entry: str | bytes) -> tuple[int, int]:
    first, _, second = (entry.decode() if isinstance(entry, bytes) else entry).partition("-")
    return int(first), int(second)
