"""Inference in numpy, from the weights that training left.

Only the newest row of a window is reconstructed, so only what that needs is computed: the embedding of a row once,
not once per window it is in; the second time mixing, the embedding mixer and the head at one position. The batch norms
are folded into the maps beside them where they can be.

A row must have the same loss alone, in a stream, as among thousands, in a batch, but a matrix product rounds
differently for different numbers of rows. So whatever takes many rows at once is done in double precision, and in a
batch by products of one shape (`products`); the rest, time mixing, in single precision window by window.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..compiled import available
from ..errors import MissingExtraError
from ..prepare import windows
from . import kernels
from .gelu import exact_gelu, gelu
from .products import filled, product
from .shapes import Architecture

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
        out: Numbers = product(x, self.matrix) if x.ndim == 2 else x @ self.matrix  # window by window
        out += self.bias
        return out


@dataclass(frozen=True, eq=False)
class TimeMap:
    """A masked linear map along time."""

    matrix: Floats  # (time out, time in)
    bias: Floats  # (time out,)

    @classmethod
    def layer(cls, weights: Weights, name: str, shape: Architecture) -> Self:
        matrix = (weights[f"{name}.weight"] * shape.gate).T.astype(np.float32)
        return cls(np.ascontiguousarray(matrix), weights[f"{name}.bias"])

    def __call__(self, x: Floats) -> Floats:  # (windows, time, width)
        mixed: Floats = np.matmul(self.matrix, x)
        mixed += self.bias[:, None]
        return mixed


class Dense:
    """A linear map in double precision whose matrix is kept in single."""

    def __init__(self, linear: Linear) -> None:
        self.single = linear.matrix.astype(np.float32)
        self.linear = Linear(self.single.astype(np.float64), linear.bias)

    def __call__(self, x: Numbers) -> Numbers:
        return self.linear(x)


class TimeMixer:
    """The two maps along time."""

    def __init__(self, weights: Weights, name: str, shape: Architecture, compiled: bool) -> None:
        self.compiled = compiled
        self.first, self.second = (TimeMap.layer(weights, f"{name}.{i}", shape) for i in ("first", "second"))
        causal = shape.temporal_mixer == "causal"
        self.last_parts = (
            self.first.matrix,
            np.arange(1, shape.window + 1) if causal else np.full(shape.window, shape.window),  # positions that count
            self.first.bias,
            np.ascontiguousarray(self.second.matrix[-1]),
            self.second.bias[-1],
        )

    def all(self, r: Floats) -> Floats:  # (windows, time, width)
        return self.second(_gelu(self.first(r), self.compiled))

    def of_rows(self, rows: Floats) -> Floats:
        """At the newest position of every window of consecutive rows: (rows, width) to (windows, width)"""
        return self.of_windows(sliding_window_view(rows, len(self.first.bias), axis=0).swapaxes(1, 2))  # no copy

    def of_windows(self, r: Floats) -> Floats:  # (windows, time, width) -> (windows, width)
        if self.compiled:
            return kernels.MIX_WINDOWS.fast(np.ascontiguousarray(r), *self.last_parts)  # type: ignore[no-any-return]
        block = max(1, CACHE // (r.shape[1] * r.shape[2]))
        if len(r) <= block:
            return self._newest(r)
        return np.concatenate([self._newest(r[first : first + block]) for first in range(0, len(r), block)])

    def _newest(self, r: Floats) -> Floats:
        matrix, _, bias, weight, last_bias = self.last_parts
        hidden = np.matmul(matrix, r)
        hidden += bias[:, None]
        mixed: Floats = np.matmul(weight, gelu(hidden))
        mixed += last_bias
        return mixed


def _gelu(x: Numbers, compiled: bool) -> Numbers:
    return kernels.GELU.fast(x) if compiled else gelu(x)


class InnerMixer:
    """A mixer block that others follow: needed at every position, in single precision."""

    def __init__(self, weights: Weights, name: str, shape: Architecture, compiled: bool) -> None:
        self.compiled = compiled
        self.time = _time_mixer(weights, name, shape, compiled)
        self.time_norm = Affine.norm(weights, f"{name}.time_norm", np.float32)
        self.embedding = None
        if shape.embedding_mixer:
            self.embedding = tuple(
                Linear.layer(weights, f"{name}.embedding.{i}", np.float32) for i in ("first", "second")
            )
        self.embedding_norm = Affine.norm(weights, f"{name}.embedding_norm", np.float32)

    def __call__(self, r: Floats) -> Floats:  # (windows, time, width)
        e = self.time_norm(r if self.time is None else r + self.time.all(r))
        out: Floats = r + e
        if self.embedding is not None:
            out += self.embedding[1](_gelu(self.embedding[0](e), self.compiled))
        return self.embedding_norm(out)


class LastMixer:
    """The last mixer block and the head, needed at the newest row only, in double precision.

    With m = r + time(r), e = norm(m), and the head's own norm, the reconstruction is linear in r0, r, m and
    g = gelu(F1(e)), and F2 is never applied by itself; r0 is linear in the newest row x, as is a linear reconstruction
    beside the network's. So one matrix maps [m, r, g, x] straight to the channels; of a single block, r is r0.
    """

    def __init__(self, weights: Weights, name: str, shape: Architecture, embedding: Linear, compiled: bool) -> None:
        self.compiled = compiled
        self.time = _time_mixer(weights, name, shape, compiled)
        time_norm = Affine.norm(weights, f"{name}.time_norm")
        norm = Affine.norm(weights, f"{name}.embedding_norm")
        head = Linear.layer(weights, "head").after(Affine.norm(weights, "head_norm"))
        inner = norm.scale[:, None] * head.matrix  # from the sum inside the last norm to the channels
        bias = head.bias + norm.shift @ head.matrix + time_norm.shift @ inner
        self.alone = shape.mixers == 1
        parts = [time_norm.scale[:, None] * inner]
        if not self.alone:
            parts.append(inner)
        self.hidden: Dense | None = None
        if shape.embedding_mixer:
            second = Linear.layer(weights, f"{name}.embedding.second")
            self.hidden = Dense(Linear.layer(weights, f"{name}.embedding.first").after(time_norm))
            parts.append(second.matrix @ inner)
            bias = bias + second.bias @ inner
        of_embedded = head.matrix + inner if self.alone else head.matrix
        of_row, bias = embedding.matrix @ of_embedded, bias + embedding.bias @ of_embedded
        if "linear.weight" in weights:
            beside = Linear.layer(weights, "linear")
            of_row, bias = of_row + beside.matrix, bias + beside.bias
        self.out = Dense(Linear(np.concatenate([*parts, of_row]), bias))

    def __call__(self, x: Floats, newest: Floats, along_time: Floats | None) -> Numbers:
        """(windows, channels) and twice (windows, width) to (windows, channels)"""
        mixed = newest if along_time is None else newest + along_time
        parts = [mixed] if self.alone else [mixed, newest]
        if self.hidden is not None:
            inner = self.hidden(mixed.astype(np.float64))
            parts.append(kernels.GELU.fast(inner) if self.compiled else exact_gelu(inner))
        return self.out(np.concatenate([*parts, x], axis=1, dtype=np.float64))


def _time_mixer(weights: Weights, name: str, shape: Architecture, compiled: bool) -> TimeMixer | None:
    return None if shape.temporal_mixer == "none" else TimeMixer(weights, f"{name}.time", shape, compiled)


class Reconstructor(ABC):
    """Anything that reconstructs the newest row of a window, judged by how far off it is."""

    window: int

    @abstractmethod
    def reconstruct(self, rows: Floats) -> Numbers:
        """The reconstruction of every row that ends a window of consecutive `rows`."""

    def newest(self, windows: Floats) -> Numbers:
        """The reconstruction of the newest row of each window: (windows, time, channels) to (windows, channels)"""
        return np.concatenate([self.reconstruct(rows) for rows in windows])

    def put_back(self, windows: Floats, which: Ints, channels: Ints, values: Floats) -> Numbers:
        """The reconstruction of the newest row of windows (windows, time, channels), with other values in one channel:
        of `which` of them, ascending, in which channel, with which values (.., time)."""
        others = windows[which]
        others[np.arange(len(which)), :, channels] = values
        return self.newest(others)

    def errors(self, rows: Floats, ends: Ints) -> Iterator[tuple[slice, Numbers]]:
        """Squared errors of the rows `ends`, block by block in order: (where in `ends`, errors)."""
        for where, difference in self.differences(rows, ends):
            yield where, np.square(difference)

    def differences(self, rows: Floats, ends: Ints) -> Iterator[tuple[slice, Numbers]]:
        """The rows `ends` less what was expected of them, block by block, each of consecutive rows."""
        done = 0
        for run_first, run_last in windows.runs(ends):
            for first in range(run_first, run_last + 1, BLOCK):
                last = min(first + BLOCK - 1, run_last)
                number = last - first + 1
                back = self.reconstruct(filled(rows[first - self.window + 1 : last + 1], number))[:number]
                yield slice(done, done + len(back)), rows[first : last + 1] - back
                done += len(back)


class Engine(Reconstructor):
    """The trained network."""

    @np.errstate(
        over="ignore", invalid="ignore"
    )  # weights that no training leaves: what comes of them is judged as NaN
    def __init__(self, weights: Weights, shape: Architecture, compiled: bool | None = None) -> None:
        """`compiled` says whether to use numba; None: where it is installed."""
        self.compiled = available() if compiled is None else compiled
        if self.compiled and not available():
            raise MissingExtraError("compiled kernels need numba: pip install 'ccmtad[fast]'")
        self.window, self.channels = shape.window, shape.channels
        self.embedding = Dense(_dense_embedding(weights, shape).before(Affine.norm(weights, "norm")))
        self.width = self.embedding.single.shape[1]
        self.spans = shape.spans
        *inner, last = (f"mixers.{i}" for i in range(shape.mixers))
        self.inner = [InnerMixer(weights, name, shape, self.compiled) for name in inner]
        self.last = LastMixer(weights, last, shape, self.embedding.linear, self.compiled)

    def embed(self, rows: Floats) -> Floats:
        """(rows, channels) to (rows, width)."""
        embedded: Floats = self.embedding(rows).astype(np.float32)
        return embedded

    @np.errstate(over="ignore", invalid="ignore")
    def reconstruct(self, rows: Floats) -> Numbers:
        if self.parts is not None:
            embedding, bias, _, *rest, _, head_bias = self.parts
            given = (embedding, bias, *rest, self.last.out.single, head_bias)
            return kernels.RECONSTRUCT.fast(rows, self.window, *given)  # type: ignore[no-any-return]
        r0, x = self.embed(rows), rows[self.window - 1 :]
        if self.inner:
            return self.reconstruct_windows(x, sliding_window_view(r0, self.window, axis=0).swapaxes(1, 2))  # no copy
        time = self.last.time
        return self.last(x, r0[self.window - 1 :], None if time is None else time.of_rows(r0))

    @np.errstate(over="ignore", invalid="ignore")
    def newest(self, windows: Floats) -> Numbers:
        embedded = self.embed(windows.reshape(-1, self.channels))
        return self.reconstruct_windows(windows[:, -1], embedded.reshape(*windows.shape[:2], -1))

    def put_back(self, windows: Floats, which: Ints, channels: Ints, values: Floats) -> Numbers:
        if self.parts is None:
            return super().put_back(windows, which, channels, values)
        whole = np.ascontiguousarray(windows)  # one layout: another would be compiled anew
        return kernels.PUT_BACK.fast(whole, which, channels, values, *self.parts)  # type: ignore[no-any-return]

    def reconstruct_windows(self, x: Floats, r: Floats) -> Numbers:
        """The newest rows `x` of windows that are embedded already: (windows, time, width) to (windows, channels)."""
        time = self.last.time
        for mixer in self.inner:
            r = mixer(r)
        return self.last(x, r[:, -1], None if time is None else time.of_windows(r))

    @np.errstate(over="ignore", invalid="ignore")
    def advance(self, streams: Ints, slots: Ints, ready: NDArray[np.bool_], x: Floats, ring: Floats) -> Numbers:
        """Takes the newest row `x` of each of the `streams`, and reconstructs it where that is `ready`.

        `ring` (streams, 2 windows, width) keeps embedded rows, each twice, so that a window is always in one piece;
        `slots` are the places of the new ones, -1 for a row that is left out. What is not ready comes back as anything.
        """
        if len(streams) == 1:
            return self._advance_one(int(streams[0]), int(slots[0]), bool(ready[0]), x, ring)
        new = np.flatnonzero(slots >= 0)
        ring[streams[new], slots[new]] = ring[streams[new], slots[new] + self.window] = self.embed(x[new])
        back = np.zeros((len(streams), self.channels))
        there = np.flatnonzero(ready)
        if len(there):
            reach = slots[there][:, None] + np.arange(1, self.window + 1)
            back[there] = self.reconstruct_windows(x[there], ring[streams[there][:, None], reach])
        return back

    def _advance_one(self, stream: int, slot: int, ready: bool, x: Floats, ring: Floats) -> Numbers:
        """The same without gathering."""
        if slot >= 0:
            ring[stream, slot] = ring[stream, slot + self.window] = self.embed(x)[0]
        if not ready:
            return np.zeros((1, self.channels))
        return self.reconstruct_windows(x, ring[stream, slot + 1 : slot + 1 + self.window][None])

    @cached_property
    def parts(self) -> tuple[Any, ...] | None:
        """Everything that a compiled step needs (`kernels.advance`), in its order; None where this cannot be one."""
        if not self.compiled or self.inner:
            return None
        last, nothing, none = self.last, np.zeros((0, 0), dtype=np.float32), np.zeros(0, dtype=np.float32)
        empty = (nothing, np.zeros(0, dtype=np.int64), none, none, np.float32(0))
        hidden = (nothing, np.zeros(0)) if last.hidden is None else (last.hidden.single, last.hidden.linear.bias)
        return (
            self.embedding.single, self.embedding.linear.bias, self.spans,
            last.time is not None, *(empty if last.time is None else last.time.last_parts),
            last.hidden is not None, *hidden, np.ascontiguousarray(last.out.single.T), last.out.linear.bias,
        )  # fmt: skip


def _dense_embedding(weights: Weights, shape: Architecture) -> Linear:
    """The clusters' embeddings as one map, zero between clusters."""
    matrix = np.zeros((shape.channels, shape.width))
    column = 0
    for i, (members, width) in enumerate(zip(shape.members, shape.widths, strict=True)):
        matrix[members, column : column + width] = weights[f"embed.{i}.weight"].T
        column += width
    bias = np.concatenate([weights[f"embed.{i}.bias"] for i in range(len(shape.members))])
    return Linear(matrix, bias.astype(np.float64))
