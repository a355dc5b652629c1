"""The whole network: cluster-wise embedding, causal mixers, and a head that reconstructs the newest row."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .shapes import Architecture

__all__ = ["CausalLinear", "Mixer", "Network"]


class CausalLinear(nn.Module):
    """A linear map along time, masked so that a position sees only itself and earlier ones.

    out[j] = b[j] + sum over i <= j of in[i] * W[i, j] * g[j], with g[j] = 1/j (1-based) or 1.
    """

    mask: Tensor

    def __init__(self, gate: NDArray[np.float32]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(gate.shape))  # (time in, time out)
        self.bias = nn.Parameter(torch.zeros(len(gate)))
        nn.init.xavier_uniform_(self.weight)
        self.register_buffer("mask", torch.as_tensor(gate), persistent=False)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width) -> (batch, time, width)
        return (self.weight * self.mask).T @ x + self.bias[:, None]


class Norm(nn.BatchNorm1d):
    """Batch norm over batch and time: one statistic per width."""

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width)
        return super().forward(x.flatten(0, 1)).view_as(x)


class TimeMixer(nn.Module):
    """Two linear maps along time, the same for every embedding dimension."""

    def __init__(self, gate: NDArray[np.float32], dropout: float) -> None:
        super().__init__()
        self.first = CausalLinear(gate)
        self.second = CausalLinear(gate)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width)
        return self.second(self.drop(nn.functional.gelu(self.first(x))))  # type: ignore[no-any-return]


class EmbeddingMixer(nn.Module):
    """Two linear maps along the embedding, the same for every position."""

    def __init__(self, width: int, expansion: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(width, width * expansion)
        self.second = nn.Linear(width * expansion, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, width)
        return self.second(self.drop(nn.functional.gelu(self.first(x))))  # type: ignore[no-any-return]


class Mixer(nn.Module):
    """One mixer block. A mixer that is switched off contributes zero; the norms stay."""

    def __init__(self, time: TimeMixer | None, embedding: EmbeddingMixer | None, width: int, dropout: float) -> None:
        super().__init__()
        self.time = time
        self.time_norm = Norm(width)
        self.embedding = embedding
        self.embedding_norm = Norm(width)
        self.drop = nn.Dropout(dropout)

    def forward(self, r: Tensor) -> Tensor:  # (batch, time, width)
        e = self.time_norm(r if self.time is None else r + self.drop(self.time(r)))
        mixed = r + e
        if self.embedding is not None:
            mixed = mixed + self.drop(self.embedding(e))
        return self.embedding_norm(mixed)  # type: ignore[no-any-return]


class Network(nn.Module):
    """Reconstructs the last row of a window."""

    order: Tensor

    def __init__(
        self,
        shape: Architecture,
        *,
        input_dropout: float = 0.0,
        embedding_dropout: float = 0.05,
        mixer_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        width = shape.width
        self.sizes = [len(group) for group in shape.members]
        self.register_buffer("order", torch.as_tensor(np.concatenate(shape.members)), persistent=False)
        self.drop_input = nn.Dropout(input_dropout)
        self.embed = nn.ModuleList(nn.Linear(len(m), d) for m, d in zip(shape.members, shape.widths, strict=True))
        self.drop_embedding = nn.Dropout(embedding_dropout)
        self.norm = Norm(width)
        self.mixers = nn.ModuleList(
            Mixer(
                None if shape.temporal_mixer == "none" else TimeMixer(shape.gate, mixer_dropout),
                EmbeddingMixer(width, shape.expansion, mixer_dropout) if shape.embedding_mixer else None,
                width,
                mixer_dropout,
            )
            for _ in range(shape.mixers)
        )
        self.drop_mixed = nn.Dropout(mixer_dropout)
        self.head_norm = Norm(width)
        self.head = nn.Linear(width, shape.channels)

    def represent(self, x: Tensor) -> Tensor:
        """What the head sees, at every position."""  # (batch, time, channels) -> (batch, time, width)
        x = self.drop_input(x)
        groups = x[..., self.order].split(self.sizes, dim=-1)
        groups = [embed(group) for embed, group in zip(self.embed, groups, strict=True)]
        r0 = self.norm(self.drop_embedding(torch.cat(groups, dim=-1)))  # (batch, time, width)
        r = r0
        for mixer in self.mixers:
            r = mixer(r)
        return self.head_norm(r0 + self.drop_mixed(r))  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:  # (batch, time, channels) -> (batch, channels)
        return self.head(self.represent(x)[:, -1])  # type: ignore[no-any-return]

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Every parameter and running statistic, by name, as numpy."""
        return {
            name: tensor.detach().cpu().numpy().astype(np.float32, copy=True)
            for name, tensor in self.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }
