"""Networks trained together learn what each learns alone."""

import gc
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from ccmtad import Settings, TrainingError
from ccmtad.network import layers, stacked
from ccmtad.network.clusters import Clusters
from ccmtad.network.engine import Engine
from ccmtad.network.shapes import Architecture
from ccmtad.network.training import train
from ccmtad.network.weights import Lesson, Trained
from ccmtad.results import Epoch

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
@pytest.mark.parametrize("many", [2, 64])  # below which gradients are summed up in parts
@pytest.mark.parametrize("first", [0, 3])
def test_however_many_there_are(many: int, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by itself, too; and each has the seed of its own."""
    monkeypatch.setattr(layers, "MANY", many)
    made = [lesson(one, 200, [0, 0, 1, 1], seed=one, epochs=2) for one in range(4)][first:]
    for one, together in zip(made, stacked.train(made), strict=True):
        assert_same(train(one), together, 1e-9)


@pytest.mark.usefixtures("double")
def test_who_listens_is_told_of_each_epoch_of_his_own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is no room for all at once."""
    monkeypatch.setattr(stacked, "_room", lambda *_: 2)
    made = [lesson(one, 200, [0, 0, 1, 1], seed=one, epochs=2 + one % 2) for one in range(5)]
    told: list[list[tuple[Epoch, dict[str, Any]]]] = [[] for _ in made]

    def listener(number: int) -> stacked.Tell:
        return lambda epoch, weights: told[number].append((epoch, weights()))

    together = stacked.train(made, [listener(number) for number in range(4)])
    assert told[4] == []
    for alone, one, heard in zip(map(train, made), together, told[:4], strict=False):
        assert isinstance(one, Trained)
        assert_same(alone, one, 1e-9)
        assert [epoch for epoch, _ in heard] == list(one.history)
        for name, weight in one.weights.items():
            np.testing.assert_array_equal(heard[one.best - 1][1][name], weight)


@pytest.mark.usefixtures("double")
def test_nothing_is_dropped_when_an_epoch_is_judged() -> None:
    made = varied(embedding_dropout=0.3, mixer_dropout=0.2, input_dropout=0.1)
    stack = stacked.Stack(made, torch.device("cpu"))
    stack.learn(0, torch.ones(len(made), dtype=torch.bool))
    for i, (one, found) in enumerate(zip(made, stack.check(), strict=True)):
        (judged,) = [error for _, error in Engine(stack.now(i), one.shape).errors(one.rows, one.validation)]
        assert float(found) == pytest.approx(float(judged.mean()), rel=1e-4)  # whose weights are rounded


@pytest.mark.usefixtures("double")
def test_what_is_dropped_is_dropped_in_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    one = lesson(1, 205, [0, 0, 1, 1], embedding_dropout=0.3, mixer_dropout=0.2, input_dropout=0.1, mixers=2, epochs=1)
    dropped: list[tuple[float, int]] = []

    def drop(x: torch.Tensor, p: float, training: bool = True, *_: bool) -> torch.Tensor:
        if training and p:
            dropped.append((p, x.numel()))
        return x

    monkeypatch.setattr(torch.nn.functional, "dropout", drop)
    train(one)
    alone = dropped.copy()
    dropped.clear()
    stacked.train([one])
    assert len(alone) == 5 * 11  # batches, none of which is filled up; places
    assert dropped == alone


def test_the_callers_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    one = lesson(1, 200, [0, 0, 1, 1], epochs=1)
    stacked.train([Lesson(one.rows.astype(np.float32), one.training, one.validation, one.shape, one.settings)])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.usefixtures("double")
def test_nothing_is_kept_of_what_is_done() -> None:
    """On a GPU it would hold the memory that the next ones need."""
    one = lesson(1, 200, [0, 0, 1, 1], epochs=1)
    gc.collect()
    gc.disable()
    try:
        stack = stacked.Stack([one], torch.device("cpu"))
        stack.learn(0, torch.ones(1, dtype=torch.bool))
        stack.check()
        gone = weakref.ref(stack)
        del stack
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.usefixtures("double")
def test_where_there_is_no_memory_for_all_there_is_for_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = varied(epochs=2)
    del made[CONSTANT]
    whole = stacked._train

    def tight(lessons: Sequence[Lesson], *rest: Any) -> list[Trained | TrainingError]:
        if len(lessons) > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(lessons, *rest)

    monkeypatch.setattr(stacked, "_train", tight)
    room = 1
    for one, together in zip(made, stacked.train(made), strict=True):
        assert_same(train(one), together, 1e-9)
    room = 0
    for together in stacked.train(made):
        assert isinstance(together, TrainingError)
        assert "must fit into the memory of cpu" in str(together)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: run on a machine with one")
@pytest.mark.usefixtures("double")
def test_what_is_recorded_on_a_gpu_is_what_a_cpu_does() -> None:
    made = varied(learning_rate=1e-4)
    there = [Lesson(one.rows, one.training, one.validation, one.shape, one.settings.but(device="cuda")) for one in made]
    for i, (one, together) in enumerate(zip(made, stacked.train(there), strict=True)):
        # What embeds nothing but a constant has no gradient but rounding, which Adam divides by its own size.
        assert_same(train(one), together, 1e-5 if i == CONSTANT else 1e-9)


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
        assert_same(train(one), together, 1e-9)


def assert_same(alone: Trained, together: Trained | TrainingError, within: float) -> None:
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
        assert_same(one, together, 1e-5)


@pytest.mark.usefixtures("double")
def test_one_whose_loss_is_lost_spoils_no_other() -> None:
    good, bad = lesson(1, 200, [0, 0, 1, 1]), lesson(2, 200, [0, 0, 1, 1])
    spoilt = Lesson(bad.rows * 1e200, bad.training, bad.validation, bad.shape, bad.settings)
    fine, lost = stacked.train([good, spoilt])
    assert isinstance(lost, TrainingError)
    assert "training must keep a finite loss" in str(lost)
    assert_same(train(good), fine, 1e-9)


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
