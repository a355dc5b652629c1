"""The scorer that follows drift: against a slow oracle, and in the cases it is for."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad.calibrate.calibration import Calibration
from ccmtad.score.evidence import Reference
from ccmtad.score.health import Pulse
from ccmtad.score.level import Level
from tests import naive

Floats = NDArray[np.float64]

LOSSES = st.lists(st.sampled_from([0.1, 0.5, 1.0, 1.5, 2.0, 9.0, 400.0, math.nan]), min_size=1, max_size=60)


def fitted(**change: Any) -> Calibration:
    rules: dict[str, Any] = {
        "patience": 3, "reset": "carried", "tail": "conformal", "persistence": 5, "settle": 7, "drift": 0.05,
        "accept": 6, "duration": 2, "cooldown": 3, "alpha": 0.2,
    }  # fmt: skip
    normal = np.random.default_rng(0).lognormal(size=300)
    return Calibration.fit(normal, 100, **(rules | change))


@given(LOSSES, st.sampled_from(["conformal", "pareto"]), st.booleans(), st.booleans())
def test_the_scorer_follows_its_words(losses: list[float], tail: str, settles: bool, averages: bool) -> None:
    calibration = fitted(tail=tail, settle=7 * settles, persistence=5 if averages else 1)
    found = calibration.score(np.array(losses))
    expected = naive.scores(losses, calibration)
    np.testing.assert_allclose(found.evidence, [e[0] for e in expected])
    np.testing.assert_allclose(found.score, [e[1] for e in expected], atol=1e-9)
    np.testing.assert_array_equal(found.alarm, [e[2] for e in expected])


def noise(rows: int, seed: int, level: float | Floats = 1.0) -> Floats:
    return np.asarray(level * np.random.default_rng(seed).lognormal(0.0, 0.5, rows))


DEFAULT: dict[str, Any] = {
    "patience": 5, "reset": "carried", "tail": "conformal", "persistence": 48, "settle": 500, "drift": 1e-3,
    "accept": 4_000,
}  # fmt: skip


def test_a_plant_that_has_changed_since_training_is_not_one_endless_event() -> None:
    calibration = Calibration.fit(noise(5_000, 0), 10_000, **DEFAULT)
    changed = noise(10_000, 1, 30.0)
    assert calibration.score(changed).alarm.mean() < 0.01
    static = Calibration.fit(noise(5_000, 0), 10_000, **(DEFAULT | {"settle": 0, "drift": 0.0}))
    assert static.score(changed).alarm.mean() > 0.9


def test_slow_drift_is_followed_and_a_jump_is_not() -> None:
    calibration = Calibration.fit(noise(5_000, 0), 10_000, **DEFAULT)
    slow = np.exp(np.linspace(0.0, 3.0, 40_000))  # twenty times
    assert calibration.score(noise(40_000, 1, slow)).alarm.mean() < 0.01
    static = Calibration.fit(noise(5_000, 0), 10_000, **(DEFAULT | {"drift": 1e-9}))
    assert static.score(noise(40_000, 1, slow)).alarm.mean() > 0.5
    jump = np.where(np.arange(10_000) < 5_000, 1.0, 20.0)
    alarm = calibration.score(noise(10_000, 1, jump)).alarm
    assert alarm[:5_000].mean() < 0.01
    assert alarm[5_050:8_900].all()  # frozen for the whole of it, until it is accepted


@pytest.mark.parametrize("length", [1_000, 3_900])
def test_a_long_event_is_in_alarm_to_its_end(length: int) -> None:
    calibration = Calibration.fit(noise(5_000, 0), 10_000, **DEFAULT)
    level = np.ones(9_000)
    level[2_000 : 2_000 + length] = 10.0
    alarm = calibration.score(noise(9_000, 1, level)).alarm
    assert alarm[2_050 : 2_000 + length].all()
    assert not alarm[2_200 + length :].any()


def test_what_lasts_for_ever_becomes_normal_only_where_that_is_allowed() -> None:
    level = np.where(np.arange(20_000) < 2_000, 1.0, 10.0)
    ends = {}
    for accept in (0, 4_000):
        calibration = Calibration.fit(noise(5_000, 0), 10_000, **(DEFAULT | {"accept": accept}))
        alarm = calibration.score(noise(20_000, 1, level)).alarm
        ends[accept] = int(np.flatnonzero(alarm)[-1])
    assert ends[0] == 19_999
    assert 6_000 < ends[4_000] < 12_000


def test_a_small_lasting_change_is_seen_by_the_averages() -> None:
    level = np.ones(4_000)
    level[2_000:2_300] = 1.6
    losses = noise(4_000, 1, level)
    quick, both = (
        Calibration.fit(noise(5_000, 0), 10_000, **(DEFAULT | {"persistence": rows})).score(losses).alarm
        for rows in (1, 48)
    )
    assert quick[2_000:2_300].mean() < 0.2
    assert both[2_000:2_300].mean() > 0.5
    assert not both[2_400:].any()


def test_a_huge_event_leaves_no_long_shadow() -> None:
    losses = noise(4_000, 1)
    losses[2_000:2_100] *= 1e6
    alarm = Calibration.fit(noise(5_000, 0), 10_000, **DEFAULT).score(losses).alarm
    assert alarm[2_001:2_100].all()
    assert not alarm[2_110:].any()


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=40), st.integers(0, 9), st.floats(1e-4, 0.5))
def test_a_level_never_falls_below_its_base_and_never_moves_faster_than_allowed(
    losses: list[float], settle: int, drift: float
) -> None:
    level = Level(0.0, settle, drift, 0)
    for t, loss in enumerate(losses):
        before = level.log
        level.measure(loss)
        level.follow(loss, alarm=t % 3 == 0)
        assert level.log >= 0.0
        if t >= settle:
            assert abs(level.log - before) <= (0.0 if t % 3 == 0 else drift + 1e-12) or t == settle - 1


heavy = st.lists(st.one_of(st.floats(0.0, 1e6), st.just(1.0)), min_size=1, max_size=80)


@given(heavy, st.lists(st.floats(0.0, 1e300), min_size=2, max_size=20), st.sampled_from(["pareto", "conformal"]))
def test_the_tail_is_monotone_finite_and_continues_the_ranks(
    reference: list[float], losses: list[float], tail: str
) -> None:
    ordered = np.sort(np.array(reference))
    ranking = Reference(ordered, tail)  # type: ignore[arg-type]
    asked = np.sort(np.array(losses))
    strength = ranking.strength(asked)
    assert np.isfinite(strength).all()
    assert (strength >= -1e-12).all()  # log p is at most 0
    assert (np.diff(strength) >= -1e-9).all()
    one_by_one = [ranking.rank(float(loss)) for loss in asked]
    np.testing.assert_allclose([s for _, s in one_by_one], strength, rtol=1e-9, atol=1e-12)
    plain = Reference(ordered, "conformal")
    below = asked[asked <= ranking.start]
    np.testing.assert_allclose(ranking.strength(below), plain.strength(below))
    if np.isfinite(ranking.start):  # continuous where the tail takes over
        near = ranking.strength(np.array([ranking.start, ranking.start * (1 + 1e-9)]))
        assert near[1] - near[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("draw", ["exponential", "uniform", "pareto", "constant"])
@pytest.mark.parametrize("rows", [40, 200_000])
def test_the_tail_is_sane_for_heavy_bounded_and_constant_losses(draw: str, rows: int) -> None:
    random = np.random.default_rng(0)
    losses = {
        "exponential": random.exponential(size=rows),
        "uniform": random.uniform(size=rows),
        "pareto": random.pareto(1.0, rows) + 1.0,
        "constant": np.full(rows, 2.0),
    }[draw]
    ranking = Reference(np.sort(losses), "pareto")
    beyond = ranking.strength(np.array([losses.max(), 10 * losses.max(), 1e3 * losses.max()]))
    assert (np.diff(beyond) > 0.5).all()  # keeps ordering what is beyond all of them
    if draw == "pareto" and rows > 40:  # p = 1 / x
        true = np.array([1e3, 1e6])
        np.testing.assert_allclose(ranking.strength(true), np.log(true), rtol=0.25)


def test_health_says_what_has_become_of_the_pvalues() -> None:
    random = np.random.default_rng(0)

    def state(pvalues: Floats) -> tuple[str, float]:
        pulse = Pulse()
        for p in pvalues.tolist():
            pulse.step(p)
        health = pulse.read()
        assert health.advice
        return health.state, health.gap

    uniform = random.uniform(size=5_000)
    assert state(uniform)[0] == "healthy"
    assert abs(state(uniform)[1]) < 0.1
    assert state(uniform[:100]) == ("unknown", 0.0)  # too few to tell
    assert state(uniform**2)[0] == "drifting"
    assert state(uniform**9)[0] == "miscalibrated"
    assert state(uniform**0.2)[0] == "miscalibrated"
    assert state(uniform**0.2)[1] < 0
    assert state(np.r_[uniform**9, random.uniform(size=20_000)])[0] == "healthy"  # old ones fade
    assert state(np.full(500_000, 0.5))[0] == "miscalibrated"  # weights never overflow


def test_no_level_follows_an_infinite_loss() -> None:
    losses = np.r_[np.full(700, np.inf), noise(2_000, 1)]
    scores = Calibration.fit(noise(5_000, 0), 10_000, **DEFAULT).score(losses)
    assert scores.alarm[5:700].all()
    assert not scores.alarm[800:].any()


def test_an_event_that_is_not_announced_is_not_followed_either() -> None:
    losses = noise(8_000, 1)
    losses[2_000:2_050] *= 30.0
    losses[2_100:8_000] *= 6.0
    alarm = Calibration.fit(noise(5_000, 0), 10_000, **(DEFAULT | {"cooldown": 3_000})).score(losses).alarm
    assert not alarm[2_100:5_000].any()
    assert alarm[5_100:6_000].all()


def test_tied_losses_have_no_correlation_and_are_no_sickness() -> None:
    for rows in (500, 1_000):
        fitted = Calibration.fit(np.zeros(rows), 10_000, **DEFAULT)
        assert fitted.score(np.full(20, np.inf)).alarm[3:].all()
    tied = np.maximum(noise(5_000, 0), 1.1)
    assert Calibration.fit(tied, 10_000, **DEFAULT).score(np.maximum(noise(5_000, 1), 1.1)).health.state == "healthy"


def test_a_level_that_has_risen_is_reported() -> None:
    health = Calibration.fit(noise(5_000, 0), 10_000, **DEFAULT).score(noise(5_000, 1, 30.0)).health
    assert health.state == "drifting"
    assert "30" in health.advice or "29" in health.advice
