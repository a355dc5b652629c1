"""What studies measure, against slow and obvious versions; and the verdict, which follows the figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad import Settings
from ccmtad.bench.metrics.ranges import runs
from ccmtad.network.clusters import Clusters
from ccmtad.network.shapes import Architecture
from ccmtad.network.training import build
from ccmtad.studies.claims import ALIKE, MORE, OPEN, Comparison, compared, sentence, verdict
from ccmtad.studies.extras import separation, spurious
from ccmtad.studies.judging import Outcome, pooled
from ccmtad.studies.keep import changes, coded, decoded
from ccmtad.studies.paper.cost import operations, parameters
from ccmtad.studies.paper.delay import PERIODS, delays
from ccmtad.studies.paper.shift import adjacency
from ccmtad.studies.paper.silhouette import rank_correlation

RANDOM = np.random.default_rng(3)


def test_separation_is_that_of_every_pair() -> None:
    points, anomalous = RANDOM.normal(size=(700, 4)), RANDOM.random(700) < 0.2
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    to_normal = distance[:, ~anomalous].min(axis=1)
    wanted = [to_normal[anomalous].mean(), to_normal[~anomalous].mean()]
    np.testing.assert_allclose(separation(points, anomalous), wanted, rtol=1e-9)
    line = np.array([[0.0], [1.0], [3.0], [10.0]])
    assert separation(line, np.array([False, False, False, True])).tolist() == [7.0, 4 / 3]
    assert np.isnan(separation(line, np.zeros(4, dtype=np.bool_))).all()


def test_spurious_correlation_is_the_mean_gap_of_correlations() -> None:
    rows, back = RANDOM.normal(size=(200, 5)), RANDOM.normal(size=(200, 5))
    wanted = np.abs(np.corrcoef(rows.T) - np.corrcoef(back.T)).mean(axis=1)
    np.testing.assert_allclose(spurious(rows, back), wanted, atol=1e-12)
    assert spurious(rows, rows).max() == 0.0


def test_edges_join_channels_of_one_cluster() -> None:
    one, other = adjacency(np.array([0, 0, 1])), adjacency(np.array([0, 1, 1]))
    assert one.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    assert (one ^ other).sum() == 4  # the pairs 0-1 and 1-2, each way


def test_operations_and_parameters_are_those_counted_by_hand() -> None:
    settings = Settings.of("paper", window=4, width=6, expansion=2)
    shape = Architecture.of(settings, Clusters(np.array([0, 0, 1])))  # widths 4 and 2
    linear = 2 * 4 + 1 * 2 + 6 * 12 + 12 * 6 + 6 * 3
    assert operations(shape, 10, causal=False) == 2 * 10 * 4 * linear
    assert operations(shape, 10) == 2 * 10 * (4 * linear + 2 * 4 * 4 * 6)
    assert parameters(shape) == sum(p.numel() for p in build(shape, settings).parameters())


def test_delays_are_those_of_one_threshold_after_the_other() -> None:
    truth = np.zeros(400, dtype=np.bool_)
    truth[50:60] = truth[200:240] = True
    score = RANDOM.random(400) + truth * 0.4
    for (total, events), period in zip(delays(score, truth), PERIODS, strict=True):
        fine = [h for h in np.r_[-1.0, np.sort(score[~truth])] if (score[~truth] > h).sum() <= (~truth).sum() / period]
        alarm = score > min(fine)
        wanted = 0
        for first, last in zip(*runs(truth), strict=True):
            hits = [row for row in range(first, last + 1) if alarm[row]]
            wanted += hits[0] - first if hits else last + 1 - first
        assert (total, events) == (wanted, 2)


def test_rank_correlation_is_spearmans() -> None:
    from scipy.stats import spearmanr

    one, other = RANDOM.normal(size=9), RANDOM.normal(size=9)
    assert rank_correlation(one, other) == pytest.approx(spearmanr(one, other).statistic)
    assert np.isnan(rank_correlation(one, np.zeros(9)))


@given(st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=50))
def test_kept_losses_keep_their_order_and_their_digits(values: list[float]) -> None:
    losses = np.array([*values, np.nan])
    back = decoded(*coded(losses))
    order = np.argsort(losses[:-1], kind="stable")
    assert (np.diff(back[:-1][order]) >= 0).all()
    largest = max(values)
    np.testing.assert_allclose(back[:-1], np.maximum(losses[:-1], 1e-12 * largest), rtol=1e-3)
    assert np.isnan(back[-1])


def test_only_what_is_learnt_by_names_a_training() -> None:
    assert changes(Settings.of("paper", width=8, device="cpu", threads=2)) == {"width": 8}


def test_pooled_f1_is_of_summed_counts() -> None:
    outcomes = [Outcome(1, 1, 0), Outcome(3, 0, 4)]
    assert pooled(outcomes) == 2 * 4 / (2 * 4 + 1 + 4)
    assert pooled(outcomes, np.array([0, 0])) == 4 / (4 + 2)


def made(
    low: float | None, high: float | None, claimed: tuple[float | None, float | None] = MORE, by: str = "authors"
) -> Comparison:
    return Comparison("MSL", "one less the other", by, 0.0, low, high, claimed)


@pytest.mark.parametrize(
    ("low", "high", "claimed", "wanted"),
    [
        (0.1, 0.2, MORE, "held"),
        (-0.2, -0.1, MORE, "did not hold"),
        (0.0, 0.0, MORE, "did not hold"),
        (-0.1, 0.1, MORE, OPEN),
        (None, None, MORE, OPEN),
        (-0.01, 0.01, ALIKE, "held"),
        (0.03, 0.05, ALIKE, "did not hold"),
        (-0.01, 0.05, ALIKE, OPEN),
        (0.01, 0.02, (None, 0.03), "held"),
    ],
)
def test_a_claim_holds_where_the_whole_interval_does(
    low: float | None, high: float | None, claimed: tuple[float | None, float | None], wanted: str
) -> None:
    assert made(low, high, claimed).verdict == wanted


def test_the_sentence_follows_the_figures() -> None:
    held, against, neither = made(0.1, 0.2), made(-0.2, -0.1), made(-0.1, 0.1)
    assert verdict([held, held]) == "held"
    assert verdict([held, held, neither]) == "held where it can be told"
    assert verdict([held, neither, neither]) == "held in part"
    assert verdict([held, against]) == "held in part"
    assert verdict([against, neither]) == "did not hold"
    assert verdict([neither]) == OPEN
    assert sentence([]) == "This has not been measured yet."
    free = made(-0.2, -0.1, by="label-free")
    assert sentence([held, free]) == (
        "The claim held (1 of 1 comparisons on MSL are as claimed, 0 are not, 0 lie within the spread); chosen without "
        "labels, it did not hold (0 of 1 comparisons on MSL are as claimed, 1 are not, 0 lie within the spread)."
    )


def test_intervals_come_from_entities_or_from_seeds() -> None:
    values = RANDOM.normal(1.0, 0.5, 30)
    many = compared("MSL", "", "authors", lambda chosen: float(values[chosen].mean()), 30)
    assert many.low is not None
    assert many.high is not None
    assert many.low < many.value < many.high
    assert many.high - many.low == pytest.approx(2 * 1.645 * values.std() / np.sqrt(30), rel=0.2)
    alone = compared("SWaT", "", "authors", lambda _: 0.1, 1, spread=0.02)
    assert alone.low == pytest.approx(0.1 - 1.645 * np.sqrt(2) * 0.02)
    assert compared("SWaT", "", "authors", lambda _: 0.1, 1).verdict == OPEN
