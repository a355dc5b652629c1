"""What datasets are made of is counted from their files, and what is kept of it is what was counted."""

import os
from pathlib import Path

import numpy as np
import pytest

from ccmtad import FileError, Frame
from ccmtad.bench import published
from ccmtad.bench.datasets import Entity, Truth, find
from ccmtad.bench.metrics.point import Counts
from ccmtad.bench.statistics import Facts, floor, measured, read, save, share

KEPT = Path(__file__).parents[2] / "docs" / "data.jsonl"


def entity() -> Entity:
    train = np.column_stack([np.arange(20.0), np.full(20, 3.0), np.full(20, np.nan)])
    train[4, 2] = 1.0
    anomalous = np.zeros(10, dtype=np.bool_)
    anomalous[0] = anomalous[4:7] = True
    return Entity("made", "a", Frame.of(train), Frame.of(np.zeros((10, 3))), Truth(anomalous))


def test_an_entity_by_hand(tmp_path: Path) -> None:
    found = Facts.of(entity())
    assert found == Facts("made", "a", 3, 2, 20, 10, (1, 3))
    assert share([found, Facts("made", "b", 3, 0, 5, 30, ())]) == 0.1
    save([found], tmp_path / "data.jsonl")
    assert read(tmp_path / "data.jsonl") == (found,)
    (tmp_path / "data.jsonl").write_text('{"dataset": "made"}\n')
    with pytest.raises(FileError, match="statistics file must hold one JSON record a line"):
        read(tmp_path / "data.jsonl")


def test_the_floor_is_what_calling_everything_anomalous_gets() -> None:
    truth = entity().truth.anomalous
    assert floor(float(truth.mean())) == pytest.approx(Counts.of(np.ones(10, dtype=np.bool_), truth).f1)


@pytest.mark.parametrize("name", ["MSL", "SMAP"])
def test_what_is_kept_is_what_the_paper_counts_where_all_of_it_is_here(name: str) -> None:
    of, theirs = [one for one in read(KEPT) if one.dataset == name], published.sizes()[name]
    assert len(of) == theirs.entities
    assert {one.channels for one in of} == {theirs.channels}
    assert sum(one.train_rows for one in of) == theirs.train_rows
    assert sum(one.test_rows for one in of) == theirs.test_rows
    assert share(of) == pytest.approx(theirs.anomalous, abs=5e-5)


@pytest.mark.parametrize(
    "name", ["MSL", "SMAP", pytest.param("SMD", marks=pytest.mark.slow), pytest.param("plant", marks=pytest.mark.slow)]
)
def test_what_is_kept_is_what_the_files_hold(name: str) -> None:
    """`python benchmarks/datasets.py DATA` counts again."""
    folder = os.environ.get("CCMTAD_DATA")
    archive = {"SMD": "SMD.zip", "plant": ""}.get(name, "SMAP_MSL.zip")
    if folder is None or not (Path(folder) / archive).exists():
        pytest.skip(f"{archive} is missing: put it into a folder and name that in CCMTAD_DATA")
    assert list(measured(find(name, folder))) == [one for one in read(KEPT) if one.dataset == name]
