"""Published layouts are read as published, from a zip or a folder."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ccmtad import InputError
from ccmtad.bench.datasets import Entity, load


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("CCMTAD_DATA")
    if named is None or not (Path(named) / "SMAP_MSL.zip").exists():
        pytest.skip("the archives are missing: put SMAP_MSL.zip and SMD.zip into a folder and name it in CCMTAD_DATA")
    return Path(named)


@pytest.mark.parametrize(
    ("dataset", "entities", "channels", "train", "test", "share"),
    [("MSL", 27, 55, 58_317, 73_729, 0.1048), ("SMAP", 55, 25, 140_825, 444_035, 0.1283)],
)
def test_counts_are_the_published_ones(
    folder: Path, dataset: str, entities: int, channels: int, train: int, test: int, share: float
) -> None:
    found = list(load(dataset, folder))
    assert len({entity.name for entity in found}) == len(found) == entities
    assert {entity.train.values.shape[1] for entity in found} == {channels}
    assert sum(len(entity.train) for entity in found) == train
    assert sum(len(entity.test) for entity in found) == test
    anomalous = sum(int(entity.truth.anomalous.sum()) for entity in found)
    assert anomalous / test == pytest.approx(share, abs=5e-4)


def test_the_entity_listed_twice_has_labels_of_its_own_each(folder: Path) -> None:
    first, second = (entity for entity in load("SMAP", folder) if entity.name.startswith("P-2"))
    assert second.name == "P-2 (2)"
    np.testing.assert_array_equal(first.test.values, second.test.values)
    assert (first.truth.anomalous != second.truth.anomalous).any()


def test_machines_come_with_their_causes(folder: Path) -> None:
    machine = next(load("SMD", folder))
    assert machine.name == "machine-1-1"
    assert machine.train.values.shape[1] == 38
    assert len(machine.truth.anomalous) == len(machine.test)
    assert machine.truth.anomalous.mean() == pytest.approx(0.0946, abs=1e-3)
    for first, last, channels in machine.truth.causes:
        assert 0 <= first <= last < len(machine.test)
        assert all(0 <= channel < 38 for channel in channels)
        assert machine.truth.anomalous[first : last + 1].all()


def test_a_folder_reads_as_the_zip_does(folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(folder / "SMAP_MSL.zip") as archive:
        lines = archive.read("labeled_anomalies.csv").decode().splitlines()
        (tmp_path / "labeled_anomalies.csv").write_text(
            "\n".join([lines[0], *(x for x in lines if x.startswith("M-1,"))])
        )
        for part in ("train", "test"):
            archive.extract(f"data/{part}/M-1.npy", tmp_path)
    (one,) = load("MSL", tmp_path)
    other: Entity = next(entity for entity in load("MSL", folder) if entity.name == "M-1")
    np.testing.assert_array_equal(one.test.values, other.test.values)
    np.testing.assert_array_equal(one.truth.anomalous, other.truth.anomalous)


def test_a_missing_dataset_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"folder must hold SMAP_MSL.zip or labeled_anomalies.csv; .* telemanom's README"
    ):
        next(load("MSL", tmp_path))
    with pytest.raises(InputError, match="OmniAnomaly's repository"):
        next(load("SMD", tmp_path))
    with pytest.raises(InputError, match="dataset must be one of MSL, SMAP, SMD; got 'SWAT'"):
        load("SWAT", tmp_path)
