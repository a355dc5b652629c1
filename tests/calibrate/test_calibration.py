"""The operating point keeps the false-alarm budget."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from ccmtad import Detector
from ccmtad.calibrate import budget
from ccmtad.calibrate.alpha import choose as choose_alpha
from ccmtad.calibrate.alpha import mixture_bound
from ccmtad.calibrate.budget import Support, independent_threshold, observed_threshold, simulated_peaks
from ccmtad.calibrate.calibration import Calibration
from ccmtad.score import events, tails
from ccmtad.score.accumulate import accumulate
from tests import naive

from ..making import calibrated


def rows_between_alarms(fitted: Calibration, losses: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    scores = fitted.score(losses)
    return len(losses) / max(len(events.find(scores.score, scores.evidence, scores.alarm)), 1)


@given(
    st.sampled_from(["conformal", "empirical"]),
    st.sampled_from(["carried", "everything"]),
    st.sampled_from([10, 300]),
    st.integers(0, 5),
)
def test_streams_simulated_side_by_side_score_as_one_alone(tail: str, reset: str, references: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "CHAINS", 3)
        peaks = simulated_peaks(references, tail, 0.05, 5, reset, 1, 900, seed)
    random = np.random.default_rng(seed)
    draws = np.array([random.integers(0, references + 1, 3) for _ in range(300)])
    expected = [float(np.finfo(float).tiny)]
    for chain in draws.T:
        kind = tails.find(tail)
        b = np.log(0.05) + kind.strength(kind.pvalue(chain, references))
        score = accumulate(b, 5, reset)
        excursion = np.cumsum(score == 0.0)
        expected += [float(score[excursion == i].max()) for i in np.unique(excursion[score > 0])]
    np.testing.assert_allclose(np.sort(peaks), np.sort(expected))


@pytest.mark.parametrize("tail", ["conformal", "empirical"])
@pytest.mark.parametrize("reset", ["carried", "everything"])
def test_independent_losses_keep_the_budget(tail: str, reset: str) -> None:
    random = np.random.default_rng(3)
    observed = []
    for _ in range(20):
        fitted = calibrated(
            random.exponential(size=5_000),
            1_000,
            patience=5,
            reset=reset,
            tail=tail,
        )
        observed.append(rows_between_alarms(fitted, random.exponential(size=50_000)))
    assert 500 < np.median(observed) < 5_000


def test_clustered_losses_keep_the_budget_that_independence_would_break() -> None:
    random = np.random.default_rng(4)

    def losses(rows: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray(np.exp(lfilter([0.5], [1.0, -0.87], random.normal(size=rows))))

    kept, broken = [], []
    for _ in range(10):
        validation, fresh = losses(8_000), losses(80_000)
        fitted = calibrated(validation, 2_000, patience=5, reset="carried", tail="conformal")
        naive = calibrated(
            validation,
            2_000,
            patience=5,
            reset="carried",
            tail="conformal",
            threshold=independent_threshold(fitted.rules, fitted.tracks[0], 2_000),
        )
        kept.append(rows_between_alarms(fitted, fresh))
        broken.append(rows_between_alarms(naive, fresh))
    assert np.median(broken) < 500  # what the simulation of independent rows promises is not kept …
    assert np.median(kept) > 1_000  # … and what the validation part itself needs is


@pytest.mark.parametrize("references", [4, 40, 1_000])
def test_a_rarer_budget_never_has_a_lower_threshold(references: int) -> None:
    fitted = calibrated(np.linspace(0.0, 1.0, references), 100, patience=5, alpha=0.3, threshold=1.0)
    thresholds = [
        independent_threshold(fitted.rules, fitted.tracks[0], rows) for rows in (10, 100, 1e3, 1e4, 1e5, 1e6, 1e8)
    ]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] > 0
    assert np.isfinite(thresholds[-1])


@pytest.mark.parametrize("top", [1e10, 1e160, 1e300])
def test_one_enormous_loss_does_not_keep_alpha_from_being_found(top: float) -> None:
    usual = np.random.default_rng(0).chisquare(2, 2_500)
    assert choose_alpha(np.sort(np.r_[usual, top])) == choose_alpha(np.sort(np.r_[usual, 1e3]))


def test_alpha_is_five_percent_or_the_papers_bound() -> None:
    random = np.random.default_rng(0)
    assert choose_alpha(random.normal(size=1_999) ** 2) == 0.05  # too few for the mixture
    # Nearly all losses are tiny and alike: the component nearest zero ends below almost nothing.
    tight = np.concatenate([random.normal(1.0, 0.1, 9_900), random.normal(50.0, 1.0, 100)])
    assert mixture_bound(np.sort(tight)) == pytest.approx(0.16, abs=0.03)
    # Nearly all losses are alike and a few lie far off: less than 5 % are above the bound, and alpha follows it.
    alike = np.concatenate([np.full(9_800, 1.0), random.uniform(1.5, 9.0, 200)])
    assert choose_alpha(np.sort(alike)) == pytest.approx(0.02)
    assert choose_alpha(np.sort(np.r_[np.full(2_000, 0.5), np.full(1_000, 0.7)])) == 0.05  # ties, and no warning
    assert choose_alpha(np.full(3_000, 0.5)) == 0.05


@pytest.mark.parametrize(
    "losses",
    [np.zeros(40), np.arange(40.0), np.r_[np.zeros(39), 1e30], np.r_[np.arange(30.0), np.nan, np.arange(30.0)]],
)
def test_few_or_constant_losses_can_be_calibrated(
    losses: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    fitted = calibrated(losses, 10_000, patience=5, reset="carried", tail="conformal")
    assert 0 < fitted.threshold < np.inf
    assert np.isfinite(fitted.score(losses).score).all()


def test_a_break_in_the_validation_part_does_not_join_what_lies_around_it() -> None:
    burst = np.r_[np.linspace(0.0, 1.0, 300), np.full(4, 5.0)]
    joined = np.concatenate([burst, burst[::-1]] * 8)
    broken = np.concatenate([burst, [np.nan], burst[::-1]] * 8)
    fitted = calibrated(joined, 100, patience=5, reset="carried", tail="conformal")
    needs = [observed_threshold(fitted.rules, fitted.tracks[0], losses, 100)[0] for losses in (broken, joined)]
    assert needs[0] < needs[1]


@pytest.mark.parametrize("tail", ["conformal", "pareto"])
@pytest.mark.parametrize("losses", [np.zeros(40), np.arange(40.0), np.r_[np.zeros(39), 1e30], np.full(300, 2.0)])
def test_two_tracks_that_follow_drift_can_be_calibrated_on_little(
    losses: np.ndarray[tuple[int], np.dtype[np.float64]], tail: str
) -> None:
    fitted = calibrated(
        losses,
        10_000,
        patience=5,
        reset="carried",
        tail=tail,
        persistence=48,
        settle=10,
        drift=1e-3,
        accept=50,
    )
    assert len(fitted.tracks) == 2
    assert all(0 < track.threshold < np.inf for track in fitted.tracks)
    assert np.isfinite(fitted.score(np.r_[losses, 1e300, losses]).score).all()
    assert fitted.support is not None
    assert not fitted.support.enough


def test_a_budget_that_the_rows_cannot_support_says_what_they_can() -> None:
    random = np.random.default_rng(1)
    many, few = random.exponential(size=20_000), random.exponential(size=400)
    rules: dict[str, Any] = {"patience": 5, "reset": "carried", "tail": "conformal"}
    supported = calibrated(many, 10_000, **rules).support
    assert supported is not None
    assert supported.enough
    assert supported.low < 10_000 * 3
    assert supported.low < supported.high
    lacking = calibrated(few, 1_000_000, **rules).support
    assert lacking is not None
    assert not lacking.enough
    assert 100 < lacking.longest < 1_000_000


def test_hygiene_is_counted_in_the_budget() -> None:
    """What must last longer to alarm may lie lower; what counts once in a while may too."""
    random = np.random.default_rng(4)
    losses = np.asarray(np.exp(lfilter([0.5], [1.0, -0.87], random.normal(size=20_000))))
    rules: dict[str, Any] = {"patience": 5, "reset": "carried", "tail": "conformal"}
    extras: tuple[dict[str, Any], ...] = ({}, {"duration": 8}, {"cooldown": 500})
    plain, lasting, rare = (calibrated(losses, 1_000, **rules, **extra) for extra in extras)
    assert lasting.threshold < plain.threshold
    assert rare.threshold <= plain.threshold
    fresh = np.asarray(np.exp(lfilter([0.5], [1.0, -0.87], random.normal(size=100_000))))
    for fitted in (plain, lasting, rare):
        assert 333 < rows_between_alarms(fitted, fresh) < 4_000


SCORES = st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0 + 1e-12, 3.0]), min_size=1, max_size=60)


@given(SCORES, st.integers(1, 4))
def test_excursions_and_their_peaks(score: list[float], duration: int) -> None:
    found = budget.excursions(np.array(score), duration)
    assert list(zip(*(one.tolist() for one in found), strict=True)) == naive.excursions(score, duration)


@given(SCORES, st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.integers(0, 9))
def test_peaks_that_raise_one_alarm_count_once(score: list[float], start: float, cooldown: int) -> None:
    peaks, first, last = budget.excursions(np.array(score), 1)
    if (peaks >= start).any():
        found = budget.declustered(peaks, first, last, start, cooldown).tolist()
        listed = list(zip(peaks.tolist(), first.tolist(), last.tolist(), strict=True))
        assert found == naive.declustered(listed, start, cooldown)


@given(st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(1.0, 1e6)), min_size=1, max_size=4))
def test_tracks_together_alarm_as_often_as_all_of_them(bounds: list[tuple[float, float]]) -> None:
    supports = [Support(100.0, min(pair), max(pair), 50.0) for pair in bounds]
    both = budget.together(supports, 100.0)
    assert both is not None
    rows = 1e9  # in so many rows, each track raises so many alarms
    assert both.low == pytest.approx(rows / sum(rows / one.low for one in supports))
    assert both.high == pytest.approx(rows / sum(rows / one.high for one in supports))
    assert both.longest == pytest.approx(50.0 / len(supports))
    assert budget.together([], 100.0) is None


def test_tied_and_nearly_tied_peaks_can_be_calibrated() -> None:
    """Clean periodic data: every excursion has the same peak, to rounding or exactly."""
    wave = 1.0 + np.sin(2 * np.pi * np.arange(4_000) / 50)
    for rounding in (0.0, 1e-13):
        losses = wave + rounding * np.random.default_rng(0).normal(size=len(wave))
        fitted = calibrated(losses, 10_000, persistence=48, settle=500, drift=1e-3, accept=4_000)
        assert all(0 < track.threshold < 1e4 for track in fitted.tracks)
        assert fitted.support is not None
        assert fitted.support.low < 1e9


def test_clean_periodic_rows_can_be_fitted() -> None:
    angle = 2 * np.pi * np.arange(10_000) / 50
    detector = Detector(epochs=1, width=8).fit(np.column_stack([np.sin(angle), np.cos(angle)]))
    assert detector.support_ is not None
    assert detector.support_.low < 1e9
    assert 0 < detector.threshold_ < 1e4


def toy(rows: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Autocorrelated losses."""
    return np.asarray(np.exp(lfilter([0.5], [1.0, -0.87], np.random.default_rng(seed).normal(size=rows))))


def test_a_budget_far_beyond_the_rows_errs_on_the_quiet_side() -> None:
    """Never more than three times the false alarms that were asked for."""
    alarms = 0
    for seed in range(10):
        fitted = calibrated(toy(1_000, 2 * seed), 100_000)
        scores = fitted.score(toy(300_000, 2 * seed + 1))
        alarms += len(events.find(scores.score, scores.evidence, scores.alarm))
    assert alarms <= 3 * 10 * 3


def test_only_a_budget_far_beyond_the_rows_is_treated_with_caution(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one of a thousand rows or more blinds nobody."""

    def raised(rows: int, budget_in_rows: int) -> float:
        """By how much caution raises the threshold."""
        with_caution = calibrated(toy(rows, 3), budget_in_rows)
        with monkeypatch.context() as patch:
            patch.setattr(budget, "CAUTION", 0.0)
            without = calibrated(toy(rows, 3), budget_in_rows)
        return with_caution.tracks[0].threshold / without.tracks[0].threshold

    assert raised(2_000, 10_000) == 1.0
    assert raised(300, 1_000) == 1.0
    assert raised(300, 10_000) > 1.2
    assert raised(300, 100_000) > raised(300, 10_000)
    assert raised(5_000, 10_000_000) == 1.0  # as far as it may go without it
