"""The scorer that follows drift: against a slow oracle, and in the cases it is for."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad.calibrate.calibration import Calibration
from ccmtad.compiled import available
from ccmtad.record import Layout
from ccmtad.score import health, level, tails
from ccmtad.score.evidence import Ranking
from ccmtad.score.step import RULES, fold
from ccmtad.score.tracks import averaged
from tests import naive

from ..making import calibrated

Floats = NDArray[np.float64]

LOSSES = st.lists(st.sampled_from([0.1, 0.5, 1.0, 1.5, 2.0, 9.0, 400.0, math.nan]), min_size=1, max_size=60)


def fitted(**change: Any) -> Calibration:
    rules: dict[str, Any] = {
        "patience": 3, "reset": "carried", "tail": "conformal", "persistence": 5, "settle": 7, "drift": 0.05,
        "accept": 6, "duration": 2, "cooldown": 3, "alpha": 0.2,
    }  # fmt: skip
    normal = np.random.default_rng(0).lognormal(size=300)
    return calibrated(normal, 100, **(rules | change))


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
    calibration = calibrated(noise(5_000, 0), 10_000, **DEFAULT)
    changed = noise(10_000, 1, 30.0)
    assert calibration.score(changed).alarm.mean() < 0.01
    static = calibrated(noise(5_000, 0), 10_000, **(DEFAULT | {"settle": 0, "drift": 0.0}))
    assert static.score(changed).alarm.mean() > 0.9


def test_slow_drift_is_followed_and_a_jump_is_not() -> None:
    calibration = calibrated(noise(5_000, 0), 10_000, **DEFAULT)
    slow = np.exp(np.linspace(0.0, 3.0, 40_000))  # twenty times
    assert calibration.score(noise(40_000, 1, slow)).alarm.mean() < 0.01
    static = calibrated(noise(5_000, 0), 10_000, **(DEFAULT | {"drift": 1e-9}))
    assert static.score(noise(40_000, 1, slow)).alarm.mean() > 0.5
    jump = np.where(np.arange(10_000) < 5_000, 1.0, 20.0)
    alarm = calibration.score(noise(10_000, 1, jump)).alarm
    assert alarm[:5_000].mean() < 0.01
    assert alarm[5_050:8_900].all()  # frozen for the whole of it, until it is accepted


@pytest.mark.parametrize("length", [1_000, 3_900])
def test_a_long_event_is_in_alarm_to_its_end(length: int) -> None:
    calibration = calibrated(noise(5_000, 0), 10_000, **DEFAULT)
    level = np.ones(9_000)
    level[2_000 : 2_000 + length] = 10.0
    alarm = calibration.score(noise(9_000, 1, level)).alarm
    assert alarm[2_050 : 2_000 + length].all()
    assert not alarm[2_200 + length :].any()


def test_what_lasts_for_ever_becomes_normal_only_where_that_is_allowed() -> None:
    level = np.where(np.arange(20_000) < 2_000, 1.0, 10.0)
    ends = {}
    for accept in (0, 4_000):
        calibration = calibrated(noise(5_000, 0), 10_000, **(DEFAULT | {"accept": accept}))
        alarm = calibration.score(noise(20_000, 1, level)).alarm
        ends[accept] = int(np.flatnonzero(alarm)[-1])
    assert ends[0] == 19_999
    assert 6_000 < ends[4_000] < 12_000


def test_a_small_lasting_change_is_seen_by_the_averages() -> None:
    level = np.ones(4_000)
    level[2_000:2_300] = 1.6
    losses = noise(4_000, 1, level)
    quick, both = (
        calibrated(noise(5_000, 0), 10_000, **(DEFAULT | {"persistence": rows})).score(losses).alarm for rows in (1, 48)
    )
    assert quick[2_000:2_300].mean() < 0.2
    assert both[2_000:2_300].mean() > 0.5
    assert not both[2_400:].any()


def test_a_huge_event_leaves_no_long_shadow() -> None:
    losses = noise(4_000, 1)
    losses[2_000:2_100] *= 1e6
    alarm = calibrated(noise(5_000, 0), 10_000, **DEFAULT).score(losses).alarm
    assert alarm[2_001:2_100].all()
    assert not alarm[2_110:].any()


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=40), st.integers(0, 9), st.floats(1e-4, 0.5))
def test_a_level_never_falls_below_its_base_and_never_moves_faster_than_allowed(
    losses: list[float], settle: int, drift: float
) -> None:
    track = Layout(level.FIELDS).plain()
    (rules,) = RULES.of(False, [{"settle": settle, "drift": drift}])
    settling = [0.0] * settle
    for t, loss in enumerate(losses):
        before = track.level
        level.measure(track, 0.0, settle, settling, loss)
        level.follow(track, 0.0, rules, loss, high=t % 3 == 0, accept=0)
        assert track.level >= 0.0
        if t >= settle:
            assert abs(track.level - before) <= (0.0 if t % 3 == 0 else drift + 1e-12) or t == settle - 1


@given(
    st.lists(st.sampled_from([0.1, 1.0, 7.0, math.nan]), min_size=1, max_size=60),
    st.integers(1, 9),
)
def test_a_trailing_mean_starts_afresh_after_a_break(losses: list[float], rows: int) -> None:
    start = [t == 0 or math.isnan(losses[t - 1]) for t in range(len(losses))]
    expected = naive.trailing(losses, rows, start)
    found = averaged(np.array(losses), rows)
    there = ~np.isnan(losses)
    np.testing.assert_allclose(found[there], np.array(expected)[there])
    assert np.isnan(found[~there]).all()


@pytest.mark.skipif(not available(), reason="numba is missing: pip install 'ccmtad[fast]'")
@given(LOSSES, st.sampled_from(["conformal", "pareto", "empirical"]), st.booleans())
def test_compiled_and_interpreted_steps_are_the_same_step(losses: list[float], tail: str, settles: bool) -> None:
    rules = fitted(tail=tail, settle=7 * settles).rules
    one, other = (fold(rules, np.array(losses), np.ones(len(losses)), compiled) for compiled in (True, False))
    for name in ("pvalue", "evidence", "score", "alarm", "alone"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12, err_msg=name)
    assert one.health.state == other.health.state


heavy = st.lists(st.one_of(st.floats(0.0, 1e6), st.just(1.0)), min_size=1, max_size=80)


@given(heavy, st.lists(st.floats(0.0, 1e300), min_size=2, max_size=20), st.sampled_from(["pareto", "conformal"]))
def test_the_tail_is_monotone_finite_and_continues_the_ranks(
    reference: list[float], losses: list[float], tail: str
) -> None:
    ordered = np.sort(np.array(reference))
    ranking = Ranking(ordered, tails.find(tail))
    asked = np.sort(np.array(losses))
    strength = ranking.strength(asked)
    assert np.isfinite(strength).all()
    assert (strength >= -1e-12).all()  # log p is at most 0
    assert (np.diff(strength) >= -1e-9).all()
    slow = [naive.strength(float(loss), reference, tail) for loss in asked]
    np.testing.assert_allclose(slow, strength, rtol=1e-9, atol=1e-9)
    plain = Ranking(ordered, tails.find("conformal"))
    below = asked[asked <= ranking.beyond.start]
    np.testing.assert_allclose(ranking.strength(below), plain.strength(below))
    if np.isfinite(ranking.beyond.start):  # continuous where the tail takes over
        near = ranking.strength(np.array([ranking.beyond.start, ranking.beyond.start * (1 + 1e-9)]))
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
    ranking = Ranking(np.sort(losses), tails.find("pareto"))
    beyond = ranking.strength(np.array([losses.max(), 10 * losses.max(), 1e3 * losses.max()]))
    assert (np.diff(beyond) > 0.5).all()  # keeps ordering what is beyond all of them
    if draw == "pareto" and rows > 40:  # p = 1 / x
        true = np.array([1e3, 1e6])
        np.testing.assert_allclose(ranking.strength(true), np.log(true), rtol=0.25)


def test_health_says_what_has_become_of_the_pvalues() -> None:
    random = np.random.default_rng(0)

    def state(pvalues: Floats) -> tuple[str, float]:
        stream = Layout(health.FIELDS).plain()
        for p in pvalues.tolist():
            health.take(stream, p)
        found = health.read(stream.healthy_rows, health.worst_gap(stream, health.UNIFORM), 0.0, 0.0)
        assert found.advice
        return found.state, found.gap

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


def test_health_says_when_much_of_the_time_is_spent_in_alarm() -> None:
    stream = Layout(health.FIELDS).plain()
    for row in range(4_000):
        health.count(stream, row % 3 == 0)
    found = health.read(2_700, 0.0, 0.0, stream.alarmed_share)
    assert (found.state, found.advice[:3]) == ("alarmed", "29%")
    assert health.read(0, 0.0, 0.0, 1.0).state == "alarmed"  # though no row outside events was ever seen
    assert health.read(2_700, 0.3, 0.0, 1.0).state == "drifting"  # which says why


def test_no_level_follows_an_infinite_loss() -> None:
    losses = np.r_[np.full(700, np.inf), noise(2_000, 1)]
    scores = calibrated(noise(5_000, 0), 10_000, **DEFAULT).score(losses)
    assert scores.alarm[5:700].all()
    assert not scores.alarm[800:].any()


def test_an_event_that_is_not_announced_is_not_followed_either() -> None:
    losses = noise(8_000, 1)
    losses[2_000:2_050] *= 30.0
    losses[2_100:8_000] *= 6.0
    alarm = calibrated(noise(5_000, 0), 10_000, **(DEFAULT | {"cooldown": 3_000})).score(losses).alarm
    assert not alarm[2_100:5_000].any()
    assert alarm[5_100:6_000].all()


def test_tied_losses_have_no_correlation_and_are_no_sickness() -> None:
    for rows in (500, 1_000):
        fitted = calibrated(np.zeros(rows), 10_000, **DEFAULT)
        assert fitted.score(np.full(20, np.inf)).alarm[3:].all()
    tied = np.maximum(noise(5_000, 0), 1.1)
    assert calibrated(tied, 10_000, **DEFAULT).score(np.maximum(noise(5_000, 1), 1.1)).health.state == "healthy"


def test_a_level_that_has_risen_is_reported() -> None:
    health = calibrated(noise(5_000, 0), 10_000, **DEFAULT).score(noise(5_000, 1, 30.0)).health
    assert health.state == "drifting"
    assert "30" in health.advice or "29" in health.advice
