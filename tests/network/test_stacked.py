"""Networks trained together learn what each learns alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from ccmtad import Settings, TrainingError
from ccmtad.network import stacked
from ccmtad.network.clusters import Clusters
from ccmtad.network.shapes import Architecture
from ccmtad.network.training import train
from ccmtad.network.weights import Lesson, Trained

from .. import naive

# Batch norm takes some biases out again, and all that a constant channel adds: the gradient there is rounding alone,
# and Adam, which divides it by its own size + 1e-8, makes steps of it. With more than 1e-8 no rounding shows; with 1e-8
# it stays below 1e-9 at a small learning rate, but for a cluster of constant channels, whose spread is nearly 0.
SETTINGS: dict[str, Any] = {
    "epochs": 4, "width": 8, "window": 6, "batch_size": 32, "embedding_dropout": 0.0, "device": "cpu", "linear": False,
    "learning_rate": 1e-3,
}  # fmt: skip


@pytest.fixture
def double() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def lesson(drawn: int, rows: int, label: list[int], *, constant: bool = False, **given: Any) -> Lesson:
    settings = Settings.of(**{**SETTINGS, **given})
    random = np.random.default_rng(drawn)
    values = np.cumsum(random.standard_normal((rows, len(label))), axis=0) / 10
    if constant:
        values[:, 1] = 0.7
    cut = rows - 40
    shape = Architecture.of(settings, Clusters(np.array(label)))
    return Lesson(values, np.arange(5, cut), np.arange(cut, rows), shape, settings)  # type: ignore[arg-type]


CONSTANT = 2  # which of these has a channel that stands still


def varied(**given: Any) -> list[Lesson]:
    """Other lengths, clusters and values; one is short, one has a channel that stands still."""
    return [
        lesson(1, 200, [0, 0, 1, 1], **given),
        lesson(2, 105, [0, 1, 1, 2], **given),  # two batches, the last of them of 28 windows, where the first has five
        lesson(3, 190, [0, 1, 0, 0], constant=True, **given),
        lesson(4, 200, [0, 0, 0, 0], **given),
    ]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("epsilon", "compared"), [(1e-3, (0, 1, CONSTANT, 3)), (1e-8, (0, 1, 3))])
def test_together_equals_alone_after_twenty_steps(
    epsilon: float, compared: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Double precision, no dropout, to 1e-9, whatever is beside it."""
    monkeypatch.setattr(stacked, "TINY", epsilon)
    lessons = varied()
    stack = stacked.Stack(lessons, torch.device("cpu"))
    alone = [naive.Training(one, epsilon) for one in lessons]
    for epoch in range(4):
        learnt, checks = stack.learn(epoch, torch.ones(len(lessons), dtype=torch.bool)), stack.check()
        for i, one in enumerate(alone):
            within = 1e-9 if i in compared else 1e-5
            assert float(learnt[i]) == pytest.approx(one.epoch(epoch), abs=within)
            assert float(checks[i]) == pytest.approx(one.check(), abs=within)
    assert [one.steps for one in alone] == [20, 8, 20, 20]
    for i in compared:
        together = stack.of(i)
        assert set(together) == set(alone[i].tensors)
        for name, tensor in alone[i].tensors.items():
            np.testing.assert_allclose(together[name], tensor, rtol=0, atol=1e-9, err_msg=f"{i} {name}")


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    "given",
    [
        {"temporal_mixer": "none"}, {"embedding_mixer": False}, {"mixers": 2, "expansion": 3}, {"causal_mask": "unit"},
        {"epoch_windows": 50},
    ],
    ids=str,
)  # fmt: skip
def test_every_shape_of_network_can_be_stacked(given: dict[str, Any]) -> None:
    lessons = varied(epochs=2, **given)
    del lessons[CONSTANT]
    for one, together in zip(lessons, stacked.train(lessons), strict=True):
        same(train(one), together, 1e-9)


def same(alone: Trained, together: Trained | TrainingError, within: float) -> None:
    assert isinstance(together, Trained)
    assert together.best == alone.best
    assert set(together.weights) == set(alone.weights)
    for one, two in zip(alone.history, together.history, strict=True):
        assert (two.number, two.of) == (one.number, one.of)
        assert (two.training, two.validation) == pytest.approx((one.training, one.validation), abs=within)
    for name, weight in alone.weights.items():  # which are rounded to single precision
        np.testing.assert_allclose(together.weights[name], weight, rtol=1e-5, atol=max(within, 1e-7))


@pytest.mark.usefixtures("double")
def test_each_keeps_its_own_best_epoch_and_stops_at_its_own_last() -> None:
    lessons = varied(learning_rate=0.3, epochs=5)
    del lessons[CONSTANT]
    last = lesson(5, 150, [0, 0, 1, 1], learning_rate=0.3, epochs=2)
    lessons.append(Lesson(last.rows, last.training, last.validation, last.shape, last.settings, keep_last=True))
    alone = [train(one) for one in lessons]
    assert len({one.best for one in alone}) > 1  # or there would be nothing to tell apart
    for one, together in zip(alone, stacked.train(lessons), strict=True):
        same(one, together, 1e-5)


@pytest.mark.usefixtures("double")
def test_one_whose_loss_is_lost_spoils_no_other() -> None:
    good, bad = lesson(1, 200, [0, 0, 1, 1]), lesson(2, 200, [0, 0, 1, 1])
    spoilt = Lesson(bad.rows * 1e200, bad.training, bad.validation, bad.shape, bad.settings)
    fine, lost = stacked.train([good, spoilt])
    assert isinstance(lost, TrainingError)
    assert "training must keep a finite loss" in str(lost)
    same(train(good), fine, 1e-9)


def test_only_what_is_alike_is_stacked() -> None:
    one = lesson(1, 200, [0, 0, 1, 1])
    assert stacked.alike(one) == stacked.alike(lesson(2, 90, [0, 1, 2, 2], epochs=9, seed=3))
    assert stacked.alike(one) != stacked.alike(lesson(1, 200, [0, 0, 1]))
    assert stacked.alike(one) != stacked.alike(lesson(1, 200, [0, 0, 1, 1], learning_rate=0.1))


def test_dropout_is_each_networks_own() -> None:
    """Two equal lessons begin alike, and what is dropped tells them apart."""
    one, other = (lesson(1, 200, [0, 0, 1, 1], embedding_dropout=0.3) for _ in range(2))
    pair = [Lesson(o.rows.astype(np.float32), o.training, o.validation, o.shape, o.settings) for o in (one, other)]
    first, second = stacked.train(pair)
    assert isinstance(first, Trained)
    assert isinstance(second, Trained)
    assert (first.weights["head.weight"] != second.weights["head.weight"]).any()
