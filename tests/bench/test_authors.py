"""The authors' evaluation, against what their published code returned."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ccmtad.bench import authors

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CASES = 24


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    path = Path(os.environ.get("CCMTAD_DATA", ".")).parent / "paper" / "authors_check.json"
    if not path.exists():
        pytest.skip(f"{path.name} is missing: put it into a folder `paper` beside the one that CCMTAD_DATA names")
    found: list[dict[str, Any]] = json.loads(path.read_text())["cases"]
    assert len(found) == CASES
    return found


def losses(case: dict[str, Any]) -> tuple[Floats, Floats, Bools]:
    validation, test = (np.square(np.array(case[f"{part}_error"])) for part in ("validation", "test"))
    return validation, test, np.array(case["label"]) > 0


@pytest.mark.parametrize("number", range(CASES))
def test_every_figure_is_theirs(cases: list[dict[str, Any]], number: int) -> None:
    case = cases[number]
    validation, test, truth = losses(case)
    np.testing.assert_allclose(authors.alphas_of(validation, test, truth), case["alphas_from_test"], atol=1e-6)
    found = authors.judge(validation, test, truth, others=True)
    for name, value in case["sequential"].items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-6), name
    plain = authors.judge(validation, test, truth, corrected=False)
    for name, value in case["without_correction"].items():
        assert getattr(plain, name) == pytest.approx(value, abs=1e-6), name


def test_the_point_score_is_theirs_up_to_how_equal_losses_are_sorted(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        _, test, truth = losses(case)
        published = authors.point_as_published(test, truth)
        # Split ties can only help the best F1 of an order, by less than one level of them is worth.
        assert authors.point(test, truth).f1 <= max(case["point"]["f1"], published.f1) + 0.05
        if _sorts_as_theirs():
            assert published.f1 == pytest.approx(case["point"]["f1"], abs=1e-6)
            assert published.pr_auc == pytest.approx(case["point"]["pr_auc"], abs=1e-6)


def _sorts_as_theirs() -> bool:
    """Whether numpy sorts with AVX-512 here, as where the figures were made: it decides the order of equal losses."""
    from numpy._core._multiarray_umath import __cpu_features__ as features  # type: ignore[import-not-found]

    return bool(features.get("X86_V4", features.get("AVX512_SKX", False)))


def test_distinct_losses_have_one_point_score() -> None:
    random = np.random.default_rng(0)
    test, truth = random.permutation(500).astype(np.float64), random.random(500) < 0.1
    assert authors.point(test, truth) == authors.point_as_published(test, truth)
    best = max(2 * (truth & (test >= h)).sum() / ((test >= h).sum() + truth.sum()) for h in test)
    assert authors.point(test, truth).f1 == pytest.approx(best)


def test_every_level_is_at_least_as_good_as_their_grid(cases: list[dict[str, Any]]) -> None:
    for case in cases[:6]:
        exact = authors.judge(*losses(case), every_level=True)
        assert exact.f1 >= case["sequential"]["f1"] - 1e-6


def test_nothing_to_find_and_nothing_but() -> None:
    validation, test = np.arange(1.0, 41.0), np.arange(1.0, 61.0)
    nothing = authors.judge(validation, test, np.zeros(60, dtype=np.bool_))
    assert (nothing.f1, nothing.tp, nothing.fn) == (0.0, 0, 0)
    flat = authors.judge(validation, np.full(60, 1e-3), np.ones(60, dtype=np.bool_))
    assert flat.f1 == 0.0  # one score only: skipped


@pytest.mark.parametrize("corrected", [True, False])
def test_all_thresholds_at_once_count_what_each_does(corrected: bool) -> None:
    random = np.random.default_rng(5)
    for _ in range(40):
        b, truth = np.round(random.normal(-0.3, 1.0, 80), 1), random.random(80) < 0.2
        score = authors.accumulated(b, 3)
        thresholds = np.quantile(np.unique(score), np.linspace(0, 1, 30))
        tp, chosen = authors.counted(score, b, thresholds, truth, corrected=corrected)
        each = list(authors._predictions(score, b, thresholds, corrected))
        assert chosen.tolist() == [int(one.sum()) for one in each]
        assert tp.tolist() == [int((one & truth).sum()) for one in each]
