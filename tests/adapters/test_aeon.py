"""The detector as aeon knows detectors of anomalies in a series."""

import numpy as np
import pytest

from ccmtad import Detector

from .environment import needs
from .series import QUICK, faulty, series

needs("aeon")

from aeon.testing.estimator_checking import check_estimator  # noqa: E402

from ccmtad.adapters.aeon import CCMTAD  # noqa: E402


def test_aeons_own_checks_all_pass() -> None:
    results = check_estimator(CCMTAD, raise_exceptions=False)
    print(f"{sum(one == 'PASSED' for one in results.values())} of {len(results)}")  # noqa: T201  seen with -s
    assert {name: told for name, told in results.items() if told != "PASSED"} == {}
    assert len(results) >= 20


@pytest.mark.parametrize("axis", [0, 1])
def test_scores_are_the_detectors_and_above_the_threshold_in_alarm(axis: int) -> None:
    train, recent = (values if axis == 0 else values.T for values in (series(600), faulty()))
    ours = CCMTAD(**QUICK).fit(train, axis=axis)
    scores, found = ours.predict(recent, axis=axis), Detector(**QUICK).fit(series(600)).detect(faulty())
    assert found.alarm[200:220].any()
    np.testing.assert_array_equal(scores > ours.threshold_, found.alarm)
    between = ~found.alarm & ~np.isnan(found.score)
    np.testing.assert_array_equal(scores[between], found.score[between])


def test_every_setting_but_reset_is_a_parameter() -> None:
    assert Detector().get_params().keys() - CCMTAD().get_params().keys() == {"reset"}
