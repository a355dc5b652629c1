"""xLSTM (Beck et al., NeurIPS 2024): an LSTM with exponential gates and a matrix for a memory, or with many heads."""

import math

import torch
from torch import Tensor, nn

__all__ = ["MatrixLstm", "ScalarLstm", "Stack"]

HEADS = 4
BLOCKS = 3  # in a stack: matrix, scalar, matrix
TINY = 1e-6


class Headwise(nn.Module):
    """A linear layer for each group of neighbouring features."""

    def __init__(self, width: int, groups: int, deviation: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(deviation * torch.randn(groups, width // groups, width // groups))

    def forward(self, x: Tensor) -> Tensor:  # (.., width), both
        parts = x.unflatten(-1, (len(self.weight), -1))
        return torch.einsum("...gi,gio->...go", parts, self.weight).flatten(-2)


class HeadNorm(nn.Module):
    """Every head normalised by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width), both
        return nn.functional.group_norm(x.flatten(0, 1), HEADS, self.weight).view_as(x)


class CausalConvolution(nn.Module):
    """Each feature over the newest rows, then SiLU."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(width, width, kernel, groups=width)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width), both
        before = nn.functional.pad(x.transpose(1, 2), (self.conv.kernel_size[0] - 1, 0))
        return nn.functional.silu(self.conv(before).transpose(1, 2))


class MatrixLstm(nn.Module):
    """mLSTM: C_t = f C_t-1 + i v k', n_t = f n_t-1 + i k, h = C q / max(|n q|, 1), all times at once."""

    def __init__(self, width: int, kernel: int = 8, part: int = 5) -> None:
        super().__init__()
        inner, small = 2 * width, math.sqrt(2 / (5 * width))
        self.up = nn.Linear(width, 2 * inner, bias=False)
        self.conv = CausalConvolution(inner, kernel)
        self.query, self.key, self.value = (Headwise(inner, inner // part, small) for _ in range(3))
        self.gates = nn.Linear(3 * inner, 2 * HEADS)  # input gates, then forget gates
        self.norm, self.skip = HeadNorm(inner), nn.Parameter(torch.ones(inner))
        self.down = nn.Linear(inner, width, bias=False)
        nn.init.normal_(self.up.weight, std=small)
        nn.init.normal_(self.down.weight, std=2 / BLOCKS / math.sqrt(width))
        nn.init.zeros_(self.gates.weight)
        with torch.no_grad():
            self.gates.bias.copy_(torch.cat([0.1 * torch.randn(HEADS), torch.linspace(3.0, 6.0, HEADS)]))

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width), both
        inner, beside = self.up(x).chunk(2, -1)
        seen = self.conv(inner)
        query, key, value = self.query(seen), self.key(seen), self.value(inner)
        entry, forget = self.gates(torch.cat([query, key, value], -1)).transpose(1, 2).chunk(2, 1)
        q, k, v = (one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in (query, key, value))
        memory = self.recall(q, k, v, entry, nn.functional.logsigmoid(forget)).transpose(1, 2).flatten(-2)
        out: Tensor = self.down((self.norm(memory) + self.skip * seen) * nn.functional.silu(beside))
        return out

    @staticmethod
    def recall(query: Tensor, key: Tensor, value: Tensor, entry: Tensor, forget: Tensor) -> Tensor:
        """(batch, heads, time, part) each, but for the logarithms of the gates, (batch, heads, time)."""
        time, part = query.shape[-2:]
        since = forget.cumsum(-1)
        kept = since[..., :, None] - since[..., None, :] + entry[..., None, :]  # (.., time, time of entry)
        later = torch.ones(time, time, dtype=torch.bool, device=query.device).triu(1)
        kept = kept.masked_fill(later, -torch.inf)
        most = kept.amax(-1, keepdim=True)
        match = query @ key.transpose(-1, -2) / math.sqrt(part) * (kept - most).exp()
        size = torch.maximum(match.sum(-1, keepdim=True).abs(), (-most).exp())
        return match @ value / (size + TINY)


class ScalarLstm(nn.Module):
    """sLSTM: c = f c + i tanh z, n = f n + i, h = sigmoid(o) c / n, step by step: each gate sees the h before."""

    def __init__(self, width: int, place: float, kernel: int = 4) -> None:
        """`place` is where in the stack it is, from 0 to 1."""
        super().__init__()
        part, small = width // HEADS, math.sqrt(2 / (5 * width))
        self.conv = CausalConvolution(width, kernel)
        self.gates = nn.ModuleList([Headwise(width, HEADS, small) for _ in range(4)])  # input, forget, value, output
        self.again = nn.Parameter(torch.zeros(HEADS, part, 4 * part))
        bias = torch.zeros(4, HEADS, part)
        bias[1] = 5.0 - 12.0 * torch.linspace(0.0, 1.0, part) ** (0.3 + 1.3 * place)
        self.bias = nn.Parameter(bias)
        self.norm = HeadNorm(width)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width), both
        seen = self.conv(x)
        given = torch.stack([gate(one) for gate, one in zip(self.gates, (seen, seen, x, x), strict=True)], 2)
        given = given.unflatten(-1, (HEADS, -1)) + self.bias  # (batch, time, 4, heads, part)
        given = given.permute(1, 3, 0, 2, 4).flatten(-2)  # (time, heads, batch, 4 part)
        h = c = n = given.new_zeros(*given.shape[1:-1], given.shape[-1] // 4)  # (heads, batch, part)
        m = torch.full_like(h, -torch.inf)
        out = []
        for now in given:
            entry, forget, value, gate = torch.baddbmm(now, h, self.again).chunk(4, -1)
            kept = nn.functional.logsigmoid(forget) + m
            m = torch.maximum(entry, kept)
            i, f = (entry - m).exp(), (kept - m).exp()
            c, n = f * c + i * value.tanh(), f * n + i
            h = gate.sigmoid() * c / n
            out.append(h)
        said: Tensor = self.norm(torch.stack(out, 2).permute(1, 2, 0, 3).flatten(-2))
        return said


class Gated(nn.Module):
    """The feed-forward part that follows the sLSTM."""

    def __init__(self, width: int, factor: float = 1.3, multiple: int = 64) -> None:
        super().__init__()
        hidden = math.ceil(factor * width / multiple) * multiple
        self.up, self.down = nn.Linear(width, 2 * hidden, bias=False), nn.Linear(hidden, width, bias=False)
        nn.init.normal_(self.up.weight, std=math.sqrt(2 / (5 * width)))
        nn.init.normal_(self.down.weight, std=2 / BLOCKS / math.sqrt(width))

    def forward(self, x: Tensor) -> Tensor:  # (.., width), both
        gate, up = self.up(x).chunk(2, -1)
        out: Tensor = self.down(nn.functional.gelu(gate) * up)
        return out


class Stack(nn.Module):
    """Three residual blocks, normalised before each and at the end."""

    def __init__(self, width: int) -> None:
        super().__init__()
        parts = MatrixLstm(width), ScalarLstm(width, place=0.5), Gated(width), MatrixLstm(width)
        self.parts = nn.ModuleList(parts)
        self.norms = nn.ModuleList([nn.LayerNorm(width, bias=False) for _ in range(len(parts) + 1)])

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width), both
        for norm, part in zip(self.norms, self.parts, strict=False):
            x = x + part(norm(x))
        out: Tensor = self.norms[-1](x)
        return out
