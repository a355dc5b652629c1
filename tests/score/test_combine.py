"""Channel errors combine into one loss."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad.score.combine import Combiner, Way, find, loss_of

ERROR = np.array([[1.0, 4.0, 1.0], [1.0, 0.0, 5.0]], dtype=np.float32)
NORMAL = np.array([[2.0, 1.0, 1.0], [0.0, 3.0, 1.0]], dtype=np.float32)  # units 1, 2, 1


@pytest.mark.parametrize(
    ("how", "loss"), [("mean", [2.0, 2.0]), ("scaled mean", [4 / 3, 2.0]), ("largest", [2.0, 5.0])]
)
def test_the_loss_of_each_way(how: str, loss: list[float]) -> None:
    combiner = Combiner.fit(NORMAL, find(how))
    np.testing.assert_allclose(combiner.loss(ERROR), loss, rtol=1e-6)
    np.testing.assert_allclose(combiner.loss(ERROR, np.ones((2, 3), dtype=np.bool_)), loss, rtol=1e-6)


@pytest.mark.parametrize("how", ["mean", "scaled mean", "largest"])
def test_an_absent_channel_has_no_say(how: str) -> None:
    combiner = Combiner.fit(NORMAL, find(how))
    present = np.array([[True, False, True], [False, False, False]])
    loss, blame = combiner.loss(ERROR, present), combiner.blame(ERROR, present)
    assert loss[0] == pytest.approx(1.0)
    assert math.isnan(loss[1])
    np.testing.assert_allclose(blame, [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])


def test_blame_is_a_share() -> None:
    blame = Combiner.fit(NORMAL, find("largest")).blame(ERROR)
    np.testing.assert_allclose(blame, [[0.25, 0.5, 0.25], [1 / 6, 0.0, 5 / 6]], rtol=1e-6)


def test_a_perfectly_reconstructed_channel_is_not_judged_without_limit() -> None:
    normal = np.array([[1.0, 0.0]], dtype=np.float32)
    assert Combiner.fit(normal, find("largest")).unit[1] > 0.01
    assert np.isfinite(Combiner.fit(np.zeros((3, 2), dtype=np.float32), find("largest")).loss(ERROR[:, :2])).all()


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 9.0]), min_size=4, max_size=4), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.integers(0, 5),
)
def test_a_row_alone_has_the_loss_it_has_among_others(rows: list[list[float]], there: list[bool], most: int) -> None:
    unit, error = np.array([1.0, 2.0, 0.5, 1.0]), np.array(rows)
    present = np.array([there] * len(rows))
    together = Combiner(unit, Way("some", scaled=True, most=most)).loss(error, present)
    alone = [loss_of(row, unit, seen, most) for row, seen in zip(error, present, strict=True)]
    np.testing.assert_allclose(together, alone)
    for row, found in zip(rows, alone, strict=True):
        scaled = sorted((e / u for e, u, seen in zip(row, unit, there, strict=True) if seen), reverse=True)
        chosen = scaled[:most] if most else scaled
        assert found == pytest.approx(sum(chosen) / len(chosen)) if chosen else math.isnan(found)
