"""Univariate autoencoders (Garg et al., 2021): one small network for each channel, all of them in one tensor."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from .training import RowNetwork

__all__ = ["Autoencoders"]


class PerChannel(nn.Module):
    """A linear layer for each channel."""

    def __init__(self, channels: int, before: int, after: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(before)
        self.weight = nn.Parameter(torch.empty(channels, before, after).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(channels, 1, after).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:  # (channels, batch, before)
        return torch.baddbmm(self.bias, x, self.weight)


class Autoencoders(RowNetwork):
    """Each window of a channel through a few numbers and back. What one channel learns does not touch another: the
    gradients are apart, and Adam does not mind the common factor."""

    def __init__(self, channels: int, sizes: tuple[int, ...]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in pairwise((*sizes, *sizes[-2::-1])):
            layers += [PerChannel(channels, before, after), nn.Tanh()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, channels), both
        back: Tensor = self.layers(x.permute(2, 0, 1)).permute(1, 2, 0)
        return back

    def learn(self, x: Tensor) -> Tensor:
        return nn.functional.mse_loss(self(x), x)

    def judge(self, x: Tensor) -> Tensor:
        expected: Tensor = self(x)
        return (expected - x)[:, -1].square()
