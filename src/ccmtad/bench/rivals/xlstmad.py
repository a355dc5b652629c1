"""xLSTMAD (2025), the form that forecasts: what it has read in one stack, and the next rows out of another."""

import torch
from torch import Tensor, nn

from .training import RowNetwork
from .xlstm import Stack

__all__ = ["XlstmAd"]


class XlstmAd(RowNetwork):
    """`steps` rows ahead. `transposed`: forecasts, which come time first, are laid beside the rows they are of.
    Without, as published, they are only reshaped, and compared with rows of other windows of the batch."""

    def __init__(self, channels: int, width: int, steps: int, *, transposed: bool) -> None:
        super().__init__()
        self.embed, self.out = nn.Linear(channels, width), nn.Linear(width, channels)
        self.encoder, self.decoder = Stack(width), Stack(width)
        self.steps, self.transposed = steps, transposed

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, channels) to (batch, steps, channels)."""
        h = self.encoder(self.embed(x))[:, -1:]
        ahead = []
        for _ in range(self.steps):
            h = self.decoder(h)
            ahead.append(self.out(nn.functional.gelu(h[:, 0])))
        made = torch.stack(ahead)  # (steps, batch, channels)
        return made.transpose(0, 1) if self.transposed else made.reshape(len(x), self.steps, -1)

    def errors(self, x: Tensor) -> Tensor:  # (batch, steps, channels)
        ahead: Tensor = self(x[:, : -self.steps])
        return (ahead - x[:, -self.steps :]).square()

    def learn(self, x: Tensor) -> Tensor:
        return self.errors(x).mean()

    def judge(self, x: Tensor) -> Tensor:
        return self.errors(x).mean(1)
