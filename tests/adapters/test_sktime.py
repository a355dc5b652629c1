"""The detector as sktime knows detectors."""

import numpy as np

from ccmtad import Detector

from .environment import needs
from .series import QUICK, faulty, series

needs("sktime")

import pandas as pd  # noqa: E402
from sktime.utils.estimator_checks import check_estimator  # noqa: E402

from ccmtad.adapters.sktime import CCMTAD  # noqa: E402


def test_sktimes_own_checks_all_pass() -> None:
    results = check_estimator(CCMTAD, raise_exceptions=False, verbose=False)
    print(f"{sum(one == 'PASSED' for one in results.values())} of {len(results)}")  # noqa: T201  seen with -s
    assert {name: told for name, told in results.items() if told != "PASSED"} == {}
    assert len(results) >= 50


def test_the_rows_it_lists_are_those_in_alarm_when_they_arrived() -> None:
    times = pd.date_range("2026-01-01", periods=300, freq="min")
    train = pd.DataFrame(series(600), columns=list("abcd"), index=pd.date_range("2025-01-01", periods=600, freq="min"))
    recent = pd.DataFrame(faulty(), columns=list("abcd"), index=times)
    ours, found = CCMTAD(**QUICK).fit(train), Detector(**QUICK).fit(train).detect(recent)
    listed = np.flatnonzero(found.alarm)
    assert len(listed) > 5
    np.testing.assert_array_equal(ours.predict(recent)["ilocs"], listed)
    np.testing.assert_array_equal(ours.predict_points(recent)["ilocs"], listed)
    np.testing.assert_array_equal(ours.transform(recent)["labels"], found.alarm.astype(int))
    scores = ours.transform_scores(recent)
    assert scores.index.equals(times)
    np.testing.assert_array_equal(scores["scores"] > ours.detector_.threshold_, found.alarm)
    np.testing.assert_array_equal(ours.predict_scores(recent)[0], scores["scores"].to_numpy()[listed])


def test_every_setting_but_reset_is_a_parameter() -> None:
    assert Detector().get_params().keys() - CCMTAD().get_params().keys() == {"reset"}
