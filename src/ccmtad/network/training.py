"""Fits one network: the weights kept are those with the lowest validation loss."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..errors import SettingError, TrainingError
from ..results import Epoch
from ..settings import Settings
from .network import Network
from .shapes import Architecture
from .weights import Lesson, Trained

__all__ = ["build", "checked", "decay", "on_gpu", "reproducible", "train"]

Floats = NDArray[np.float32]


def train(lesson: Lesson, each: Callable[[Epoch, Callable[[], dict[str, Floats]]], object] | None = None) -> Trained:
    """Trains on windows gathered from one tensor; the same seed gives the same weights on CPU, whatever the machine.

    `each` is called after every epoch, with what gives the weights of the moment.
    """
    settings = lesson.settings
    with reproducible(settings) as device:
        network = build(lesson.shape, settings).to(device)
        series, learn_on = (torch.as_tensor(part, device=device) for part in (lesson.rows, lesson.training))
        check_on = torch.as_tensor(checked(lesson), device=device)
        optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, decay)

        history: list[Epoch] = []
        weights, best = network.weights(), Epoch(0, settings.epochs, np.inf, np.inf)
        for number in range(1, settings.epochs + 1):
            shuffled = learn_on[torch.randperm(len(learn_on))[: settings.epoch_windows].to(device)]
            learnt = _pass(network, series, shuffled, settings, optimiser)
            epoch = Epoch(number, settings.epochs, learnt, _pass(network, series, check_on, settings))
            if not np.isfinite([epoch.training, epoch.validation]).all():
                raise TrainingError(
                    f"training must keep a finite loss; got {epoch.training} in epoch {number}: "
                    f"try a learning_rate below {settings.learning_rate}"
                )
            history.append(epoch)
            if lesson.keep_last or epoch.validation < best.validation:
                weights, best = network.weights(), epoch
            schedule.step()
            if each is not None:
                each(epoch, network.weights)
    return Trained(weights, tuple(history), best.number)


def checked(lesson: Lesson) -> NDArray[np.int64]:
    """Of the validation windows, those that each epoch is judged by: evenly, and the same in every epoch."""
    return lesson.validation[:: -(-len(lesson.validation) // lesson.settings.epoch_windows)]


def build(shape: Architecture, settings: Settings) -> Network:
    """The network of this shape, freshly initialised."""
    dropouts = ("input_dropout", "embedding_dropout", "mixer_dropout")
    return Network(shape, **{name: getattr(settings, name) for name in dropouts})


def decay(epoch: int) -> float:
    """The share of the learning rate in an epoch, counted from 0."""
    return 0.9 ** max(0, epoch - 3)


def on_gpu(settings: Settings) -> bool:
    """Whether these settings train on a GPU, where many networks at once cost about as much as one."""
    return _device(settings.device).type == "cuda"


@contextmanager
def reproducible(settings: Settings) -> Iterator[torch.device]:
    """The device to train on, seeded; the caller's random state is left alone."""
    device = _device(settings.device)
    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda), _threads(settings.threads):
        torch.manual_seed(settings.seed)
        yield device


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """So many threads of torch: more than there are idle cores make it many times slower, and other bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _pass(
    network: Network,
    series: Tensor,
    ends: Tensor,
    settings: Settings,
    optimiser: torch.optim.Optimizer | None = None,
) -> float:
    """One pass over the windows that end at `ends`, learning if there is an optimiser; the mean loss."""
    learning = optimiser is not None
    network.train(learning)
    reach = torch.arange(1 - settings.window, 1, device=series.device)
    total = torch.zeros((), device=series.device)
    with torch.set_grad_enabled(learning):
        for batch in ends.split(settings.batch_size):
            x = series[batch[:, None] + reach]  # (batch, time, channels)
            loss = nn.functional.mse_loss(network(x), x[:, -1])
            if optimiser is not None:
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            total += loss.detach() * len(batch)
    return float(total) / len(ends)


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingError(f"device must be one torch can use here; got {name!r}: {error}") from error
    return device
