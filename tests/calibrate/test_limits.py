"""Limits that no tail sets: a floor, the ends of a switch, and how long a switch may stand still."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ccmtad import Detector
from ccmtad.calibrate.limits import Tails
from ccmtad.score.channels import ABOVE, BELOW, MIDDLE, STILL_LIMIT

Floats = NDArray[np.float64]
ROWS = np.arange(4_000)
BEYOND = 0.05  # of the range


def learn(*columns: Floats) -> Tails:
    values = np.column_stack(columns)
    there = ~np.isnan(values)
    return Tails.learn(values, np.ones(values.shape), there, 24, extremes=True, signals=True)


def limits(*columns: Floats) -> Floats:
    return learn(*columns).limits(1e4)


def furthest(*columns: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest value that is not too far, whatever the tails say."""
    tails = learn(*columns)
    return tails.middle - tails.most[BELOW - 1], tails.middle + tails.most[ABOVE - 1]


def pulses(every: int, rows: int = 1) -> Floats:
    return (ROWS % every < rows).astype(np.float64)


def test_what_comes_back_to_zero_time_and_again_has_its_floor_there() -> None:
    flow = 2.0 * np.maximum(np.sin(ROWS / 20) + 0.5, 0.0)
    once_below, elsewhere, seldom = flow.copy(), flow + 1.0, flow.copy()
    once_below[1_000] = -0.001
    seldom[1_000:] = np.maximum(seldom[1_000:], 0.01)
    with_gaps = flow.copy()
    with_gaps[::7] = np.nan
    lowest, highest = furthest(flow, once_below, elsewhere, seldom, with_gaps)
    assert lowest[0] == pytest.approx(-BEYOND * np.ptp(flow))
    assert lowest[4] == pytest.approx(-BEYOND * np.nanmax(with_gaps))
    assert (lowest[1:4] < np.array([0.0, 1.0, 0.0]) - 4 * BEYOND * np.ptp(flow)).all()
    assert (highest > flow.max() * (1 + 4 * BEYOND)).all()
    found = limits(flow)
    assert found[MIDDLE, 0] - found[BELOW, 0] >= lowest[0]


def test_a_switch_that_is_often_at_an_end_goes_no_further() -> None:
    half, rare = pulses(40, 20) + 5.0, pulses(100) + 5.0
    lowest, highest = furthest(half, rare, 11.0 - rare)
    assert (highest[0], lowest[0]) == pytest.approx((6.0 + BEYOND, 5.0 - BEYOND))
    assert lowest[1] == pytest.approx(5.0 - BEYOND)  # here most of the time
    assert highest[1] > 7.0  # and there now and then: two at a time may be a coincidence
    assert highest[2] == pytest.approx(6.0 + BEYOND)
    assert lowest[2] < 4.0


@pytest.mark.parametrize("mean", [0.02, 0.05, 0.1])
def test_a_count_that_was_never_above_one_is_hardly_ever_called_a_switch_with_an_end(mean: float) -> None:
    """Things that come and go by chance: how many there are."""
    random, called, seen = np.random.default_rng(0), 0, 0
    for _ in range(300):
        count, values = 0, []
        for _ in range(600):
            gone = random.binomial(count, 0.2)
            count += random.poisson(0.2 * mean) - gone
            values.append(float(count))
        if max(values) == 1.0:
            seen += 1
            called += furthest(np.array(values))[1][0] < 2.0
    assert seen >= 20
    assert called <= 0.02 * seen


def test_a_switch_may_stand_still_twice_as_long_as_ever_and_others_three_times() -> None:
    random = np.random.default_rng(1)
    lengths = random.integers(30, 61, 200)
    switch = (np.repeat(np.arange(200), lengths) % 2).astype(np.float64)[: len(ROWS)]
    longest = np.diff(np.flatnonzero(np.diff(switch))).max()
    few = np.minimum(ROWS // 100 % 2, 1).astype(np.float64)
    found = limits(switch, switch + np.linspace(0, 1, 9)[np.cumsum(np.r_[0, np.diff(switch) != 0]) % 9], few)
    assert found[STILL_LIMIT, 0] == 2 * longest
    assert found[STILL_LIMIT, 1] > 2 * longest  # no switch
    assert found[STILL_LIMIT, 2] == 3 * 100  # forty standstills do not tell much


def test_new_normal_rows_move_a_bound_only_where_they_go_beyond_it() -> None:
    flow, valve = 2.0 * np.maximum(np.sin(ROWS / 20) + 0.5, 0.0), pulses(60, 30)
    before = learn(flow, valve)
    few = learn(flow[:250], valve[:250])  # ordinary rows, too few to tell of a floor or of an end
    np.testing.assert_allclose(before.after(few).most, before.most)
    np.testing.assert_allclose(before.after(few).limits(1e4), before.limits(1e4))
    moved = before.after(learn(flow - 1.0, valve + 1.0)).limits(1e4)
    lowest, highest = moved[MIDDLE] - moved[BELOW], moved[MIDDLE] + moved[ABOVE]
    assert lowest[0] < -1.0
    assert highest[1] > 2.0
    assert lowest[1] == pytest.approx(-BEYOND)  # of the valve's first rows


def test_recalibrated_rows_are_normal() -> None:
    random = np.random.default_rng(3)

    def works(rows: int, low: float) -> Floats:
        valve, wave = np.arange(rows) // 30 % 2 + low, np.sin(np.arange(rows) / 20)
        return np.column_stack([valve, wave + 0.1 * random.normal(size=rows)])

    detector = Detector(epochs=2, width=16, blocks=1).fit(works(4_000, 0.0))
    detector.recalibrate(works(1_500, 1.0), force=True)
    assert not detector.detect(works(1_000, 1.0)).alarm[100:].any()


def test_a_negative_flow_and_a_stuck_valve_are_told_as_they_come() -> None:
    random = np.random.default_rng(2)

    def works(rows: int) -> Floats:
        valve = (np.arange(rows) // 30 % 2).astype(np.float64)
        flow = valve * (3.0 + 0.2 * random.normal(size=rows))
        return np.column_stack([valve, flow, 0.1 * random.normal(size=rows)])

    detector = Detector(epochs=2, width=16, blocks=1).fit(works(4_000))
    recent = works(1_200)
    assert not detector.detect(recent).alarm[500:].any()
    recent[620, 1] = -0.3  # the valve is closed
    recent[900:1_100, 0] = recent[899, 0]
    found = detector.detect(recent)
    flow, valve = (next(e for e in found.events if e.alarm >= row) for row in (600, 900))
    assert (flow.alarm, flow.kind, flow.channels[0]) == (620, "anomaly", "1")
    stuck = next(e for e in found.events if e.kind == "frozen")
    assert stuck.channels[0] == "0"
    assert stuck.alarm <= 960
    assert valve.alarm >= 900
    stream = detector.stream()
    assert [stream.update(row).alarm for row in recent] == found.alarm.tolist()
