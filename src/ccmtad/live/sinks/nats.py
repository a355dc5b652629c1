"""Messages on a subject of NATS JetStream: `nats://user:secret@localhost/plant.events`.

Each has the id of its notice as `Nats-Msg-Id`: within the stream's window, JetStream keeps one told again but once.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SettingError
from ..address import option
from ..alert import Standing
from . import Letter, Sink

__all__ = ["NatsSubject"]

PATIENCE = 10.0  # seconds that a server may take to answer


@dataclass(frozen=True)
class NatsOptions:
    """Options of nats://."""

    jetstream: bool = option(True, "Whether a stream must say that it has a message; else nobody needs to listen.")


class NatsSubject(Sink):
    """Published, and waited for until a stream has said that it has them."""

    name = "nats"
    schemes = ("nats", "natss")
    Options = NatsOptions
    extra = ("nats-py", "nats")

    def check(self) -> None:
        if not self.address.path or set(self.address.path) & set("*> /"):
            rule = "nats:// must name a subject after the host, without wildcards"
            raise SettingError(f"{rule}; got {self.address.shown!r}")

    def load(self) -> None:
        import nats

        self._library = nats
        self._loop: asyncio.Runner | None = None
        self._client: Any = None

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:  # noqa: ARG002
        if self._loop is None:
            self._loop = asyncio.Runner()
        try:
            self._loop.run(self._publish(letters))
        except Exception:
            self.close()
            raise

    async def _publish(self, letters: Sequence[Letter]) -> None:
        if self._client is None:
            address = self.address
            hosts = address.hosts or ((address.host, None),)
            scheme = "tls" if address.scheme == "natss" else "nats"
            servers = [f"{scheme}://{host}:{port or 4222}" for host, port in hosts]
            login = {"user": address.user, "password": address.password} if address.password else {}
            login = {"token": address.user} if address.user and not address.password else login
            self._client = await self._library.connect(
                servers,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=PATIENCE,
                error_cb=_quiet,
                **login,
            )
        if not self.options.jetstream:
            for letter in letters:
                await self._client.publish(self.address.path, letter.line)
            await self._client.flush(PATIENCE)
            return
        stream = self._client.jetstream(timeout=PATIENCE)
        for letter in letters:
            await stream.publish(self.address.path, letter.line, headers={"Nats-Msg-Id": letter.id})

    def close(self) -> None:
        if self._loop is None:
            return
        client, loop, self._client, self._loop = self._client, self._loop, None, None
        with loop:
            if client is not None:
                loop.run(asyncio.wait_for(client.close(), PATIENCE))


async def _quiet(_: Exception) -> None:
    """What goes wrong is raised where it is waited for."""
