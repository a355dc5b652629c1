"""A service as a process of its own, as a person would start it."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

COMMAND = [sys.executable, "-c", "from ccmtad.cli import main; main()", "serve"]
PATIENCE = 120.0  # seconds: nothing here takes so long, but on a machine that does other things


class Server:
    """One process. `text` is what it has printed."""

    def __init__(self, models: Path, store: str, *options: str, key: str = "", wait: bool = True) -> None:
        self.text = ""
        self.key = key
        self.process = subprocess.Popen(
            [*COMMAND, "--models", str(models), "--store", store, "--port", "0", *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self._listening()
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE, headers=self.headers, trust_env=False)
        if wait:
            self.until_ready()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _listening(self) -> str:
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            self.text += line
            if line.startswith("first key"):
                self.key = line.split()[-1]
            if line.startswith("ccmtad serves on "):
                return line.split()[-1]
        raise AssertionError(f"it has ended: {self.text}")

    def until_ready(self) -> None:
        """Until rows are taken."""
        until("ready", lambda: self.client.get("/readyz").status_code == 200)

    def printed(self) -> str:
        """All that it has printed until now."""
        while not self._lines.empty():
            self.text += self._lines.get_nowait() or ""
        return self.text

    def send(self, entity: str, **body: Any) -> dict[str, Any]:
        """Rows, which must be taken."""
        answer = self.client.post(f"/v1/entities/{quote(entity)}/rows", json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """What must be there."""
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def judged(self, entity: str, rows: int) -> None:
        """Waits until so many rows are judged."""
        until(f"{rows} rows", lambda: self.get(f"/v1/entities/{quote(entity)}")["judged"] >= rows)

    def events(self, **query: Any) -> list[dict[str, Any]]:
        """All events, oldest first."""
        found: list[dict[str, Any]] = []
        before: dict[str, str] = {}
        while True:
            page = self.get("/v1/events", limit=1_000, **query, **before)
            found += page["events"]
            if page["next"] is None:
                return found[::-1]
            before = {"before": page["next"]}

    def kill(self) -> None:
        """At once, with nothing written."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """It has ended."""
        self.process.wait()
        self.client.close()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> str:
        """As Ctrl-C does; what it printed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) in (0, -signal.SIGTERM), self.printed()
        self.close()
        return self.printed()


def until(what: str, true: Any) -> None:
    """Waits for what must happen."""
    waited = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if true():
            return
        waited.wait(0.05)
    raise AssertionError(f"never: {what}")


@contextmanager
def serving(models: Path, store: str, *options: str, key: str = "", wait: bool = True) -> Iterator[Server]:
    """A service that ends with the block, however that ends."""
    server = Server(models, store, *options, key=key, wait=wait)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.close()
