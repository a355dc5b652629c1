"""A new entity with few rows: the network of the fleet that knows them best, with limits and a level of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ccmtad import Detector, FileError, InputError, fleet
from ccmtad.score.channels import ASTRAY, BELOW
from ccmtad.tables import load

from ..cli.run import run
from .conftest import QUICK, table

CLIMBING, WAVING = ("climbing-0", "climbing-1"), ("waving-0", "waving-1")


def waving(count: int, seed: int) -> NDArray[np.float64]:
    """Waves in step."""
    random = np.random.default_rng(seed)
    wave = np.sin(np.arange(count) / 9 + seed)
    return wave[:, None] * (1.0, 2.0, -1.0) + 0.1 * random.standard_normal((count, 3))


def climbing(count: int, seed: int) -> NDArray[np.float64]:
    """Ramps that start again, one after the other."""
    random = np.random.default_rng(seed)
    ramp = (np.arange(count)[:, None] + (0, 13, 29)) % 41 / 20
    made: NDArray[np.float64] = ramp + 0.1 * random.standard_normal((count, 3))
    return made


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two of each kind, and a fleet's other things: another channel count, a damaged file. Treat as read-only."""
    folder = tmp_path_factory.mktemp("kinds")
    for names, made in ((WAVING, waving), (CLIMBING, climbing)):
        for seed, name in enumerate(names):
            Detector(**QUICK | {"epochs": 3}).fit(table(made(3_000, seed))).save(folder / f"{name}.ccm")
    Detector(**QUICK).fit(table(waving(600, 5)[:, :2])).save(folder / "two channels.ccm")
    (folder / "damaged.ccm").write_bytes(b"half a file")
    return folder


def test_it_starts_from_those_that_are_like_it(models: Path) -> None:
    started = fleet.start(models, table(waving(300, 7)))
    assert set(started.kin[:2]) == set(WAVING)
    assert len(started.kin) == 3
    assert started.worse == pytest.approx(1.0, abs=0.5)
    nearest = Detector.load(models / f"{started.kin[0]}.ccm")
    for name, weight in nearest.model_.weights.items():
        assert np.array_equal(weight, started.detector.model_.weights[name])
    assert set(fleet.start(models, table(climbing(300, 7))).kin[:2]) == set(CLIMBING)


def test_it_keeps_the_budget_and_sees_what_breaks(models: Path) -> None:
    detector = fleet.start(models, table(waving(300, 7))).detector
    later = waving(3_000, 7)[300:]
    assert len(detector.detect(table(later)).events) <= 3 * len(later) / 500  # the budget
    later[1_000:1_100, 1] += 15.0
    found = detector.detect(table(later))
    (event,) = (event for event in found.events if 1_000 <= event.alarm < 1_100)
    assert (event.alarm, event.channels[0]) == (1_000, "c1")


def test_the_level_is_its_own_and_the_spread_its_kins(models: Path) -> None:
    rows = waving(300, 7)
    started = fleet.start(models, table(rows))
    nearest = Detector.load(models / f"{started.kin[0]}.ccm").model_.calibration
    losses = started.detector.model_.calibration.losses
    assert nearest.losses is not None
    assert losses is not None
    own, theirs = losses[: 300 - 23], losses[300 - 22 :]
    assert len(theirs) == len(nearest.losses)
    assert np.nanmedian(theirs) == pytest.approx(np.nanmedian(own))
    assert theirs / nearest.losses == pytest.approx(
        np.full(len(theirs), np.nanmedian(own) / np.nanmedian(nearest.losses))
    )


def test_no_limit_is_narrower_than_those_of_its_kin(models: Path) -> None:
    started = fleet.start(models, table(waving(300, 7)))
    mine = started.detector.model_
    for name in started.kin:
        kin = Detector.load(models / f"{name}.ccm").model_
        assert kin.tails is not None
        assert mine.tails is not None
        assert (mine.tails.least >= kin.tails.rescaled(kin.scaler.span / mine.scaler.span).least).all()


def test_what_was_started_is_a_model_like_any_other(models: Path, tmp_path: Path) -> None:
    detector, later = fleet.start(models, table(waving(300, 7))).detector, table(waving(900, 8))
    detector.save(tmp_path / "new.ccm")
    loaded = Detector.load(tmp_path / "new.ccm")
    before, after = detector.detect(later), loaded.detect(later)
    assert before.events == after.events
    assert np.array_equal(before.score, after.score)
    assert loaded.history_ == ()
    assert loaded.with_budget("1/100 rows").threshold_ < loaded.threshold_
    stream = loaded.stream()
    assert [stream.update(row).alarm for row in later.to_numpy()] == after.alarm.tolist()


def test_the_budget_can_be_another(models: Path) -> None:
    often, seldom = (fleet.start(models, table(waving(300, 7)), budget=f"1/{n} rows").detector for n in (50, 5_000))
    assert often.settings.budget == "1/50 rows"
    assert often.threshold_ < seldom.threshold_


def test_channels_may_come_in_another_order(models: Path) -> None:
    rows = table(waving(300, 7))
    told = [fleet.start(models, made).detector.threshold_ for made in (rows, rows.select("c2", "c0", "c1"))]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.zeros((300, 4)), "models must hold one with the 4 channels of the new entity"),
        (
            np.zeros((10, 3)),
            "the 3 channels of the new entity, rows as often, and some that it can judge",
        ),
    ],
)
def test_what_no_model_can_judge_is_an_error(models: Path, values: NDArray[np.float64], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fleet.start(models, table(values))


def test_one_row_more_than_a_window_is_the_least(models: Path) -> None:
    with pytest.raises(InputError, match="at least 25 in a row; got 24 rows, 1 of which can be judged"):
        fleet.start(models, table(waving(24, 7)))
    fleet.start(models, table(waving(25, 7)))


def test_rows_that_come_much_more_often_are_no_kin(tmp_path: Path) -> None:
    times = np.datetime64("2026-01-01", "ns") + np.arange(600) * np.timedelta64(60, "s")
    Detector(**QUICK).fit(table(waving(600, 1)), times=times).save(tmp_path / "minutes.ccm")
    fleet.start(tmp_path, table(waving(300, 7)), times=times[:300])
    with pytest.raises(InputError, match="rows as often"):
        fleet.start(tmp_path, table(waving(300, 7)), times=times[0] + (times[:300] - times[0]) // 10)


def test_rows_that_none_knows_are_said(models: Path, caplog: pytest.LogCaptureFixture) -> None:
    fleet.start(models, table(50.0 * np.random.default_rng(0).standard_normal((300, 3))))
    assert "what is started so may see little" in caplog.text


def test_no_limit_of_scaled_values_is_taken_for_one_of_another_scale(tmp_path: Path) -> None:
    few = waving(300, 7)
    for name, scale in (("alike", 1.0), ("other", 1e-3)):
        rows = waving(1_000, 3)
        rows[:, 0] *= scale  # hardly moves there
        Detector(**QUICK).fit(table(rows)).save(tmp_path / f"{name}.ccm")
    started = fleet.start(tmp_path, table(few))
    assert started.kin == ("alike", "other")
    other = Detector.load(tmp_path / "other.ccm").model_
    alone = fleet.start(tmp_path, table(few), but=tmp_path / "other.ccm").detector.model_
    mine = started.detector.model_
    assert mine.limits[ASTRAY, 0] == pytest.approx(alone.limits[ASTRAY, 0], rel=0.2)
    assert other.limits[ASTRAY, 0] > 1e-3


def test_a_model_is_no_kin_of_itself(models: Path, tmp_path: Path) -> None:
    for path in models.glob("waving*.ccm"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    table(waving(300, 7)).write_csv(tmp_path / "new.csv")
    told = [
        run("fleet", "start", tmp_path, tmp_path / "new.csv", "-o", tmp_path / "new.ccm", "--json").stdout for _ in "ab"
    ]
    assert told[0] == told[1]
    assert json.loads(told[0])["from"] != []


def test_a_file_is_read_as_those_of_the_fleet_were(tmp_path: Path) -> None:
    rows = waving(600, 1)
    rows[::50, 1] = -999.0
    table(rows).write_csv(tmp_path / "one.csv")
    models = tmp_path / "models"
    models.mkdir()
    done = run(
        "fit",
        tmp_path / "one.csv",
        "-o",
        models / "one.ccm",
        "--missing=-999",
        "--set=epochs=1",
        "--set=blocks=1",
        "-q",
    )
    assert done.returncode == 0, done.stderr
    few = waving(300, 7)
    few[::50, 1] = -999.0
    table(few).write_csv(tmp_path / "new.csv")
    assert run("fleet", "start", models, tmp_path / "new.csv", "-o", tmp_path / "new.ccm").returncode == 0
    model = Detector.load(tmp_path / "new.ccm").model_
    assert model.limits[BELOW, 1] < 20.0
    assert model.reading is not None
    assert model.reading.missing == ("-999",)


def test_no_folder_of_models_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="models must be a folder"):
        fleet.start(tmp_path / "none", table(waving(300, 7)))


def test_the_command_says_what_it_started_from(models: Path, tmp_path: Path) -> None:
    table(waving(300, 7)).write_csv(tmp_path / "new.csv")
    done = run("fleet", "start", models, tmp_path / "new.csv", "-o", tmp_path / "new.ccm", "--budget", "1/day")
    assert done.returncode != 0  # no times: a budget by the day means nothing
    assert not (tmp_path / "new.ccm").exists()
    done = run("fleet", "start", models, tmp_path / "new.csv", "-o", tmp_path / "new.ccm", "--json")
    said = json.loads(done.stdout)
    assert set(said["from"][:2]) == set(WAVING)
    assert (said["rows"], said["channels"], said["budget"]) == (300, 3, "1/500 rows")
    assert "Started 300 rows of 3 channels from waving-" in run(
        "fleet", "start", models, tmp_path / "new.csv", "-o", tmp_path / "new.ccm"
    ).stdout.replace("\n", " ")
    detector = Detector.load(tmp_path / "new.ccm")
    assert detector.threshold_ == pytest.approx(
        fleet.start(models, load(tmp_path / "new.csv").frame).detector.threshold_
    )


def test_it_needs_neither_torch_nor_scikit_learn(models: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "new.npy", waving(300, 7))
    code = (
        "import sys, numpy as np, polars as pl\n"
        "from ccmtad import fleet\n"
        "rows = np.load(sys.argv[2])\n"
        "print(fleet.start(sys.argv[1], pl.DataFrame({f'c{i}': rows[:, i] for i in range(3)})).kin[0])\n"
        "print(sorted({'torch', 'sklearn'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(models), str(tmp_path / "new.npy")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    nearest, loaded = done.stdout.splitlines()
    assert nearest in WAVING
    assert loaded == "[]"
