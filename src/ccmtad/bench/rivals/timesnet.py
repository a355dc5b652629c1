"""TimesNet (Wu et al., ICLR 2023), the form that reconstructs: a window folded by its periods, and convolved in two
dimensions."""

import math

import torch
from torch import Tensor, nn

from .training import RowNetwork

__all__ = ["Inception", "TimesNet"]

LARGEST_KERNEL = 11
DROPOUT = 0.1
STEP = 0.1  # of the running mean of amplitudes


class Inception(nn.Module):
    """The mean of six convolutions of sizes 1, 3, .. 11: as they are linear, one convolution with the mean of their
    kernels."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        sizes = range(1, LARGEST_KERNEL + 1, 2)
        self.kernels = nn.ParameterList([torch.empty(after, before, size, size) for size in sizes])
        self.biases = nn.ParameterList([torch.zeros(after) for _ in sizes])
        for kernel in self.kernels:
            nn.init.kaiming_normal_(kernel, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:  # (batch, before, rows, columns)
        around = [(LARGEST_KERNEL - kernel.shape[-1]) // 2 for kernel in self.kernels]
        padded = [nn.functional.pad(k, (a, a, a, a)) for k, a in zip(self.kernels, around, strict=True)]
        kernel, bias = torch.stack(padded).mean(0), torch.stack(list(self.biases)).mean(0)
        return nn.functional.conv2d(x, kernel, bias, padding=LARGEST_KERNEL // 2)


class TimesBlock(nn.Module):
    """The window folded by each of its main periods. `online`: these are fixed in training, by the running mean of
    amplitudes; otherwise those of the batch at hand, as published, whatever its rows."""

    amplitude: Tensor

    def __init__(self, window: int, width: int, hidden: int, periods: int, *, online: bool) -> None:
        super().__init__()
        self.fold = nn.Sequential(Inception(width, hidden), nn.GELU(), Inception(hidden, width))
        self.periods, self.online = periods, online
        self.register_buffer("amplitude", torch.zeros(window // 2))  # of the frequencies 1, 2, ..

    def forward(self, z: Tensor) -> Tensor:  # (batch, time, width)
        strength = torch.fft.rfft(z, dim=1).abs()[:, 1:].mean(-1)  # (batch, frequencies)
        mean = strength.detach().mean(0)
        if self.training:
            self.amplitude.lerp_(mean, STEP)
        main = (self.amplitude if self.online and not self.training else mean).topk(self.periods).indices
        folded = torch.stack([self.folded(z, z.shape[1] // (i + 1)) for i in main.tolist()], -1)
        weight = strength[:, main].softmax(-1)  # (batch, periods)
        out: Tensor = (folded * weight[:, None, None]).sum(-1) + z
        return out

    def folded(self, z: Tensor, period: int) -> Tensor:  # (batch, time, width), both
        time = z.shape[1]
        plane = nn.functional.pad(z, (0, 0, 0, -time % period)).transpose(1, 2).unflatten(-1, (-1, period))
        out: Tensor = self.fold(plane).flatten(-2).transpose(1, 2)[:, :time]
        return out


class TimesNet(RowNetwork):
    """Every window in units of its own deviation, and back."""

    by_values = True  # its periods
    places: Tensor

    def __init__(
        self, channels: int, window: int, width: int, hidden: int, blocks: int, periods: int, *, online: bool
    ) -> None:
        super().__init__()
        self.embed = nn.Conv1d(channels, width, 3, padding=1, padding_mode="circular", bias=False)
        nn.init.kaiming_normal_(self.embed.weight, mode="fan_in", nonlinearity="leaky_relu")
        turn = torch.arange(window)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
        places = torch.stack([turn.sin(), turn.cos()], -1).flatten(1)  # (time, width)
        self.register_buffer("places", places, persistent=False)
        self.dropout = nn.Dropout(DROPOUT)
        made = [TimesBlock(window, width, hidden, periods, online=online) for _ in range(blocks)]
        self.blocks, self.norm = nn.ModuleList(made), nn.LayerNorm(width)
        self.out = nn.Linear(width, channels)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, channels), both
        mean = x.mean(1, keepdim=True)
        deviation = (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
        own = ((x - mean) / deviation).transpose(1, 2)
        z = self.dropout(self.embed(own).transpose(1, 2) + self.places)
        for block in self.blocks:
            z = self.norm(block(z))
        expected: Tensor = self.out(z) * deviation + mean
        return expected

    def learn(self, x: Tensor) -> Tensor:
        return nn.functional.mse_loss(self(x), x)

    def judge(self, x: Tensor) -> Tensor:
        expected: Tensor = self(x)
        return (expected - x)[:, -1].square()
