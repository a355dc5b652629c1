"""The detector, end to end."""

import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ccmtad import (
    CcmtadError,
    ChannelError,
    Detector,
    Epoch,
    Event,
    Frame,
    InputError,
    NotFittedError,
    SettingError,
    TrainingError,
    batch,
)
from ccmtad.simulate import Fault, Run, schedule, simulate

Array = NDArray[np.float64]


def quick(**given: Any) -> Detector:
    return Detector(**{"epochs": 1, "width": 16, "window": 8, "clusters": 2, **given})


def waves(rows: int = 600, channels: int = 5, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    t = np.arange(rows)[:, None]
    return np.asarray(np.sin(t / (5.0 + np.arange(channels))) + 0.05 * random.normal(size=(rows, channels)))


@pytest.fixture(scope="module")
def faulty() -> Run:
    bias = Fault("sensor bias", "FIT501", 1_000, 1_150, 4.0, ("FIT501",))
    return simulate(2_500, seed=12, faults=[bias])


def test_a_fault_is_an_event_with_bounds_severity_and_blame(fitted: Detector, faulty: Run) -> None:
    result = fitted.detect(faulty.frame)
    event = next(event for event in result.events if 1_000 <= event.alarm <= 1_150)
    assert 980 <= event.start <= event.alarm <= 1_010
    assert event.end is not None
    assert 1_140 <= event.end <= 1_180
    assert event.severity > 1
    assert "FIT501" in event.channels[:3]
    assert sum(event.blame) == pytest.approx(1.0, abs=1e-4)
    assert list(event.blame) == sorted(event.blame, reverse=True)
    assert event.alarm_time == faulty.times[event.alarm]
    assert result.label[event.start : event.end + 1].all()


def test_one_value_per_row_and_nothing_judged_before_the_first_window(fitted: Detector, faulty: Run) -> None:
    result = fitted.detect(faulty.frame)
    first = fitted.settings.window - 1
    for values in (result.loss, result.pvalue, result.evidence, result.score, result.alarm, result.label):
        assert len(values) == len(faulty.values) == len(result)
    assert np.isnan(result.loss[:first]).all()
    assert np.isfinite(result.loss[first:]).all()
    assert (result.pvalue[:first] == 1).all()
    assert not result.evidence[:first].any()
    assert not result.score[:first].any()
    assert not result.alarm[:first].any()
    assert result.blame.shape == faulty.values.shape
    assert not result.blame[:first].any()
    np.testing.assert_allclose(result.blame[first:].sum(axis=1), 1.0, atol=1e-4)
    np.testing.assert_array_equal(result.alarm, result.score > result.threshold)


@settings(max_examples=15)
@given(st.integers(30, 390), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_changing_the_future_never_changes_the_past(
    fitted: Detector, t: int, seed: int, holes: bool, pause: bool
) -> None:
    random = np.random.default_rng(seed)
    frame = simulate(400, seed=13).frame
    assert frame.times is not None
    values, times = frame.values.copy(), frame.times.copy()
    values[40] += 1e3
    if holes:
        values[random.random(values.shape) < 0.05] = np.nan
        values[60:120, 3] = np.nan
    if pause:
        times[200:] += np.timedelta64(10**13, "ns")
    future, later = values.copy(), times.copy()
    future[t + 1 :] = random.normal(size=future[t + 1 :].shape) * 100
    future[t + 1 :][random.random(future[t + 1 :].shape) < 0.1] = np.nan
    later[t + 1 :] += np.timedelta64(10**14, "ns")
    one = fitted.detect(Frame(values, frame.channels, times))
    other = fitted.detect(Frame(future, frame.channels, later))
    for name in ("loss", "pvalue", "evidence", "score", "alarm"):
        np.testing.assert_array_equal(getattr(one, name)[: t + 1], getattr(other, name)[: t + 1], err_msg=name)


def test_a_longer_series_begins_like_a_shorter_one(fitted: Detector, faulty: Run) -> None:
    whole = fitted.detect(faulty.frame)
    part = fitted.detect(Frame(faulty.values[:1_100], faulty.channels, faulty.times[:1_100]))
    np.testing.assert_allclose(part.loss, whole.loss[:1_100], rtol=1e-5)
    np.testing.assert_array_equal(part.alarm, whole.alarm[:1_100])


def test_the_centred_average_does_look_ahead() -> None:
    """The causality test can fail: here is what it guards against."""
    train = waves()
    detector = quick(smooth=9, smoothing="centred").fit(train)
    changed = train.copy()
    changed[301:] += 3.0
    one, other = detector.detect(train).loss, detector.detect(changed).loss
    assert not np.array_equal(one[:301], other[:301], equal_nan=True)


@pytest.mark.parametrize(
    "switch",
    [
        {"preset": "paper", "width": 16, "epochs": 1},
        {"temporal_mixer": "plain"},
        {"temporal_mixer": "none"},
        {"causal_mask": "unit"},
        {"embedding_mixer": False},
        {"clustering": "off"},
        {"clustering": "cosine"},
        {"clustering": "correlation"},
        {"clustering": "kmeans"},
        {"clusters": "auto"},
        {"mixers": 3},
        {"expansion": 2, "input_dropout": 0.1, "mixer_dropout": 0.1},
        {"smooth": 5},
        {"smooth": 5, "smoothing": "centred"},
        {"combine": "scaled mean"},
        {"tail": "empirical", "reset": "everything"},
        {"alpha": 0.01, "threshold": 5.0},
        {"tail": "pareto"},
        {"persistence": 1, "settle": 0, "drift": 0.0, "accept": 0},
        {"duration": 4, "cooldown": 20},
    ],
    ids=str,
)
def test_every_switch_fits_and_detects(switch: dict[str, Any]) -> None:
    train = waves()
    result = quick(**switch).fit(train).detect(train)
    assert np.isfinite(result.loss[7:]).all()
    assert np.isfinite(result.score).all()


def test_excluded_spans_enter_no_window_and_no_statistic() -> None:
    train = waves()
    broken = train.copy()
    broken[100:140] = 1e6
    broken[540:560] = np.nan
    clean = quick().fit(train, exclude=[(100, 139), (540, 559)])
    spared = quick().fit(broken, exclude=[(100, 139), (540, 559)])
    np.testing.assert_array_equal(spared.model_.scaler.span, clean.model_.scaler.span)
    np.testing.assert_array_equal(spared.validation_losses_, clean.validation_losses_)
    assert spared.threshold_ == clean.threshold_


def test_spans_can_be_excluded_by_time() -> None:
    index = pd.date_range("2026-01-01", periods=600, freq="min")
    table = pd.DataFrame(waves(), index=index, columns=list("abcde"))
    by_row = quick().fit(table, exclude=[(100, 139)])
    for span in (
        ("2026-01-01T01:40", "2026-01-01T02:19"),
        ("2026-01-01T02:40+01:00", "2026-01-01T03:19+01:00"),
        (index[100], index[139]),
        (index[100].tz_localize("UTC").tz_convert("Asia/Tokyo"), index[139].to_numpy()),
    ):
        by_time = quick().fit(table, exclude=[span])
        np.testing.assert_array_equal(by_time.validation_losses_, by_row.validation_losses_)
    for wrong, message in (
        (("2027-01-01", "2027-01-02"), "spans with rows in them"),
        ((1, "2026-01-01"), "two row numbers, or two times"),
        (("monday", "friday"), "time must be a datetime"),
    ):
        with pytest.raises(InputError, match=message):
            quick().fit(table, exclude=[wrong])


def test_an_average_does_not_reach_back_over_an_excluded_span() -> None:
    train = waves()
    broken = train.copy()
    broken[100:140] = 1e3
    with_span, jump = (quick(smooth=9).fit(x, exclude=[(100, 139)]) for x in (train, broken))
    np.testing.assert_array_equal(with_span.validation_losses_, jump.validation_losses_)
    times = np.arange(600).astype("datetime64[s]").astype("datetime64[ns]")
    times[140:] += np.timedelta64(10**13, "ns")
    paused = quick(smooth=9).fit(Frame(train, tuple("abcde"), times), exclude=[(100, 139)])
    np.testing.assert_array_equal(with_span.validation_losses_, paused.validation_losses_)


def test_a_sensor_dead_during_calibration_does_not_spoil_it() -> None:
    train = waves(1_500)
    dead = train.copy()
    dead[1_250:, 2] = np.nan
    whole, spared = quick(epochs=3).fit(train), quick(epochs=3).fit(dead)
    assert spared.model_.combiner.unit[2] < 3 * whole.model_.combiner.unit[2]
    dead[:1_250, 2], dead[1_250:, 2] = np.nan, 1.0
    with pytest.raises(InputError, match="every channel of its first 80%; got none in '2'"):
        quick().fit(dead)


def test_too_few_validation_losses_for_any_evidence_is_an_error() -> None:
    with pytest.raises(InputError, match="at least 20 validation losses for an alpha of 0.05, .* got 18"):
        quick().fit(waves(90))
    with pytest.raises(InputError, match="at least 10000 validation losses"):
        quick(alpha=1e-4).fit(waves())
    assert quick(budget="1/2 rows").fit(waves()).threshold_ >= 0.01


def test_a_given_threshold_needs_no_budget() -> None:
    assert quick(threshold=5.0, budget="1/week").fit(waves()).threshold_ == 5.0


def test_a_smoothed_detector_does_not_look_ahead_either() -> None:
    train = waves()
    detector = quick(smooth=9).fit(train)
    changed = train.copy()
    changed[301:] += 3.0
    one, other = detector.detect(train), detector.detect(changed)
    np.testing.assert_array_equal(one.loss[:301], other.loss[:301])


def test_ignored_rows_and_unjudged_series_are_said(
    fitted: Detector, faulty: Run, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="ccmtad"):
        fitted.detect(Frame(faulty.values[:100], faulty.channels, faulty.times[:100][::-1].copy()))
    assert "99 of 100 rows are not later" in caplog.text
    assert "no row can be judged" in caplog.text


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((5, 2), "exclude must hold rows 0 <= first <= last < 600; got"),
        ((-1, 2), "exclude must hold rows"),
        ((0, 600), "exclude must hold rows"),
        (7, r"exclude must list \(first, last\) pairs of rows or times; got 7"),
        (("monday", "friday"), "exclude must hold two row numbers, or two times where rows have times"),
    ],
)
def test_a_wrong_span_is_a_clear_error(span: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick().fit(waves(), exclude=[span])


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (np.empty((0, 3)), "train must have at least one row; got none"),
        (waves(1), "train must hold enough rows .* got 1 rows"),
        (waves(7), "train must hold enough rows in a row for windows of 8 .* got 7 rows"),
        (waves(9), "0 training and 2 validation windows"),
        (np.full((100, 2), np.nan), "train must hold a value in every channel; got none in '0', '1'"),
        (np.where(np.arange(5) == 3, np.nan, waves()), "got none in '3'"),
        (
            np.where(np.arange(5) == 3, np.inf, waves()),
            "train must be finite .* got inf in row 0, channel '3'",
        ),
        ([["a", "b"]] * 50, "train must hold"),
    ],
)
def test_training_data_that_cannot_be_used_is_a_clear_error(train: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        quick().fit(train)
    assert isinstance(caught.value, CcmtadError)


def test_everything_excluded_is_a_clear_error() -> None:
    with pytest.raises(InputError, match="train must hold a value in every channel"):
        quick().fit(waves(), exclude=[(0, 599)])


def test_a_budget_per_week_needs_times() -> None:
    with pytest.raises(SettingError, match="write the budget in rows"):
        quick(budget="1/week").fit(waves())


def test_a_rarer_budget_has_a_higher_threshold() -> None:
    table = pd.DataFrame(waves(), index=pd.date_range("2026-01-01", periods=600, freq="min"))
    table.columns = list("abcde")
    often, seldom = (quick(budget=budget).fit(table) for budget in ("1/hour", "1/week"))
    assert seldom.threshold_ > often.threshold_


def test_channels_are_checked_and_put_back_in_order(fitted: Detector, faulty: Run) -> None:
    table = pd.DataFrame(faulty.values, columns=list(faulty.channels), index=pd.DatetimeIndex(faulty.times))
    expected = fitted.detect(faulty.frame).score
    np.testing.assert_array_equal(fitted.detect(table[table.columns[::-1]]).score, expected)
    np.testing.assert_array_equal(fitted.detect(faulty.values).score, expected)  # unnamed: by position
    with pytest.raises(ChannelError, match="recent must have the channels .* missing: 'FIT501'"):
        fitted.detect(table.drop(columns="FIT501"))
    with pytest.raises(ChannelError, match="not fitted: 'NEW'"):
        fitted.detect(table.assign(NEW=1.0))
    with pytest.raises(ChannelError, match="must have the 53 channels of the fitted data; got 52"):
        fitted.detect(faulty.values[:, 1:])


def test_a_dead_sensor_is_held_then_left_out_and_returns(fitted: Detector, faulty: Run) -> None:
    values = faulty.values.copy()
    dead = faulty.channels.index("TT701")
    values[500:700, dead] = np.nan
    result = fitted.detect(Frame(values, faulty.channels, faulty.times))
    held = fitted.settings.hold_rows
    assert np.isfinite(result.loss[23:]).all()
    assert (result.blame[500 : 500 + held, dead] > 0).all()
    assert not result.blame[500 + held : 700, dead].any()
    assert (result.blame[700:, dead] > 0).all()
    np.testing.assert_array_equal(result.loss[:500], fitted.detect(faulty.frame).loss[:500])


def test_a_total_outage_is_not_judged(fitted: Detector, faulty: Run) -> None:
    values = faulty.values.copy()
    values[500:600] = np.nan
    result = fitted.detect(Frame(values, faulty.channels, faulty.times))
    dark = slice(500 + fitted.settings.hold_rows, 600)
    assert np.isnan(result.loss[dark]).all()
    assert not result.score[dark].any()
    assert (result.pvalue[dark] == 1).all()


def test_late_and_duplicate_rows_are_ignored(fitted: Detector, faulty: Run) -> None:
    order = np.r_[0:1_005, 1_003:1_005, 900:901, 1_005:2_500]  # repeats of three rows, in the middle of an event
    result = fitted.detect(Frame(faulty.values[order], faulty.channels, faulty.times[order]))
    clean = fitted.detect(faulty.frame)
    kept = np.r_[0:1_005, 1_008:2_503]
    np.testing.assert_allclose(result.loss[kept], clean.loss, rtol=1e-5)
    assert np.isnan(result.loss[1_005:1_008]).all()
    assert not result.alarm[1_005:1_008].any()
    shifted = [e for e in clean.events if e.alarm > 1_005]
    moved = [e for e in result.events if e.alarm > 1_008]
    assert [e.alarm + 3 for e in shifted] == [e.alarm for e in moved]
    assert [e.channels[0] for e in clean.events] == [e.channels[0] for e in result.events]


def test_a_gap_restarts_the_window_and_closes_the_event(fitted: Detector, faulty: Run) -> None:
    times = faulty.times.copy()
    times[1_050:] += np.timedelta64(3_600_000_000_000, "ns")  # an hour, in the middle of the fault
    result = fitted.detect(Frame(faulty.values, faulty.channels, times))
    assert np.isnan(result.loss[1_050:1_073]).all()
    assert not result.score[1_050:1_073].any()
    assert result.loss[1_073] == pytest.approx(fitted.detect(faulty.frame).loss[1_073], rel=1e-5)
    before, after = (e for e in result.events if 1_000 <= e.alarm <= 1_150)
    assert before.end is not None
    assert before.end < 1_050
    assert after.start == 1_073  # the first judged row


def test_an_event_at_the_end_of_the_data_is_open(fitted: Detector, faulty: Run) -> None:
    result = fitted.detect(Frame(faulty.values[:1_050], faulty.channels, faulty.times[:1_050]))
    assert result.events[-1].open
    assert result.events[-1].end is None
    assert result.events[-1].end_time is None


def test_missing_training_values_do_not_stop_fitting() -> None:
    train = waves()
    train[np.random.default_rng(1).random(train.shape) < 0.2] = np.nan
    detector = quick().fit(train)
    assert np.isfinite(detector.validation_losses_).all()
    assert np.isfinite(detector.detect(train).loss[60:]).all()


def test_late_training_rows_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    times = np.arange(600).astype("datetime64[s]").astype("datetime64[ns]")
    times[300] = times[100]
    with caplog.at_level(logging.WARNING, logger="ccmtad"):
        quick().fit(Frame(waves(), tuple("abcde"), times))
    assert "1 rows are not later" in caplog.text


def test_fewer_clusters_than_asked_for_is_said(caplog: pytest.LogCaptureFixture) -> None:
    one = waves(channels=1)
    with caplog.at_level(logging.WARNING, logger="ccmtad"):
        detector = quick(clusters=4).fit(np.column_stack([one, one, one, np.zeros(600)]))
    assert detector.clusters_ == (("0", "1", "2"), ("3",))
    assert "4 asked for, 2 found" in caplog.text


@pytest.mark.parametrize("channels", [1, 2])
def test_one_or_two_channels_are_enough(channels: int) -> None:
    train = waves(channels=channels)
    assert np.isfinite(quick(clusters="auto").fit(train).detect(train).loss[7:]).all()


def test_constant_data_raises_no_alarm_until_it_moves() -> None:
    detector = quick().fit(np.full((600, 3), 5.0))
    recent = np.full((300, 3), 5.0)
    assert not detector.detect(recent).events
    recent[200:, 1] = 6.0
    (event,) = detector.detect(recent).events
    assert event.start >= 199
    assert event.open


def test_recalibrating_changes_reference_and_threshold_and_can_be_undone(fitted: Detector, faulty: Run) -> None:
    detector = pickle.loads(pickle.dumps(fitted))
    before = detector.detect(faulty.frame)
    fresh = simulate(3_000, seed=77).frame
    assert detector.recalibrate(fresh) is detector
    assert len(detector.validation_losses_) == 3_000 - detector.settings.window + 1
    assert detector.threshold_ != fitted.threshold_
    assert detector.model_.weights is not None
    np.testing.assert_array_equal(detector.detect(faulty.frame).loss, before.loss)  # the network is as it was
    detector.undo_recalibration()
    np.testing.assert_array_equal(detector.detect(faulty.frame).score, before.score)
    with pytest.raises(NotFittedError, match="there is no recalibration to undo"):
        detector.undo_recalibration()
    with pytest.raises(InputError, match="normal must hold at least 25 rows in a row; got 10 rows, 0 of which"):
        detector.recalibrate(Frame(fresh.values[:10], fresh.channels))


def test_a_budget_beyond_the_validation_rows_is_said(caplog: pytest.LogCaptureFixture) -> None:
    detector = quick(budget="1/100000 rows").fit(waves())
    assert detector.support_ is not None
    assert not detector.support_.enough
    assert "normal rows support at most one false alarm in" in caplog.text


def test_health_is_exposed(fitted: Detector, plant: Run, faulty: Run) -> None:
    assert fitted.detect(plant.frame).health.state == "healthy"
    broken = faulty.frame.values + np.random.default_rng(0).normal(0.0, 3.0, faulty.frame.values.shape)
    stuck = Detector(epochs=1, width=8, settle=0, drift=0.0, persistence=1, threshold=1e9).fit(plant.frame)
    sick = stuck.detect(Frame(broken, faulty.frame.channels))
    assert sick.health.state == "miscalibrated"
    assert sick.health.gap > 0.5
    stream = fitted.stream()
    assert stream.update(faulty.frame.values[0]).health.advice.startswith("too few rows")


def test_scikit_learn_can_clone_and_set_it() -> None:
    detector = Detector(window=12, budget="1/week")
    copy = clone(detector)
    assert copy is not detector
    assert copy.get_params() == detector.get_params()
    assert copy.set_params(window=9).settings.window == 9
    with pytest.raises(SettingError, match="windw is not a setting"):
        copy.set_params(windw=9)
    with pytest.raises(SettingError, match="window must be"):
        copy.set_params(window=0)
    assert copy.window == 9
    assert repr(detector) == "Detector(budget='1/week', window=12)"


def test_pyods_attributes_are_there(fitted: Detector, plant: Run, faulty: Run) -> None:
    check_is_fitted(fitted)
    assert fitted.decision_scores_.shape == fitted.labels_.shape == (len(plant.values),)
    assert set(np.unique(fitted.labels_)) <= {0, 1}
    np.testing.assert_array_equal(fitted.labels_, fitted.decision_scores_ > fitted.threshold_)
    scores, labels = fitted.decision_function(faulty.frame), fitted.predict(faulty.frame)
    np.testing.assert_array_equal(labels, scores > fitted.threshold_)
    assert fitted.n_features_in_ == 53
    detector = quick()
    assert detector.fit(waves(), None) is detector


def test_nothing_works_before_fitting() -> None:
    for use in ("detect", "predict", "decision_function"):
        with pytest.raises(NotFittedError, match=r"call fit\(train\) first"):
            getattr(Detector(), use)(waves())
    with pytest.raises(NotFittedError):
        _ = Detector().threshold_


def test_a_failed_fit_leaves_the_fitted_model_alone() -> None:
    detector = quick().fit(waves())
    before = detector.threshold_
    with pytest.raises(InputError):
        detector.fit(waves(3))
    assert detector.threshold_ == before


def test_the_same_seed_gives_the_same_answer() -> None:
    one, same = (quick(seed=5).fit(waves()).detect(waves(seed=2)) for _ in range(2))
    np.testing.assert_array_equal(one.score, same.score)


def test_a_fitted_detector_and_its_results_can_be_pickled(fitted: Detector, faulty: Run) -> None:
    result = fitted.detect(faulty.frame)
    again = pickle.loads(pickle.dumps(fitted)).detect(faulty.frame)
    assert again.events == result.events
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)).blame, result.blame)


def test_results_become_a_frame(fitted: Detector, faulty: Run) -> None:
    table = fitted.detect(faulty.frame).to_frame()
    assert list(table.columns) == ["loss", "pvalue", "evidence", "score", "alarm", "label"]
    assert table.index.name == "time"
    assert len(quick().fit(waves()).detect(waves()).to_frame()) == 600


def test_results_are_frozen(fitted: Detector, faulty: Run) -> None:
    result = fitted.detect(faulty.frame)
    with pytest.raises(AttributeError):
        result.threshold = 1.0  # type: ignore[misc]
    event: Event = result.events[0]
    with pytest.raises(AttributeError):
        event.start = 0  # type: ignore[misc]
    assert replace(event, end=None).open


@pytest.mark.parametrize("entity", ["M-1", "P-1"])
def test_real_telemetry_fits_and_detects(entity: str, telemanom: Callable[[str], tuple[Array, Array]]) -> None:
    train, test = telemanom(entity)
    detector = Detector(seed=0).fit(train)
    result = detector.detect(test)
    assert len(result) == len(test)
    assert np.isfinite(result.loss[23:]).all()
    assert float(np.mean(~detector.detect(train).alarm)) > 0.9
    assert min(epoch.validation for epoch in detector.history_) < 0.5 * detector.history_[0].validation


def test_another_budget_is_another_threshold_and_nothing_else(fitted: Detector) -> None:
    run = simulate(1_500, seed=8, faults=schedule(1_500, count=2))
    same = fitted.with_budget(fitted.settings.budget)
    assert same.threshold_ == fitted.threshold_
    assert same.model_.fingerprint == fitted.model_.fingerprint
    found = fitted.backtest(run.frame, ["1/20 rows", "1/2000 rows"])
    loose, strict = found["1/20 rows"], found["1/2000 rows"]
    assert loose.threshold < strict.threshold < fitted.threshold_
    for budget, one in found.items():
        alone = fitted.with_budget(budget).detect(run.frame)
        np.testing.assert_array_equal(one.score, alone.score)
        assert one.events == alone.events
    np.testing.assert_array_equal(loose.loss, strict.loss)
    with pytest.raises(SettingError, match="budgets must name at least one budget; got none"):
        fitted.backtest(run.frame, [])
    with pytest.raises(SettingError, match="budget must read like"):
        fitted.with_budget("often")


def test_progress_is_told_from_start_to_end(fitted: Detector) -> None:
    shares: list[float] = []
    fitted.detect(simulate(25_000, seed=8).frame, progress=shares.append)
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.1
    assert 0.8 < shares[-1] <= 1


def test_a_fit_that_trains_networks_together_is_the_fit_that_trains_them_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it does on a GPU: to the last digits but a few, and without dropout."""
    settings: dict[str, Any] = {
        "epochs": 3, "width": 8, "device": "cpu", "embedding_dropout": 0.0, "learning_rate": 1e-4, "blocks": 2,
    }  # fmt: skip
    rows = simulate(1_000, seed=1).frame
    told: list[list[Epoch]] = [[], []]
    alone = Detector(**settings).fit(rows, progress=told[0].append)
    monkeypatch.setattr("ccmtad.network.training.on_gpu", lambda _: True)
    together = Detector(**settings).fit(rows, progress=told[1].append)
    for heard, networks in zip(told, (3, 2), strict=True):  # those of the blocks are one where they are trained as one
        shares = [epoch.done for epoch in heard]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert {epoch.networks for epoch in heard} == {networks}
    assert [epoch.number for epoch in together.history_] == [epoch.number for epoch in alone.history_]
    losses = [[epoch.validation for epoch in one.history_] for one in (together, alone)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)
    assert together.threshold_ == pytest.approx(alone.threshold_, rel=1e-2)
    lost = TrainingError("training must keep a finite loss")
    monkeypatch.setattr("ccmtad.network.stacked.train", lambda lessons, _: [lost for _ in lessons])
    with pytest.raises(TrainingError, match="training must keep a finite loss"):
        Detector(**settings).fit(rows)


def test_another_budget_needs_no_scikit_learn(fitted: Detector, tmp_path: Path) -> None:
    rows = simulate(11_000, seed=1).frame  # 2,200 normal losses: enough for the paper's bound on alpha
    detector = Detector(epochs=1, width=8).fit(rows)
    detector.save(tmp_path / "plant.ccm")
    code = (
        "import sys\nsys.modules['sklearn'] = sys.modules['torch'] = None\nfrom ccmtad import Detector\n"
        f"d = Detector.load({str(tmp_path / 'plant.ccm')!r}).with_budget('1/500 rows')\nprint(d.threshold_, d.alpha_)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    expected = detector.with_budget("1/500 rows")
    assert printed.split() == [str(expected.threshold_), str(detector.alpha_)]
    assert fitted.alpha_ == fitted.with_budget("1/500 rows").alpha_


def test_a_channel_that_never_moves_is_not_blamed_unless_it_does() -> None:
    random = np.random.default_rng(0)
    wave = np.sin(np.arange(3_000) / 11)[:, None] * [1.0, -1.0, 0.5] + 0.02 * random.normal(size=(3_000, 3))
    rows = np.c_[wave, np.full(3_000, 7.0)]
    detector = Detector(epochs=3, width=8, window=6, budget="1/500 rows").fit(rows[:2_500])
    for broken, blamed in ((0, False), (3, True)):
        recent = rows[2_500:].copy()
        recent[300:340, broken] += 3.0
        found = detector.detect(recent)
        event = max(found.events, key=lambda one: one.severity)
        assert ("3" in event.channels) == blamed
        assert str(broken) in event.channels[:3]
        assert (found.blame[:300, 3] == 0).all()
        stream = detector.stream()
        steps = [stream.update(row) for row in recent]
        np.testing.assert_allclose([step.blame for step in steps], found.blame, rtol=1e-4, atol=1e-6)


def test_another_sampling_is_told(fitted: Detector, plant: Run, caplog: pytest.LogCaptureFixture) -> None:
    start = plant.frame.times
    assert start is not None
    slow = Frame(plant.frame.values[:300], plant.frame.channels, start[0] + (start[:300] - start[0]) * 5)
    fitted.detect(slow)
    assert "one row every 5 minutes, and every 1 minute in training" in caplog.text


def test_an_event_that_became_the_new_normal_is_said_to_have(plant: Run) -> None:
    detector = Detector(epochs=2, width=16, accept=300, settle=200, budget="1/300 rows").fit(plant.frame)
    recent = plant.frame.values[:3_000].copy()
    recent[1_000:, 3] += 5 * np.ptp(plant.frame.values[:, 3])
    found = detector.detect(recent)
    long = next(event for event in found.events if event.alarm >= 990)
    assert found.accepted(long)
    stream = detector.stream()
    told = [i for i, row in enumerate(recent) if "new normal" in " ".join(stream.update(row).notes)]
    high = np.flatnonzero(found.score > found.threshold)
    first = high[high >= 1_000][0]
    assert told[0] == first + 300
    assert np.isnan(found.loss).sum() == 23
    for other in ({"accept": 0}, {"drift": 0.0}):
        learnt = replace(found.learnt, settings=replace(found.learnt.settings, **other))
        assert not replace(found, learnt=learnt).accepted(long)


def test_validation_losses_are_losses_and_not_shares_of_their_level() -> None:
    rows = waves(900)
    detector = quick().fit(rows)
    frame = detector.model_.series(Frame.of(rows))
    ends = frame.ends[frame.ends >= int(len(rows) * 0.8)]
    losses = batch.losses(detector.model_.engine, detector.model_.combiner, frame.rows, ends)
    np.testing.assert_allclose(detector.validation_losses_, np.sort(losses), rtol=1e-6)


def test_recalibrating_keeps_alpha_and_needs_no_scikit_learn(tmp_path: Path) -> None:
    quick(alpha=0.031).fit(waves(900)).save(tmp_path / "m.ccm")
    np.save(tmp_path / "rows.npy", waves(2_500, seed=1))
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import numpy as np; from ccmtad import Detector\n"
        "detector = Detector.load('m.ccm').recalibrate(np.load('rows.npy')); print(detector.alpha_)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "0.031\n", done.stderr


def test_a_recalibrated_auto_alpha_is_the_fitted_one(fitted: Detector, plant: Run, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.ccm")
    again = Detector.load(tmp_path / "m.ccm").recalibrate(plant.frame)
    assert len(again.validation_losses_) > 2_000  # enough for another alpha to be found
    assert again.alpha_ == fitted.alpha_
    assert again.settings.alpha == "auto"


def test_a_loaded_model_reports_the_settings_it_uses() -> None:
    detector = Detector.load(Path(__file__).parent / "golden" / "model-v1.ccm")
    assert detector.settings == detector.model_.settings
    assert detector.settings.persistence == 1  # version 1 knew no other


def test_fitting_does_not_judge_the_training_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    judge = Detector.detect

    def counted(self: Detector, *given: Any, **more: Any) -> Any:
        calls.append(1)
        return judge(self, *given, **more)

    monkeypatch.setattr(Detector, "detect", counted)
    detector = quick().fit(waves())
    assert not calls
    assert len(detector.decision_scores_) == 600
    assert detector.decision_scores_ is detector.decision_scores_
    assert len(calls) == 1


def test_a_detection_keeps_what_was_judged_when_the_caller_changes_it() -> None:
    rows = waves()
    result = quick().fit(rows).detect(rows)
    before = result.frame.values.copy()
    rows[:] = 0.0
    np.testing.assert_array_equal(result.frame.values, before)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_a_missing_one_in_a_batch_as_in_a_stream(
    fitted: Detector, faulty: Run, value: float, caplog: pytest.LogCaptureFixture
) -> None:
    rows = faulty.values[:200].copy()
    rows[100:103, 4] = value
    with caplog.at_level(logging.WARNING, "ccmtad"):
        result = fitted.detect(pd.DataFrame(rows, columns=faulty.channels))
    assert "recent: 3 infinite values are taken as missing" in caplog.text
    stream = fitted.stream()
    np.testing.assert_allclose([stream.update(row).score for row in rows], result.score)
    with pytest.raises(InputError, match="train must be finite"):
        quick().fit(rows)


def test_a_detection_is_shown_in_one_line(fitted: Detector, faulty: Run) -> None:
    shown = repr(fitted.detect(faulty.frame))
    assert shown.startswith("Detection(2,500 rows, ")
    assert "\n" not in shown
    assert len(shown) < 200


def test_what_is_returned_is_exported(fitted: Detector, faulty: Run) -> None:
    import ccmtad

    stream = fitted.stream()
    step = [stream.update(row) for row in faulty.values[:30]][-1]
    streams = fitted.streams("a")
    result = fitted.detect(faulty.frame)
    held = (stream, step, stream.tally, step.health, streams, streams.update({"a": faulty.values[0]}))
    for thing in (*held, result, result.learnt, fitted.support_, *result.events):
        assert type(thing).__name__ in ccmtad.__all__


BITS = """
import hashlib, sys
import numpy as np
from ccmtad import Detector
random = np.random.default_rng(0)
t = np.arange(3_000)[:, None]
rows = np.sin(t / (5.0 + np.arange(40))) + 0.05 * random.normal(size=(3_000, 40))
model = Detector(epochs=1, width=32).fit(rows).model_
print(hashlib.sha256(b"".join(model.weights[name].tobytes() for name in sorted(model.weights))).hexdigest())
"""


def test_the_same_bits_whatever_the_machines_cores() -> None:
    found = set()
    for cores in ("1", "2", "5"):
        environment = os.environ | {"OMP_NUM_THREADS": cores, "OPENBLAS_NUM_THREADS": cores, "MKL_NUM_THREADS": cores}
        done = subprocess.run([sys.executable, "-c", BITS], capture_output=True, text=True, check=True, env=environment)
        found.add(done.stdout)
    assert len(found) == 1
