"""Whatever is put into a command: a message that names the argument, the rule and the value; exit code 2; no traceback;
and nothing half-written."""

import gzip
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ccmtad import Detector
from ccmtad.cli import main

HEADER = "time,a,b,c"


def rows(count: int = 120, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    base = np.sin(np.arange(count) / 7)[:, None] * [1, -1, 0.5] + 0.05 * random.normal(size=(count, 3))
    start = np.datetime64("2026-01-01T00:00:00")
    return [f"{start + np.timedelta64(i, 'm')},{a:.5f},{b:.5f},{c:.5f}" for i, (a, b, c) in enumerate(base)]


def text(lines: list[str], header: str = HEADER) -> bytes:
    return ("\n".join([header, *lines]) + "\n").encode()


DATA: dict[str, tuple[bytes, str]] = {
    "binary": (bytes(range(256)) * 4, "got binary data beginning with"),
    "empty": (b"", "must begin with a line of column names or numbers; got an empty one"),
    "header only": (text([]), "must have rows below its header; got none"),
    "ragged": (
        text([*rows(20), "2026-01-02T00:00:00,1,2"]),
        "must have 4 cells in every line, as in its first; got 3 in",
    ),
    "too many cells": (text([*rows(20), "2026-01-02T00:00:00,1,2,3,4"]), "got 5 in line 22"),
    "mixed types": (
        text([*rows(20), "2026-01-02T00:00:00,1,Bad Input,3"]),
        "column 'b' has 'Bad Input' in row 20: if that is a missing value, say --missing 'Bad Input'",
    ),
    "text column": (
        text([f"{row},ok" for row in rows(20)], HEADER + ",state"),
        "column 'state' holds 'ok': leave it out with --drop 'state'",
    ),
    "no times": (text([f"soon{row[4:]}" for row in rows(20)]), "column 'time' has 'soon-01-01T00:00:00' in row 0"),
    "twice a column": (text(rows(20), "time,a,a,c"), "must have distinct column names; got 'a' more than once"),
    "infinite": (text([*rows(20), "2026-01-02T00:00:00,1,inf,3"]), "must be finite"),
    "cut gzip": (gzip.compress(text(rows(50)))[:-20], "must be a whole gzip file"),
    "cut parquet": (b"PAR1" + b"\0" * 50, "must be a whole Parquet file"),
    "a model": (b"CCMTADmo\0\2" + b"\0" * 50, "got a file that ccmtad wrote: is it the model?"),
}
WRONG_CHANNELS = text(rows(60), "time,a,b,x")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("garbage")
    values = np.array([[float(cell) for cell in row.split(",")[1:]] for row in rows(600)])
    import polars as pl

    table = pl.DataFrame(values, schema=["a", "b", "c"])
    Detector(epochs=1, width=4, window=4).fit(table).save(folder / "plant.ccm")
    return folder / "plant.ccm"


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    import logging
    import signal

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    log = logging.getLogger("ccmtad")
    handlers, propagate = log.handlers, log.propagate

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["ccmtad", *map(str, arguments)])
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            main()
        out, errors = capfd.readouterr()
        assert "Traceback" not in out + errors
        return int(ended.value.code or 0), out, errors

    yield call
    for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
        signal.signal(number, handler)
    log.handlers, log.propagate = handlers, propagate


def commands(model: Path, data: Path) -> dict[str, list[object]]:
    """Every command that reads data, and what it would write."""
    return {
        "check": ["check", data],
        "fit": ["fit", data, "-o", "new.ccm", "--set", "epochs=1"],
        "backtest": ["backtest", model, data],
        "detect": ["detect", model, data, "--report", "new.html", "--rows", "new.csv"],
        "watch": ["watch", model, data, "--once"],
        "recalibrate": ["recalibrate", model, data, "-o", "new.ccm"],
    }


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "data.csv")


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (kind, command)
        for kind in DATA
        for command in ("check", "fit", "backtest", "detect", "recalibrate")
        if kind != "infinite" or command in ("check", "fit")  # a missing value to the others, as in a stream
    ],
)
def test_garbage_data(run: Run, model: Path, tmp_path: Path, kind: str, command: str) -> None:
    data, message = DATA[kind]
    (tmp_path / "data.csv").write_bytes(data)
    code, out, errors = run(*commands(model, tmp_path / "data.csv")[command])
    assert (code, out) == (2, ""), errors
    assert message in errors
    assert errors.startswith("ccmtad: ")
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (DATA["binary"][0], "got binary data"),
        (WRONG_CHANNELS, "missing: 'c'; not fitted: 'x'"),
        (b"1,2\n3,4\n", "must have the 3 channels of the fitted data; got 2"),
    ],
)
def test_garbage_to_watch(run: Run, model: Path, tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "data.csv").write_bytes(data)
    code, out, errors = run(*commands(model, tmp_path / "data.csv")["watch"])
    assert (code, out) == (2, "")
    assert message in errors
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("command", ["backtest", "detect", "recalibrate"])
def test_an_infinite_cell_is_a_missing_one_where_nothing_is_learnt(
    run: Run, model: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "data.csv").write_bytes(text([*rows(59), "2026-01-02T00:00:00,1,inf,3"]))
    code, _, errors = run(*commands(model, tmp_path / "data.csv")[command], *["--force"] * (command == "recalibrate"))
    assert code in (0, 3), errors


@pytest.mark.parametrize("command", ["backtest", "detect", "recalibrate"])
def test_wrong_channels(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "data.csv").write_bytes(WRONG_CHANNELS)
    code, out, errors = run(*commands(model, tmp_path / "data.csv")[command])
    assert (code, out) == (2, "")
    assert "missing: 'c'; not fitted: 'x'" in errors
    assert left_over(tmp_path) == []


def test_wrong_channels_in_a_comparison(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(text(rows(400)))
    (tmp_path / "other.csv").write_bytes(WRONG_CHANNELS)
    code, out, _ = run("check", tmp_path / "data.csv", tmp_path / "other.csv")
    assert code == 3
    told = " ".join(out.split())
    assert "missing: c; not fitted: x: detect judges the others alone with --allow-missing" in told


@pytest.mark.parametrize("command", ["check", "fit", "backtest", "detect", "watch", "recalibrate"])
def test_a_missing_file_and_a_folder(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    for data, why in ((tmp_path / "none.csv", "No such file"), (tmp_path, "folder|Is a directory")):
        code, out, errors = run(*commands(model, data)[command])
        assert (code, out) == (2, "")
        assert any(part in errors for part in why.split("|")), errors
        assert left_over(tmp_path) == []


@pytest.mark.parametrize("command", ["backtest", "detect", "watch", "inspect", "recalibrate"])
@pytest.mark.parametrize("kind", ["missing", "garbage", "cut"])
def test_a_wrong_model(run: Run, model: Path, tmp_path: Path, command: str, kind: str) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(text(rows()))
    wrong = tmp_path.parent / f"{kind}-{command}.ccm"
    if kind != "missing":
        wrong.write_bytes(b"what is this" if kind == "garbage" else model.read_bytes()[:-9])
    arguments = commands(wrong, data).get(command, ["inspect", wrong])
    code, out, errors = run(*arguments)
    assert (code, out) == (2, "")
    expected = {"missing": "No such file", "garbage": "another kind of file", "cut": "truncated or altered"}
    assert expected[kind] in errors
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("command", ["check", "fit", "backtest", "detect", "watch", "inspect", "recalibrate", "demo"])
def test_an_unknown_flag(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    arguments = commands(model, tmp_path / "data.csv").get(command, [command, *[model] * (command == "inspect")])
    code, out, errors = run(*arguments, "--colour")
    assert (code, out) == (2, "")
    assert "No such option: --colour" in errors
    assert left_over(tmp_path) == []


def test_unwritable_output_is_said_before_the_work(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(text(rows(600)))
    nowhere = tmp_path / "none" / "x"
    for arguments, name in (
        (["fit", data, "-o", nowhere], "out"),
        (["fit", data, "-o", tmp_path], "out"),
        (["recalibrate", model, data, "-o", nowhere], "out"),
        (["detect", model, data, "--report", nowhere], "report"),
        (["detect", model, data, "--rows", f"{nowhere}.csv"], "rows"),
        (["watch", model, data, "--once", "--state", nowhere], "state"),
        (["demo", "--out", data], "out"),
    ):
        code, out, errors = run(*arguments)
        assert (code, out) == (2, ""), errors
        assert f"{name} must be" in errors, errors
        assert left_over(tmp_path) == []


def test_an_output_never_replaces_what_is_read(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(text(rows(600)))
    before, learnt = data.read_bytes(), model.read_bytes()
    for arguments in (
        ["fit", data, "-o", data],
        ["recalibrate", model, data, "-o", data],
        ["detect", model, data, "--rows", data],
        ["detect", model, data, "--report", model],
    ):
        code, _, errors = run(*arguments)
        assert code == 2
        assert "must be another file than" in errors
    assert (data.read_bytes(), model.read_bytes()) == (before, learnt)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "window=1"], "window must be a whole number from 2 to 10000; got 1"),
        (["--set", "colour=red"], "colour is not a setting"),
        (["--set", "window"], "a setting must read NAME=VALUE; got 'window'"),
        (["--preset", "best"], "preset must be one of 'default', 'paper'; got 'best'"),
        (["--budget", "seldom"], "budget must read like"),
        (["--settings", "none.toml"], "settings file must be readable; got 'none.toml'"),
        (["--exclude", "5"], "exclude must read FIRST..LAST, two rows or two times; got '5'"),
        (["--exclude", "5..999999"], "exclude must hold rows 0 <= first <= last < 600"),
        (["--time", "when"], "time must be a column of"),
        (["--drop", "what"], "drop must name columns of"),
    ],
)
def test_wrong_settings(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "data.csv").write_bytes(text(rows(600)))
    code, out, errors = run("fit", tmp_path / "data.csv", "-o", "new.ccm", *arguments)
    assert (code, out) == (2, "")
    assert message in errors
    assert left_over(tmp_path) == []


def test_unsorted_and_duplicate_times_are_ignored_and_told(run: Run, model: Path, tmp_path: Path) -> None:
    lines = rows(600)
    mixed = [*lines[:300], lines[10], lines[299], *lines[300:]]
    (tmp_path / "data.csv").write_bytes(text(mixed))
    code, out, errors = run("check", tmp_path / "data.csv")
    assert (code, errors) == (0, "")
    assert "2 rows are not later than those before them and would be ignored" in out
    code, _, errors = run("detect", model, tmp_path / "data.csv")
    assert code in (0, 3)
    assert "2 of 602 rows are not later than the ones before them and are ignored" in errors
    code, _, errors = run("watch", model, tmp_path / "data.csv", "--once")
    assert code in (0, 3)
    assert "2 late or duplicate" in errors
    (tmp_path / "data.csv").write_bytes(text(lines[::-1]))
    code, out, _ = run("check", tmp_path / "data.csv")
    assert code == 3
    assert "sort the file by time" in out
