"""Tracks of distances: what stays far from the middle of its range, however well the network knows it."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad import Detector, Frame, Settings
from ccmtad.calibrate.calibration import SMALL_SHARE, Calibration
from ccmtad.compiled import available
from ccmtad.fit import TrainingSeries
from ccmtad.lanes import ACCEPTED
from ccmtad.network.engine import Engine
from ccmtad.score import combine
from ccmtad.score.level import PLACE_ACCEPTED
from ccmtad.score.step import fold
from ccmtad.stream import Stream
from tests import naive

Floats = NDArray[np.float64]

SIZES = st.sampled_from([0.1, 0.5, 1.0, 1.5, 2.0, 9.0, 400.0])
ROWS = st.lists(st.tuples(st.one_of(SIZES, st.just(math.nan)), SIZES), min_size=1, max_size=60)


def calibrated(**change: Any) -> Calibration:
    rules: dict[str, Any] = {
        "patience": 3, "reset": "carried", "tail": "conformal", "persistence": 5, "settle": 7, "drift": 0.05,
        "accept": 6, "duration": 2, "cooldown": 3, "alpha": 0.2,
    }  # fmt: skip
    losses, distances = np.random.default_rng(0).lognormal(size=(2, 300))
    return Calibration.fit(losses, 100, Settings.of(**(rules | change)), distances)


@given(ROWS, st.booleans(), st.booleans())
def test_all_tracks_follow_their_words(rows: list[tuple[float, float]], settles: bool, averages: bool) -> None:
    calibration = calibrated(settle=7 * settles, persistence=5 if averages else 1)
    losses, distances = map(list, zip(*rows, strict=True))
    found = calibration.score(np.array(losses), distance=np.array(distances))
    expected = naive.scores(losses, calibration, distances)
    np.testing.assert_allclose(found.evidence, [e[0] for e in expected])
    np.testing.assert_allclose(found.score, [e[1] for e in expected], atol=1e-9)
    np.testing.assert_array_equal(found.alarm, [e[2] for e in expected])


@pytest.mark.skipif(not available(), reason="numba is missing: pip install 'ccmtad[fast]'")
@given(ROWS)
def test_compiled_and_interpreted_tracks_are_the_same(rows: list[tuple[float, float]]) -> None:
    losses, distances = (np.array(one) for one in zip(*rows, strict=True))
    one, other = (fold(calibrated().rules, losses, distances, compiled) for compiled in (True, False))
    for name in ("pvalue", "evidence", "score", "alarm", "alone"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("extremes", [True, False])
@pytest.mark.parametrize("persistence", [1, 48])
def test_the_shares_of_the_budget_are_all_of_it(extremes: bool, persistence: int) -> None:
    made = calibrated(extremes=extremes, persistence=persistence)
    shares = [made.share_of(track) for track in made.tracks]
    assert len(shares) == (2 if persistence == 1 else 4)
    assert sum(shares) + SMALL_SHARE * (extremes + 1) == pytest.approx(1.0)


def pair(rows: int, seed: int) -> Floats:
    """Two channels that always say the same, and one by itself: a slow walk between -1 and 1."""
    random = np.random.default_rng(seed)
    walk = np.sin(np.cumsum(random.normal(0.0, 0.05, rows)))
    values = np.stack([walk, 3.0 * walk, np.sin(np.arange(rows) / 7.0)], axis=1)
    return values + 0.01 * random.normal(size=values.shape)


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(epochs=3, width=16).fit(pair(6_000, 0))


def moved() -> Floats:
    """Both go where they never were, together: they still tell each other."""
    rows = pair(3_000, 1)
    rows[1_500:1_700, :2] = np.array([1.3, 3.9]) + 0.3 * rows[1_500:1_700, :2]
    return rows


def test_what_stays_at_an_unusual_place_is_told_to_its_end_and_who_it_was(detector: Detector) -> None:
    found = [one for one in detector.detect(moved()).events if one.kind == "anomaly"]
    there = [one for one in found if one.start <= 1_700 and (one.end or 3_000) >= 1_500]
    assert there
    assert there[0].channels[0] in ("0", "1")
    assert there[0].peaks[0].far is not None
    assert there[0].peaks[0].far > 1.0
    alarm = detector.detect(moved()).alarm
    assert alarm[1_540:1_700].mean() > 0.95
    without = Detector(epochs=3, width=16, distance=False).fit(pair(6_000, 0)).detect(moved())
    assert without.alarm[1_540:1_700].mean() < alarm[1_540:1_700].mean()


@pytest.mark.parametrize("compiled", [True, False])
def test_a_stream_says_of_distances_what_detect_says(detector: Detector, compiled: bool) -> None:
    model = detector.model_
    stream = Stream(model, Engine(model.weights, model.architecture, compiled))
    rows = moved()
    told = []
    for i, row in enumerate(rows):
        told += [one.event for one in stream.update(row).changes if one.what == "final"]
        if i in (1_550, 1_650):
            data, stream = stream.snapshot(), Stream(model, Engine(model.weights, model.architecture, compiled))
            stream.resume(data)
    whole = [one for one in detector.detect(rows).events if one.end is not None]
    assert [(one.kind, one.start, one.alarm, one.end, one.channels) for one in told] == [
        (one.kind, one.start, one.alarm, one.end, one.channels) for one in whole
    ]
    for one, other in zip(told, whole, strict=True):
        assert one.severity == pytest.approx(other.severity, rel=1e-4)
        assert [peak.far for peak in one.peaks] == [
            None if peak.far is None else pytest.approx(peak.far, rel=1e-4) for peak in other.peaks
        ]


def test_a_dismissed_place_is_no_event_any_more(detector: Detector, tmp_path: Path) -> None:
    detector.save(tmp_path / "model.ccm")
    heeding, rows = Detector.load(tmp_path / "model.ccm"), moved()
    found = [one for one in heeding.detect(rows).events if 1_490 <= one.alarm <= 1_730]
    assert len(found) == 1
    heeding.dismiss(found[0])
    assert not [one for one in heeding.detect(rows).events if 1_490 <= one.alarm <= 1_730]
    heeding.save(tmp_path / "model.ccm")
    again = Detector.load(tmp_path / "model.ccm")
    assert again.feedback_ == heeding.feedback_
    np.testing.assert_array_equal(again.detect(rows).score, heeding.detect(rows).score)


def test_a_new_place_is_the_usual_one_after_a_while() -> None:
    random = np.random.default_rng(0)
    losses, distances = random.lognormal(0.0, 0.3, (2, 5_000))
    rules: dict[str, Any] = {"tail": "conformal", "persistence": 48}
    calibration = Calibration.fit(losses, 10_000, Settings.of(**rules), distances)
    new = random.lognormal(0.0, 0.3, (2, 6_000))
    new[1, 1_000:] *= 8.0
    alarm = calibration.score(new[0], distance=new[1]).alarm
    assert alarm[1_020 : 1_000 + PLACE_ACCEPTED].all()
    assert not alarm[1_000 + 4 * PLACE_ACCEPTED :].any()  # the level takes its time to come there
    never = Calibration.fit(losses, 10_000, Settings.of(**rules, accept=0), distances)
    assert never.score(new[0], distance=new[1]).alarm[1_020:].all()


def test_each_block_is_measured_by_the_range_of_the_others() -> None:
    """Against an obvious count; the values climb, so each block is beyond what the others know."""
    values = np.linspace(0.0, 1.0, 3_000)[:, None] * [1.0, -2.0] + 0.01 * np.random.default_rng(0).normal(
        size=(3_000, 2)
    )
    series = TrainingSeries.of(Frame.of(values), Settings())
    far, distances = series._far(combine.find("largest"))
    assert far is not None
    assert distances is not None
    away = []
    for block in series.blocks:
        known = values[block.training]
        low, high = known.min(axis=0), known.max(axis=0)
        place = np.clip(2.0 * (values[block.validation] - low) / (high - low) - 1.0, -4.0, 4.0)
        away.append(place**2)
    squares = np.concatenate(away)
    np.testing.assert_allclose(far.unit, squares.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(distances[~np.isnan(distances)], (squares / far.unit).max(axis=1), rtol=1e-5)
    assert squares.max() > 1.2**2


@pytest.mark.parametrize("compiled", [True, False])
def test_a_place_that_is_taken_for_the_usual_one_is_said_and_its_alarm_ends(detector: Detector, compiled: bool) -> None:
    model, rows = detector.model_, pair(5_000, 1)
    rows[1_500:, :2] = np.array([1.6, 4.8]) + 0.2 * rows[1_500:, :2]
    stream = Stream(model, Engine(model.weights, model.architecture, compiled))
    steps = [stream.update(row) for row in rows]
    said = [step.index for step in steps if ACCEPTED in step.notes]
    assert len(said) == 1
    assert 1_500 + PLACE_ACCEPTED <= said[0] <= 1_520 + PLACE_ACCEPTED
    assert all(step.alarm for step in steps[1_520 : said[0]])
    assert not any(step.alarm for step in steps[1_500 + 3 * PLACE_ACCEPTED :])


@pytest.fixture(scope="module")
def apart() -> Detector:
    """Channels that know nothing of each other, seldom far from the middle of their ranges."""
    return Detector(epochs=3, width=16).fit(np.random.default_rng(0).normal(size=(6_000, 3)))


def plateau(rows: int = 3_000, begin: int = 1_500, last: int = 1_900) -> Floats:
    values = np.random.default_rng(1).normal(size=(rows, 3))
    values[begin:last, :2] = 2.6 + 0.05 * values[begin:last, :2]  # of 3.7: seen before, but never for long
    return values


def test_a_place_that_only_the_average_sees_is_dismissed_once(apart: Detector, tmp_path: Path) -> None:
    apart.save(tmp_path / "model.ccm")
    heeding, rows = Detector.load(tmp_path / "model.ccm"), plateau()
    found = [one for one in heeding.detect(rows).events if one.kind == "anomaly" and 1_500 <= one.alarm < 1_900]
    assert found
    assert set(found[0].channels[:2]) == {"0", "1"}
    for one in found:
        heeding.dismiss(one)
    assert not [one for one in heeding.detect(rows).events if one.kind == "anomaly" and 1_500 <= one.alarm < 1_900]


def test_a_place_is_dismissed_where_the_level_was_raised_already(apart: Detector, tmp_path: Path) -> None:
    apart.save(tmp_path / "model.ccm")
    heeding, rows = Detector.load(tmp_path / "model.ccm"), plateau()
    rows[:1_400, :2] = 2.4 + 0.3 * rows[:1_400, :2]  # the stream begins there: that settles the level
    found = [one for one in heeding.detect(rows).events if one.kind == "anomaly" and one.alarm >= 1_500]
    for one in found:
        heeding.dismiss(one)
    assert not [one for one in heeding.detect(rows).events if one.kind == "anomaly" and 1_500 <= one.alarm < 1_900]


def test_the_sentence_is_of_where_it_was_farthest(detector: Detector) -> None:
    rows = moved()
    rows[1_650, :2] = [1.75, 5.25]
    (found,) = [one for one in detector.detect(rows).events if 1_490 <= one.alarm <= 1_730]
    assert {peak.channel: peak.place for peak in found.peaks}["0"] == 1.75
    assert found.channels[0] in ("0", "1")
    assert set(found.channels[:2]) == {"0", "1"}


def test_detect_says_what_was_taken_for_the_usual_place(detector: Detector) -> None:
    rows = pair(5_000, 1)
    rows[1_500:, :2] = np.array([1.6, 4.8]) + 0.2 * rows[1_500:, :2]
    result = detector.detect(rows)
    (found,) = [one for one in result.events if 1_490 <= one.alarm <= 1_530]
    assert result.accepted(found)
    assert result.accepted_after(found) == PLACE_ACCEPTED


def test_few_rows_that_are_recalibrated_with_make_no_place_unusual(detector: Detector, tmp_path: Path) -> None:
    detector.save(tmp_path / "model.ccm")
    again = Detector.load(tmp_path / "model.ccm")
    again.recalibrate(pair(400, 3))
    before, now = again.model_.calibration.distances, detector.model_.calibration.distances
    assert before is not None
    assert now is not None
    np.testing.assert_array_equal(before[: len(now)], now)
    assert again.detect(pair(6_000, 4)).alarm.mean() <= detector.detect(pair(6_000, 4)).alarm.mean() + 0.01


def test_a_start_from_a_fleet_knows_the_places_of_its_kin() -> None:
    """Few rows are of a part of a slow cycle."""
    random = np.random.default_rng(0)

    def cycle(rows: int, phase: float = 0.0) -> Floats:
        slow = np.sin(2.0 * np.pi * np.arange(rows) / 700.0 + phase)
        return np.outer(slow, [1.0, 2.0, -1.0]) + 0.05 * random.normal(size=(rows, 3))

    kin = Detector(epochs=3, width=16).fit(cycle(6_000)).model_
    for phase in (0.0, np.pi / 2.0):
        frame = Frame.of(cycle(200, phase))
        series = TrainingSeries.of(frame, kin.settings, kin=(kin,))
        model = series.calibrated(kin.engine, dict(kin.weights))
        assert kin.distances is not None
        assert model.distances is not None
        assert (model.distances.unit >= kin.distances.unit).all()
        stream, alarms = Stream(model), 0
        for row in cycle(3_000):
            alarms += any(change.what == "opened" for change in stream.update(row).changes)
        assert alarms <= 1


def test_a_file_whose_levels_lie_far_apart_is_no_reason_to_fail(detector: Detector) -> None:
    model = detector.model_
    tracks = tuple(replace(one, normal=-745.0) if one.of_distance else one for one in model.calibration.tracks)
    crafted = replace(model, calibration=replace(model.calibration, tracks=tracks))
    told: list[list[float]] = []
    for compiled in (True, False):
        engine = Engine(model.weights, model.architecture, compiled)
        stream = Stream(crafted, engine)
        steps = [stream.update(row) for row in moved()[1_000:1_700]]
        again = Stream(crafted, engine)
        again.resume(stream.snapshot())
        told.append([step.score for step in (*steps, again.update(moved()[1_700]))])
    np.testing.assert_allclose(told[0], told[1], rtol=1e-3, atol=1e-6)
    assert np.isfinite(told).all()
