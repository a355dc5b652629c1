"""Published layouts are read as published, from a zip or a folder."""

import os
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ccmtad import Frame, InputError
from ccmtad.bench.datasets import Entity, Pair, Truth, find, join, load
from ccmtad.bench.datasets.swat import CHANNELS as SWAT
from ccmtad.bench.datasets.wadi import Wadi


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


def test_services_come_with_their_labels(folder: Path) -> None:
    found = list(load("JumpStarter", folder))
    assert len(found) == 15
    assert found[0].name == "service1"
    assert {entity.train.values.shape for entity in found} == {(5_760, 19)}
    assert {entity.test.values.shape for entity in found} == {(7_200, 19)}
    assert all(0 < entity.truth.anomalous.mean() < 0.5 for entity in found)


def test_what_is_made_needs_no_folder() -> None:
    assert find("plant", None).entities()[0] == "seed 0"
    with pytest.raises(InputError, match="data must name the folder with the datasets"):
        find("MSL", None)


def test_the_plant_knows_what_broke_and_where() -> None:
    entity = find("plant", Path()).read("seed 0")
    assert entity.train.channels == entity.test.channels
    for first, last, channels in entity.truth.causes:
        assert entity.truth.anomalous[first : last + 1].all()
        assert channels


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
    for name, cure in (("PSM", "RANSynCoders"), ("SWaT", "ask iTrust .* train.npy"), ("WADI", "WADI_labels.csv there")):
        with pytest.raises(InputError, match=cure):
            next(load(name, tmp_path))
    with pytest.raises(InputError, match="dataset must be one of JumpStarter, MSL, .*, plant; got 'SWAT'"):
        load("SWAT", tmp_path)


def write(path: Path, header: str, *lines: str) -> None:
    path.write_text("\n".join([header, *lines]) + "\n")


def test_psm_holds_missing_values_and_is_smoothed(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", "timestamp_(min),feature_0,feature_1", "0.0,1,2", "1.0,,3", "2.0,5,")
    write(tmp_path / "test.csv", "timestamp_(min),feature_0,feature_1", "132480,4,4", "132481,,5")
    write(tmp_path / "test_label.csv", "timestamp_(min),label", "132480,0", "132481,1")
    (psm,) = load("PSM", tmp_path)
    np.testing.assert_array_equal(psm.train.values, [[1, 2], [1, 3], [5, 3]])
    np.testing.assert_array_equal(psm.test.values, [[4, 4], [4, 5]])
    np.testing.assert_array_equal(psm.truth.anomalous, [False, True])
    assert psm.train.channels == ("feature_0", "feature_1")
    assert psm.settings == {"smooth": 50}
    write(tmp_path / "test_label.csv", "timestamp_(min),label", "132480,0")
    with pytest.raises(InputError, match="test_label.csv must have 2 rows, as test.csv has; got 1"):
        next(load("PSM", tmp_path))


def swat_rows(rows: int) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    values = np.arange(rows * len(SWAT)).reshape(rows, len(SWAT)) / 8.0
    labels = ["Normal", "A ttack", "Attack", "Normal", "Normal"]
    lines = [",".join([" 28/12/2015 10:00:00 AM", *map(str, row), labels[i // 5 % 5]]) for i, row in enumerate(values)]
    return lines, values


def test_swat_keeps_every_fifth_row_of_the_original(tmp_path: Path) -> None:
    header = ", ".join([" Timestamp", *SWAT, "Normal/Attack"])
    lines, values = swat_rows(25)
    write(
        tmp_path / "SWaT_Dataset_Normal_v1.csv",
        "," * 52 + "\n" + header,
        *(x.replace("A ttack", "Normal") for x in lines),
    )
    write(tmp_path / "SWaT_Dataset_Attack_v0.csv", header, *lines)
    (swat,) = load("SWaT", tmp_path)
    expected = values[::5].copy()
    expected[:, [SWAT.index("P201"), SWAT.index("LIT401")]] = 0.0
    np.testing.assert_array_equal(swat.test.values, expected)
    np.testing.assert_array_equal(swat.train.values, expected)
    np.testing.assert_array_equal(swat.truth.anomalous, [False, True, True, False, False])
    assert swat.settings == {"smooth": 50}


def test_swat_reads_a_spreadsheet_as_the_csv(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is missing: pip install openpyxl")
    _, values = swat_rows(10)
    for name in ("SWaT_Dataset_Normal_v1.xlsx", "SWaT_Dataset_Attack_v0.xlsx"):
        book = openpyxl.Workbook()
        book.active.append(["", "P1"])
        book.active.append([" Timestamp", *(f" {channel}" for channel in SWAT), "Normal/Attack"])
        for i, row in enumerate(values):
            book.active.append(["28/12/2015", *row, "Normal" if i < 5 else "Attack"])
        book.save(tmp_path / name)
    (swat,) = load("SWaT", tmp_path)
    assert len(swat.test) == 2
    np.testing.assert_array_equal(swat.test.values[1, :3], values[5, :3])
    np.testing.assert_array_equal(swat.truth.anomalous, [False, True])


def test_swats_public_arrays_are_taken_as_they_are(tmp_path: Path) -> None:
    _, values = swat_rows(6)
    np.save(tmp_path / "train.npy", values)
    np.savez(tmp_path / "test.npz", x=values, y=np.array([0, 1, 0, 0, 1, 1]))
    (swat,) = load("SWaT", tmp_path)
    assert len(swat.train) == len(swat.test) == 6
    assert (swat.test.values[:, SWAT.index("LIT401")] == 0).all()
    np.testing.assert_array_equal(swat.truth.anomalous, [False, True, False, False, True, True])
    np.save(tmp_path / "train.npy", values[:, :5])
    with pytest.raises(InputError, match=r"SWaT train must have 51 channels; got shape \(6, 5\)"):
        next(load("SWaT", tmp_path))


PREFIX = "\\\\WIN-25J4RO10SBF\\LOG_DATA\\SUTD_WADI\\LOG_DATA\\"


def make_wadi(folder: Path, labels: str) -> Wadi:
    names = ["1_AIT_001_PV", "2B_AIT_002_PV", "2_LS_001_AL"]
    header = ",".join(["Row", "Date", "Time", *(PREFIX + name for name in names)])
    train = [f"{i},9/25/2017,6:00:{i:02d}.000 PM,{i % 7 if i % 3 else ''},5," for i in range(30)]
    test = [f"{i},10/9/2017,6:00:{i:02d}.000 PM,{i},5," for i in range(17)]
    write(folder / "WADI_14days.csv", "a\nb\nc\nd\n" + header, *train)
    write(folder / "WADI_attackdata.csv", header, *test)
    (folder / "WADI_labels.csv").write_text(labels)
    return Wadi(folder, settling=10)


def test_wadi_drops_empty_columns_and_takes_medians_of_five(tmp_path: Path) -> None:
    wadi = make_wadi(tmp_path, "start,end\n2017-10-09T18:00:04,2017-10-09T18:00:14\n").read("WADI")
    assert wadi.train.channels == ("1_AIT_001_PV", "2B_AIT_002_PV")
    assert len(wadi.train) == 4  # 30 rows less 10, in fives
    np.testing.assert_array_equal(wadi.test.values, [[2, 0], [7, 0], [12, 0]])
    np.testing.assert_array_equal(wadi.truth.anomalous, [False, True, True])  # the first block only in part


def test_wadi_takes_labels_by_row_too(tmp_path: Path) -> None:
    labels = "\n".join(["label", *("1" if i >= 10 else "0" for i in range(17))])
    wadi = make_wadi(tmp_path, labels + "\n").read("WADI")
    np.testing.assert_array_equal(wadi.truth.anomalous, [False, False, True])
    with pytest.raises(InputError, match="WADI_labels.csv must have 17 rows, as the attack file; got 2"):
        make_wadi(tmp_path, "label\n1\n0\n").read("WADI")
    with pytest.raises(InputError, match="WADI_labels.csv must hold attacks with rows in them"):
        make_wadi(tmp_path, "start,end\n2018-10-09T18:00:04,2018-10-09T18:00:14\n").read("WADI")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_your_own_pair_of_tables(tmp_path: Path, suffix: str) -> None:
    train = pl.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    test = pl.DataFrame({"label": [0, 1, 0], "a": [1.0, None, 3.0], "b": [1, 2, 3]})
    for table, name in ((train, "normal"), (test, "watched")):
        path = tmp_path / f"{name}{suffix}"
        table.write_csv(path) if suffix == ".csv" else table.write_parquet(path)
    pair = Pair(tmp_path / f"normal{suffix}", tmp_path / f"watched{suffix}", "label")
    entity = pair.read(pair.entities()[0])
    assert entity.dataset == entity.name == "watched"
    assert entity.test.channels == entity.train.channels == ("a", "b")
    assert np.isnan(entity.test.values[1, 0])
    np.testing.assert_array_equal(entity.truth.anomalous, [False, True, False])
    with pytest.raises(InputError, match="label must be a column of watched"):
        Pair(pair.train, pair.test, "anomaly").read("watched")
    with pytest.raises(InputError, match="label must hold 0 and 1"):
        Pair(pair.train, pair.test, "b").read("watched")
    with pytest.raises(InputError, match="train must be a readable file"):
        Pair(tmp_path / "none.csv", pair.test, "b").read("watched")


def test_joined_entities_keep_their_windows_apart() -> None:
    def entity(name: str, value: float) -> Entity:
        rows = Frame.of(np.full((10, 1), value))
        return Entity("D", name, rows, rows, Truth(np.arange(10) >= 8))

    one = join([entity("a", 1.0), entity("b", 2.0)], validation=0.2)
    np.testing.assert_array_equal(one.train.values[:, 0], [1] * 8 + [2] * 8 + [1] * 2 + [2] * 2)
    assert one.train.times is not None
    gaps = np.diff(one.train.times).astype(np.int64) // 10**9
    np.testing.assert_array_equal(np.flatnonzero(gaps > 1), [7, 15, 17])
    assert one.truth.anomalous.sum() == 4
