"""What is learnt from, and what is calibrated on."""

import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.fit import TrainingSeries
from ccmtad.settings import Settings

WINDOW = 24


def frame(rows: int) -> Frame:
    random = np.random.default_rng(0)
    values = np.column_stack([np.sin(np.arange(rows) / 20 + i) + 0.1 * random.normal(size=rows) for i in range(3)])
    return Frame(values, tuple("abc"))


@pytest.mark.parametrize(("rows", "blocks"), [(1_499, 1), (1_500, 5), (19_999, 5), (20_000, 3)])
def test_longer_series_are_calibrated_block_by_block(rows: int, blocks: int) -> None:
    series = TrainingSeries.of(frame(rows), Settings.of(blocks=5))
    assert len(series.blocks) == blocks
    assert series.crossed == (blocks > 1)
    if series.crossed:
        np.testing.assert_array_equal(series.validation, np.arange(WINDOW - 1, rows))
        np.testing.assert_array_equal(series.training, series.validation)


def test_no_row_is_in_a_window_of_both_parts_of_a_block() -> None:
    bad = np.zeros(6_000, dtype=np.bool_)
    bad[2_000:2_100] = True
    series = TrainingSeries.of(frame(6_000), Settings.of(blocks=5), bad)
    assert len(series.blocks) == 5
    for block in series.blocks:
        inside = (block.training[:, None] - np.arange(WINDOW)).ravel()
        outside = (block.validation[:, None] - np.arange(WINDOW)).ravel()
        assert not set(inside.tolist()) & set(outside.tolist())
        assert not bad[inside].any()
        assert not bad[outside].any()


def test_every_row_is_judged_by_a_network_that_had_not_seen_it() -> None:
    whole = frame(5_000)
    series = TrainingSeries.of(whole, Settings.of(epochs=2, width=16, blocks=5))
    trained = series.train()
    assert trained.held_out is not None
    assert trained.held_out.shape == (len(series.validation), 3)
    assert len(trained.history) == trained.best <= 2
    model = series.model(trained)
    assert len(model.calibration.tracks[0].reference) == len(series.validation)


def test_a_fit_says_what_can_be_seen_how_soon() -> None:
    sight = Detector(epochs=2, width=16, blocks=1).fit(frame(4_000)).model_.sight
    assert list(sight) == [3, 10, 100]
    assert sight[100] == 1
    rows = [one for one in sight.values() if one is not None]
    assert rows == sorted(rows, reverse=True)


def test_an_alarm_that_has_to_wait_is_said_to_wait_and_ends_no_event_before_it() -> None:
    detector = Detector(epochs=2, width=16, blocks=1, duration=5).fit(frame(4_000))
    soonest = [rows for rows in detector.model_.sight.values() if rows is not None]
    assert soonest
    assert min(soonest) >= 5
    recent = frame(5_500).values[4_000:].copy()
    recent[700:704, 0] += 30.0  # the evidence is gone by the time of the alarm
    recent[1_000:1_060, 0] += 30.0
    found = detector.detect(recent)
    anomalies = [one for one in found.events if one.kind == "anomaly"]
    assert anomalies
    for event in anomalies:
        assert event.start <= event.alarm <= (len(recent) if event.end is None else event.end)
        assert found.label[event.alarm]
    stream, told = detector.stream(), []
    for row in recent:
        told += [change.event for change in stream.update(row).changes if change.what == "final"]
    ended = [(one.start, one.alarm, one.end) for one in told if one.kind == "anomaly"]
    assert ended == [(one.start, one.alarm, one.end) for one in anomalies if one.end is not None]


def test_channels_may_be_grouped_by_the_first_rows_alone() -> None:
    random = np.random.default_rng(0)
    early, late = random.normal(size=(400, 2)), random.normal(size=(600, 2))
    # Who goes with whom changes after two fifths, for longer.
    values = np.vstack([early[:, [0, 0, 1, 1]], 3 * late[:, [0, 1, 0, 1]]]) + 0.01 * random.normal(size=(1_000, 4))
    found = [
        TrainingSeries.of(Frame.of(values), Settings.of("paper", clusters=2, cluster_share=share)).clusters.label
        for share in (0.4, 1.0)
    ]
    assert [(one == one[0]).tolist() for one in found] == [[True, True, False, False], [True, False, True, False]]
