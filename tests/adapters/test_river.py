"""The detector as river knows anomaly detectors."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from ccmtad import Detector, InputError, SettingError

from .series import QUICK, faulty, series

pytest.importorskip("river", reason="river is not installed: pip install river, or make test")

from river import anomaly, checks, datasets

from ccmtad.adapters.river import CCMTAD

WARM_UP = 300
NAMES = ("a", "b", "c", "d")


class MadeUp:
    """Stands in for the credit card data that river's checks would download: its features, other values."""

    def take(self, number: int) -> Iterator[tuple[dict[str, float], int]]:
        random = np.random.default_rng(0)
        names = ["Time", *(f"V{i}" for i in range(1, 29)), "Amount"]
        mixed = random.normal(size=(4, len(names)))
        for i in range(number):
            fraud = i % 97 == 96
            values = random.normal(size=4) @ mixed + 0.3 * random.normal(size=len(names))
            values[random.integers(len(names))] += 10 * fraud
            yield dict(zip(names, values.tolist(), strict=True)), int(fraud)


def model() -> CCMTAD:
    return CCMTAD(warm_up=WARM_UP, **QUICK)


def own_checks() -> list[Callable[[Any], None]]:
    with patch.object(datasets, "CreditCard", MadeUp):
        return list(checks.yield_checks(model()))


@pytest.mark.parametrize("check", own_checks(), ids=lambda check: check.__name__)
def test_rivers_own_checks_pass(check: Callable[[Any], None]) -> None:
    assert model()._unit_test_skips() == set()
    check(model().clone())


def rows(values: Any) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in values.tolist()]


@pytest.fixture(scope="module")
def trained() -> CCMTAD:
    """After its warm-up. Treat as read-only."""
    fitted = model()
    for row in rows(series(WARM_UP)):
        assert fitted.score_one(row) == 0.0
        fitted.learn_one(row)
    return fitted


@pytest.fixture(scope="module")
def going(trained: CCMTAD) -> CCMTAD:
    """In the middle of a stream. Treat as read-only."""
    fitted = deepcopy(trained)
    for row in rows(series(WARM_UP + 50))[WARM_UP:]:
        fitted.learn_one(row)
    return fitted


def test_scores_are_those_of_a_stream(trained: CCMTAD) -> None:
    ours, stream = deepcopy(trained), Detector(**QUICK).fit(series(WARM_UP)).stream()
    alarms = 0
    for row, values in zip(rows(faulty()), faulty(), strict=True):
        score, step = ours.score_one(row), stream.update(values)
        ours.learn_one(row)
        assert (score > ours.threshold) == step.alarm
        if not step.alarm:
            assert score == (0.0 if np.isnan(step.score) else step.score)
        alarms += step.alarm
    assert alarms > 10


def test_scoring_changes_nothing(going: CCMTAD) -> None:
    assert going.stream is not None
    before = going.stream.snapshot()
    told = [going.score_one(row) for row in rows(faulty())]
    assert going.stream.snapshot() == before
    assert told == [going.score_one(row) for row in rows(faulty())]


def test_what_a_row_lacks_is_missing_and_what_the_warm_up_lacked_is_ignored(going: CCMTAD) -> None:
    row = rows(series(WARM_UP + 51))[-1]
    assert going.score_one({**row, "new": 1e9}) == going.score_one(row)
    without = {name: value for name, value in row.items() if name != "b"}
    for missing in (float("nan"), None):
        assert going.score_one(without) == going.score_one({**row, "b": missing})
    with pytest.raises(InputError, match="row must hold numbers"):
        going.score_one({**row, "b": "high"})
    with pytest.raises(InputError, match="row must hold numbers"):
        model().learn_one({**row, "b": "high"})


def test_it_works_in_rivers_filter(going: CCMTAD) -> None:
    guarded = anomaly.ThresholdFilter(going.clone(include_attributes=True), threshold=going.threshold)
    assert not guarded.classify(guarded.score_one(rows(series(WARM_UP + 51))[-1]))
    assert guarded.classify(guarded.score_one(dict.fromkeys(NAMES, 1e6)))


def test_bad_parameters_are_refused_at_once() -> None:
    with pytest.raises(SettingError, match="warm_up must be a whole number above the window of 24; got 24"):
        CCMTAD(warm_up=24)
    with pytest.raises(SettingError, match="window must be"):
        CCMTAD(window=1)
