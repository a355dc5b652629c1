"""What people say of events."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ccmtad import Detector, FileError, Frame, InputError
from ccmtad.calibrate.feedback import in_force, merged, plain, verdicts
from ccmtad.results import plain as plain_event
from ccmtad.results import said_of
from ccmtad.score.channels import ABOVE, BELOW, ERROR, GONE_LIMIT, LIMITS, STEP, STILL_LIMIT

from ..cli.run import run

CHANNELS = tuple("abcd")


def times(rows: int, first: int = 0) -> NDArray[np.datetime64]:
    return np.datetime64("2026-01-01", "ns") + (first + np.arange(rows)) * np.timedelta64(60, "s")


def waves(rows: int, first: int = 0, seed: int = 0) -> NDArray[np.float64]:
    random, row = np.random.default_rng(seed), first + np.arange(rows)
    return np.column_stack([np.sin(row / 20 + i) + 0.1 * random.normal(size=rows) for i in range(4)])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("feedback") / "plant.ccm"
    Detector(epochs=2, width=16, blocks=1).fit(Frame(waves(4_000), CHANNELS, times(4_000))).save(path)
    return path


@pytest.fixture(scope="module")
def recent() -> Frame:
    values = waves(3_400, 4_000, seed=1)
    for first in (600, 2_800):  # so far apart that the second is not the one just seen
        values[first, 1] += 30.0
    values[3_100, 0] += 30.0
    return Frame(values, CHANNELS, times(3_400, 4_000))


def test_a_dismissed_event_would_have_been_normal_and_nothing_else_changes(saved: Path, recent: Frame) -> None:
    detector = Detector.load(saved)
    fingerprint, before = detector.model_.fingerprint, detector.detect(recent)
    assert [one.channels[0] for one in before.events] == ["b", "b", "a"]
    detector.dismiss(before.events[0])
    after = detector.detect(recent)
    assert [one.alarm for one in after.events] == [before.events[2].alarm]
    assert detector.model_.fingerprint == fingerprint
    detector.undo(before.events[0])
    assert [one.alarm for one in detector.detect(recent).events] == [one.alarm for one in before.events]
    assert [one.word for one in detector.feedback_] == ["dismissed", "undone"]
    assert in_force(detector.feedback_) == ()


def test_what_was_said_is_saved_and_a_stream_heeds_it_at_once(saved: Path, recent: Frame, tmp_path: Path) -> None:
    detector = Detector.load(saved)
    stream, opened = detector.stream(), []
    assert recent.times is not None
    for row, time in zip(recent.values, recent.times, strict=True):
        for change in stream.update(row, time).changes:
            if change.what == "opened":
                opened.append(change.event.alarm)
            if change.what == "final":
                stream.dismiss(change.event)
    assert opened == [600, 3_100]
    resumed = detector.stream(resume=stream.snapshot())
    assert resumed.feedback == stream.feedback
    assert len(stream.feedback) == 2
    detector.heed(stream.feedback).save(tmp_path / "told.ccm")
    again = Detector.load(tmp_path / "told.ccm")
    assert again.feedback_ == stream.feedback
    assert again.detect(recent).events == ()
    assert again.stream(resume=stream.snapshot()).feedback == stream.feedback  # the union, each word once


def test_whoever_else_was_thrown_off_is_excused_too(saved: Path) -> None:
    values = waves(4_000, 4_000, seed=3)
    for begin in (700, 3_200):
        values[begin : begin + 60, 1] += 1.6
    frame, detector = Frame(values, CHANNELS, times(4_000, 4_000)), Detector.load(saved)
    first, *more = [one for one in detector.detect(frame).events if one.kind == "anomaly"]
    assert 700 <= first.alarm < 760
    assert any(3_200 <= one.alarm < 3_260 for one in more)
    assert first.peaks[0].channel == first.channels[0] == "b"
    assert {peak.channel for peak in first.peaks} >= set(first.channels)
    assert first.peaks[0].astray is not None
    assert first.peaks[0].astray > 0.05
    detector.dismiss(first)
    assert not [one for one in detector.detect(frame).events if one.kind == "anomaly"]
    told = json.loads(json.dumps(plain_event(first)))
    said = said_of(told, "dismissed", "2026-01-01")
    assert said.channels == first.verdict("dismissed", "2026-01-01").channels
    for peak in told["peaks"]:
        for name in ("channel", "astray", "step"):  # as 0.1.0 wrote them
            del peak[name]
    told["peaks"] = told["peaks"][: len(told["channels"])]
    assert said_of(told, "dismissed", "2026-01-01").channels == first.channels[: len(told["peaks"])]


def test_two_dismissals_of_a_lost_signal_excuse_the_longer_and_no_more(saved: Path) -> None:
    values = waves(2_000, 4_000, seed=4)
    values[300:400, 2] = np.nan
    values[900:1_020, 2] = np.nan
    detector = Detector.load(saved)
    limit = detector.model_.limits[GONE_LIMIT, 2]
    lost = [one for one in detector.detect(Frame(values, CHANNELS)).events if one.kind == "signal lost"]
    assert len(lost) == 2
    for one in lost:
        detector.dismiss(one)
    assert detector.model_.heeding.limits[GONE_LIMIT, 2] == pytest.approx(limit * 1.1 * lost[1].severity)


def test_recalibrating_on_rows_where_a_channel_stood_still_leaves_it_its_limits(saved: Path) -> None:
    normal, detector = waves(1_500, 4_000, seed=5), Detector.load(saved)
    normal[:, 3] = normal[0, 3]
    before = detector.model_.limits
    detector.recalibrate(Frame(normal, CHANNELS, times(1_500, 4_000)), force=True)
    after = detector.model_.limits
    for line in (ABOVE, BELOW, STEP, ERROR, STILL_LIMIT):
        assert np.isfinite(after[line, 3]), LIMITS[line]
        assert after[line, 3] >= before[line, 3]


def test_confirmed_rows_are_kept_out_of_a_recalibration(saved: Path) -> None:
    normal = waves(1_500, 4_000, seed=2)
    wild = normal.copy()
    wild[700:760] += 3.0
    frames = [Frame(values, CHANNELS, times(1_500, 4_000)) for values in (normal, wild)]
    detector = Detector.load(saved)
    (event,) = [one for one in detector.detect(frames[1]).events if one.kind == "anomaly"][:1]
    told = Detector.load(saved).recalibrate(frames[1])
    kept_out = Detector.load(saved).confirm(event).recalibrate(frames[1])
    assert kept_out.validation_losses_[-1] < told.validation_losses_[-1] / 10


def test_rows_that_the_network_does_not_know_are_refused(saved: Path) -> None:
    strange = Frame(waves(1_500, 4_000)[:, ::-1] * 4.0, CHANNELS, times(1_500, 4_000))
    detector = Detector.load(saved)
    with pytest.raises(InputError, match=r"rows with errors .* times those of training: fit again .* force=True"):
        detector.recalibrate(strange)
    detector.recalibrate(strange, force=True)


def test_words_are_merged_each_once_and_bad_ones_are_refused(saved: Path, recent: Frame) -> None:
    event = Detector.load(saved).detect(recent).events[0]
    first, second = event.verdict("dismissed", "2026-01-01"), event.verdict("undone", "2026-01-02")
    assert merged([second, first], [first]) == (first, second)
    assert verdicts(json.loads(json.dumps(plain([first, second])))) == (first, second)
    for name, value in (("word", "forgotten"), ("severity", float("nan")), ("times", [1.0]), ("channels", None)):
        with pytest.raises(FileError, match="feedback must hold whole verdicts"):
            verdicts([{**plain([first])[0], name: value}])


def test_the_command_line_dismisses_lists_and_takes_back(saved: Path, recent: Frame, tmp_path: Path) -> None:
    model, found = tmp_path / "plant.ccm", Detector.load(saved).detect(recent).events
    model.write_bytes(saved.read_bytes())
    (tmp_path / "found.json").write_text(json.dumps({"events": [plain_event(one) for one in found]}))
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(plain_event(one)) + "\n" for one in found[2:]))
    name = found[0].id
    for given in ([], [name, "--all"]):
        unclear = run("dismiss", "plant.ccm", "found.json", *given, cwd=tmp_path)
        assert (unclear.returncode, "--all must be given" in unclear.stderr) == (2, True)
    assert run("feedback", "plant.ccm", cwd=tmp_path).stdout == "Nothing was said of any event.\n"
    assert run("dismiss", "plant.ccm", "found.json", "1", cwd=tmp_path).returncode == 0
    assert run("confirm", "plant.ccm", "lines.jsonl", "--all", cwd=tmp_path).returncode == 0
    listed = run("feedback", "plant.ccm", cwd=tmp_path).stdout
    assert name in listed
    assert found[2].id in listed
    assert "1 dismissed, 1 confirmed" in run("inspect", "plant.ccm", cwd=tmp_path).stdout
    assert run("undo", "plant.ccm", name, cwd=tmp_path).returncode == 0
    assert name not in run("feedback", "plant.ccm", cwd=tmp_path).stdout
    for wrong_name in ("anomaly-7", "0", str(len(found) + 1)):
        wrong = run("dismiss", "plant.ccm", "found.json", wrong_name, cwd=tmp_path)
        assert (wrong.returncode, "ids must be of events in" in wrong.stderr) == (2, True)
    assert run("undo", "plant.ccm", "anomaly-7", cwd=tmp_path).returncode == 2
    (tmp_path / "bad.json").write_text("no")
    assert run("dismiss", "plant.ccm", "bad.json", cwd=tmp_path).returncode == 2
