"""Runs the service in this process, until it is told to end."""

import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from ..errors import SettingError
from .app import make_app
from .service import Service
from .settings import ServeSettings

__all__ = ["run"]

BACKLOG = 1_024
SWITCH = 0.0005  # seconds after which a busy thread lets another in: the writer waits for the disk, not for parsing
LAST_SECONDS = 5  # that open requests have when it ends


class Server(uvicorn.Server):
    """Says when it is there."""

    def __init__(self, config: uvicorn.Config, service: Service, said: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._said = service, said

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to listen."""
        await super().startup(sockets)
        if self.started:
            self._said()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Event streams end first: they would wait for ever."""
        self._service.stopping = True
        await self._service.feed.stop()
        await super().shutdown(sockets)


def run(settings: ServeSettings, tell: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM. `tell` is given what an operator reads: a first key, an estimate, the address."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        where = f"{settings.host}:{settings.port}"
        raise SettingError(f"host and port must be free to listen on; got {where}: {error.strerror}") from error
    sys.setswitchinterval(SWITCH)
    settings = replace(settings, port=listening.getsockname()[1])
    service = Service(settings)
    _first_key(service, tell)
    tell(service.estimate())
    config = uvicorn.Config(
        make_app(service), log_level="warning", access_log=False, backlog=BACKLOG, server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS, timeout_keep_alive=75, lifespan="on",
    )  # fmt: skip
    for number in (signal.SIGINT, signal.SIGTERM):  # what the server hands on after it has ended: all is done
        signal.signal(number, lambda *_: None)
    Server(config, service, lambda: tell(f"ccmtad serves on {settings.here}")).run([listening])


def _first_key(service: Service, tell: Callable[[str], None]) -> None:
    """The first start makes a key and tells it, this once."""
    if service.settings.keys and not service.keys.all():
        _, text = service.keys.make("first", ("admin",))
        tell(f"first key (admin; shown this once): {text}")
