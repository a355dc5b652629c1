"""Channels that stray from what the others tell of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad import Detector, Frame
from ccmtad.compiled import Entry, available
from ccmtad.network.engine import Engine
from ccmtad.network.guess import RIDGE, Guess, held_out
from ccmtad.score import astray
from ccmtad.score.channels import ASTRAY, FAR_ASTRAY, LIMITS, OFF, STRAYED, Signals
from ccmtad.stream import Stream
from tests import naive

Floats = NDArray[np.float64]
CHANNELS = 6


def together(rows: int, seed: int = 0) -> Floats:
    """Sensors of one thing: each is what two hidden ones do, and some noise."""
    random, row = np.random.default_rng(seed), np.arange(rows)
    hidden = np.column_stack([np.sin(row / 37 + seed), np.sin(row / 101 + 2 * seed)])
    mix = np.random.default_rng(99).normal(size=(2, CHANNELS))
    return hidden @ mix + 0.2 * random.normal(size=(rows, CHANNELS))


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(epochs=1, width=8, blocks=1, persistence=1).fit(together(4_000))


offs = st.sampled_from([0.0, 0.2, -0.2, 0.9, -3.0, 40.0, -1e9, np.nan])


@given(st.lists(st.tuples(*[offs] * 3), min_size=1, max_size=80), st.integers(0, 2), st.sampled_from([0.0, 1.5, -1.0]))
def test_with_and_without_a_loop_the_same_strays(rows: list[tuple[float, ...]], gone: int, risen: float) -> None:
    limits = np.full((len(LIMITS), 3), np.inf)
    limits[ASTRAY] = [0.1, 0.5, np.inf]
    one, other = Signals.fresh(1, 3, False), Signals.fresh(1, 3, False)
    for t, off in enumerate(rows):
        present = np.arange(3) != (gone if t % 5 == 0 else 3)
        for state in (one, other):
            state.traces[0, STRAYED] = 0.0
        looped = astray.stray(off, present, limits, one.counts[0], one.traces[0], risen, t)
        at_once = astray.stray_at_once(np.array(off), present, limits, other.counts[0], other.traces[0], risen, t)
        assert looped == at_once
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.traces, other.traces)


def test_who_strays_explains_its_neighbours_and_not_the_other_way_round() -> None:
    rows = together(2_000)
    guess = Guess.fit(rows)
    for c in range(CHANNELS):
        wrong = np.zeros((1, CHANNELS)) + rows[5]
        wrong[0, c] += 3.0
        less = astray.explained((guess.off(wrong) - guess.off(rows[5:6]))[0], np.ones(CHANNELS), guess.weight)
        assert less.argmax() == c


@given(st.lists(st.sampled_from([0.0, 0.3, -0.3, 1.0, 1.1, -1.0, 5.0, 100.0]), min_size=1, max_size=120))
def test_a_channel_is_astray_as_the_slow_oracle_has_it(off: list[float]) -> None:
    limits, state, told = np.full((len(LIMITS), 1), np.inf), Signals.fresh(1, 1, False), []
    limits[ASTRAY] = 0.2
    for t, one in enumerate(off):
        astray.stray([one], [True], limits, state.counts[0], state.traces[0], 0.0, t)
        told.append(bool(state.counts[0, FAR_ASTRAY, 0] != 0))
    assert told == naive.astray(off, 0.2)


def test_a_whole_series_is_averaged_as_row_by_row() -> None:
    random = np.random.default_rng(3)
    off, start = random.normal(size=(200, 2)), np.isin(np.arange(200), [0, 70])
    state, limits = Signals.fresh(1, 2, False), np.full((len(LIMITS), 2), np.inf)
    found = astray.averages(off, np.ones(off.shape, dtype=np.bool_), start)
    for t in range(200):
        if start[t]:
            state.traces[0, OFF] = 0.0
        astray.stray(off[t], [True, True], limits, state.counts[0], state.traces[0], 0.0, t)
        np.testing.assert_allclose(found[t], state.traces[0, OFF], atol=1e-12)


def test_guesses_are_ridge_regressions_on_the_other_channels() -> None:
    rows = together(500)
    rows[:, 2] = -1.0  # it never moves, so it tells nothing, and nothing is told of it
    guess = Guess.fit(rows)
    for c in range(CHANNELS):
        weight, bias = naive.guessed(rows, c, RIDGE)
        np.testing.assert_allclose(guess.weight[:, c], 0.0 if c == 2 else weight, atol=1e-8)
        assert guess.bias[c] == pytest.approx(-1.0 if c == 2 else bias)
    assert not np.diag(guess.weight).any()
    off = np.empty(CHANNELS)
    Entry(astray.off_by)(rows[7], guess.weight, guess.bias, off)
    np.testing.assert_allclose(off, guess.off(rows[:20])[7], atol=1e-12)


def test_normal_rows_are_judged_by_guesses_that_had_not_seen_them() -> None:
    rows = together(1_000)
    good = np.arange(1_000) != 500
    off = held_out(rows, good)
    assert not off[500].any()
    changed = rows.copy()
    changed[:200] += np.random.default_rng(1).normal(size=(200, CHANNELS))
    np.testing.assert_allclose(
        held_out(changed, good)[:200], Guess.fit(rows[good & (np.arange(1_000) >= 200)]).off(changed[:200]), atol=1e-9
    )


@pytest.mark.parametrize("channel", range(CHANNELS))
def test_a_small_bias_that_lasts_is_found_named_and_over_soon_after(detector: Detector, channel: int) -> None:
    recent = together(2_000, seed=1)
    quiet = {one.alarm for one in detector.detect(recent).events}
    recent[1_500:1_590, channel] += 0.4 * detector.model_.scaler.span[channel]
    (event,) = [one for one in detector.detect(recent).events if one.alarm not in quiet]
    assert event.kind == "anomaly"
    assert 1_500 <= event.alarm < 1_550
    assert event.channels[0] == str(channel)
    assert event.end is not None
    assert event.end < 1_600


def test_no_single_row_leads_a_channel_astray() -> None:
    limits, state = np.full((len(LIMITS), 1), np.inf), Signals.fresh(1, 1, False)
    limits[ASTRAY] = 0.2
    assert astray.stray([1e6], [True], limits, state.counts[0], state.traces[0], 0.0, 0) == 0.0


def test_the_paper_and_a_single_channel_guess_nothing() -> None:
    paper = Detector(preset="paper", epochs=1, width=8).fit(together(1_000))
    single = Detector(epochs=1, width=8, blocks=1).fit(together(1_000)[:, :1])
    for one in (paper, single):
        assert one.model_.guess is None
        assert np.isinf(one.model_.limits[ASTRAY]).all()
        assert len(one.detect(together(300, seed=2)[:, : one.n_features_in_])) == 300


@pytest.mark.parametrize("compiled", [True, False])
def test_late_rows_age_nothing(detector: Detector, compiled: bool) -> None:
    if compiled and not available():
        pytest.skip("numba is missing: pip install 'ccmtad[fast]'")
    recent = together(1_500, seed=1)
    recent[300, 2] += 40.0
    recent[1_200, 2] += 50.0  # no news, so soon after the first
    recent[900:1_000, 4] += 0.8
    times = np.datetime64("2026-01-01", "ns") + np.arange(1_500) * np.timedelta64(60, "s")
    model = detector.model_
    with_late, without = (Stream(model, Engine(model.weights, model.architecture, compiled)) for _ in range(2))
    for t in range(1_500):
        if t == 600:
            for _ in range(1_200):
                with_late.update(recent[0], times[0])
        one, other = with_late.update(recent[t], times[t]), without.update(recent[t], times[t])
        assert (one.score, one.alarm) == (other.score, other.alarm), t
    order = np.r_[:600, np.zeros(1_200, dtype=np.int64), 600:1_500]
    found = detector.detect(Frame(recent[order], detector.channels_, times[order]))
    np.testing.assert_array_equal(
        found.alarm[order > 0], detector.detect(Frame(recent, detector.channels_, times)).alarm[1:]
    )
