"""Training: repeatable, best epoch kept, clear errors."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ccmtad.errors import SettingError, TrainingError
from ccmtad.network.clusters import Clusters
from ccmtad.network.engine import Engine
from ccmtad.network.shapes import Architecture
from ccmtad.network.training import train
from ccmtad.network.weights import Lesson, Trained
from ccmtad.results import Epoch
from ccmtad.settings import Settings

CLUSTERS = Clusters(np.array([0, 0, 1]))


def rows() -> NDArray[np.float32]:
    t = np.arange(400)
    return np.column_stack([np.sin(t / 9), np.cos(t / 9), np.sin(t / 5)]).astype(np.float32)


def lesson(settings: Settings) -> Lesson:
    return Lesson(rows(), np.arange(5, 300), np.arange(300, 400), Architecture.of(settings, CLUSTERS), settings)


def run(**given: Any) -> Trained:
    settings = Settings.of(**{"epochs": 4, "width": 8, "window": 6, "batch_size": 64, "device": "cpu", **given})
    return train(lesson(settings))


def test_the_same_seed_gives_the_same_weights() -> None:
    one, same, other = run(seed=3), run(seed=3), run(seed=4)
    for name, weight in one.weights.items():
        np.testing.assert_array_equal(weight, same.weights[name])
    assert any((one.weights[name] != other.weights[name]).any() for name in one.weights)


def test_the_callers_random_state_is_left_alone() -> None:
    torch.manual_seed(9)
    expected = torch.rand(3)
    torch.manual_seed(9)
    run()
    torch.testing.assert_close(torch.rand(3), expected)


def test_the_weights_kept_are_those_with_the_lowest_validation_loss() -> None:
    settings = Settings.of(epochs=6, width=8, window=6, batch_size=64, learning_rate=0.3, device="cpu")
    trained = train(lesson(settings))
    losses = [epoch.validation for epoch in trained.history]
    assert trained.best == int(np.argmin(losses)) + 1
    assert trained.best < 6  # so large a step does not end at its best: there was something to keep
    engine = Engine(trained.weights, Architecture.of(settings, CLUSTERS))
    error = np.concatenate([error for _, error in engine.errors(rows(), np.arange(300, 400))])
    assert float(error.mean()) == pytest.approx(min(losses), rel=1e-4)


def test_progress_is_told_after_each_epoch() -> None:
    seen: list[Epoch] = []
    settings = Settings.of(epochs=3, width=8, window=6, device="cpu")
    trained = train(lesson(settings), lambda epoch, _: seen.append(epoch))
    assert [(epoch.number, epoch.of) for epoch in seen] == [(1, 3), (2, 3), (3, 3)]
    assert tuple(seen) == trained.history


def test_a_loss_that_is_not_finite_is_an_error_that_says_what_to_try() -> None:
    with pytest.raises(TrainingError, match=r"finite loss; got .* try a learning_rate below 1e\+30"):
        run(learning_rate=1e30)


def test_the_learning_rate_is_constant_for_four_epochs_then_decays(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    step = torch.optim.Adam.step

    def record(self: torch.optim.Adam, *args: Any, **kwargs: Any) -> Any:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", record)
    run(epochs=6, batch_size=512, learning_rate=1e-3)
    assert rates == pytest.approx([1e-3, 1e-3, 1e-3, 1e-3, 0.9e-3, 0.81e-3])


def test_a_device_that_is_not_there_is_a_setting_error() -> None:
    with pytest.raises(SettingError, match=r"device must be one torch can use here; got 'warp'"):
        run(device="warp")


def test_a_long_series_is_sampled_anew_in_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    original: Any = torch.Tensor.split

    def watched(self: torch.Tensor, size: Any, dim: int = 0) -> Any:
        if self.dtype == torch.int64 and self.ndim == 1:
            seen.append(set(self.tolist()))
        return original(self, size, dim)

    monkeypatch.setattr(torch.Tensor, "split", watched)
    run(epochs=3, epoch_windows=50)
    learnt = [ends for ends in seen if min(ends) < 300]
    checked = [ends for ends in seen if min(ends) >= 300]
    assert [len(ends) for ends in learnt] == [50, 50, 50]
    assert len(set.union(*learnt)) > 90  # other windows in each epoch
    assert checked[0] == checked[1] == checked[2]  # what is compared is compared on the same rows
    assert len(checked[0]) <= 50


def test_threads_are_as_they_were_after_training() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run(threads=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
