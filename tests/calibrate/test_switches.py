"""Channels that only ever take two values: a third is too far."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ccmtad import Detector, FileError, files, model_file
from ccmtad.calibrate.limits import Tails
from ccmtad.score import channels, signals
from ccmtad.score.channels import GAP, LEEWAY, LEVEL, STEP

Floats = NDArray[np.float64]


def switched(rows: int, seed: int = 0) -> Floats:
    """A wave, a switch, and what follows the switch."""
    random = np.random.default_rng(seed)
    switch = (np.cumsum(random.random(rows) < 0.01) % 2).astype(np.float64)
    wave, follows = np.sin(np.arange(rows) / 20), 2.0 * switch
    return np.column_stack([wave, switch, follows]) + random.normal(size=(rows, 3)) * [0.1, 0.0, 0.1]


@pytest.fixture(scope="module")
def of_a_switch() -> Detector:
    return Detector(epochs=2, width=16, blocks=1).fit(switched(4_000))


def test_who_has_only_ever_taken_two_values_and_changed_a_few_times_is_a_switch() -> None:
    rows = np.arange(1_000)
    values = np.column_stack(
        [rows // 50 % 2, 3.0 + 2.0 * (rows // 50 % 2), rows // 200 % 2, rows // 50 % 3, 0.0 * rows, np.sin(rows)]
    )
    values[400:420, 0] = np.nan
    there = ~np.isnan(values)
    tails = Tails.learn(values, np.ones(values.shape), there, 24, extremes=True, signals=True)
    limits = tails.limits(1e4)
    np.testing.assert_array_equal(limits[[LEVEL, GAP, LEEWAY], :2], [[0.0, 3.0], [1.0, 2.0], [0.05, 0.05]])
    assert np.isinf(limits[LEEWAY, 2:]).all()
    assert signals.off_level(3.1, limits[LEVEL, 1], limits[GAP, 1]) == pytest.approx(0.05)
    for step in (7.0, 1.0, -3.0):
        assert signals.off_level(step, limits[LEVEL, 1], limits[GAP, 1]) == 0.0
    without = Tails.learn(values[:, 2:], np.ones((1_000, 4)), there[:, 2:], 24, extremes=True, signals=True)
    assert len(without.limits(1e4)) == len(channels.LIMITS)


@pytest.mark.parametrize("value", [0.3, 0.94, 1.06, -0.5])
def test_a_switch_that_takes_a_third_value_alarms_on_that_row(of_a_switch: Detector, value: float) -> None:
    recent = switched(1_000, seed=1)
    assert not of_a_switch.detect(recent).alarm[650]
    recent[650, 1] = value
    found = of_a_switch.detect(recent)
    (event,) = (event for event in found.events if event.alarm == 650)
    assert event.channels[0] == "1"
    stream = of_a_switch.stream()
    assert [stream.update(row).alarm for row in recent] == found.alarm.tolist()


@pytest.mark.parametrize("values", [[0.4], [0.7, 0.0, 0.0, 0.0, 0.0, 0.0]])  # a blip, and a valve on its way
def test_a_switch_may_be_told_to_be_none(of_a_switch: Detector, tmp_path: Path, values: list[float]) -> None:
    of_a_switch.save(tmp_path / "model.ccm")
    detector = Detector.load(tmp_path / "model.ccm")
    recent = switched(1_000, seed=1)
    recent[650 : 650 + len(values), 1] = values
    (event,) = (event for event in detector.detect(recent).events if event.alarm == 650)
    steps = detector.model_.heeding.limits[STEP, 1]
    detector.dismiss(event)
    assert detector.model_.heeding.limits[STEP, 1] < 2.0 * steps
    later = switched(1_000, seed=1)
    later[800, 1] = 0.6
    assert not detector.detect(recent).alarm[650]
    assert not detector.detect(later).alarm[800]
    detector.undo(event)
    assert detector.detect(recent).alarm[650]
    assert detector.detect(later).alarm[800]


def test_new_normal_rows_say_whether_it_is_a_switch_still() -> None:
    rows = np.arange(1_000)
    values = (rows // 50 % 2).astype(np.float64)[:, None]

    def learn(values: Floats) -> Tails:
        there = np.ones(values.shape, dtype=np.bool_)
        return Tails.learn(values, np.ones(values.shape), there, 24, extremes=True, signals=True)

    switch, constant, three = learn(values), learn(0.0 * values), learn((rows // 50 % 3).astype(np.float64)[:, None])
    few, older = learn(values[:200]), replace(switch, switch=None)
    others = (
        (switch, True),
        (constant, True),
        (few, True),
        (older, True),
        (three, False),
        (learn(2.0 * values), False),
    )
    for new, still in others:
        limits = switch.after(new).limits(1e4)
        assert (len(limits) > LEEWAY and np.isfinite(limits[LEEWAY, 0])) == still
    assert len(older.after(switch).limits(1e4)) == len(channels.LIMITS)
    assert len(few.limits(1e4)) == len(channels.LIMITS)


def test_a_switch_in_a_file_must_be_one(of_a_switch: Detector, tmp_path: Path) -> None:
    of_a_switch.save(tmp_path / "model.ccm")
    arrays, facts = files.open_sealed((tmp_path / "model.ccm").read_bytes(), model_file.MAGIC, 3, "model")
    for wrong in (
        np.zeros((3, 3)),
        np.full((3, 3), np.inf),
        np.ones((2, 3)),
        np.array([[0.0] * 3, [1.0, np.nan, 1.0], [9.0] * 3]),
    ):
        spoilt = files.seal(model_file.MAGIC, 3, {**arrays, "tails.switch": wrong}, facts)
        with pytest.raises(FileError, match="model must hold .*tails.switch"):
            model_file.loads(spoilt)
