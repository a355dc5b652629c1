"""Services as processes of their own."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

PATIENCE = 120.0  # seconds: nothing here takes so long, but on a machine that does other things
NUMBERS = itertools.count()


class Nursery:
    """Where services come from."""

    def __init__(self, model: Path, folder: Path) -> None:
        command = [sys.executable, str(Path(__file__).with_name("nursery.py")), str(model)]
        self.folder = folder
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def ask(self, *words: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()

    @contextmanager
    def serving(self, models: Path, store: str, *options: str, key: str = "", wait: bool = True) -> Iterator["Server"]:
        """A service that ends with the block, however that ends."""
        server = Server(self, models, store, options, key)
        try:
            server.begin(wait)
            yield server
        finally:
            server.kill()


class Server:
    """One process."""

    def __init__(self, nursery: Nursery, models: Path, store: str, options: tuple[str, ...], key: str) -> None:
        self.nursery, self.key = nursery, key
        self.code: int | None = None  # how it ended
        self.out = nursery.folder / f"{next(NUMBERS)}.txt"
        self.out.touch()
        arguments = ["--models", str(models), "--store", store, "--port", "0", *options]
        self.process: int = nursery.ask("start", str(self.out), *arguments)
        self.client = httpx.Client(trust_env=False)

    @property
    def text(self) -> str:
        """All that it has printed."""
        return self.out.read_text()

    def begin(self, wait: bool) -> None:
        """Until it listens, and takes rows."""
        until("listening", lambda: self.ended or self._line("ccmtad serves on "))
        assert not self.ended, self.text
        self.url = self._line("ccmtad serves on ").split()[-1]
        first = self._line("first key")
        self.key = first.split()[-1] if first else self.key
        self.client.close()
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE, headers=headers, trust_env=False)
        if wait:
            until("ready", lambda: self.client.get("/readyz").status_code == 200)

    def _line(self, begin: str) -> str:
        return next((line for line in self.text.splitlines(True) if line.startswith(begin) and line[-1] == "\n"), "")

    def send(self, entity: str, **body: Any) -> dict[str, Any]:
        """Rows, which must be taken."""
        return self.post(f"/v1/entities/{quote(entity)}/rows", body)

    def post(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        """What must be answered so."""
        answer = self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
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

    @property
    def ended(self) -> bool:
        """Whether it has."""
        if self.code is None:
            self.code = self.nursery.ask("poll", self.process)
        return self.code is not None

    def signal(self, number: int) -> None:
        """Sends one, if it lives."""
        if not self.ended:
            os.kill(self.process, number)

    def kill(self) -> None:
        """At once, with nothing written."""
        self.signal(signal.SIGKILL)
        if self.code is None:
            self.code = self.nursery.ask("wait", self.process)
        self.client.close()

    def stop(self) -> str:
        """As Ctrl-C does; what it printed."""
        self.signal(signal.SIGTERM)
        until("its end", lambda: self.ended)
        self.client.close()
        assert self.code == 0, self.text
        return self.text


def until(what: str, true: Callable[[], Any]) -> None:
    """Waits for what must happen."""
    waited = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        if true():
            return
        waited.wait(0.02)
    raise AssertionError(f"never: {what}")
