"""Fits a rival: windows gathered on the device from one tensor of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...errors import TrainingError
from ...fit import Block
from ...network.training import reproducible
from . import Recipe
from .recorded import Recorded

__all__ = ["RowNetwork", "Rows", "learn", "parameters", "reproducible"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

AT_ONCE = 1_024  # windows that are judged together, where it does not matter


class RowNetwork(nn.Module, ABC):
    """What a rival is: all three are given windows, (batch, time, channels)."""

    by_values = False  # whether what it does, not only what comes out, depends on the values

    @abstractmethod
    def learn(self, x: Tensor) -> Tensor:
        """The loss that is learnt by."""

    def check(self, x: Tensor) -> Tensor:
        """The loss that the epoch is chosen by."""
        return self.learn(x)

    @abstractmethod
    def judge(self, x: Tensor) -> Tensor:
        """(batch, channels): how bad the row that the window is there for is."""


class Rows:
    """A series on the device, and its windows by their last rows."""

    def __init__(self, rows: Floats, recipe: Recipe, device: torch.device) -> None:
        self.rows, self.recipe = torch.as_tensor(rows, device=device), recipe
        self.at_once = recipe.batch if recipe.mixes_batch else AT_ONCE
        self.reach = torch.arange(1 - recipe.window, 1, device=device)

    def windows(self, ends: Ints, at_once: int, *, shuffled: bool = False) -> Iterator[Tensor]:
        """(batch, time, channels) at a time."""
        there = torch.as_tensor(ends)
        if shuffled:
            there = there[torch.randperm(len(there))]
        for some in there.to(self.rows.device).split(at_once):
            yield self.rows[some[:, None] + self.reach]

    def judge(self, network: RowNetwork, ends: Ints) -> Floats:
        """(windows, channels)"""
        network.eval()
        with torch.inference_mode():
            found = [network.judge(x) for x in self.windows(ends, self.at_once)]
        if not found:
            return np.empty((0, self.rows.shape[1]), dtype=np.float32)
        made: Floats = torch.cat(found).cpu().numpy()
        return made


def learn(network: RowNetwork, rows: Rows, block: Block) -> Iterator[float]:
    """Yields the validation loss after each epoch; after the last the network has the weights of the lowest one."""
    recipe, best, weights, last, worse = rows.recipe, np.inf, network.state_dict(), np.inf, 0
    optimiser = torch.optim.AdamW(network.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, recipe.decay_every, recipe.decay)
    loss = network.learn if network.by_values else Recorded(network, network.learn, recipe.batch)
    for number in range(1, recipe.epochs + 1):
        network.train()
        for x in rows.windows(block.training, recipe.batch, shuffled=True):
            optimiser.zero_grad()
            loss(x).backward()
            optimiser.step()
        schedule.step()
        checked = _check(network, rows, block.validation)
        if not np.isfinite(checked):
            raise TrainingError(f"training must keep a finite loss; got {checked} in epoch {number}")
        worse = 0 if checked < (last if recipe.better_than_last else best) else worse + 1
        last = checked
        if checked < best:
            best, weights = checked, deepcopy(network.state_dict())
        yield checked
        if worse >= recipe.patience:
            break
    network.load_state_dict(weights)


def _check(network: RowNetwork, rows: Rows, ends: Ints) -> float:
    network.eval()
    total = torch.zeros((), device=rows.rows.device)
    with torch.inference_mode():
        for x in rows.windows(ends, rows.at_once):
            total += network.check(x) * len(x)
    return float(total) / len(ends)


def parameters(network: nn.Module) -> int:
    """How many numbers are learnt."""
    return sum(one.numel() for one in network.parameters() if one.requires_grad)
