"""Channel errors combine into one loss."""

import math

import numpy as np
import pytest

from ccmtad.score.combine import Combiner

ERROR = np.array([[1.0, 4.0, 1.0], [1.0, 0.0, 5.0]], dtype=np.float32)
NORMAL = np.array([[2.0, 1.0, 1.0], [0.0, 3.0, 1.0]], dtype=np.float32)  # units 1, 2, 1


@pytest.mark.parametrize(
    ("how", "loss"), [("mean", [2.0, 2.0]), ("scaled mean", [4 / 3, 2.0]), ("largest", [2.0, 5.0])]
)
def test_the_loss_of_each_way(how: str, loss: list[float]) -> None:
    combiner = Combiner.fit(NORMAL, how)  # type: ignore[arg-type]
    np.testing.assert_allclose(combiner.loss(ERROR), loss, rtol=1e-6)
    np.testing.assert_allclose(combiner.loss(ERROR, np.ones((2, 3), dtype=np.bool_)), loss, rtol=1e-6)


@pytest.mark.parametrize("how", ["mean", "scaled mean", "largest"])
def test_an_absent_channel_has_no_say(how: str) -> None:
    combiner = Combiner.fit(NORMAL, how)  # type: ignore[arg-type]
    present = np.array([[True, False, True], [False, False, False]])
    loss, blame = combiner.loss(ERROR, present), combiner.blame(ERROR, present)
    assert loss[0] == pytest.approx(1.0)
    assert math.isnan(loss[1])
    np.testing.assert_allclose(blame, [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])


def test_blame_is_a_share() -> None:
    blame = Combiner.fit(NORMAL, "largest").blame(ERROR)
    np.testing.assert_allclose(blame, [[0.25, 0.5, 0.25], [1 / 6, 0.0, 5 / 6]], rtol=1e-6)


def test_a_perfectly_reconstructed_channel_is_not_judged_without_limit() -> None:
    normal = np.array([[1.0, 0.0]], dtype=np.float32)
    assert Combiner.fit(normal, "largest").unit[1] > 0.01
    assert np.isfinite(Combiner.fit(np.zeros((3, 2), dtype=np.float32), "largest").loss(ERROR[:, :2])).all()
