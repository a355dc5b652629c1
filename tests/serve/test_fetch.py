"""What a real Prometheus and a real VictoriaMetrics remember becomes a table to fit on."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from ccmtad.errors import InputError, SettingError
from ccmtad.live.labels import Naming
from ccmtad.live.query_range import MOST_POINTS, Range, fetched, seconds
from ccmtad.tables import read

from ..cli.run import run
from .monitors import PACKAGES, PROMETHEUS, PROMTOOL, free_port, program, running
from .receiver import receiving

VICTORIA = "victoria-metrics"
PACKAGES[VICTORIA] = "victoria-metrics"
START, STEP, ROWS = 1_790_000_040, 15, 12_000  # seconds; more rows than one answer may have
HOLE = range(3_000, 3_100)  # rows without a level


def text(openmetrics: bool) -> str:
    """Two pumps: flow counts the rows, level is minus that, and has a hole."""
    unit, lines = (1, []) if openmetrics else (1_000, [])
    for name, labels, sign in (
        ("flow", 'instance="pump1",job="plc"', 1), ("level", 'instance="pump1",job="plc",tank="2"', -1),
        ("flow", 'instance="pump2",job="plc"', 2),
    ):  # fmt: skip
        lines += [f"# TYPE {name} gauge"] if f"# TYPE {name} gauge" not in lines else []
        for row in range(ROWS):
            if name != "level" or row not in HOLE:
                lines.append(f"{name}{{{labels}}} {sign * row} {(START + STEP * row) * unit}")
    lines.sort(key=lambda line: (line.split("{")[0].removeprefix("# TYPE ").split()[0], not line.startswith("#")))
    return "\n".join([*lines, *["# EOF"] * openmetrics]) + "\n"


@contextmanager
def a_prometheus(folder: Path) -> Iterator[httpx.Client]:
    (folder / "past.txt").write_text(text(True))
    command = [program(PROMTOOL), "tsdb", "create-blocks-from", "openmetrics", "past.txt", "tsdb"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "prometheus.yml").write_text(json.dumps({"scrape_configs": []}))
    port = free_port()
    options = ["--storage.tsdb.retention.time=100y", "--query.lookback-delta=15s"]
    options += [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    with running([program(PROMETHEUS), *options, f"--web.listen-address=127.0.0.1:{port}"], port, "/-/ready") as client:
        yield client


@contextmanager
def a_victoria(folder: Path) -> Iterator[httpx.Client]:
    port = free_port()
    options = [f"-storageDataPath={folder / 'vm'}", f"-httpListenAddr=127.0.0.1:{port}", "-retentionPeriod=100y"]
    options += ["-search.maxStalenessInterval=15s", "-search.latencyOffset=0s", "-search.disableCache"]
    with running([program(VICTORIA), *options], port, "/health") as client:
        assert client.post("/api/v1/import/prometheus", content=text(False)).status_code == 204
        client.get("/internal/force_flush")
        yield client


@pytest.fixture(scope="module", params=[a_prometheus, a_victoria])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with request.param(tmp_path_factory.mktemp("store")) as client:
        yield str(client.base_url)


def test_a_long_range_is_fetched_in_pieces(store: str, tmp_path: Path) -> None:
    out = tmp_path / "normal.csv"
    times = [np.datetime64(START + STEP * row, "s") for row in (0, ROWS - 1)]
    options = ["--start", f"{times[0]}Z", "--end", f"{times[1]}Z", "--step", "15s", "-o", str(out)]
    done = run("fetch", store, "--query", "flow", "--query", "level", "--entity", "pump1", *options)
    assert done.returncode == 0, done.stderr
    assert f"{ROWS:,} rows of 2 channels" in done.stderr
    frame = read(out)
    assert frame.channels == ("flow", 'level{tank="2"}')
    assert frame.times is not None
    assert frame.times[[0, -1]].astype("datetime64[s]").tolist() == [one.tolist() for one in times]
    np.testing.assert_array_equal(frame.values[:, 0], np.arange(ROWS))
    present = np.isin(np.arange(ROWS), HOLE, invert=True)
    hole = np.isnan(frame.values[:, 1])
    assert hole.sum() in (len(HOLE) - 1, len(HOLE))  # a last value may stand for one step
    np.testing.assert_array_equal(frame.values[present, 1], -np.arange(ROWS)[present])


def test_several_entities_must_be_told_apart(store: str, tmp_path: Path) -> None:
    span = ["--start", str(START), "--end", str(START + 150), "--step", "15", "-o", str(tmp_path / "x.parquet")]
    done = run("fetch", store, "--query", "flow", *span)
    assert done.returncode == 2
    assert "'pump1', 'pump2': choose with --entity" in done.stderr.replace("\n", " ")
    done = run("fetch", store, "--query", "flow", "--entity-label", "job", *span)
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "x.parquet").channels == ('flow{instance="pump1"}', 'flow{instance="pump2"}')


def test_what_cannot_be_fetched_is_said(store: str, tmp_path: Path) -> None:
    asked = Range(["flow"], START, START + 150, 15.0)
    for queries, words in ((["flow{"], "query must be one that Prometheus answers; got 4"), (["nothing"], "got none")):
        with pytest.raises(InputError, match=words):
            fetched(store, Range(queries, START, START + 150, 15.0), Naming())
    with pytest.raises(InputError, match="there are 'pump1', 'pump2'"):
        fetched(store, asked, Naming(), "pump3")
    with pytest.raises(InputError, match="that answers; got ConnectError"):
        fetched(f"http://127.0.0.1:{free_port()}", asked, Naming())
    assert run("fetch", store, "--query", "flow", "--step", "0", "-o", str(tmp_path / "x.csv")).returncode == 2
    assert not list(tmp_path.iterdir())


def test_a_token_comes_from_the_environment_and_is_never_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_TOKEN", "very-secret")
    with receiving(then=401) as receiver:
        url = receiver.url.removesuffix("/hook")
        done = run("fetch", url, "--query", "flow", "--token-from", "MY_TOKEN", "-o", str(tmp_path / "x.csv"))
    assert done.returncode == 2
    assert "very-secret" not in done.stderr + done.stdout
    assert [one.headers["authorization"] for one in receiver.came] == ["Bearer very-secret"]


def test_pieces_cover_the_grid_once() -> None:
    asked = Range(["x"], 0.0, 3.0 * MOST_POINTS, 1.0)
    assert list(asked.pieces) == [
        (0.0, 9_999.0), (10_000.0, 19_999.0), (20_000.0, 29_999.0), (30_000.0, 30_000.0),
    ]  # fmt: skip
    assert [seconds(one, "step") for one in ("15s", "1m", "0.5", "2d", "500ms")] == [15, 60, 0.5, 172_800, 0.5]
    for wrong in ("", "-1s", "soon", "0s"):
        with pytest.raises(SettingError, match="step must be a span"):
            seconds(wrong, "step")
    with pytest.raises(SettingError, match="start must be before end"):
        Range(["x"], 1.0, 1.0, 1.0)
