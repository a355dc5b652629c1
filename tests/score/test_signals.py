"""Values, steps, standstills and silences of single channels."""

import copy
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad import Detector, Frame
from ccmtad.calibrate.limits import Tails
from ccmtad.live.journal import Journal
from ccmtad.score import channels, signals
from ccmtad.score.channels import ABOVE, BELOW, ERROR, GONE_LIMIT, KINDS, STEP, STILL_LIMIT, Signals
from ccmtad.score.step import Rise

from ..making import calibrated

Floats = NDArray[np.float64]
WAVES = 4
LEVEL = {"settle": 500, "drift": 1e-3}


def waves(rows: int, seed: int = 0) -> Floats:
    random, row = np.random.default_rng(seed), np.arange(rows)
    return np.column_stack([np.sin(row / 20 + i) + 0.1 * random.normal(size=rows) for i in range(WAVES)])


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(epochs=2, width=16, blocks=1).fit(waves(4_000))


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.0, 0.5, 0.51, 3.0, -40.0, 1e300, math.nan, math.inf]), min_size=3, max_size=3),
        min_size=1,
        max_size=60,
    ),
    st.booleans(),
    st.booleans(),
)
def test_with_and_without_a_loop_the_same_is_sensed(rows: list[list[float]], starts: bool, switches: bool) -> None:
    limits = np.ones((8, 3)) * [[0.0], [2.0], [2.0], [1.0], [np.inf], [np.inf], [3.0], [4.0]]
    if switches:
        limits = np.vstack([limits, [[0.0, 0.0, 0.0], [0.5, 1.0, 1e-5], [0.05, np.inf, 0.05]]])
    limits[STEP, 2] = np.inf
    one, other = Signals.fresh(1, 3, False), Signals.fresh(1, 3, False)
    for t, values in enumerate(rows):
        if starts and t % 7 == 0:
            channels.forget(one.traces[0])
            channels.forget(other.traces[0])
        looped = signals.sense(values, one.counts[0], one.since[0], one.traces[0], limits, t, t, t)
        at_once = signals.sense_at_once(
            np.array(values), other.counts[0], other.since[0], other.traces[0], limits, t, t, t
        )
        assert looped == at_once
        for name in ("counts", "since", "traces"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_limits_grow_with_the_budget_and_hold_what_was_seen() -> None:
    values = waves(3_000)
    values[:, 3] = 5.0
    errors = np.random.default_rng(1).chisquare(1, values.shape)
    there = np.ones(values.shape, dtype=np.bool_)
    tails = Tails.learn(values, errors, there, 24, extremes=True, signals=True)
    often, seldom = tails.limits(1_000.0), tails.limits(1_000_000.0)
    assert (seldom[1:] >= often[1:]).all()
    steps = np.abs(np.diff(values, axis=0)).max(axis=0)
    assert (often[STEP, :3] >= steps[:3]).all()
    assert (often[ABOVE, :3] + often[0, :3] >= values.max(axis=0)[:3]).all()
    assert (often[0, :3] - often[BELOW, :3] <= values.min(axis=0)[:3]).all()
    assert np.isinf(often[[ABOVE, BELOW, STEP, ERROR, STILL_LIMIT], 3]).all()  # it never moved
    assert (often[GONE_LIMIT] == 24).all()
    spans = np.ptp(values, axis=0)[:3]
    assert (seldom[ABOVE, :3] <= values.max(axis=0)[:3] - seldom[0, :3] + 2 * spans).all()  # two ranges are too far


@pytest.mark.parametrize("size", [3.0, 10.0, 1e6])
def test_one_row_far_beyond_anything_alarms_on_that_row_and_names_the_channel(detector: Detector, size: float) -> None:
    recent = waves(800, seed=1)
    recent[500, 2] += size * 2.5
    (event,) = [one for one in detector.detect(recent).events if 500 <= one.alarm <= 503]
    assert (event.kind, event.alarm, event.channels[0]) == ("anomaly", 500, "2")
    assert "above" in event.sentence


def test_severity_grows_with_the_size_of_the_error(detector: Detector) -> None:
    severities = []
    for size in (5.0, 50.0, 5e6):
        recent = waves(600, seed=1)
        recent[500, 1] += size
        severities.append(max(one.severity for one in detector.detect(recent).events))
    assert severities[0] * 5 < severities[1]
    assert severities[1] * 1e4 < severities[2]


def test_a_lost_a_frozen_and_several_at_once_are_events_of_their_kinds(detector: Detector) -> None:
    recent = waves(1_000, seed=2)
    recent[300:400, 1] = np.nan
    recent[350:450, 3] = recent[350, 3]
    recent[700:] = np.nan
    result = detector.detect(recent)
    lost, all_lost = [one for one in result.events if one.kind == "signal lost"]
    assert (lost.start, lost.alarm, lost.end, lost.channels) == (300, 324, 399, ("1",))
    assert lost.sentence == "1 missing, for 100 rows"
    assert (all_lost.start, all_lost.end, set(all_lost.channels)) == (700, None, set("0123"))
    (frozen,) = [one for one in result.events if one.kind == "frozen"]
    assert (frozen.start, frozen.end, frozen.channels) == (350, 449, ("3",))
    assert "standing still at" in frozen.sentence
    assert result.alarms["signal lost"][380]
    assert result.alarms["frozen"][380]
    assert result.alarm[380]
    assert not np.isnan(result.loss[380])


def test_data_unlike_training_is_never_no_events(detector: Detector) -> None:
    strange = waves(1_500, seed=3)[:, ::-1] * [1.0, 1.0, 3.0, 1.0] + [0.0, 1.5, 0.0, 0.0]
    result = detector.detect(strange)
    assert "unlike training" in {one.kind for one in result.events}
    event = next(one for one in result.events if one.kind == "unlike training")
    assert event.alarm < 200
    assert "times those of training" in event.sentence
    assert not detector.detect(waves(3_000, seed=4)).alarms["unlike training"].any()


def rising(detector: Detector, early: float, settled: float) -> Detector:
    """The same with other limits of how many times the errors of training are unlike it."""
    made = copy.copy(detector)
    model = detector.model_
    limits = Rise(2 * math.log(early), 2 * math.log(settled))
    made._model = replace(model, calibration=replace(model.calibration, unlike=limits))
    return made


def test_what_is_worse_is_told_early_and_what_is_less_once_the_level_has_settled(detector: Detector) -> None:
    strange = waves(1_500, seed=3)[:, ::-1] * [1.0, 1.0, 3.0, 1.0] + [0.0, 1.5, 0.0, 0.0]
    reached = np.sqrt(np.nanmedian(detector.detect(strange).loss) / detector.model_.calibration.typical)
    for early, settled, told in ((0.5, 0.5, (72, 80)), (2.0, 0.5, (521, 524)), (2.0, 2.0, None)):
        found = rising(detector, early * reached, settled * reached)
        alarms = [one.alarm for one in found.detect(strange).events if one.kind == "unlike training"]
        assert len(alarms) == (told is not None)
        assert told is None or told[0] <= alarms[0] <= told[1]
        stream = found.stream()
        live = [stream.update(row) for row in strange]
        opened = [
            change.event.alarm
            for step in live
            for change in step.changes
            if change.event.kind == "unlike training" and change.what == "opened"
        ]
        assert opened == alarms


def test_normal_losses_in_bursts_are_no_reason_to_wait_for_worse_once_settled() -> None:
    random = np.random.default_rng(0)
    losses = random.chisquare(4, 20_000) / 4
    calm = calibrated(losses, 10_000, **LEVEL).unlike
    losses[7_000:7_060] *= 100.0
    burst = calibrated(losses, 10_000, **LEVEL).unlike
    assert burst.early > 2 * calm.early
    assert burst.settled == pytest.approx(calm.settled)
    assert calibrated(losses, 10_000, **LEVEL | {"unlike": False}).unlike == Rise()


def test_both_limits_are_kept_in_a_file(detector: Detector, tmp_path: Path) -> None:
    rising(detector, 30.0, 4.0).save(tmp_path / "model.ccm")
    assert Detector.load(tmp_path / "model.ccm").model_.calibration.unlike == pytest.approx(
        (2 * math.log(30), 2 * math.log(4))
    )


def test_the_paper_knows_anomalies_alone() -> None:
    recent = waves(900, seed=2)
    recent[300:400, 1] = np.nan
    recent[500, 2] += 1e6
    paper = Detector(preset="paper", epochs=1, width=16).fit(waves(3_000))
    assert paper.model_.tails is None
    assert {one.kind for one in paper.detect(recent).events} <= {"anomaly"}


def test_what_happens_again_and_again_is_not_told_each_time(detector: Detector) -> None:
    recent = waves(2_000, seed=5)
    recent[300:1_300:50, 0] += 30.0
    told = [one for one in detector.detect(recent).events if one.kind == "anomaly"]
    assert 1 <= len(told) < 12
    assert told[0].alarm == 300


def test_kinds_survive_a_snapshot_in_the_middle(detector: Detector) -> None:
    recent = waves(700, seed=2)
    recent[300:400, 1] = np.nan
    whole, first = detector.stream(), detector.stream()
    steps = [whole.update(row) for row in recent]
    for row in recent[:350]:
        first.update(row)
    second = detector.stream(resume=first.snapshot())
    rest = [second.update(row) for row in recent[350:]]
    assert [step.changes for step in rest] == [step.changes for step in steps[350:]]
    assert any(change.event.kind == KINDS[0] for step in rest for change in step.changes)


def test_a_wild_channel_is_blamed_before_its_healthy_neighbours(detector: Detector) -> None:
    right = 0
    for seed in range(8):
        recent, channel = waves(800, seed=10 + seed), seed % WAVES
        recent[500:560, channel] += 1.5
        found = [one for one in detector.detect(recent).events if 495 <= one.alarm < 565 and one.kind == "anomaly"]
        right += bool(found) and found[0].channels[0] == str(channel)
    assert right >= 6


def test_a_frame_with_times_is_told_in_minutes() -> None:
    times = np.datetime64("2026-03-01", "ns") + np.arange(600) * np.timedelta64(60, "s")
    recent = waves(600, seed=6)
    recent[300:486, 1] = np.nan
    timed = Detector(epochs=1, width=16, blocks=1).fit(
        Frame(waves(2_000), tuple("abcd"), times[0] + np.arange(2_000) * np.timedelta64(60, "s"))
    )
    (lost,) = [one for one in timed.detect(Frame(recent, tuple("abcd"), times)).events if one.kind == "signal lost"]
    assert lost.sentence == "b missing, for 3 h 5 min"


def test_a_channel_that_is_lost_in_place_of_one_that_came_back_is_told_at_once(detector: Detector) -> None:
    rows = waves(900, seed=1)
    for channel, first, last in ((0, 500, 600), (1, 550, 700), (2, 620, 720)):
        rows[first:last, channel] = np.nan
    journal, stream, told = Journal("w"), detector.stream(), []
    for i, row in enumerate(rows):
        for change in stream.update(row).changes:
            notice = journal.take(change) if change.event.kind == "signal lost" else None
            told += [] if notice is None else [(i, notice.change, set(notice.event.channels))]
    assert told == [
        (524, "opened", {"0"}),
        (574, "updated", {"0", "1"}),
        (644, "updated", {"0", "1", "2"}),
        (720, "final", {"0", "1", "2"}),
    ]


def test_a_stream_that_holds_nothing_goes_on_while_a_signal_is_lost() -> None:
    random = np.random.default_rng(0)
    detector = Detector(epochs=1, width=8, hold=0).fit(random.normal(size=(1_000, 3)))
    rows = random.normal(size=(120, 3))
    rows[60:90, 1] = np.nan
    stream, lost = detector.stream(), []
    for row in rows:
        step = stream.update(row)
        lost += [change.event for change in step.changes if change.event.kind == "signal lost"]
        stream = detector.stream(resume=stream.snapshot())
    assert lost
    assert lost[-1].severity == 30.0
