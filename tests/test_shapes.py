"""Files of eight shapes, each from `check` to a report: no flag is needed that the tool does not name, but one."""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ccmtad import Detector, FileError, files, model_file
from ccmtad.cli import main
from ccmtad.tables.lines import Parser
from tests.shapes import CHANNELS, FAULT, SHAPES, write

Run = Callable[..., tuple[int, str, str]]

TINY = [word for setting in ("epochs=1", "width=8", "blocks=1") for word in ("--set", setting)]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
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
    log.handlers, log.propagate = handlers, propagate


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_file_of_this_shape_goes_from_check_to_a_report(run: Run, tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    assert len(shape.own) <= 2  # one flag and its value
    normal, recent = write(name, tmp_path)
    flags = list(shape.own)
    code, out, errors = run("check", normal, recent, *flags)
    for flag, value in shape.suggested:
        assert f"{flag} '{value}'" in " ".join((out + errors).split())
        flags += [flag, value]
        code, out, errors = run("check", normal, recent, *flags)
    assert code == (3 if shape.suggested_later else 0), out + errors

    code, out, errors = run("fit", normal, "-o", "plant.ccm", *TINY, *flags)
    assert code == 0, errors
    report = tmp_path / "report.html"
    detect = ["detect", "plant.ccm", recent, "--report", report]
    if shape.suggested_later:
        code, out, errors = run(*detect)
        assert code == 2
        assert all(flag in errors for flag in shape.suggested_later)
        assert not report.exists()
    code, out, errors = run(*detect, *shape.suggested_later, "--json")
    assert code == 3, errors
    _found(name, json.loads(out))
    assert "FIT101" in report.read_text(encoding="utf-8")


def _found(name: str, answer: dict[str, object]) -> None:
    """The fault, under its name, at its time, told in the zone of the file."""
    events = answer["events"]
    assert isinstance(events, list)
    about = [one for one in events if one["channels"][0] == "FIT101" and FAULT.start <= one["alarm"] < FAULT.stop]
    assert about, events
    when = SHAPES[name].start + (900 + about[0]["start"]) * SHAPES[name].every
    offset = {"local-time": "+01:00", "marks": "+01:00"}.get(name, "Z")
    assert about[0]["start_time"].endswith(offset)
    assert np.datetime64(when.replace(tzinfo=None), "ns") == np.datetime64(_moment(about[0]["start_time"]), "ns")
    assert answer["timezone"] == {"local-time": "Europe/Berlin", "marks": "+01:00"}.get(name, "UTC")


def _moment(text: str) -> int:
    from ccmtad.frame import nanoseconds

    found = nanoseconds(text.replace("Z", "+00:00"))
    assert found is not None
    return found


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "one-value-a-row"])
def test_watch_reads_a_file_of_this_shape_as_detect_does(run: Run, tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    normal, recent = write(name, tmp_path)
    flags = [*shape.own, *(word for pair in shape.suggested for word in pair)]
    assert run("fit", normal, "-o", "plant.ccm", *TINY, *flags)[0] == 0
    from ccmtad.tables import Reading, load

    model = Detector.load(tmp_path / "plant.ccm").model_
    assert model.reading is not None
    how, _ = Reading().over(model.reading)
    frame = load(recent, how, fitted=model.channels).frame.align(model.channels, allow_missing=True)
    parser = Parser(model.channels, model.named, how, allow_missing=True)
    lines = recent.read_bytes().split(b"\n")
    rows = [row for row in (parser.first(lines[0]), *map(parser.row, lines[1:])) if row is not None]
    np.testing.assert_array_equal([row.values for row in rows], frame.values)
    assert frame.times is not None
    assert [row.time for row in rows] == frame.times.astype(np.int64).tolist()


def test_a_file_of_one_value_a_row_is_not_watched_and_that_is_said(run: Run, tmp_path: Path) -> None:
    normal, recent = write("one-value-a-row", tmp_path)
    assert run("fit", normal, "-o", "plant.ccm", *TINY)[0] == 0
    code, out, errors = run("watch", "plant.ccm", recent, "--once")
    assert (code, out) == (2, "")
    assert "got one value a row, a tag and a value: detect reads such files whole" in errors


def test_how_a_file_was_read_is_shown_and_what_is_said_again_wins(run: Run, tmp_path: Path) -> None:
    normal, recent = write("local-time", tmp_path)
    assert run("fit", normal, "-o", "plant.ccm", *TINY, "--timezone", "Europe/Berlin")[0] == 0
    _, out, _ = run("inspect", "plant.ccm")
    assert "--time 'time'; --timezone 'Europe/Berlin'" in out
    _, out, errors = run("detect", "plant.ccm", recent, "--timezone", "UTC", "--json")
    assert "--timezone 'UTC' instead of 'Europe/Berlin', which the model was fitted with" in errors
    assert json.loads(out)["timezone"] == "UTC"
    model = Detector.load(tmp_path / "plant.ccm").model_
    assert replace(model, reading=None).fingerprint == model.fingerprint  # a running watch goes on
    code, out, errors = run("recalibrate", "plant.ccm", normal, "-o", "again.ccm")
    assert code == 0, errors
    again = Detector.load(tmp_path / "again.ccm").model_.reading
    assert again is not None
    assert again.timezone == "Europe/Berlin"


def test_a_model_file_that_says_nonsense_of_files_is_refused(run: Run, tmp_path: Path) -> None:
    normal, _ = write("words", tmp_path)
    assert run("fit", normal, "-o", "plant.ccm", *TINY)[0] == 0
    data = (tmp_path / "plant.ccm").read_bytes()
    for nonsense in ({"timezone": "Nowhere"}, {"words": {"mode": {"x": None}}}, [1], {"time_format": "%d %d"}):
        arrays, facts = files.open_sealed(data, model_file.MAGIC, model_file.VERSION, "model")
        facts["reading"] = nonsense
        with pytest.raises(FileError):
            model_file.loads(files.seal(model_file.MAGIC, model_file.VERSION, arrays, facts))


def test_a_word_that_was_never_fitted_is_a_missing_value_and_said(run: Run, tmp_path: Path) -> None:
    normal, recent = write("words", tmp_path)
    assert run("fit", normal, "-o", "plant.ccm", *TINY)[0] == 0
    text = recent.read_text(encoding="utf-8").replace(",holding", ",Störung").replace(",ON", ",on")
    recent.write_text(text, encoding="utf-8")
    _, _, errors = run("detect", "plant.ccm", recent, "--json")
    assert (
        "column 'mode' has 'Störung', which no word was when the model was fitted (draining, filling, holding)"
        in errors
    )
    assert "P101" not in errors


def test_a_model_of_other_tags_says_what_it_does_without(run: Run, tmp_path: Path) -> None:
    normal, recent = write("other-tags", tmp_path)
    assert run("fit", normal, "-o", "plant.ccm", *TINY)[0] == 0
    for command in (["detect"], ["backtest"], ["watch", "--once"]):
        code, _, errors = run(command[0], "plant.ccm", recent, *command[1:])
        assert code == 2
        assert "missing: 'PIT201'; not fitted: 'PIT999': --allow-missing judges the others alone" in errors
        code, out, errors = run(command[0], "plant.ccm", recent, *command[1:], "--allow-missing")
        assert code == 3, errors
        assert "'PIT201' missing: judged without, as a lost signal; 'PIT999' not fitted: left out" in errors
    assert "signal lost" in out
    code, _, errors = run("recalibrate", "plant.ccm", recent, "-o", "again.ccm")
    assert code == 2
    assert "--allow-missing" not in errors
    (tmp_path / "none.csv").write_text(recent.read_text(encoding="utf-8").replace("IT", "XX").replace("P101", "P"))
    code, _, errors = run("detect", "plant.ccm", tmp_path / "none.csv", "--allow-missing")
    assert code == 2
    assert f"missing: '{CHANNELS[0]}'" in errors
