"""SensitiveHUE (Feng et al., KDD 2024): a small transformer that says, beside each value, how sure it is of it."""

import torch
from torch import Tensor, nn

from .training import RowNetwork

__all__ = ["SensitiveHue"]

HEADS = 4
DROPOUT = 0.1


class Attention(nn.Module):
    """Over time, every row sees every row of its window."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ask = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, h: Tensor) -> Tensor:  # (batch, time, width)
        q, k, v = self.ask(h).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)  # (batch, heads, time, part)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT if self.training else 0.0)
        out: Tensor = self.out(seen.transpose(1, 2).flatten(-2))
        return out


class Layer(nn.Module):
    """Normalised after each half."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.attention = Attention(width)
        self.forth = nn.Sequential(
            nn.Linear(width, hidden, bias=False),
            nn.LeakyReLU(0.01),
            nn.Dropout(DROPOUT),
            nn.Linear(hidden, width, bias=False),
        )
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, h: Tensor) -> Tensor:  # (batch, time, width)
        h = self.norms[0](h + self.dropout(self.attention(h)))
        out: Tensor = self.norms[1](h + self.dropout(self.forth(h)))
        return out


class SensitiveHue(RowNetwork):
    """`position` is the row of the window that is judged; `power` how far channels are weighed alike."""

    def __init__(
        self, channels: int, window: int, width: int, hidden: int, layers: int, power: float, position: int
    ) -> None:
        super().__init__()
        self.embed = nn.Linear(channels, width)
        self.places = nn.Parameter(0.02 * torch.randn(window, width))
        self.layers = nn.Sequential(*(Layer(width, hidden) for _ in range(layers)))
        self.value, self.sureness = nn.Linear(width, channels), nn.Linear(width, channels)
        self.power, self.position = power, position

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, time, channels) each: what is expected, and the logarithm of the inverse variance."""
        own = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)
        h = self.layers(self.embed(own) + self.places)
        value = self.value(h)
        # Its own level and spread, not the input's: what the paper calls statistical feature removal.
        return value * value.std(1, keepdim=True) + value.mean(1, keepdim=True), self.sureness(h)

    def losses(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, time, channels) each: how unlikely each value is, and the sureness."""
        expected, sure = self(x)
        return (expected - x).square() * sure.exp() - sure, sure

    def learn(self, x: Tensor) -> Tensor:
        unlikely, sure = self.losses(x)
        variance = (-sure).exp().detach()
        usual = variance.mean((0, 1))  # (channels,)
        return (variance * unlikely / usual**self.power).mean()

    def check(self, x: Tensor) -> Tensor:
        return self.losses(x)[0].mean()

    def judge(self, x: Tensor) -> Tensor:
        return self.losses(x)[0][:, self.position]
