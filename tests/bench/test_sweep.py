"""The exact sweep against brute force over every threshold."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccmtad.bench.sweep import Sweep, sweep
from ccmtad.score import events
from tests import naive

EVIDENCE = st.lists(
    st.one_of(st.sampled_from([-3.0, -0.5, 0.0, 0.5, 1.0, 4.0, 15.4, math.nan]), st.floats(-3, 15)), max_size=50
)


def brute(
    score: list[float], evidence: list[float], truth: list[bool], threshold: float, corrected: bool
) -> tuple[int, int]:
    """(predicted, correct) at one threshold, from the events themselves."""
    if not corrected:
        rows = {t for t, s in enumerate(score) if s > threshold}
    else:
        spans = naive.events(score, evidence, threshold)
        rows = {t for onset, _, _, offset, _ in spans for t in range(onset, offset + 1)}
    return len(rows), sum(truth[t] for t in rows)


@settings(max_examples=1_500)
@given(
    EVIDENCE,
    st.integers(0, 2**50),
    st.sampled_from([1, 3, 5]),
    st.sampled_from(["carried", "everything"]),
    st.booleans(),
)
def test_every_threshold_agrees_with_brute_force(
    evidence: list[float], bits: int, patience: int, reset: str, corrected: bool
) -> None:
    truth = [bool(bits >> i & 1) for i in range(len(evidence))]
    score = naive.accumulate(evidence, patience, reset)
    found = sweep(np.array(score), np.array(evidence), np.array(truth, dtype=np.bool_), corrected=corrected)
    judged = [not math.isnan(b) for b in evidence]
    assert found.positives == sum(t and j for t, j in zip(truth, judged, strict=True))
    answers = {0: (0, 0)} | {
        i: (int(p), int(c)) for i, (p, c) in enumerate(zip(found.predicted, found.correct, strict=True), start=1)
    }
    for h in {0.0, *score}:
        level = int(np.searchsorted(-found.threshold, -h, side="left")) + 1 if h < max(score, default=0.0) else 0
        assert brute(score, evidence, truth, h, corrected) == answers[level]
    for h, predicted, correct in zip(found.threshold, found.predicted, found.correct, strict=True):
        assert brute(score, evidence, truth, float(h), corrected) == (predicted, correct)


def test_the_curve_of_a_hand_worked_case() -> None:
    evidence = np.array([-1.0, 2.0, 2.0, -1.0, -9.0, 3.0, -1.0])
    score = np.array([0.0, 2.0, 4.0, 3.0, 0.0, 3.0, 2.0])
    truth = np.array([False, True, True, True, False, False, False])
    found = sweep(score, evidence, truth)
    # Above 3: rows 0-2 (onset 0, last positive evidence 2). Above 2: the second excursion joins, rows 4-5.
    assert found.threshold.tolist() == [3.0, 2.0, 0.0]
    assert found.predicted.tolist() == [3, 5, 5]
    assert found.correct.tolist() == [2, 2, 2]
    f1, threshold = found.best
    assert f1 == pytest.approx(2 * 2 / (3 + 3))
    assert threshold == 3.0
    assert found.pr_auc == pytest.approx(2 / 3 * (1 + 2 / 3) / 2)


def test_nothing_scored_is_nothing_predicted() -> None:
    found = sweep(np.zeros(4), np.full(4, -1.0), np.array([True, False, False, True]))
    assert isinstance(found, Sweep)
    assert found.best == (0.0, np.inf)
    assert found.pr_auc == 0.0


def test_the_label_of_a_detection_is_one_point_of_the_curve() -> None:
    random = np.random.default_rng(0)
    evidence = random.normal(-1.0, 2.0, 5_000)
    score = np.array(naive.accumulate(evidence.tolist(), 5, "carried"))
    truth = random.random(5_000) < 0.2
    found = sweep(score, evidence, truth)
    label = np.zeros(5_000, dtype=np.bool_)
    h = float(np.quantile(score[score > 0], 0.7))
    for span in events.find(score, evidence, score > h):
        label[span.onset : span.offset + 1] = True
    i = int(np.searchsorted(-found.threshold, -h, side="left"))
    assert (found.predicted[i], found.correct[i]) == (label.sum(), (label & truth).sum())
