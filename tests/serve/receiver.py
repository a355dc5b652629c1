"""A receiver of webhooks: a real HTTP server that does as it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any

import orjson


@dataclass(frozen=True)
class Came:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    answered: int

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.body)
        return found


@dataclass
class Receiver:
    """`answers` are given in turn, then `then` for ever. With `hold`, nothing is answered before that is set."""

    answers: list[int] = field(default_factory=list)
    then: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None
    came: list[Came] = field(default_factory=list)
    url: str = ""
    port: int = 0  # 0: a free one
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        with self._lock:
            status = self.answers.pop(0) if self.answers else self.then
            self.came.append(Came(path, headers, body, monotonic(), status))
        if self.hold is not None:
            self.hold.wait()
        return status

    def taken(self, entity: str, status: str = "") -> list[Came]:
        """Requests that tell of an entity."""
        with self._lock:
            there = [one for one in self.came if one.told["commonLabels"].get("entity") == entity]
        return [one for one in there if one.told["status"] in (status or one.told["status"])]


@contextmanager
def receiving(**does: Any) -> Iterator[Receiver]:
    """One that listens until the block ends."""
    receiver = Receiver(**does)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["content-length"])))

        def answer(self, body: bytes) -> None:
            status = receiver.take(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            try:
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()
            except OSError:
                pass  # who asked has gone

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", receiver.port), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.hold is not None:
            receiver.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
