"""Our entry in TSB-AD's layout."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ccmtad import Frame, InputError
from ccmtad.bench.datasets import Entity
from ccmtad.bench.datasets.entity import Truth

from ..scripts import ROOT, load
from .series import QUICK, faulty, series

tsb = load("benchmarks/tsb_ad.py")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    anomalous = np.zeros(300, dtype=np.bool_)
    anomalous[200:220] = True
    test = np.nan_to_num(faulty(), nan=0.0)
    entity = Entity("MSL", "C-1", Frame.of(series(600)), Frame.of(test), Truth(anomalous))
    written: Path = tsb.write(entity, tmp_path_factory.mktemp("tsb"), 7)
    return written


def test_a_file_says_where_training_ends_and_what_is_anomalous(file: Path) -> None:
    assert file.name == "007_MSL_id_7_Sensor_tr_600_1st_800.csv"
    assert tsb.NAME.fullmatch("001_Genesis_id_1_Sensor_tr_4055_1st_15538.csv")  # one of theirs
    read = tsb.Series.read(file)
    assert (read.train, read.values.shape) == (600, (900, 4))
    np.testing.assert_array_equal(np.flatnonzero(read.label), np.arange(800, 820))
    np.testing.assert_array_equal(read.values[:600], series(600))


def test_other_names_and_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"file must be named ..._tr_N_1st_M.csv, as TSB-AD's are; got 'plant.csv'"):
        tsb.Series.read(tmp_path / "plant.csv")
    wrong = tmp_path / "001_X_id_1_Y_tr_1_1st_2.csv"
    wrong.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="file must have Label as its last column; got 'b'"):
        tsb.Series.read(wrong)


def test_the_fault_scores_highest_and_nothing_looks_ahead(file: Path) -> None:
    read = tsb.Series.read(file)
    score = tsb.run_CCMTAD(read.values[:600], read.values, **QUICK)
    assert score.shape == (900,)
    assert (score.min(), score.max()) == (0.0, 1.0)
    assert 800 <= score.argmax() < 820
    assert tsb.judge()(score, read.label, read.values)["VUS-PR"] > 0.5


def test_the_script_prints_a_line_for_each_method(file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/tsb_ad.py", "run", str(file), "--scores", str(tmp_path)]
    done = subprocess.run(
        [*command, *(f"--set={name}={value}" for name, value in QUICK.items())],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours, chance = (json.loads(line) for line in done.stdout.splitlines())
    assert (ours["method"], chance["method"]) == ("CCMTAD", "random score")
    assert ours["VUS-PR"] > 2 * chance["VUS-PR"]
    assert np.load(tmp_path / f"{file.stem}.npy").shape == (900,)
