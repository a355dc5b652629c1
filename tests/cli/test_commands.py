"""The commands give the answers of the library, on files as users have them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from ccmtad import Detector, Frame
from ccmtad.results import plain
from ccmtad.simulate import Run, schedule, simulate
from ccmtad.tables import read

from .run import run


def table(frame: Frame) -> pl.DataFrame:
    return pl.DataFrame({"time": frame.times, **dict(zip(frame.channels, frame.values.T, strict=True))})


@pytest.fixture(scope="module")
def folder(plant: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands")
    table(plant.frame).write_csv(path / "normal.csv")
    table(simulate(4_000, seed=3, faults=schedule(4_000, seed=1, count=4)).frame).write_csv(path / "recent.csv")
    (path / "settings.toml").write_text('preset = "default"\nepochs = 9\nwidth = 32\nbudget = "1/day"\n')
    result = run(
        "fit", "normal.csv", "-o", "plant.ccm", "--settings", "settings.toml", "--set", "epochs=2", "--budget",
        "1/2000 rows", "--seed", "4", "--exclude", "100..150", "--exclude", "2026-01-02..2026-01-02 03:00", cwd=path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "Learnt 6,000 rows of 53 channels" in result.stdout
    assert "An error of 3 times the usual alarms" in result.stdout
    return path


def answer(*arguments: object, cwd: Path, code: int) -> dict[str, Any]:
    result = run(*arguments, "--json", cwd=cwd)
    assert result.returncode == code, result.stderr
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def test_settings_come_from_the_file_then_set_then_flags(folder: Path) -> None:
    settings = Detector.load(folder / "plant.ccm").settings
    assert (settings.width, settings.epochs, settings.budget, settings.seed) == (32, 2, "1/2000 rows", 4)


def test_fit_learns_what_the_library_learns(folder: Path) -> None:
    expected = Detector(epochs=2, width=32, budget="1/2000 rows", seed=4).fit(
        read(folder / "normal.csv"), exclude=[(100, 150), ("2026-01-02", "2026-01-02 03:00")]
    )
    assert Detector.load(folder / "plant.ccm").model_.fingerprint == expected.model_.fingerprint


def test_detect_finds_what_the_library_finds(folder: Path) -> None:
    told = answer("detect", "plant.ccm", "recent.csv", cwd=folder, code=3)
    found = Detector.load(folder / "plant.ccm").detect(read(folder / "recent.csv"))
    assert told["events"] == [plain(event) for event in found.events]
    assert told["rows"] == 4_000
    assert told["health"]["state"] == found.health.state
    shown = run("detect", "plant.ccm", "recent.csv", cwd=folder)
    assert shown.returncode == 3
    assert f"{len(found.events)} event" in shown.stdout
    for event in found.events:
        assert str(event.start_time)[:19].replace("T", " ") in shown.stdout
        assert event.channels[0] in shown.stdout


def test_quiet_leaves_only_the_exit_code(folder: Path) -> None:
    result = run("detect", "plant.ccm", "recent.csv", "--quiet", cwd=folder)
    assert (result.returncode, result.stdout, result.stderr) == (3, "", "")
    result = run("detect", "plant.ccm", "recent.csv", "-q", "--budget", "1/100000000 rows", cwd=folder)
    assert (result.stdout, result.stderr) == ("", "")


def test_parquet_and_gzip_are_the_same_data(folder: Path) -> None:
    import gzip

    (folder / "recent.csv.gz").write_bytes(gzip.compress((folder / "recent.csv").read_bytes()))
    pl.read_csv(folder / "recent.csv", try_parse_dates=True).write_parquet(folder / "recent.parquet")
    expected = answer("detect", "plant.ccm", "recent.csv", cwd=folder, code=3)["events"]
    for name in ("recent.csv.gz", "recent.parquet"):
        assert answer("detect", "plant.ccm", name, cwd=folder, code=3)["events"] == expected


def test_rows_and_a_report_are_written(folder: Path) -> None:
    result = run("detect", "plant.ccm", "recent.csv", "--rows", "rows.parquet", "--report", "report.html", cwd=folder)
    assert result.returncode == 3
    rows = pl.read_parquet(folder / "rows.parquet")
    found = Detector.load(folder / "plant.ccm").detect(read(folder / "recent.csv"))
    assert rows["score"].to_list() == found.score.tolist()
    assert rows.columns == ["time", "loss", "pvalue", "evidence", "score", "alarm", "label"]
    assert "recent.csv, judged by plant.ccm" in (folder / "report.html").read_text()
    assert run("detect", "plant.ccm", "recent.csv", "--rows", "rows.csv", "-q", cwd=folder).returncode == 3
    assert pl.read_csv(folder / "rows.csv").height == 4_000
    wrong = run("detect", "plant.ccm", "recent.csv", "--rows", "rows.xlsx", cwd=folder)
    assert wrong.returncode == 2
    assert "rows must end in .csv or .parquet" in wrong.stderr


def test_backtest_sets_budgets_side_by_side(folder: Path) -> None:
    told = answer(
        "backtest", "plant.ccm", "recent.csv", "--budget", "1/500 rows", "--budget", "1/100 rows", cwd=folder, code=3
    )
    detector = Detector.load(folder / "plant.ccm")
    frame = read(folder / "recent.csv")
    assert [one["budget"] for one in told["budgets"]] == ["1/100 rows", "1/500 rows"]
    for one in told["budgets"]:
        alone = detector.with_budget(one["budget"]).detect(frame)
        assert one["events"] == [plain(event) for event in alone.events]
        assert one["threshold"] == alone.threshold
    assert told["budgets"][0]["threshold"] < told["budgets"][1]["threshold"]
    chosen = answer("detect", "plant.ccm", "recent.csv", "--budget", "1/100 rows", cwd=folder, code=3)
    assert chosen["events"] == told["budgets"][0]["events"]
    shown = run("backtest", "plant.ccm", "recent.csv", cwd=folder)
    for text in ("1/day", "1/week", "1/month", "1/2000 rows (fitted)", "extrapolated", "most blamed channels"):
        assert text in shown.stdout, text


def test_inspect_tells_what_is_in_a_model(folder: Path) -> None:
    told = answer("inspect", "plant.ccm", cwd=folder, code=0)
    detector = Detector.load(folder / "plant.ccm")
    assert tuple(map(tuple, told["clusters"])) == detector.clusters_
    assert told["calibration"]["threshold"] == detector.threshold_
    assert told["settings"]["epochs"] == 2
    assert len(told["training"]) == 2
    assert told["bytes"] == (folder / "plant.ccm").stat().st_size
    quality, each = told["cluster_quality"], detector.silhouettes_
    assert each is not None
    assert quality["silhouette"] == pytest.approx(np.nanmean(each))
    for group, mean, row in zip(detector.clusters_, quality["silhouettes"], quality["adjacency"], strict=True):
        members = each[[detector.channels_.index(name) for name in group]]
        assert mean is None if np.isnan(members).all() else mean == pytest.approx(np.nanmean(members))
        assert len(row) == len(detector.clusters_)
    shown = run("inspect", "plant.ccm", cwd=folder).stdout
    assert f"silhouette {quality['silhouette']:.2f}" in shown
    for text in (
        "53 in",
        "one every 60 s",
        "1/2000 rows: ",
        "An error of 3 times the usual alarms",
        "2 epochs",
        "Channels, by cluster",
        "adjacency",
        "persistence",
    ):
        assert text in shown, text


def test_inspect_does_without_what_an_older_file_has_not() -> None:
    old = Path(__file__).parents[1] / "golden"
    assert answer("inspect", "model-v2.ccm", cwd=old, code=0)["cluster_quality"] is None
    shown = run("inspect", "model-v2.ccm", cwd=old).stdout
    assert "Channels, by cluster" in shown
    assert "silhouette" not in shown


def test_check_looks_at_one_file_or_two(folder: Path) -> None:
    told = answer("check", "normal.csv", "recent.csv", "--budget", "1/day", cwd=folder, code=0)
    assert set(told) == {"data", "recent"}
    assert {"order", "gaps", "rows"} <= {one["topic"] for one in told["data"]}
    assert "drift" in {one["topic"] for one in told["recent"]}
    shown = run("check", "normal.csv", cwd=folder)
    assert "one row every 1 minute" in shown.stdout
    assert "0 problems" in shown.stdout


def test_recalibrate_keeps_the_network(folder: Path) -> None:
    result = run("recalibrate", "plant.ccm", "normal.csv", "-o", "again.ccm", cwd=folder)
    assert result.returncode == 0, result.stderr
    old, new = Detector.load(folder / "plant.ccm"), Detector.load(folder / "again.ccm")
    expected = old.recalibrate(read(folder / "normal.csv"))
    assert new.model_.fingerprint == expected.model_.fingerprint
    assert "Calibrated on 5,977 normal rows" in result.stdout


def test_watch_reads_standard_input(folder: Path) -> None:
    text = (folder / "recent.csv").read_text()
    piped = run("watch", "plant.ccm", "--state", "pipe.state", cwd=folder, stdin=text)
    assert piped.returncode == 3, piped.stderr
    followed = run("watch", "plant.ccm", "recent.csv", "--once", cwd=folder)
    lines = [json.loads(line) for line in piped.stdout.splitlines()]
    events = [line for line in lines if line["change"] != "acknowledged"]
    assert events == [json.loads(line) for line in followed.stdout.splitlines()]
    assert lines[-1] == {"change": "acknowledged", "rows": 4_000, "time": "2026-01-03T18:39:00Z"}
    assert "4,000 rows in all" in piped.stderr
    again = run("watch", "plant.ccm", "--state", "pipe.state", cwd=folder, stdin=text)
    assert "going on after row 4000: send what came after it" in again.stderr
    assert "4,000 late or duplicate" in again.stderr


def test_every_command_has_help_with_an_example() -> None:
    for command in ("check", "fit", "backtest", "detect", "watch", "inspect", "recalibrate", "demo"):
        shown = run(command, "--help")
        assert shown.returncode == 0
        assert f"Example: ccmtad {command}" in " ".join(shown.stdout.split()), shown.stdout


def test_a_given_threshold_is_said_and_is_no_budget(folder: Path) -> None:
    Detector(epochs=1, width=4, threshold=9.0).fit(read(folder / "normal.csv")).save(folder / "given.ccm")
    assert "(threshold 9, given)" in run("detect", "given.ccm", "recent.csv", cwd=folder).stdout
    assert "(fitted)" not in run("backtest", "given.ccm", "recent.csv", "--budget", "1/100 rows", cwd=folder).stdout


def test_data_that_cannot_be_judged_is_an_error_and_not_silence(folder: Path) -> None:
    lines = (folder / "recent.csv").read_text().splitlines(keepends=True)
    (folder / "short.csv").write_text("".join(lines[:11]))
    (folder / "backwards.csv").write_text("".join([lines[0], *lines[:0:-1]]))
    for command in (["detect"], ["backtest"], ["recalibrate", "-o", "new.ccm"]):
        for name, message in (("short.csv", "must hold 24 rows that follow each other"), ("backwards.csv", "sort it")):
            result = run(command[0], "plant.ccm", name, *command[1:], cwd=folder)
            assert (result.returncode, result.stdout) == (2, ""), command
            assert message in result.stderr
    result = run("fit", "backwards.csv", "-o", "new.ccm", cwd=folder)
    assert result.returncode == 2
    assert "must be in order of time; 3,999 of 4,000 rows" in result.stderr
    assert not (folder / "new.ccm").exists()


def test_recalibrating_on_rows_in_alarm_is_told(folder: Path) -> None:
    result = run("recalibrate", "plant.ccm", "recent.csv", "-o", "bad.ccm", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "in alarm by the old calibration: are they normal?" in result.stderr


def test_a_given_threshold_is_told_instead_of_a_budget_and_the_loss_is_that_of_the_kept_epoch(folder: Path) -> None:
    settings = (
        "--set",
        "threshold=5",
        "--set",
        "epochs=2",
        "--set",
        "width=8",
        "--set",
        "learning_rate=1.0",
        "--set",
        "blocks=1",
    )
    told = answer("fit", "normal.csv", "-o", "given.ccm", *settings, cwd=folder, code=0)
    assert told["budget"] is None
    assert told["threshold"] == 5
    losses = [epoch.validation for epoch in Detector.load(folder / "given.ccm").history_]
    assert told["validation_loss"] == min(losses)
    assert min(losses) < losses[-1]  # so large a step does not end at its best
    said = run("fit", "normal.csv", "-o", "given.ccm", *settings, cwd=folder)
    assert "threshold 5, given." in said.stdout
    assert "budget" not in said.stdout
