"""Settings searched for without labels: shared, resumed, given up where hopeless, never worse than what was given."""

import json
import os
import signal
import subprocess
import time
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from ccmtad import Frame, InputError, SettingError, Settings
from ccmtad.bench.datasets import Entity, Truth
from ccmtad.executors import Crew
from ccmtad.tune import PAPER, Choice, Objective, Oracle, Range, Score, space, tune
from ccmtad.tune.storage import kept

from ..cli.run import COMMAND, run
from ..fleet.conftest import QUICK, rows, table

POSTGRESQL = os.environ.get("CCMTAD_POSTGRESQL", "postgresql://127.0.0.1/test")


@dataclass
class Hill:
    """A small world with one best width, found step by step."""

    best: int = 40
    name: str = "hill"
    channels: int = 3
    asked: int = 0
    finished: int = 0

    def steps(self, settings: Settings) -> Iterator[tuple[float, dict[str, Any]]]:
        self.asked += 1
        for step in range(1, 5):
            yield -abs(settings.width - self.best) / step, {"width": settings.width}
        self.finished += 1


WIDTHS = {"width": Range(1, 100)}


def test_the_space_is_the_papers() -> None:
    assert PAPER["clusters"] == Range(1, 10)
    assert PAPER["learning_rate"] == Range(1e-5, 1e-2, log=True)
    assert (PAPER["expansion"], PAPER["width"]) == (Choice((1, 3, 5)), Choice((128, 256)))
    assert space.within(PAPER, 4)["clusters"] == Range(1, 4)
    assert space.read(["width=8,16", "clusters=2..6", "learning_rate=1e-4..1e-2", "tail=pareto,conformal"]) == {
        "width": Choice((8, 16)),
        "clusters": Range(2, 6),
        "learning_rate": Range(1e-4, 1e-2, log=True),
        "tail": Choice(("pareto", "conformal")),
    }


def test_the_search_goes_uphill_and_gives_up_what_is_hopeless() -> None:
    hill = Hill()
    found = tune(hill, trials=40, space=WIDTHS, seed=1)
    assert abs(found.settings["width"] - 40) <= 3
    assert found.better
    assert found.value > found.base == -abs(Settings().width - 40) / 4
    assert found.trials == 40
    assert found.pruned == hill.asked - hill.finished > 0
    assert tune(Hill(), trials=40, space=WIDTHS, seed=1).settings == found.settings


def test_where_nothing_is_better_what_was_given_comes_back() -> None:
    found = tune(Hill(), trials=3, space={"width": Range(90, 100)}, fixed={"epochs": 2})
    assert not found.better
    assert (dict(found.settings), found.value) == ({"epochs": 2}, found.base)


def test_what_is_fixed_is_not_searched() -> None:
    with pytest.raises(SettingError, match="what is tried must be at least one setting; got none"):
        tune(Hill(), space=WIDTHS, fixed={"width": 8})
    with pytest.raises(SettingError, match="width must be a whole number"):
        tune(Hill(), space={"width": Choice((8, -1))})
    with pytest.raises(SettingError, match="widht is not a setting"):
        tune(Hill(), space={"widht": Choice((8,))})
    with pytest.raises(SettingError, match="must read NAME=A,B,.. or NAME=LOW..HIGH.*; got 'width=9..3'"):
        space.read(["width=9..3"])


def test_a_study_goes_on_where_it_was_and_asks_one_question(tmp_path: Path) -> None:
    journal = str(tmp_path / "study.journal")
    first = Hill()
    tune(first, trials=4, space=WIDTHS, storage=journal)
    again = Hill()
    found = tune(again, trials=6, space=WIDTHS, storage=journal)
    assert (first.asked, again.asked, found.trials) == (5, 2, 6)  # one for what was fixed
    assert tune(Hill(), trials=6, space=WIDTHS, storage=journal).settings == found.settings
    with pytest.raises(SettingError, match="study must be of the data, settings and ranges that it was begun with"):
        tune(Hill(), trials=6, space=WIDTHS, storage=journal, identity="other rows")
    tune(Hill(), trials=1, space=WIDTHS, storage=journal, identity="other rows", study="another")


@pytest.mark.parametrize("storage", [None, "study.journal"])
def test_a_crew_shares_the_trials(storage: str | None, tmp_path: Path) -> None:
    told: list[tuple[int, int, float | None, float]] = []
    place = None if storage is None else str(tmp_path / storage)
    crew = Crew("joblib", 2, None)
    found = tune(Hill(), trials=8, space=WIDTHS, storage=place, crew=crew, progress=lambda *what: told.append(what))
    assert 8 <= found.trials <= 9  # the last may have been begun twice
    assert found.better
    assert len(told) >= 8
    assert told[-1][1] == 8
    assert max(best for *_, best in told) == found.value
    if place is not None:
        assert tune(Hill(), trials=8, space=WIDTHS, storage=place).settings == found.settings
    with pytest.raises(SettingError, match="storage must be one that all machines of the cluster see"):
        tune(Hill(), space=WIDTHS, crew=Crew("ray", 2, "127.0.0.1:1"))


@dataclass
class Fatal(Hill):
    """The first worker that is asked dies in the middle of its trial."""

    mark: str = ""

    def steps(self, settings: Settings) -> Iterator[tuple[float, dict[str, Any]]]:
        for number, step in enumerate(super().steps(settings)):
            yield step
            if number == 1 and settings != Settings() and not Path(self.mark).exists():
                Path(self.mark).write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray's own: sockets that it leaves to the end of the process
def test_a_study_on_ray_goes_on_though_a_worker_is_lost(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is missing: pip install 'ccmtad[scale]'")
    mark = tmp_path / "killed"
    found = tune(Fatal(mark=str(mark)), trials=8, space=WIDTHS, crew=Crew("ray", 2, None))
    assert mark.exists()
    assert 8 <= found.trials <= 9
    assert found.better


@pytest.mark.parametrize(
    "url", ["nonsense://host/x", "postgresql://127.0.0.1:1/nobody", "://", "sqlite:", "http://x/y"]
)
def test_a_storage_that_is_none_is_a_setting_error(url: str) -> None:
    with pytest.raises(SettingError, match="storage must be a file, or the URL of a database"), kept(url):
        pass


def test_no_password_is_repeated() -> None:
    with pytest.raises(SettingError) as error, kept("nonsense://me:secret@host/x"):
        pass
    assert "secret" not in str(error.value)


@pytest.fixture
def database() -> Iterator[str]:
    """A schema of its own, gone afterwards."""
    import psycopg

    try:
        connection = psycopg.connect(POSTGRESQL, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        pytest.skip(
            f"no PostgreSQL answers: start one with a database `test`, or name it in CCMTAD_POSTGRESQL ({error})"
        )
    schema = f"tune_{uuid.uuid4().hex[:12]}"
    with connection:
        connection.execute(f"create schema {schema}")
        joint = "&" if "?" in POSTGRESQL else "?"
        yield f"{POSTGRESQL}{joint}options=-csearch_path%3D{schema}"
        connection.execute(f"drop schema {schema} cascade")


def test_postgresql_keeps_a_study(database: str) -> None:
    first, again = Hill(), Hill()
    tune(first, trials=3, space=WIDTHS, storage=database)
    found = tune(again, trials=4, space=WIDTHS, storage=database)
    assert (first.asked, again.asked, found.trials) == (4, 1, 4)


@pytest.fixture(scope="module")
def normal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tune") / "normal.csv"
    table(rows(1_050, 3)).write_csv(path)
    return path


FLAGS = [*(f"--set={name}={value}" for name, value in QUICK.items() if name != "width"), "--try=width=4,8"]


def test_the_objective_counts_faults_found_and_events_too_many() -> None:
    frame = Frame(rows(1_050, 3), ("a", "b", "c"), None)
    told = list(Objective([frame]).steps(Settings.of(**QUICK)))
    assert len(told) == 4
    value, details = told[-1]
    assert value == Score(**details).value
    assert 0 < details["found"] <= details["faults"]
    assert Score(3, 4, 2, 0.5).value == pytest.approx(0.75 - 0.05 * 1.5)
    assert Score(3, 4, 0, 0.5).value == 0.75
    gaps = rows(1_050, 3)
    gaps[::7, 1] = np.nan
    assert np.isfinite(
        [value for value, _ in Objective([Frame(gaps, ("a", "b", "c"))]).steps(Settings.of(**QUICK))]
    ).all()
    with pytest.raises(InputError, match="data must hold at least 1,001 rows to be tuned on; got 900"):
        Objective([Frame(rows(900, 1), ("a", "b", "c"))])


def test_an_oracle_has_seen_the_labels_and_says_so(normal: Path, tmp_path: Path) -> None:
    values = rows(400, 3)
    values[200:240] += 30
    labelled = table(values).with_columns(pl.Series("label", (np.arange(400) // 40 == 5).astype(int)))
    labelled.write_csv(tmp_path / "test.csv")
    flags = ("--oracle", "--test", "test.csv", "--label", "label", "--trials", "1")
    done = run("tune", normal, "-o", "best.toml", *FLAGS, *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "measured by oracle F1, on test labels" in done.stdout
    assert (tmp_path / "best.toml").read_text().startswith("# oracle F1, on test labels: ")
    gone = pl.int_range(400).is_between(30, 190)  # read as the flags say
    for name, mark in (("empty", None), ("marked", -9999.0)):
        labelled.with_columns(c0=pl.when(gone).then(pl.lit(mark)).otherwise("c0")).write_csv(tmp_path / "test.csv")
        done = run("tune", normal, "-o", f"{name}.toml", *FLAGS, *flags, "--missing=-9999", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "empty.toml").read_text() == (tmp_path / "marked.toml").read_text()
    refused = run("tune", normal, "-o", "best.toml", "--label", "label", cwd=tmp_path)
    assert (refused.returncode, "test and label must come with oracle" in refused.stderr) == (2, True)
    entity = Entity(
        "x", "x", Frame(rows(500, 3), ("a", "b", "c")), Frame(values, ("a", "b", "c")), Truth(values[:, 0] > 9)
    )
    ((value, _),) = Oracle(entity).steps(Settings.of(**QUICK))
    assert value > 0.9


@pytest.mark.slow
def test_two_processes_share_a_study_and_a_killed_one_goes_on(normal: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "tune", str(normal), "-o", "best.toml", *FLAGS, "--storage", "study.journal", "--trials"]
    with subprocess.Popen([*command, "50"], cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True) as killed:
        assert killed.stderr is not None
        assert b"1/50" in killed.stderr.readline()
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait(60)
    both = [
        subprocess.Popen([*command, "4", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    told = []
    for process in both:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        told.append(json.loads(out))
    import optuna

    with kept(str(tmp_path / "study.journal")) as storage:
        tried = optuna.load_study(study_name="ccmtad", storage=storage).trials
    done = [trial for trial in tried if trial.state.is_finished()]
    assert 4 <= len(done) <= 5  # the last may have been begun twice
    assert sorted(trial.number for trial in tried) == list(range(len(tried)))
    assert max(one["trials"] for one in told) == len(done)
    assert told[0]["objective"] == "injected faults"
    chosen = tomllib.loads((tmp_path / "best.toml").read_text())
    fitted = run("fit", normal, "-o", "plant.ccm", "--settings", "best.toml", "--json", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    assert chosen["epochs"] == QUICK["epochs"]
