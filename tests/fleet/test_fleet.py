"""A model for each entity: the same whoever fits it, fitted once, and no entity stops another."""

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ccmtad import Detector, Event, FileError, InputError, SettingError, fleet
from ccmtad.cli import show
from ccmtad.executors import find
from ccmtad.fleet.manifest import NAME
from ccmtad.tables import Reading, load, read

from ..cli.run import COMMAND, run
from .conftest import QUICK, rows, table


@pytest.fixture(scope="module")
def models(history: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fitted by one process. Treat as read-only."""
    folder = tmp_path_factory.mktemp("models")
    fleet.fit(history, folder, settings=QUICK, workers=1)
    return folder


def told(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.ccm"))}


def test_each_model_is_the_one_that_fit_makes(history: Path, models: Path, tmp_path: Path) -> None:
    assert sorted(told(models)) == ["machine-0.ccm", "machine-1.ccm", "machine-2.ccm"]
    loaded = load(history / "machine-1.csv")
    Detector(**QUICK).fit(loaded.frame, reading=loaded.reading).save(tmp_path / "alone.ccm")
    assert (tmp_path / "alone.ccm").read_bytes() == told(models)["machine-1.ccm"]


def test_models_are_the_same_whatever_the_number_of_processes(history: Path, models: Path, tmp_path: Path) -> None:
    fleet.fit(history, tmp_path, settings=QUICK, workers=2)
    assert told(tmp_path) == told(models)


def test_one_that_cannot_be_fitted_stops_no_other_and_says_why(models: Path) -> None:
    entries = fleet.Manifest(models).entries
    assert [entries[name].status for name in sorted(entries)] == ["failed", "fitted", "fitted", "fitted"]
    assert "must have 2 cells in every line" in entries["broken"].error
    fitted = entries["machine-2"]
    assert (fitted.rows, fitted.channels, dict(fitted.settings)) == (500, 3, QUICK)
    assert fitted.notes[0].startswith("budget: 100 normal rows support")


def test_what_stands_is_not_fitted_again(history: Path, tmp_path: Path) -> None:
    data, models = tmp_path / "data", tmp_path / "models"
    data.mkdir()
    for number in range(3):
        (data / f"machine-{number}.csv").write_bytes((history / f"machine-{number}.csv").read_bytes())

    def fitted(**more: object) -> set[str]:
        new: set[str] = set()
        settings = QUICK | more
        fleet.fit(
            data, models, settings=settings, workers=1,
            progress=lambda entry, _done, _of, standing: None if standing else new.add(entry.entity),
        )  # fmt: skip
        return new

    assert fitted() == {"machine-0", "machine-1", "machine-2"}
    before = told(models)
    assert fitted() == set()
    table(rows(400, 9)).write_csv(data / "machine-0.csv")  # other rows
    (models / "machine-1.ccm").write_bytes(b"half a file")
    with (models / NAME).open("a") as file:
        file.write('{"entity": "machine-')  # killed while it wrote
    assert fitted() == {"machine-0", "machine-1"}
    assert told(models)["machine-1.ccm"] == before["machine-1.ccm"]
    assert told(models)["machine-0.ccm"] != before["machine-0.ccm"]
    assert fitted(seed=1) == {"machine-0", "machine-1", "machine-2"}


def test_a_word_on_an_event_survives_the_next_fit(history: Path, models: Path, recent: Path, tmp_path: Path) -> None:
    for path in models.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    detector = Detector.load(tmp_path / "machine-1.ccm")
    event = detector.detect(read(recent / "machine-1.parquet")).events[0]
    detector.dismiss(event).save(tmp_path / "machine-1.ccm")
    fleet.fit(history, tmp_path, settings=QUICK, workers=1)
    assert [one.event for one in Detector.load(tmp_path / "machine-1.ccm").feedback_] == [event.id]


def test_a_killed_fit_goes_on_where_it_was(history: Path, models: Path, tmp_path: Path) -> None:
    """It is killed as soon as one entity is done; that one is not fitted again."""
    flags = [f"{name}={value}" for name, value in QUICK.items()]
    command = [*COMMAND, "fleet", "fit", str(history), "-o", str(tmp_path), "--workers", "1"]
    for flag in flags:
        command += ["--set", flag]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stderr is not None
        assert b"1/4" in process.stderr.readline()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
    done = set(fleet.Manifest(tmp_path).entries)
    assert done
    again: set[str] = set()
    fleet.fit(
        history, tmp_path, settings=QUICK, workers=1,
        progress=lambda entry, _done, _of, standing: None if standing else again.add(entry.entity),
    )  # fmt: skip
    assert not again & (done - {"broken"})
    assert told(tmp_path) == told(models)


def test_a_table_with_a_key_column_is_a_fleet(history: Path, models: Path, tmp_path: Path) -> None:
    names = [f"machine-{number}" for number in range(3)]
    parts = [
        pl.read_csv(history / f"{name}.csv").with_columns(pl.lit(name).alias("host")).with_row_index("row")
        for name in names
    ]
    mixed = pl.concat(parts).sort("row", maintain_order=True).drop("row")  # as they came, one after the other
    mixed.write_parquet(tmp_path / "all.parquet")
    entries = fleet.fit(tmp_path / "all.parquet", tmp_path / "models", key="host", settings=QUICK, workers=1)
    assert {one.entity for one in entries} == set(names)
    assert told(tmp_path / "models") == told(models)
    assert not list((tmp_path / "models").glob(".parts-*"))  # what was cut is gone
    with pytest.raises(InputError, match="key must be a column of data .*; got 'hots', and they are 'c0'"):
        fleet.fit(tmp_path / "all.parquet", tmp_path / "models", key="hots")


def test_keys_stay_as_they_are_written(tmp_path: Path) -> None:
    """Leading noughts, slashes and dots: other keys are other entities, and other files of one folder."""
    keys = ["1", "01", "../a/b", "a.b"]
    both = pl.concat([table(rows(300, i)).with_columns(pl.lit(key).alias("key")) for i, key in enumerate(keys)])
    both.write_csv(tmp_path / "all.csv")
    entries = fleet.fit(tmp_path / "all.csv", tmp_path / "models", key="key", settings=QUICK, workers=1)
    assert {one.entity: one.status for one in entries} == dict.fromkeys(keys, "fitted")
    assert sorted(told(tmp_path / "models")) == ["..%2Fa%2Fb.ccm", "01.ccm", "1.ccm", "a.b.ccm"]
    assert [one.entity for one in fleet.inspect(tmp_path / "models")] == sorted(keys)


def test_a_list_of_files_is_a_fleet(history: Path, recent: Path, models: Path, tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text(f"{recent / 'machine-0.parquet'}\n\n{history / 'gone.csv'}\n")
    found = {one.entity: one for one in fleet.detect(models, tmp_path / "some.txt", workers=1)}
    assert found["machine-0"].rows == 300
    assert "gone.csv" in found["gone"].error or "has none" in found["gone"].error


def test_the_fleet_finds_what_its_models_find_the_worst_first(models: Path, recent: Path) -> None:
    found = fleet.detect(models, recent, workers=2)
    assert found == fleet.detect(models, recent, workers=1)
    assert found[0].entity == "machine-1"
    assert [one.worst for one in found] == sorted((one.worst for one in found), reverse=True)
    alone = Detector.load(models / "machine-1.ccm").detect(read(recent / "machine-1.parquet"))
    assert [event.id for event in found[0].events] == [event.id for event in alone.events]
    assert found[0].alarms == int(alone.alarm.sum())


def test_bad_input_is_said_before_anything_is_fitted(history: Path, recent: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="window must be a whole number from 2"):
        fleet.fit(history, tmp_path / "models", settings={"window": 1})
    with pytest.raises(SettingError, match="on must be one of joblib.*; got 'slurm'"):
        fleet.fit(history, tmp_path / "models", on="slurm")
    assert not (tmp_path / "models").exists()
    with pytest.raises(InputError, match="data must be a folder of files, a list of files"):
        fleet.fit(history / "machine-0.csv", tmp_path / "models")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="data must be a folder with files that end in .csv"):
        fleet.fit(tmp_path / "empty", tmp_path / "models")
    with pytest.raises(FileError, match="models must be a folder that fleet fit wrote"):
        fleet.detect(tmp_path / "nowhere", recent)
    for name in ("a.csv", "a.parquet"):
        table(rows(50, 0)).write_csv(tmp_path / "empty" / name)
    with pytest.raises(InputError, match="data must have one file for each entity; got more for 'a'"):
        fleet.fit(tmp_path / "empty", tmp_path / "models")
    with pytest.raises(SettingError, match="address must be of a Ray cluster"):
        list(find("joblib").map(str, [1], 1, "auto"))


def test_two_fits_into_one_folder_are_refused(history: Path, tmp_path: Path) -> None:
    def second(*_: object) -> None:
        with pytest.raises(FileError, match="models must belong to one fit"):
            fleet.fit(history, tmp_path, settings=QUICK, workers=1)

    fleet.fit(history, tmp_path, settings=QUICK, workers=1, progress=second)


def test_the_commands_tell_what_the_library_knows(history: Path, recent: Path, models: Path, tmp_path: Path) -> None:
    flags = [f"--set={name}={value}" for name, value in QUICK.items()]
    (tmp_path / "models").mkdir()
    for path in models.iterdir():
        (tmp_path / "models" / path.name).write_bytes(path.read_bytes())
    fitted = run("fleet", "fit", history, "-o", "models", *flags, cwd=tmp_path)
    assert fitted.returncode == 4, fitted.stderr
    assert "Fitted 0 models into models, 3 stood, 1 failed." in fitted.stdout
    assert "4/4 broken: failed: data" in fitted.stderr
    found = run("fleet", "detect", "models", recent, "--out", "events.jsonl", cwd=tmp_path)
    assert found.returncode == 3, found.stderr
    assert "in 1 of 3 entities, 900 rows" in found.stdout
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert {event["entity"] for event in events} == {"machine-1"}
    assert [event["severity"] for event in events] == sorted((e["severity"] for e in events), reverse=True)
    shown = run("fleet", "inspect", "models", "--json", cwd=tmp_path)
    assert shown.returncode == 4, shown.stderr
    facts = {one["entity"]: one for one in json.loads(shown.stdout)["entities"]}
    assert facts["machine-1"]["threshold"] == Detector.load(models / "machine-1.ccm").threshold_
    assert facts["machine-1"]["health"] == "extrapolated"
    assert facts["broken"]["error"]


def test_reading_options_hold_for_every_entity(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for number in range(2):
        values = table(rows(300, number)).with_columns(pl.lit("up").alias("state"))
        values.write_csv(tmp_path / "data" / f"m{number}.csv")
    models = tmp_path / "models"
    refused = fleet.fit(tmp_path / "data", models, settings=QUICK, workers=1)
    assert {one.status for one in refused} == {"failed"}
    assert "leave it out with drop='state'" in refused[0].error
    taken = fleet.fit(tmp_path / "data", models, settings=QUICK, workers=1, how=Reading(drop=("state",)))
    assert [(one.status, one.channels) for one in taken] == [("fitted", 3)] * 2


def test_a_fleet_fitted_together_is_the_fleet_fitted_apart(history: Path, tmp_path: Path) -> None:
    """Without dropout; in single precision, so to the last digits but a few."""
    settings = QUICK | {"embedding_dropout": 0.0, "blocks": 2, "device": "cpu", "learning_rate": 1e-4}
    table(rows(650, 8)).write_csv(tmp_path / "long.csv")  # in two blocks, the others in one
    (tmp_path / "all.txt").write_text("\n".join([*(str(path) for path in sorted(history.glob("*.csv"))), "long.csv"]))
    apart = fleet.fit(tmp_path / "all.txt", tmp_path / "apart", settings=settings, workers=1)
    together = fleet.fit(tmp_path / "all.txt", tmp_path / "together", settings=settings, together=True)
    assert [one.entity for one in together] == [one.entity for one in apart]
    for one, two in zip(apart, together, strict=True):
        assert (two.status, two.error, two.rows, two.notes) == (one.status, one.error, one.rows, one.notes)
        if one.status == "fitted":
            alone, stack = (Detector.load(tmp_path / folder / one.file) for folder in ("apart", "together"))
            losses = [[epoch.validation for epoch in of.history_] for of in (alone, stack)]
            assert losses[1] == pytest.approx(losses[0], rel=1e-2)
            assert len(stack.validation_losses_) == len(alone.validation_losses_)
            for name, weight in alone.model_.weights.items():
                np.testing.assert_allclose(stack.model_.weights[name], weight, rtol=1e-2, atol=1e-3, err_msg=name)


def test_events_of_several_zones_are_told_by_one_clock() -> None:
    noon = np.datetime64("2026-03-01T12:00:00", "ns")
    one = Event(3, 3, 4, 2.0, ("a",), (1.0,), (), noon, noon, noon)
    table = show.events([replace(one, zone=zone) for zone in ("Europe/Berlin", "Asia/Tokyo")], entities=["x", "y"])
    assert [str(column.header) for column in table.columns][:2] == ["entity", "start (UTC)"]
    assert set(table.columns[1].cells) == {"2026-03-01 12:00:00"}
    alone = show.events([replace(one, zone="Asia/Tokyo")], entities=["y"])
    assert str(alone.columns[1].header) == "start (Asia/Tokyo)"
    assert set(alone.columns[1].cells) == {"2026-03-01 21:00:00"}
