"""Every metric agrees with another implementation, a slow one, or a case worked by hand."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad.bench.metrics.affiliation import affiliation
from ccmtad.bench.metrics.events import EventCounts, delay_at, delay_curve, event_counts
from ccmtad.bench.metrics.point import Counts, point_adjusted
from ccmtad.bench.metrics.ranges import Ratios, range_based
from ccmtad.bench.metrics.volume import volumes
from tests import naive

aeon = pytest.importorskip("aeon.benchmarking.metrics.anomaly_detection", reason="aeon is missing: pip install aeon")

Bools = NDArray[np.bool_]


def mask(*spans: tuple[int, int], rows: int = 20) -> Bools:
    out = np.zeros(rows, dtype=np.bool_)
    for first, last in spans:
        out[first : last + 1] = True
    return out


masks = st.integers(5, 60).flatmap(
    lambda n: st.tuples(*[st.lists(st.sampled_from([False, False, True]), min_size=n, max_size=n)] * 2).map(
        lambda pair: (np.array(pair[0]), np.array(pair[1]))
    )
)
scored = st.integers(5, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 6).map(float), min_size=n, max_size=n).map(np.array),
        st.lists(st.sampled_from([False, False, False, True]), min_size=n, max_size=n).map(np.array),
    )
)


def test_points_by_hand() -> None:
    counts = Counts.of(mask((2, 5)), mask((4, 9)))
    assert (counts.predicted, counts.correct, counts.positives) == (4, 2, 6)
    assert (counts.precision, counts.recall, counts.f1) == (0.5, 2 / 6, 0.4)
    assert Counts.of(mask(), mask()).f1 == 0.0
    both = counts + Counts(1, 0, 4)
    assert both == Counts(5, 2, 10)


def test_point_adjustment_fills_every_event_that_was_touched() -> None:
    adjusted = point_adjusted(mask((3, 3), (15, 15)), mask((2, 8), (11, 12)))
    np.testing.assert_array_equal(adjusted, mask((2, 8), (15, 15)))


@given(masks, st.sampled_from([0.0, 0.2, 0.5]))
def test_range_based_agrees_with_aeon(pair: tuple[Bools, Bools], existence: float) -> None:
    predicted, truth = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if predicted.all() or not predicted.any() or truth.all() or not truth.any():
            return  # aeon gives 0 for constants; ours follows the definition
        y, p = truth.astype(int), predicted.astype(int)
        expected = aeon.range_precision(y, p), aeon.range_recall(y, p, alpha=existence)
        f1 = aeon.range_f_score(y, p, r_alpha=existence)
    found = range_based(predicted, truth, existence)
    assert (found.precision, found.recall) == pytest.approx(expected)
    assert found.f1 == pytest.approx(f1)


def test_range_based_of_constants_follows_the_definition() -> None:
    everything = range_based(mask((0, 19)), mask((5, 9)))
    assert (everything.precision, everything.recall) == (5 / 20, 1.0)
    nothing = range_based(mask(), mask((5, 9)))
    assert (nothing.precision, nothing.recall, nothing.f1) == (0.0, 0.0, 0.0)


def test_affiliation_by_hand() -> None:
    # One event [4, 6) in [0, 10): a perfect prediction.
    assert affiliation(mask((4, 5), rows=10), mask((4, 5), rows=10)) == Ratios(1.0, 1.0)
    # A prediction [6, 8), distances 0..2 of at most 4 on both sides: the mean of 2 (4 - d) / 10 over d in 0..2.
    found = affiliation(mask((6, 7), rows=10), mask((4, 5), rows=10))
    assert found.precision == pytest.approx(0.6)
    # The event's moments are at distances 0..2 from 6; of the zone, 2 d / 10 is nearer.
    assert found.recall == pytest.approx(0.8)
    assert affiliation(mask(), mask((4, 5))) == Ratios(0.0, 0.0)
    assert affiliation(mask((4, 5)), mask()) == Ratios(0.0, 0.0)


@settings(max_examples=150)
@given(masks)
def test_affiliation_agrees_with_sampled_time(pair: tuple[Bools, Bools]) -> None:
    predicted, truth = pair
    if not truth.any():
        return
    found = affiliation(predicted, truth)
    assert (found.precision, found.recall) == pytest.approx(naive.affiliation(predicted, truth), abs=0.03)


@settings(max_examples=150)
@given(scored, st.integers(0, 12), st.sampled_from([3, 17]))
def test_volumes_agree_with_the_loop(series: tuple[NDArray[np.float64], Bools], window: int, thresholds: int) -> None:
    score, truth = series
    found = volumes(score, truth, window, thresholds)
    if truth.all() or not truth.any():
        assert np.isnan([found.roc, found.pr]).all()
    else:
        assert (found.roc, found.pr) == pytest.approx(naive.volumes(score, truth, window, thresholds))


def test_volumes_are_near_aeons_other_definition() -> None:
    """aeon follows the first publication: slopes count as positives whether predicted or not, a slope is one row
    shorter, and precision is averaged between thresholds. TSB-AD changed these; without slopes both are the same but
    for that averaging."""
    random = np.random.default_rng(0)
    truth = mask((100, 140), (300, 310), (700, 790), rows=1_000)
    score = random.normal(size=1_000) + 2.0 * truth
    plain = volumes(score, truth, 0)
    pr, roc = aeon.range_pr_roc_auc_support(truth.astype(int), score, buffer_size=0)
    assert plain.roc == pytest.approx(roc, abs=1e-12)
    assert plain.pr == pytest.approx(pr, abs=0.02)
    wide = volumes(score, truth, 20)
    assert wide.roc == pytest.approx(aeon.range_roc_vus_score(truth.astype(int), score, max_buffer_size=20), abs=0.05)
    assert wide.pr == pytest.approx(aeon.range_pr_vus_score(truth.astype(int), score, max_buffer_size=20), abs=0.05)


def test_a_perfect_score_fills_the_volume() -> None:
    truth = mask((100, 140), (300, 310), rows=1_000)
    found = volumes(truth.astype(float), truth, 0)
    assert (found.roc, found.pr) == pytest.approx((1.0, 1.0))


def test_events_by_hand() -> None:
    truth = mask((3, 6), (10, 12), (16, 16))
    predicted = mask((1, 1), (4, 10), (19, 19))
    found = event_counts(predicted, mask((5, 10), (19, 19)), truth)
    assert found == EventCounts(true=3, found=2, false=2, delays=(2, 0))
    assert event_counts(mask(), mask(), truth) == EventCounts(3, 0, 0, ())
    assert event_counts(predicted, predicted, mask()) == EventCounts(0, 0, 3, ())


@given(scored)
def test_the_delay_curve_agrees_with_one_threshold_at_a_time(series: tuple[NDArray[np.float64], Bools]) -> None:
    score, truth = series
    if not truth.any():
        return
    period, delay = delay_curve(score, truth)
    levels = [*sorted(set(score[score > 0].tolist()), reverse=True), 0.0]
    expected = [naive.delays(score, truth, level) for level in levels]
    np.testing.assert_allclose(np.c_[period, delay], expected)
    best = delay_at(score, truth, (2.0, 1e9))
    allowed = [late for rows, late in expected if rows >= 2.0]
    assert best[0] == pytest.approx(min(allowed)) if allowed else np.isnan(best[0])
    assert np.isnan(best[1])
