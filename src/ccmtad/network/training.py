"""Fits one network: the weights kept are those with the lowest validation loss."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..errors import SettingError, TrainingError
from ..results import Epoch
from ..settings import Settings
from .clusters import Clusters, widths
from .network import Network

__all__ = ["Trained", "build", "train"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves behind."""

    weights: dict[str, Floats]
    history: tuple[Epoch, ...]
    best: int  # number of the epoch whose weights these are


def train(
    rows: Floats,  # (rows, channels), scaled
    training: Ints,  # last rows of the training windows
    validation: Ints,  # last rows of the validation windows
    clusters: Clusters,
    settings: Settings,
    each: Callable[[Epoch, Callable[[], dict[str, Floats]]], object] | None = None,
) -> Trained:
    """Trains on windows gathered from one tensor; the same seed gives the same weights on CPU.

    `each` is called after every epoch, with what gives the weights of the moment.
    """
    device = _device(settings.device)
    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):  # the caller's random state is left alone
        torch.manual_seed(settings.seed)
        network = build(clusters, settings).to(device)
        series = torch.as_tensor(rows, device=device)
        learn_on, check_on = (
            torch.as_tensor(training, device=device),
            torch.as_tensor(validation, device=device),
        )
        optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epoch: 0.9 ** max(0, epoch - 3))

        history: list[Epoch] = []
        weights, best = network.weights(), Epoch(0, settings.epochs, np.inf, np.inf)
        for number in range(1, settings.epochs + 1):
            shuffled = learn_on[torch.randperm(len(learn_on)).to(device)]
            learnt = _pass(network, series, shuffled, settings, optimiser)
            epoch = Epoch(number, settings.epochs, learnt, _pass(network, series, check_on, settings))
            if not np.isfinite([epoch.training, epoch.validation]).all():
                raise TrainingError(
                    f"training must keep a finite loss; got {epoch.training} in epoch {number}: "
                    f"try a learning_rate below {settings.learning_rate}"
                )
            history.append(epoch)
            if epoch.validation < best.validation:
                weights, best = network.weights(), epoch
            schedule.step()
            if each is not None:
                each(epoch, network.weights)
    return Trained(weights, tuple(history), best.number)


def build(clusters: Clusters, settings: Settings) -> Network:
    """The network of these settings, freshly initialised."""
    return Network(
        clusters.members,
        widths(clusters, settings.width),
        window=settings.window,
        expansion=settings.expansion,
        mixers=settings.mixers,
        temporal_mixer=settings.temporal_mixer,
        causal_mask=settings.causal_mask,
        embedding_mixer=settings.embedding_mixer,
        input_dropout=settings.input_dropout,
        embedding_dropout=settings.embedding_dropout,
        mixer_dropout=settings.mixer_dropout,
    )


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
