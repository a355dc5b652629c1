"""P-value, evidence, score and events against their slow twins."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccmtad.score import events, tails
from ccmtad.score.accumulate import accumulate
from ccmtad.score.evidence import counts
from tests import naive

# Few distinct values, so that ties, zeros and long quiet runs are common; NaN is a row that could not be judged.
EVIDENCE = st.lists(st.sampled_from([-3.0, -0.5, 0.0, 0.5, 1.0, 4.0, 15.4, math.nan]), max_size=60)
PATIENCE = st.integers(1, 6)
RESET = st.sampled_from(["carried", "everything"])
TAIL = st.sampled_from(["conformal", "empirical"])


@given(EVIDENCE, PATIENCE, RESET)
@example([4.0] + [-3.0] * 5 + [15.4], 5, "carried")  # exactly patience negatives, then a spike
@example([4.0] + [-3.0] * 5 + [15.4], 5, "everything")
@example([15.4] * 8 + [-0.5] * 4 + [15.4], 5, "everything")  # one negative short of a reset
@example([15.4, -0.5, -0.5, -0.5, 0.0, -0.5, -0.5, 4.0], 3, "carried")  # a zero breaks the quiet run
def test_the_score_follows_its_equation(evidence: list[float], patience: int, reset: str) -> None:
    score = accumulate(np.array(evidence), patience, reset)
    np.testing.assert_array_equal(score, naive.accumulate(evidence, patience, reset))


@given(EVIDENCE, PATIENCE, RESET, st.sampled_from([0.4, 4.0, 15.4, 40.0]))
@example([15.4, 15.4, -3.0], 5, "carried", 4.0)  # an alarm at the first row
@example([-3.0, 4.0, 4.0, 4.0], 5, "carried", 4.0)  # an alarm that never ends
@example([math.nan, math.nan, 15.4, 4.0], 5, "carried", 4.0)  # nothing judged before the alarm
@example([4.0, 4.0, -3.0, -0.5, 4.0, 4.0, -3.0], 5, "carried", 5.0)  # two stretches above, one excursion
def test_events_follow_their_equations(evidence: list[float], patience: int, reset: str, threshold: float) -> None:
    score = naive.accumulate(evidence, patience, reset)
    spans = events.find(np.array(score, dtype=float), np.array(evidence, dtype=float), np.array(score) > threshold)
    found = [(s.onset, s.alarm, s.last, s.offset, s.open) for s in spans]
    assert found == naive.events(score, evidence, threshold)


@given(EVIDENCE, PATIENCE, RESET)
def test_events_are_in_order_and_do_not_overlap(evidence: list[float], patience: int, reset: str) -> None:
    score = accumulate(np.array(evidence, dtype=float), patience, reset)
    spans = events.find(score, np.array(evidence, dtype=float), score > 3.0)
    for span in spans:
        assert span.onset <= span.alarm <= span.offset <= span.last
    for one, other in pairwise(spans):
        assert one.last < other.onset or (one.last < other.alarm and score[other.onset] == 0.0)


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=20),
    st.sampled_from([0.05, 0.1, 0.1 * (1 + 1e-7), 0.2, 0.3, 0.31]),
    TAIL,
)
def test_pvalues_count_losses_at_least_as_large(reference: list[float], loss: float, tail: str) -> None:
    count = counts(np.array([loss]), np.sort(reference))
    p = tails.find(tail).pvalue(count, len(reference))
    assert p[0] == naive.pvalue(loss, reference, tail)
    b = math.log(0.05) + tails.find(tail).strength(p)
    assert b[0] == pytest.approx(naive.evidence(p[0], 0.05, tail), rel=1e-12)


def test_a_last_bit_difference_moves_no_pvalue() -> None:
    reference = np.sort(np.full(100, 0.25))
    assert counts(np.array([0.25 * (1 + 1e-7)]), reference)[0] == 100
    assert counts(np.array([0.25 * (1 + 1e-4)]), reference)[0] == 0


def test_a_conformal_pvalue_is_never_zero_and_an_empirical_one_can_be() -> None:
    beyond = counts(np.array([9.0]), np.array([1.0, 2.0, 3.0]))
    assert tails.find("conformal").pvalue(beyond, 3)[0] == 0.25
    assert tails.find("empirical").pvalue(beyond, 3)[0] == 0.0
    assert tails.find("empirical").strength(np.array([0.0]))[0] == pytest.approx(math.log(1 / 1e-8))


def test_a_spike_after_a_quiet_stretch_counts_unless_the_reset_drops_everything() -> None:
    quiet_then_spike = np.array([-1.0] * 5 + [15.0])
    assert accumulate(quiet_then_spike, 5, "carried")[-1] == 15.0
    assert accumulate(quiet_then_spike, 5, "everything")[-1] == 0.0
