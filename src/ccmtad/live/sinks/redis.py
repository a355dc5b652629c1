"""Entries of a Redis stream: `redis://:secret@localhost/events?db=0&most=100000`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SettingError
from ..address import option
from ..alert import Standing
from . import Letter, Sink

__all__ = ["RedisStream"]

PATIENCE = 10.0  # seconds that a server may take to answer


@dataclass(frozen=True)
class RedisOptions:
    """Options of redis://."""

    db: int = option(0, "Number of the database.", least=0)
    most: int = option(100_000, "Entries that the stream keeps, about.", least=1)


class RedisStream(Sink):
    """Each entry has the notice as JSON, and its id, revision, change and entity as fields of their own."""

    name = "redis"
    schemes = ("redis", "rediss")
    Options = RedisOptions
    extra = ("redis", "redis")

    def check(self) -> None:
        if not self.address.path:
            raise SettingError(
                f"{self.address.scheme}:// must name a stream after the host; got {self.address.shown!r}"
            )

    def load(self) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        self._client: Any = redis.Redis(
            host=self.address.host,
            port=self.address.port(6379),
            db=self.options.db,
            username=self.address.user or None,
            password=self.address.password or None,
            ssl=self.address.scheme == "rediss",
            socket_connect_timeout=PATIENCE,
            socket_timeout=PATIENCE,
            retry=Retry(NoBackoff(), 0),
        )

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:  # noqa: ARG002
        with self._client.pipeline(transaction=True) as pipe:
            for letter in letters:
                told = {name: letter.notice[name] for name in ("id", "revision", "change", "entity")}
                fields = told | {"notice": letter.line}
                pipe.xadd(self.address.path, fields, maxlen=self.options.most, approximate=True)
            pipe.execute()

    def close(self) -> None:
        self._client.close()
