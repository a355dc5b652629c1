"""The load that a service takes, from a second process on this machine: rows a second acknowledged, and how long each
answer took.

    python benchmarks/serve.py [--store sqlite|postgresql|URL] [--seconds 60] [--entities 100] [--batch 100]

Rows of 38 channels. Each row that is counted was acknowledged, and is on the disk (`synchronous=FULL`,
`synchronous_commit=on`). Afterwards the store must hold exactly those rows.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

CHANNELS = 38
VARIANTS = 64  # batches of values that are made beforehand, so that the load costs little
FIRST = 1_767_225_600_000  # milliseconds


def normal(rows: int, seed: int) -> np.ndarray:
    """Waves and noise."""
    rng, t = np.random.default_rng(seed), np.arange(rows)
    waves = [np.sin(t / (10 + i)) + 0.1 * rng.normal(size=rows) for i in range(CHANNELS)]
    return np.stack(waves, axis=1)


def make_model(path: Path) -> None:
    """A model of the usual size, fitted in seconds: what it finds does not matter here."""
    from ccmtad import Detector, Frame

    times = (np.arange(4_000) * 1_000 + FIRST).astype("datetime64[ms]").astype("datetime64[ns]")
    names = tuple(f"channel {i}" for i in range(CHANNELS))
    Detector(epochs=1, seed=0, budget="1/3000 rows").fit(Frame(normal(4_000, 0), names, times)).save(path)


@dataclass
class Served:
    """A running service."""

    process: subprocess.Popen[str]
    port: int
    key: str

    def get(self, path: str) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": self.bearer})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bytes(answer.read())

    @property
    def bearer(self) -> str:
        return f"Bearer {self.key}"

    @property
    def memory(self) -> float:
        """MiB that are in use."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        assert found is not None
        return int(found[1]) / 1024

    @property
    def seconds(self) -> float:
        """Of processor time."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(models: Path, store: str, *options: str, key: str = "") -> Iterator[Served]:
    """A service on a port of its own."""
    command = [sys.executable, "-c", "from ccmtad.cli import main; main()", "serve", "--port", "0", "--models"]
    command += [str(models), "--store", store, "--silence", "0", "--rate", "1000000", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert process.stdout is not None
    port = 0
    for line in process.stdout:
        key = line.split()[-1] if line.startswith("first key") else key
        if line.startswith("ccmtad serves on"):
            port = int(line.rsplit(":", 1)[1])
            break
    else:
        raise SystemExit(f"the service has ended with {process.wait()}")
    service = Served(process, port, key)
    try:
        until_ready(service)
        yield service
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait()


def until_ready(service: Served) -> None:
    """Until rows are taken."""
    while True:
        try:
            service.get("/readyz")
            return
        except OSError:
            time.sleep(0.05)


@contextmanager
def fresh_store(kind: str, place: str | None = None) -> Iterator[str]:
    """The URL of an empty store."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(dir=place) as folder:
            yield f"sqlite:///{Path(folder) / 'store.db'}"
    elif kind == "postgresql":
        import psycopg

        url, name = os.environ.get("CCMTAD_POSTGRESQL", "postgresql://127.0.0.1/test"), f"ccmtad_{uuid.uuid4().hex}"
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(f'CREATE SCHEMA "{name}"')
            try:
                yield f"{url}?options={urllib.parse.quote(f'-csearch_path={name}')}"
            finally:
                server.execute(f'DROP SCHEMA "{name}" CASCADE')
    else:
        yield kind


async def load(
    port: int, key: str, seconds: float, entities: int, batch: int, workers: int, name: str
) -> dict[str, object]:
    """Sends rows over some connections at once, each of its own entities; what was acknowledged, and how soon."""
    values = [orjson.dumps(normal(batch, seed).round(4).tolist()) for seed in range(VARIANTS if batch > 1 else 1_024)]
    sent = [0] * entities
    took: list[float] = []
    refused = 0
    end = time.perf_counter() + seconds

    async def work(number: int) -> None:
        nonlocal refused
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        mine, turn = list(range(number, entities, workers)), 0
        while time.perf_counter() < end:
            entity = mine[turn % len(mine)]
            first = FIRST + sent[entity] * 1_000
            times = orjson.dumps(list(range(first, first + batch * 1_000, 1_000)))
            body = b'{"times":%s,"values":%s}' % (times, values[(turn + number) % len(values)])
            head = (
                f"POST /v1/entities/{name}{entity}/rows HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            began = time.perf_counter()
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)[1])  # type: ignore[index]
            text = await reader.readexactly(length)
            if answer.startswith(b"HTTP/1.1 200"):
                took.append(time.perf_counter() - began)
                receipt = orjson.loads(text)
                assert receipt["accepted"] == batch, receipt
                sent[entity] += batch
            elif answer.startswith(b"HTTP/1.1 429"):
                refused += 1
                await asyncio.sleep(0.05)
            else:
                raise SystemExit(f"{answer!r} {text!r}")
            turn += 1
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(work(number) for number in range(workers)))
    spent = time.perf_counter() - began
    quantiles = np.quantile(took, [0.5, 0.99]) if took else [0.0, 0.0]
    return {
        "rows": sum(sent),
        "rows_per_second": sum(sent) / spent,
        "requests_per_second": len(took) / spent,
        "p50_ms": 1e3 * float(quantiles[0]),
        "p99_ms": 1e3 * float(quantiles[1]),
        "refused": refused,
    }


def loaded(service: Served, *options: str) -> dict[str, float]:
    """The load of a second process."""
    command = [sys.executable, __file__, "--load", str(service.port), "--key", service.key, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(kind: str, options: argparse.Namespace, models: Path) -> None:
    """One store."""
    for batch, workers, seconds in ((options.batch, 16, options.seconds), (1, 64, options.seconds / 2)):
        with fresh_store(kind, options.folder) as store, served(models, store) as service:
            before, spent = service.memory, service.seconds
            found = loaded(
                service, "--seconds", str(seconds), "--entities", str(options.entities), "--batch", str(batch),
                "--workers", str(workers),
            )  # fmt: skip
            cores = (service.seconds - spent) / seconds
            # All that was acknowledged is there, and is judged.
            while True:
                there = json.loads(service.get("/v1/entities?limit=1000"))["entities"]
                if sum(one["judged"] for one in there) == found["rows"]:
                    break
                assert sum(one["rows"] for one in there) == found["rows"], (there, found)
                time.sleep(0.1)
            after = service.memory
        print(
            f"{kind}, {options.entities} entities, batches of {batch}, {workers} connections, {seconds:g} s: "
            f"{found['rows_per_second']:,.0f} rows/s acknowledged, {found['requests_per_second']:,.0f} requests/s, "
            f"p50 {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms, {found['refused']:.0f} refused, "
            f"service at {cores:.2f} cores, memory {before:.0f} -> {after:.0f} MiB",
            flush=True,
        )


def many(kind: str, options: argparse.Namespace, models: Path) -> None:
    """Memory for 1,000 entities."""
    with fresh_store(kind, options.folder) as store, served(models, store) as service:
        loaded(service, "--seconds", "2", "--entities", "1", "--batch", "100", "--workers", "1")
        before = service.memory
        loaded(service, "--seconds", "30", "--entities", "1000", "--batch", "10", "--workers", "64", "--name", "m")
        number = len(json.loads(service.get("/v1/entities?limit=1000"))["entities"])
        print(f"{kind}: memory {before:.0f} MiB with 1 entity, {service.memory:.0f} MiB with {number}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="append", help="sqlite, postgresql or a URL; repeatable")
    parser.add_argument("--folder", help="where SQLite files lie")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--entities", type=int, default=100)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--many", action="store_true", help="memory with 1,000 entities, too")
    parser.add_argument("--name", default="e", help="what the names of entities begin with")
    parser.add_argument("--load", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--key", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load is not None:
        asked = (options.seconds, options.entities, options.batch, options.workers, options.name)
        found = asyncio.run(load(options.load, options.key, *asked))
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder) / "models"
        models.mkdir()
        cached = Path(tempfile.gettempdir()) / "ccmtad-serve-38.ccm"
        if not cached.exists():
            make_model(cached)
        shutil.copy(cached, models / "plant.ccm")
        for kind in options.store or ["sqlite", "postgresql"]:
            measure(kind, options, models)
            if options.many:
                many(kind, options, models)


if __name__ == "__main__":
    main()
