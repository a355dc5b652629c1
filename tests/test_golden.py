"""Files of a format version are read for ever: those of a release, and those that the code of today would write."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccmtad import Detector
from ccmtad.tables import read

from .scripts import load

GOLDEN = Path(__file__).parent / "golden"


make = load("tests/golden/make.py")


@pytest.fixture(scope="module", params=["v3", "today's"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "today's":
        made = tmp_path_factory.mktemp("golden") / "new"
        make.make(made)
        return made
    kept: Path = GOLDEN / request.param
    if not kept.is_dir():
        pytest.skip("golden files of version 3 come with release 0.2.0: python tests/golden/make.py makes them")
    return kept


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    return found


def close(one: Any, other: Any) -> None:
    """Equal, but for the last figures of numbers."""
    if isinstance(other, dict):
        assert one.keys() >= other.keys()  # later versions may tell more
        for name, value in other.items():
            close(one[name], value)
    elif isinstance(other, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            close(left, right)
    elif isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-9)
    else:
        assert one == other


def test_a_golden_model_finds_what_it_found(folder: Path, expected: dict[str, Any]) -> None:
    detector = Detector.load(folder / "model.ccm")
    close(make.told(detector.detect(read(folder / "rows.csv"))), {name: expected[name] for name in make.FIELDS})
    found = make.told(detector.detect(read(folder / "rows.csv")))
    assert found["alarm"] == expected["alarm"]
    close(found["events"], expected["events"])
    assert [one.word for one in detector.feedback_] == ["dismissed"]


@pytest.mark.parametrize("name", ["settling", "alarm"])
def test_a_golden_snapshot_goes_on(folder: Path, expected: dict[str, Any], name: str) -> None:
    frame, row = read(folder / "rows.csv"), expected["taken"][name]
    assert frame.times is not None
    stream = Detector.load(folder / "model.ccm").stream(resume=(folder / f"{name}.bin").read_bytes())
    assert stream.tally.rows == row
    steps = [stream.update(values, time) for values, time in zip(frame.values[row:], frame.times[row:], strict=True)]
    for field in sorted(make.STEP):
        wanted = [np.nan if value is None else value for value in expected[field][row:]]
        np.testing.assert_allclose([getattr(s, field) for s in steps], wanted, rtol=1e-4, atol=1e-9, err_msg=field)
    assert [s.alarm for s in steps] == expected["alarm"][row:]


def test_a_golden_watch_goes_on(folder: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    shutil.copy(folder / "rows.csv", tmp_path)
    shutil.copy(folder / "watch.state", tmp_path)
    notices = make.watched(folder, tmp_path / "rows.csv", tmp_path / "watch.state")
    assert {one["change"] for one in notices} >= {"opened", "final"}
    close(notices, expected["notices"])


def test_golden_files_are_not_made_twice(folder: Path) -> None:
    with pytest.raises(FileExistsError):
        make.make(folder)
