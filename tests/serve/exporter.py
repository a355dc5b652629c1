"""Something to scrape: a real HTTP server whose metrics go on by one step with each scrape of each target."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Exporter:
    """`page` tells the metrics of a target after so many scrapes."""

    page: Callable[[str, int], str]
    address: str = ""
    failed: int = 0  # scrapes that were given up before they were answered
    scrapes: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def scraped(self, target: str) -> str:
        with self._lock:
            step = self.scrapes[target]
            self.scrapes[target] += 1
        return self.page(target, step)


@contextmanager
def exporting(page: Callable[[str, int], str]) -> Iterator[Exporter]:
    """One that listens until the block ends; the path of a request is the target."""
    exporter = Exporter(page)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = exporter.scraped(self.path.strip("/")).encode()
            self.send_response(200)
            self.send_header("content-type", "text/plain; version=0.0.4")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            exporter.failed += 1  # whoever asked has gone

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    exporter.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield exporter
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
