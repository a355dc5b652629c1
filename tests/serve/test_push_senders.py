"""A real Prometheus and a real vmagent push to the service, by remote write."""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from ccmtad import Detector, Frame

from .exporter import Exporter, exporting
from .monitors import PACKAGES, PROMETHEUS, free_port, program, running
from .rows import expected, same
from .server import Nursery, Server, until

VMAGENT = "vmagent"
PACKAGES[VMAGENT] = "victoria-metrics"
CHANNELS = ("flow", "level", "power")


def values(target: str, step: int) -> tuple[float, float, float]:
    """Of a target after so many scrapes: flow tells the step, and every hundredth row is odd."""
    dice = np.random.default_rng([len(target), step])
    odd = 8.0 * (step % 100 > 90)
    return float(step), math.sin(step / 5) + 0.1 * dice.normal() + odd, 0.1 * dice.normal() - odd


def paged(base: int) -> Callable[[str, int], str]:
    """Metrics with times of their own, half a second apart, so that rows depend on no clock."""

    def page(target: str, step: int) -> str:
        told = zip(CHANNELS, values(target, step), strict=True)
        return "".join(f"{name} {value!r} {base + 500 * step}\n" for name, value in told)

    return page


@pytest.fixture(scope="module")
def scraped_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, `scraped`, of a row in half a second, of what the exporter tells without faults."""
    folder = tmp_path_factory.mktemp("scraped")
    times = (10**18 + np.arange(400) * 500_000_000).astype("datetime64[ns]")
    rows = np.array([values("x", step) for step in range(400)])
    rows[:, 1:] -= 8.0 * (np.arange(400) % 100 > 90)[:, None] * [1, -1]
    frame = Frame(rows, CHANNELS, times)
    Detector(epochs=2, width=8, window=4, budget="1/100 rows", seed=0).fit(frame).save(folder / "scraped.ccm")
    return folder


def job(exporter: Exporter, targets: list[str], interval: str) -> dict[str, Any]:
    """What scrapes one exporter as many targets: each path is an instance."""
    return {
        "job_name": "plant",
        "scrape_interval": interval,
        "scrape_timeout": interval,
        "static_configs": [{"targets": [f"{exporter.address}/{one}" for one in targets]}],
        "relabel_configs": [
            {"source_labels": ["__address__"], "regex": ".*/(.*)", "target_label": "instance"},
            {
                "source_labels": ["__address__"],
                "regex": ".*/(.*)",
                "target_label": "__metrics_path__",
                "replacement": "/$1",
            },
            {"source_labels": ["__address__"], "regex": "(.*)/.*", "target_label": "__address__"},
        ],
    }


@contextmanager
def a_prometheus(
    folder: Path, exporter: Exporter, targets: list[str], interval: str, url: str, key: str
) -> Iterator[httpx.Client]:
    queue = {"max_shards": 1, "batch_send_deadline": "200ms", "min_backoff": "30ms", "max_backoff": "200ms"}
    told = {
        "scrape_configs": [job(exporter, targets, interval)],
        "remote_write": [{"url": url, "authorization": {"credentials": key}, "queue_config": queue}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(told))
    port = free_port()
    options = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    command = [program(PROMETHEUS), *options, f"--web.listen-address=127.0.0.1:{port}"]
    with running(command, port, "/-/ready") as client:
        yield client


@contextmanager
def a_vmagent(
    folder: Path, exporter: Exporter, targets: list[str], interval: str, url: str, key: str
) -> Iterator[httpx.Client]:
    (folder / "vmagent.yml").write_text(json.dumps({"scrape_configs": [job(exporter, targets, interval)]}))
    port = free_port()
    options = [
        f"-promscrape.config={folder / 'vmagent.yml'}", f"-remoteWrite.url={url}", f"-remoteWrite.bearerToken={key}",
        "-remoteWrite.queues=1", "-remoteWrite.flushInterval=200ms", f"-httpListenAddr=127.0.0.1:{port}",
        f"-remoteWrite.tmpDataPath={folder / 'queue'}",
    ]  # fmt: skip
    with running([program(VMAGENT), *options], port, "/health") as client:
        yield client


SENDERS = {"prometheus": a_prometheus, "vmagent": a_vmagent}


def rows_of(server: Server, entity: str) -> Frame:
    """All rows of an entity that the service has."""
    times: list[str] = []
    found: dict[str, list[float]] = {name: [] for name in CHANNELS}
    after: int | None = -1
    while after is not None:
        part = server.get(f"/v1/entities/{entity}/rows", after=after)
        times += [text.removesuffix("Z") for text in part["time"]]
        for name in CHANNELS:
            found[name] += [math.nan if one is None else one for one in part["values"][name]]
        after = part["next"]
    return Frame(np.array([found[name] for name in CHANNELS]).T, CHANNELS, np.array(times, "datetime64[ns]"))


def check(server: Server, target: str, detector: Detector, stored: list[int] | None) -> tuple[int, int]:
    """Every scrape that the sender has is a row, whole and in order, and the events are those of a stream without a
    service; how many rows, and how many scrapes the sender had given up, where it does not say what it has."""
    far = {"channel": "flow", "value": 0.0, "time": time.time() + 1e6}
    server.post(f"/v1/entities/{target}/values", {"values": [far]})  # all that waits is whole
    frame = rows_of(server, target)
    kept = len(frame.values) - bool(np.isnan(frame.values[-1]).any())  # the last scrape may have been cut
    steps = frame.values[:kept, 0].astype(int).tolist()
    np.testing.assert_array_equal(frame.values[:kept], [values(target, step) for step in steps])
    assert steps == sorted(set(steps))
    if stored is not None:
        assert steps == stored[:kept]
    server.judged(target, len(frame.values))
    same(server.events(entity=target), expected(detector, frame, target))
    return kept, 0 if stored is not None else steps[-1] + 1 - kept


def stored(client: httpx.Client, sender: str, base: int) -> dict[str, list[int]] | None:
    """The steps that a Prometheus has itself, by target; a vmagent keeps nothing."""
    if sender != "prometheus":
        return None
    asked = {"query": "flow[1h]", "time": str(base / 1_000 + 3_600)}
    found = client.get("/api/v1/query", params=asked).json()["data"]["result"]
    return {one["metric"]["instance"]: [int(float(value)) for _, value in one["values"]] for one in found}


def accepted(server: Server) -> float:
    """Values that the service took."""
    lines = server.client.get("/metrics").text.splitlines()
    wanted = 'ccmtad_pushed_values_total{protocol="remote-write",what="accepted"}'
    return sum(float(line.split()[-1]) for line in lines if line.startswith(wanted))


@pytest.mark.parametrize("sender", SENDERS)
def test_a_real_sender_pushes_whole_rows_also_through_a_kill(
    nursery: Nursery, scraped_models: Path, sqlite: str, tmp_path: Path, sender: str
) -> None:
    through_kills(nursery, scraped_models, sqlite, tmp_path, sender, ["pump1", "pump2"], "500ms", 1, 20)


@pytest.mark.slow
@pytest.mark.parametrize("sender", SENDERS)
def test_20_kills_while_20_000_rows_flow_lose_nothing(
    nursery: Nursery, scraped_models: Path, store: str, tmp_path: Path, sender: str
) -> None:
    targets = [f"pump{number}" for number in range(200)]
    through_kills(nursery, scraped_models, store, tmp_path, sender, targets, "1s", 20, 20_000)


def through_kills(
    nursery: Nursery, models: Path, store: str, folder: Path, sender: str, targets: list[str], interval: str,
    kills: int, rows: int,
) -> None:  # fmt: skip
    """A sender that goes on while the service is killed, again and again."""
    options = ("--silence", "0", "--grace", "60", "--ahead", "0", "--port", str(free_port()))
    key, begun = "", time.monotonic()
    base = time.time_ns() // 10**6 + 60_000
    with exporting(paged(base)) as exporter, ExitStack() as sending:
        for turn in range(kills + 1):
            with nursery.serving(models, store, *options, key=key) as server:
                key = server.key
                if not turn:
                    url = f"{server.url}/v1/push/remote-write"
                    client = sending.enter_context(SENDERS[sender](folder, exporter, targets, interval, url, key))
                more = 3 * rows / (kills + 1)
                until("values", lambda: accepted(server) >= more)  # noqa: B023
                if turn < kills:
                    server.kill()
                    continue
                flown = time.monotonic() - begun
                has, failed = stored(client, sender, base), exporter.failed
                sending.close()
                judge = Detector.load(models / "scraped.ccm")
                found = [check(server, target, judge, has[target] if has else None) for target in targets]
                events = len(server.events())
    assert sum(missed for _, missed in found) <= failed
    assert sum(kept for kept, _ in found) >= rows
    flown_rows = sum(kept for kept, _ in found)
    print(f"{sender}: {kills} kills, {flown_rows} rows in {flown:.0f} s, {events} events, all as undisturbed")  # noqa: T201
