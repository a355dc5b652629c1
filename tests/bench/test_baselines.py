"""Baselines see the same rows and the same scorer as the detector."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ccmtad import Detector
from ccmtad.bench.baselines import calibrated
from ccmtad.bench.methods.noise import RandomScore
from ccmtad.network.engine import Reconstructor
from ccmtad.network.linear import Principal
from ccmtad.simulate import Fault, Run, simulate


def noise(_: object, window: int, seed: int = 0) -> RandomScore:
    return RandomScore(window, seed)


def test_pca_error_finds_a_large_bias(fitted: Detector, plant: Run) -> None:
    run = simulate(2_000, seed=12, faults=[Fault("sensor bias", "FIT501", 1_000, 1_150, 6.0, ("FIT501",))])
    result = calibrated(fitted, plant.frame, Principal.fit).detect(run.frame)
    assert any(1_000 <= event.alarm <= 1_150 for event in result.events)


def test_pca_error_is_the_distance_from_the_leading_components() -> None:
    random = np.random.default_rng(0)
    rows = (random.normal(size=(500, 1)) * [1.0, 2.0, -1.0] + 1e-3 * random.normal(size=(500, 3))).astype(np.float32)
    pca = Principal.fit(rows, window=2)
    np.testing.assert_allclose(pca.reconstruct(rows), rows[1:], atol=0.02)
    off = np.array([[0, 0, 0], [1, 0, 1]], dtype=np.float32)  # orthogonal to the only component
    np.testing.assert_allclose(pca.reconstruct(off)[0], 0.0, atol=0.01)
    constant = np.full((9, 2), 3.0, dtype=np.float32)
    np.testing.assert_array_equal(Principal.fit(constant, window=2).reconstruct(constant), constant[1:])


def test_a_random_score_keeps_the_budget_and_no_more() -> None:
    train, run = simulate(20_000, seed=1).frame, simulate(20_000, seed=13).frame
    detector = Detector(epochs=1, width=16, budget="1/500 rows").fit(train)
    random = [calibrated(detector, train, partial(noise, seed=seed)) for seed in range(4)]
    events = [len(one.detect(run).events) for one in random]
    # 40 at the budget, of which 16 are kept for extremes, signals and distances, and half of the rest for the average.
    assert 6 <= np.mean(events) <= 48, events


def test_every_seed_has_noise_of_its_own() -> None:
    rows = np.zeros((9, 2), dtype=np.float32)
    one, same, other = (RandomScore(2, seed).reconstruct(rows) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


@pytest.mark.parametrize("make", [Principal.fit, noise])
def test_baselines_have_the_detectors_settings(
    make: Callable[[Any, int], Reconstructor], fitted: Detector, plant: Run
) -> None:
    model = calibrated(fitted, plant.frame, make).model
    assert model.settings == fitted.settings
    assert len(model.calibration.reference) == len(fitted.validation_losses_)
