"""Inference in numpy, from the weights that training left.

Only the newest row of a window is reconstructed, so only what that needs is computed: the embedding of a row once,
not once per window it is in; the second time mixing, the embedding mixer and the head at one position. The batch norms
are folded into the maps beside them where they can be.

A row must have the same loss alone, in a stream, as among thousands, in a batch, but a matrix product rounds
differently for different numbers of rows. So whatever takes many rows at once is done in double precision, and the
rest, time mixing, in single precision by products of one fixed shape.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..errors import MissingExtraError
from ..prepare import windows
from ..settings import Settings
from .clusters import Clusters
from .gelu import gelu

__all__ = ["Engine", "Reconstructor"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Numbers = NDArray[Any]  # single or double precision
Weights = Mapping[str, Floats]

BLOCK = 512  # windows at a time: bounds the memory
CACHE = 65_536  # numbers of one intermediate result that stay in the cache
EPSILON = 1e-5  # of torch's batch norm


@dataclass(frozen=True, eq=False)
class Affine:
    """x -> x * scale + shift: a batch norm with fixed statistics."""

    scale: Numbers
    shift: Numbers

    @classmethod
    def norm(cls, weights: Weights, name: str, dtype: type = np.float64) -> Self:
        part = {
            key: weights[f"{name}.{key}"].astype(np.float64)
            for key in ("weight", "bias", "running_mean", "running_var")
        }
        scale = part["weight"] / np.sqrt(part["running_var"] + EPSILON)
        return cls(scale.astype(dtype), (part["bias"] - part["running_mean"] * scale).astype(dtype))

    def __call__(self, x: Numbers) -> Numbers:
        return x * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class Linear:
    """x -> x @ matrix + bias."""

    matrix: Numbers  # (in, out)
    bias: Numbers  # (out,)

    @classmethod
    def layer(cls, weights: Weights, name: str, dtype: type = np.float64) -> Self:
        return cls(np.ascontiguousarray(weights[f"{name}.weight"].T, dtype), weights[f"{name}.bias"].astype(dtype))

    def after(self, norm: Affine) -> "Linear":
        """This map with a batch norm folded in before it."""
        return Linear(norm.scale[:, None] * self.matrix, self.bias + norm.shift @ self.matrix)

    def before(self, norm: Affine) -> "Linear":
        """This map with a batch norm folded in after it."""
        return Linear(self.matrix * norm.scale, self.bias * norm.scale + norm.shift)

    def __call__(self, x: Numbers) -> Numbers:
        out: Numbers = x @ self.matrix
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
    """The inner loops: compiled where numba is installed, plain numpy elsewhere; the same function either way."""

    def __init__(self, compiled: bool | None = None) -> None:
        self.compiled = compiled_kernels() is not None if compiled is None else compiled
        fast = compiled_kernels() if self.compiled else None
        if self.compiled and fast is None:
            raise MissingExtraError("compiled kernels need numba: pip install 'ccmtad[fast]'")
        self.gelu = gelu if fast is None else fast.gelu
        self.mix_last = _mix_last if fast is None else fast.mix_last
        self.vector_times_matrix = None if fast is None else fast.vector_times_matrix

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Pickled without the code: the other side takes what it has."""
        return Kernels, ()


@cache
def compiled_kernels() -> ModuleType | None:
    """The module of compiled kernels; None without numba."""
    try:
        from . import kernels as fast
    except ImportError:
        return None
    return fast


def _mix_last(hidden: Floats, bias: Floats, weight: Floats, last_bias: np.float32) -> Floats:
    hidden += bias[:, None]
    mixed: Floats = np.matmul(weight, gelu(hidden))
    mixed += last_bias
    return mixed


class Dense:
    """A linear map in double precision whose matrix is kept in single: by BLAS for many rows, compiled for one."""

    def __init__(self, linear: Linear, kernels: Kernels) -> None:
        self.single = linear.matrix.astype(np.float32)
        self.linear = Linear(self.single.astype(np.float64), linear.bias)
        self.kernels = kernels

    def __call__(self, x: Numbers) -> Numbers:
        if len(x) == 1 and self.kernels.vector_times_matrix is not None:
            return self.kernels.vector_times_matrix(x[0], self.single, self.linear.bias)[None]  # type: ignore[no-any-return]
        return self.linear(x)


class TimeMixer:
    """The two maps along time."""

    def __init__(self, weights: Weights, name: str, settings: Settings, kernels: Kernels) -> None:
        self.kernels = kernels
        self.first, self.second = (TimeMap.layer(weights, f"{name}.{i}", settings) for i in ("first", "second"))
        self.last_weight = np.ascontiguousarray(self.second.matrix[-1])
        self.last_bias = self.second.bias[-1]

    def all(self, r: Floats) -> Floats:  # (windows, time, width)
        return self.second(self.kernels.gelu(self.first(r)))

    def last(self, r: Floats) -> Floats:  # (windows, time, width) -> (windows, width)
        block = max(1, CACHE // (r.shape[1] * r.shape[2]))
        if len(r) <= block:
            return self._last(r)
        return np.concatenate([self._last(r[first : first + block]) for first in range(0, len(r), block)])

    def _last(self, r: Floats) -> Floats:
        return self.kernels.mix_last(np.matmul(self.first.matrix, r), self.first.bias, self.last_weight, self.last_bias)


class InnerMixer:
    """A mixer block that others follow: needed at every position, in single precision."""

    def __init__(self, weights: Weights, name: str, settings: Settings, kernels: Kernels) -> None:
        self.kernels = kernels
        self.time = _time_mixer(weights, name, settings, kernels)
        self.time_norm = Affine.norm(weights, f"{name}.time_norm", np.float32)
        self.embedding = None
        if settings.embedding_mixer:
            self.embedding = tuple(
                Linear.layer(weights, f"{name}.embedding.{i}", np.float32) for i in ("first", "second")
            )
        self.embedding_norm = Affine.norm(weights, f"{name}.embedding_norm", np.float32)

    def __call__(self, r: Floats) -> Floats:  # (windows, time, width)
        e = self.time_norm(r if self.time is None else r + self.time.all(r))
        out: Floats = r + e
        if self.embedding is not None:
            out += self.embedding[1](self.kernels.gelu(self.embedding[0](e)))
        return self.embedding_norm(out)


class LastMixer:
    """The last mixer block and the head, needed at the newest row only, in double precision.

    With m = r + time(r), e = norm(m), and the head's own norm, the reconstruction is linear in r0, r, m and
    g = gelu(F1(e)): one matrix maps [r0, r, m, g] straight to the channels, and F2 is never applied by itself.
    """

    def __init__(self, weights: Weights, name: str, settings: Settings, kernels: Kernels) -> None:
        self.kernels = kernels
        self.time = _time_mixer(weights, name, settings, kernels)
        time_norm = Affine.norm(weights, f"{name}.time_norm")
        norm = Affine.norm(weights, f"{name}.embedding_norm")
        head = Linear.layer(weights, "head").after(Affine.norm(weights, "head_norm"))
        inner = norm.scale[:, None] * head.matrix  # from the sum inside the last norm to the channels
        bias = head.bias + norm.shift @ head.matrix + time_norm.shift @ inner
        self.alone = settings.mixers == 1  # then r is r0
        parts = [head.matrix + inner] if self.alone else [head.matrix, inner]
        parts.append(time_norm.scale[:, None] * inner)
        self.hidden: Dense | None = None
        if settings.embedding_mixer:
            second = Linear.layer(weights, f"{name}.embedding.second")
            self.hidden = Dense(Linear.layer(weights, f"{name}.embedding.first").after(time_norm), kernels)
            parts.append(second.matrix @ inner)
            bias = bias + second.bias @ inner
        self.out = Dense(Linear(np.concatenate(parts), bias), kernels)

    def __call__(self, r0: Floats, r: Floats) -> Numbers:  # (windows, width), (windows, time, width)
        newest = r[:, -1]
        mixed = newest if self.time is None else newest + self.time.last(r)
        parts: list[Numbers] = [r0, mixed] if self.alone else [r0, newest, mixed]
        if self.hidden is not None:
            parts.append(self.kernels.gelu(self.hidden(mixed)))
        return self.out(np.concatenate(parts, axis=1, dtype=np.float64))


def _time_mixer(weights: Weights, name: str, settings: Settings, kernels: Kernels) -> TimeMixer | None:
    return None if settings.temporal_mixer == "none" else TimeMixer(weights, f"{name}.time", settings, kernels)


class Reconstructor(ABC):
    """Anything that reconstructs the newest row of a window, judged by how far off it is."""

    window: int

    @abstractmethod
    def reconstruct(self, rows: Floats) -> Numbers:
        """The reconstruction of every row that ends a window of consecutive `rows`."""

    def errors(self, rows: Floats, ends: Ints) -> Iterator[tuple[slice, Numbers]]:
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
        self.embedding = Dense(_dense_embedding(weights, clusters).before(Affine.norm(weights, "norm")), self.kernels)
        self.width = self.embedding.single.shape[1]
        *inner, last = (f"mixers.{i}" for i in range(settings.mixers))
        self.inner = [InnerMixer(weights, name, settings, self.kernels) for name in inner]
        self.last = LastMixer(weights, last, settings, self.kernels)

    def embed(self, rows: Floats) -> Floats:
        """(rows, channels) to (rows, width)."""
        embedded: Floats = self.embedding(rows).astype(np.float32)
        return embedded

    def reconstruct(self, rows: Floats) -> Numbers:
        r0 = self.embed(rows)
        return self.reconstruct_embedded(sliding_window_view(r0, self.window, axis=0).swapaxes(1, 2))  # no copy

    def reconstruct_embedded(self, r: Floats) -> Numbers:
        """The newest rows of windows that are embedded already: (windows, time, width) to (windows, channels)."""
        r0 = r[:, -1]
        for mixer in self.inner:
            r = mixer(r)
        return self.last(r0, r)


def _dense_embedding(weights: Weights, clusters: Clusters) -> Linear:
    """The clusters' embeddings as one map, zero between clusters."""
    widths = [len(weights[f"embed.{i}.bias"]) for i in range(clusters.found)]
    matrix = np.zeros((len(clusters.label), sum(widths)))
    column = 0
    for i, (members, width) in enumerate(zip(clusters.members, widths, strict=True)):
        matrix[members, column : column + width] = weights[f"embed.{i}.weight"].T
        column += width
    bias = np.concatenate([weights[f"embed.{i}.bias"] for i in range(clusters.found)])
    return Linear(matrix, bias.astype(np.float64))
