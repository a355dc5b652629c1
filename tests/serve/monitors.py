"""A real Prometheus and a real Alertmanager, as Debian packages them."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from .server import until

PROMETHEUS, PROMTOOL, ALERTMANAGER = "prometheus", "promtool", "prometheus-alertmanager"
PACKAGES = {
    PROMETHEUS: "prometheus",
    PROMTOOL: "prometheus",
    ALERTMANAGER: "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
}


def program(name: str) -> str:
    """Its path; a skip where it is not installed."""
    found = shutil.which(name) or shutil.which(name.removeprefix("prometheus-"))
    if found is None:
        pytest.skip(f"{name} is missing: apt-get install --no-install-recommends {PACKAGES[name]}")
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, ready: str) -> Iterator[httpx.Client]:
    """A process until the block ends, and who asks it things."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:

            def answers() -> bool:
                assert process.poll() is None, f"{command[0]} has ended"
                try:
                    return client.get(ready).status_code == 200
                except httpx.HTTPError:
                    return False

            until(f"{command[0]} answers", answers)
            yield client
    finally:
        process.kill()
        process.wait()


@contextmanager
def an_alertmanager(folder: Path, resolve_timeout: str, port: int = 0) -> Iterator[httpx.Client]:
    """One that sends nothing on."""
    # JSON is YAML.
    told = {
        "global": {"resolve_timeout": resolve_timeout},
        "route": {"receiver": "nobody"},
        "receivers": [{"name": "nobody"}],
    }
    config = folder / "alertmanager.yml"
    config.write_text(json.dumps(told))
    port = port or free_port()
    options = [
        f"--config.file={config}", f"--storage.path={folder / 'alerts'}", f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]  # fmt: skip
    with running([program(ALERTMANAGER), *options], port, "/-/ready") as client:
        yield client


@contextmanager
def a_prometheus(folder: Path, target: str, key: str) -> Iterator[httpx.Client]:
    """One that scrapes a service twice a second."""
    told = {
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
        "scrape_configs": [
            {
                "job_name": "ccmtad",
                "authorization": {"credentials": key},
                "static_configs": [{"targets": [target.removeprefix("http://")]}],
            }
        ],
    }
    config = folder / "prometheus.yml"
    config.write_text(json.dumps(told))
    port = free_port()
    options = [
        f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with running([program(PROMETHEUS), *options], port, "/-/ready") as client:
        yield client
