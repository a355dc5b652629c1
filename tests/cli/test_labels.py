"""`detect --labels`: a column to hold the answer against."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ccmtad.simulate import simulate
from tests.cli.run import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("labels")
    for name, seed in (("normal", 1), ("recent", 2)):
        frame = simulate(900, seed=seed).frame
        columns: dict[str, Any] = {"time": frame.times}
        columns |= {channel: frame.values[:, i].copy() for i, channel in enumerate(frame.channels)}
        if name == "recent":
            columns["PIT401"][500:540] += 40.0
            columns["attack"] = [int(500 <= i < 540 or 700 <= i < 720) for i in range(900)]
        pl.DataFrame(columns).write_csv(place / f"{name}.csv")
    small = ("--set", "epochs=1", "--set", "width=8", "--set", "blocks=1", "--budget", "1/300 rows")
    assert run("fit", "normal.csv", "-o", "plant.ccm", *small, cwd=place).returncode == 0
    return place


def test_labels_are_taken_out_of_the_channels_and_held_against_the_answer(folder: Path) -> None:
    bare = run("detect", "plant.ccm", "recent.csv", "--drop", "attack", "--json", cwd=folder)
    told = run("detect", "plant.ccm", "recent.csv", "--labels", "attack", "--report", "r.html", "--json", cwd=folder)
    assert told.returncode == bare.returncode == 3, told.stderr
    answer, without = json.loads(told.stdout), json.loads(bare.stdout)
    truth = answer.pop("labels")
    assert answer == without  # the detector never sees them
    assert truth["stretches"] == 2
    assert truth["found"] == 1
    assert truth["recall"] == 0.5
    assert truth["delays"][1] is None
    page = (folder / "r.html").read_text()
    assert "1 of 2 labelled stretches found" in page
    printed = run("detect", "plant.ccm", "recent.csv", "--labels", "attack", cwd=folder)
    assert "1 of 2 labelled stretches found, after" in printed.stdout


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("attck", "labels must name a column of data 'recent.csv'; got 'attck', and they are"),
        ("PIT401", "labels must not be one of the channels that the model learnt from; got 'PIT401'"),
    ],
)
def test_labels_that_are_none_are_refused(folder: Path, column: str, words: str) -> None:
    said = run("detect", "plant.ccm", "recent.csv", "--labels", column, cwd=folder)
    assert said.returncode == 2
    assert words in said.stderr
