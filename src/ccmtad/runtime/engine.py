"""Inference in numpy, from the weights that training left.

Only the newest row of a window is reconstructed, so only what that needs is computed: the embedding of a row once,
not once per window it is in; the second time mixing, the embedding mixer and the head at one position. The batch norms
are folded into the maps beside them where they can be.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..config import Settings
from ..errors import MissingExtraError
from ..method import windows
from ..method.cluster import Clusters
from .gelu import gelu

__all__ = ["Engine", "Reconstructor"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Weights = Mapping[str, Floats]

BLOCK = 512  # windows at a time: bounds the memory
CACHE = 65_536  # numbers of one intermediate result that stay in the cache
EPSILON = 1e-5  # of torch's batch norm


@dataclass(frozen=True, eq=False)
class Affine:
    """x -> x * scale + shift: a batch norm with fixed statistics."""

    scale: Floats
    shift: Floats

    @classmethod
    def norm(cls, weights: Weights, name: str) -> Self:
        scale = weights[f"{name}.weight"] / np.sqrt(weights[f"{name}.running_var"] + EPSILON)
        return cls(scale, weights[f"{name}.bias"] - weights[f"{name}.running_mean"] * scale)

    def __call__(self, x: Floats) -> Floats:
        return x * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class Linear:
    """x -> x @ matrix + bias."""

    matrix: Floats  # (in, out)
    bias: Floats  # (out,)

    @classmethod
    def layer(cls, weights: Weights, name: str) -> Self:
        return cls(np.ascontiguousarray(weights[f"{name}.weight"].T), weights[f"{name}.bias"])

    def after(self, norm: Affine) -> "Linear":
        """This map with a batch norm folded in before it."""
        return Linear(norm.scale[:, None] * self.matrix, self.bias + norm.shift @ self.matrix)

    def before(self, norm: Affine) -> "Linear":
        """This map with a batch norm folded in after it."""
        return Linear(self.matrix * norm.scale, self.bias * norm.scale + norm.shift)

    def __call__(self, x: Floats) -> Floats:
        out: Floats = x @ self.matrix
        out += self.bias
        return out


@dataclass(frozen=True, eq=False)
class TimeMap:
    """A masked linear map along time."""

    matrix: Floats  # (time out, time in)
    bias: Floats  # (time out,)

    @classmethod
    def layer(cls, weights: Weights, name: str, settings: Settings) -> Self:
        matrix = weights[f"{name}.weight"].T  # (time out, time in)
        if settings.temporal_mixer == "causal":
            matrix = np.tril(matrix)
            if settings.causal_mask == "1/j":
                matrix = matrix / np.arange(1, settings.window + 1, dtype=np.float32)[:, None]
        return cls(np.ascontiguousarray(matrix), weights[f"{name}.bias"])

    def __call__(self, x: Floats) -> Floats:  # (windows, time, width)
        mixed: Floats = np.matmul(self.matrix, x)
        mixed += self.bias[:, None]
        return mixed


class Kernels:
    """The inner loops: compiled where numba is installed, plain numpy elsewhere; the same formula either way."""

    def __init__(self, compiled: bool | None = None) -> None:
        self.compiled = compiled_kernels() is not None if compiled is None else compiled
        fast = compiled_kernels() if self.compiled else None
        if self.compiled and fast is None:
            raise MissingExtraError("compiled kernels need numba: pip install 'ccmtad[fast]'")
        self.gelu = gelu if fast is None else fast.gelu
        self.mix_last = _mix_last if fast is None else fast.mix_last


@cache
def compiled_kernels() -> ModuleType | None:
    """The module of compiled kernels; None without numba."""
    try:
        from . import fast
    except ImportError:
        return None
    return fast


def _mix_last(hidden: Floats, bias: Floats, weight: Floats, last_bias: np.float32) -> Floats:
    hidden += bias[:, None]
    mixed: Floats = np.matmul(weight, gelu(hidden))
    mixed += last_bias
    return mixed


class Mixer:
    """One mixer block, at every position or at the last one only."""

    def __init__(self, weights: Weights, name: str, settings: Settings, kernels: Kernels) -> None:
        self.kernels = kernels
        self.time = None
        if settings.temporal_mixer != "none":
            self.time = tuple(TimeMap.layer(weights, f"{name}.time.{i}", settings) for i in ("first", "second"))
            self.last_weight = np.ascontiguousarray(self.time[1].matrix[-1])
            self.last_bias = self.time[1].bias[-1]
        self.time_norm = Affine.norm(weights, f"{name}.time_norm")
        self.embedding = None
        if settings.embedding_mixer:
            self.embedding = tuple(Linear.layer(weights, f"{name}.embedding.{i}") for i in ("first", "second"))
        self.embedding_norm = Affine.norm(weights, f"{name}.embedding_norm")

    def all(self, r: Floats) -> Floats:  # (windows, time, width)
        return self._rest(r, r if self.time is None else r + self.time[1](self.kernels.gelu(self.time[0](r))))

    def last(self, r: Floats) -> Floats:  # (windows, time, width) -> (windows, width)
        now = r[:, -1]
        if self.time is None:
            return self._rest(now, now)
        block = max(1, CACHE // (r.shape[1] * r.shape[2]))
        parts = [self._mix_last(r[first : first + block]) for first in range(0, len(r), block)]
        mixed = parts[0] if len(parts) == 1 else np.concatenate(parts)
        mixed += now
        return self._rest(now, mixed)

    def _mix_last(self, r: Floats) -> Floats:
        assert self.time is not None
        hidden = np.matmul(self.time[0].matrix, r)
        return self.kernels.mix_last(hidden, self.time[0].bias, self.last_weight, self.last_bias)

    def _rest(self, r: Floats, mixed: Floats) -> Floats:
        e = self.time_norm(mixed)
        out = r + e
        if self.embedding is not None:
            out += self.embedding[1](self.kernels.gelu(self.embedding[0](e)))
        return self.embedding_norm(out)


class Reconstructor(ABC):
    """Anything that reconstructs the newest row of a window, judged by how far off it is."""

    window: int

    @abstractmethod
    def reconstruct(self, rows: Floats) -> Floats:
        """The reconstruction of every row that ends a window of consecutive `rows`."""

    def errors(self, rows: Floats, ends: Ints) -> Iterator[tuple[slice, Floats]]:
        """Squared errors of the rows `ends`, block by block in order: (where in `ends`, errors)."""
        done = 0
        for run_first, run_last in windows.runs(ends):
            for first in range(run_first, run_last + 1, BLOCK):
                last = min(first + BLOCK - 1, run_last)
                back = self.reconstruct(rows[first - self.window + 1 : last + 1])
                yield slice(done, done + len(back)), np.square(rows[first : last + 1] - back)
                done += len(back)


class Engine(Reconstructor):
    """The trained network."""

    def __init__(self, weights: Weights, clusters: Clusters, settings: Settings, compiled: bool | None = None) -> None:
        """`compiled` says whether to use numba; None: where it is installed."""
        self.window = settings.window
        self.kernels = Kernels(compiled)
        self.embed = _dense_embedding(weights, clusters).before(Affine.norm(weights, "norm"))
        self.width = self.embed.matrix.shape[1]
        self.mixers = [Mixer(weights, f"mixers.{i}", settings, self.kernels) for i in range(settings.mixers)]
        self.head = Linear.layer(weights, "head").after(Affine.norm(weights, "head_norm"))

    def reconstruct(self, rows: Floats) -> Floats:
        r0 = self.embed(rows)  # (rows, width)
        return self.reconstruct_embedded(sliding_window_view(r0, self.window, axis=0).swapaxes(1, 2))  # no copy

    def reconstruct_embedded(self, r: Floats) -> Floats:
        """The newest rows of windows that are embedded already: (windows, time, width) to (windows, channels)."""
        now = r[:, -1]
        for mixer in self.mixers[:-1]:
            r = mixer.all(r)
        return self.head(now + self.mixers[-1].last(r))


def _dense_embedding(weights: Weights, clusters: Clusters) -> Linear:
    """The clusters' embeddings as one map, zero between clusters."""
    widths = [len(weights[f"embed.{i}.bias"]) for i in range(clusters.found)]
    matrix = np.zeros((len(clusters.label), sum(widths)), dtype=np.float32)
    column = 0
    for i, (members, width) in enumerate(zip(clusters.members, widths, strict=True)):
        matrix[members, column : column + width] = weights[f"embed.{i}.weight"].T
        column += width
    return Linear(matrix, np.concatenate([weights[f"embed.{i}.bias"] for i in range(clusters.found)]))
