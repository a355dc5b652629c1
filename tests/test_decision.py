"""One number a row, as PyOD and scikit-learn know it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from pyod.models.base import BaseDetector

from ccmtad import Detector, Frame, InputError
from ccmtad.decision import decision, probability
from ccmtad.simulate import schedule, simulate

ROWS = 40
scores = arrays(np.float64, ROWS, elements=st.one_of(st.just(0.0), st.floats(0.0, 1e300)))
pvalues = arrays(np.float64, ROWS, elements=st.floats(0.0, 1.0))
alarms = arrays(np.bool_, ROWS)
thresholds = st.floats(1e-2, 1e300)
alphas = st.floats(1e-6, 1.0, exclude_max=True)


@given(scores, pvalues, alarms, thresholds, alphas)
def test_above_the_threshold_is_in_alarm(score: Any, pvalue: Any, alarm: Any, threshold: float, alpha: float) -> None:
    found = decision(score, pvalue, alarm, threshold, alpha)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found > threshold, alarm)


@given(scores, pvalues, thresholds, alphas)
def test_the_order_of_scores_is_kept_and_p_values_order_the_rest(
    score: Any, pvalue: Any, threshold: float, alpha: float
) -> None:
    """Where every score above the threshold is an alarm, and no other row is."""
    found = decision(score, pvalue, score > threshold, threshold, alpha)
    with np.errstate(divide="ignore"):
        rank = list(zip(score, np.where(score > 0.0, 0.0, -np.log(pvalue)), strict=True))
    order = sorted(range(ROWS), key=lambda i: rank[i])
    assert (np.diff(found[order]) >= 0.0).all()
    assert (found[score > 0.0] >= 0.0).all()
    assert (found[score == 0.0] <= 0.0).all()


@given(
    arrays(np.float64, ROWS, elements=st.floats(-9.0, 99.0)),
    arrays(np.float64, ROWS, elements=st.floats(-9.0, 9.0)),
    st.sampled_from(["linear", "unify"]),
)
def test_probabilities_add_up_and_rise_with_the_decision(found: Any, normal: Any, method: Any) -> None:
    both = probability(found, normal, 10.0, method)
    np.testing.assert_allclose(both.sum(axis=1), 1.0)
    assert ((both >= 0.0) & (both <= 1.0)).all()
    assert (np.diff(both[np.argsort(found), 1]) >= 0.0).all()
    assert method != "linear" or (both[found >= 10.0, 1] == 1.0).all()


class Given(BaseDetector):  # type: ignore[misc]
    """PyOD's own two ways, over scores that are given."""

    def __init__(self) -> None:
        super().__init__()

    def fit(self, scores: NDArray[np.float64], y: object = None) -> "Given":
        self._set_n_classes(y)
        self.decision_scores_ = scores[:, 0]
        self._process_decision_scores()
        return self

    def decision_function(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores[:, 0]


@pytest.mark.parametrize("method", ["linear", "unify"])
def test_probabilities_are_those_of_pyod(method: Any) -> None:
    random = np.random.default_rng(5)
    normal, new = random.gamma(2.0, size=500), random.gamma(3.0, size=200)
    theirs = Given().fit(normal[:, None]).predict_proba(new[:, None], method=method)
    np.testing.assert_allclose(probability(new, normal, float(normal.max()), method), theirs)


def broken() -> Frame:
    """Faults, a lost signal, a gap, a late row."""
    run = simulate(2_500, seed=3, faults=schedule(2_500, seed=1, count=2)).frame
    values, times = run.values.copy(), run.times
    assert times is not None
    times = times.copy()
    values[1_700:1_900, 4] = np.nan
    times[2_000:] += np.timedelta64(5, "h")
    times[-1] = times[10]
    return Frame(values, run.channels, times)


@pytest.mark.parametrize("rules", [{}, {"duration": 3, "cooldown": 50}])
def test_a_detectors_decision_is_its_prediction_and_ranks_normal_rows(fitted: Detector, rules: dict[str, Any]) -> None:
    other = Detector(epochs=1, width=8, blocks=1, **rules)
    detector = other.fit(simulate(3_000, seed=11).frame) if rules else fitted
    detector = detector.with_budget("1/500 rows")
    rows = broken()
    found, labels, result = detector.decision_function(rows), detector.predict(rows), detector.detect(rows)
    assert labels.any()
    assert result.alarms["signal lost"].any()
    np.testing.assert_array_equal(found > detector.threshold_, labels == 1)
    assert (result.score == 0.0).mean() > 0.5
    judged = ~np.isnan(result.loss)
    assert (found[judged] == 0.0).mean() < 0.05
    assert len(np.unique(found[judged])) > 0.2 * judged.sum()
    worst = detector.dismiss(max(result.events, key=lambda one: one.severity))
    np.testing.assert_array_equal(worst.decision_function(rows) > worst.threshold_, worst.predict(rows) == 1)


def test_a_loaded_detector_has_the_same_probabilities(fitted: Detector, tmp_path: Any) -> None:
    rows = broken()
    fitted.save(tmp_path / "plant.ccm")
    loaded = Detector.load(tmp_path / "plant.ccm")
    for method in ("linear", "unify"):
        both = loaded.predict_proba(rows, method=method)
        assert both.shape == (len(rows), 2)
        np.testing.assert_allclose(both, fitted.predict_proba(rows, method=method), atol=1e-12)
    alarm = fitted.predict(rows) == 1
    assert (fitted.predict_proba(rows)[alarm, 1] == 1.0).all()
    assert np.median(fitted.predict_proba(rows)[~alarm, 1]) < 0.5
    with pytest.raises(InputError, match="method must be one of linear, unify; got 'sigmoid'"):
        fitted.predict_proba(rows, method="sigmoid")  # type: ignore[arg-type]


def test_fit_predict_gives_the_labels_of_the_training_rows() -> None:
    train = simulate(1_500, seed=4).frame
    detector = Detector(epochs=1, width=8, blocks=1, budget="1/200 rows")
    labels = detector.fit_predict(train, exclude=[(10, 20)])
    np.testing.assert_array_equal(labels, detector.predict(train))
    np.testing.assert_array_equal(labels, detector.labels_)
