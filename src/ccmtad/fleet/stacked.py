"""Many small networks trained as one: every product is a batched one over a first axis of networks.

Each has its own rows, scaler, clusters, order of windows, dropout, learning steps and best epoch; they share the sizes
and the settings. What is computed of one does not depend on the others beside it (a test holds it to what the network
learns alone). On a GPU, where a small network spends its time on starting kernels, many cost about as much as one; on a
CPU it is slower than one process for each core.

Everything an epoch needs is on the device when it begins, and nothing is asked of the device before the last has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ..errors import TrainingError
from ..network.shapes import Architecture
from ..network.training import build, checked, decay, reproducible
from ..network.weights import Lesson, Trained, Weights
from ..results import Epoch

__all__ = ["Stack", "alike", "train"]

MOMENTUM, EPSILON = 0.1, 1e-5  # of batch norm
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # of Adam: what its moments keep, and what is added to the second's root
NORM = ("running_mean", "running_var")


def alike(lesson: Lesson) -> tuple[object, ...]:
    """Lessons for which this is equal can be stacked."""
    return lesson.shape.channels, lesson.shape.width, lesson.settings.but(epochs=1, seed=0)


def train(lessons: Sequence[Lesson]) -> list[Trained | TrainingError]:
    """What each network learns, or why it could not; lessons must be alike."""
    with reproducible(lessons[0].settings) as device:
        stack = Stack(lessons, device)
        epochs = [lesson.settings.epochs for lesson in lessons]
        told: list[tuple[Tensor, Tensor]] = []
        best = {name: tensor.clone() for name, tensor in stack.tensors.items()}
        lowest = torch.full((len(lessons),), torch.inf, dtype=torch.float64, device=device)
        last = torch.tensor([lesson.keep_last for lesson in lessons], device=device)
        for number in range(max(epochs)):
            at_work = torch.tensor([number < planned for planned in epochs], device=device)
            learnt = stack.learn(number, at_work)
            found = stack.check()
            better = at_work & (last | (found < lowest))
            lowest = torch.where(better, found, lowest)
            for name, tensor in stack.tensors.items():
                best[name] = torch.where(_like(better, tensor), tensor.detach(), best[name])
            told.append((learnt, found))
        losses = torch.stack([torch.stack(pair) for pair in told]).cpu().numpy()  # (epochs, 2, networks)
        return [
            _trained(lesson, losses[: lesson.settings.epochs, :, i], stack.of(i, best))
            for i, lesson in enumerate(lessons)
        ]


def _trained(lesson: Lesson, losses: NDArray[np.float64], tensors: dict[str, NDArray[Any]]) -> Trained | TrainingError:
    planned = lesson.settings.epochs
    history = tuple(Epoch(i, planned, float(one), float(two)) for i, (one, two) in enumerate(losses, 1))
    for epoch in history:
        if not np.isfinite([epoch.training, epoch.validation]).all():
            return TrainingError(
                f"training must keep a finite loss; got {epoch.training} in epoch {epoch.number}: "
                f"try a learning_rate below {lesson.settings.learning_rate}"
            )
    weights: Weights = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    return Trained(weights, history, planned if lesson.keep_last else int(np.argmin(losses[:, 1])) + 1)


@dataclass(frozen=True, eq=False)
class Batches:
    """The windows of a pass, cut into batches; networks with fewer are filled up with windows that do not count."""

    ends: Tensor  # (batches, networks, batch) last rows
    real: Tensor  # (batches, networks, batch) 1 where a window counts, else 0

    @classmethod
    def of(cls, ends: Sequence[NDArray[np.int64]], size: int, like: Tensor) -> "Batches":
        count = -(-max(map(len, ends)) // size)
        rows, real = np.zeros((len(ends), count * size), dtype=np.int64), np.zeros((len(ends), count * size))
        for i, one in enumerate(ends):
            rows[i, : len(one)], rows[i, len(one) :], real[i, : len(one)] = one, one[0], 1.0
        shape = (len(ends), count, size)
        return cls(
            torch.as_tensor(rows.reshape(shape).transpose(1, 0, 2).copy(), device=like.device),
            torch.as_tensor(real.reshape(shape).transpose(1, 0, 2).copy(), dtype=like.dtype, device=like.device),
        )


class Stack:
    """Networks side by side: the same tensors as of one, with a first axis of networks. The embedding of each is one
    dense product, of which only what joins a cluster with its own channels is not zero: so other clusters are the same
    shape."""

    def __init__(self, lessons: Sequence[Lesson], device: torch.device) -> None:
        self.lessons, self.device = lessons, device
        self.shape, self.settings = lessons[0].shape, lessons[0].settings
        self.shuffles: list[torch.Generator] = []
        states = [self._state(lesson) for lesson in lessons]
        self.tensors = {
            name: torch.stack([state[name] for state in states]).to(device) for name in states[0]
        }  # every parameter and running statistic
        self.learnt = [name for name in self.tensors if not name.endswith(NORM)]
        for name in self.learnt:
            self.tensors[name].requires_grad_()
        some = self.tensors["head.weight"]
        self.moments = {name: torch.zeros(2, *self.tensors[name].shape).to(some) for name in self.learnt}
        self.steps = torch.zeros(len(lessons), dtype=torch.float64, device=device)
        self.mask = torch.stack([_mask(lesson.shape) for lesson in lessons]).to(some)  # (networks, width, channels)
        self.gate = torch.as_tensor(self.shape.gate).to(some)  # (time in, time out)
        self.reach = torch.arange(1 - self.settings.window, 1, device=device)
        self.rows, self.first = self._series()
        checks = [checked(lesson) + first for lesson, first in zip(lessons, self.first, strict=True)]
        self.checks = Batches.of(checks, self.settings.batch_size, some)

    def _state(self, lesson: Lesson) -> dict[str, Tensor]:
        """A network as training alone would begin it, and its own order of windows."""
        torch.manual_seed(lesson.settings.seed)
        found = {
            name: tensor
            for name, tensor in build(lesson.shape, lesson.settings).state_dict().items()
            if not name.endswith("num_batches_tracked")
        }
        shuffle = torch.Generator()
        shuffle.set_state(torch.get_rng_state())
        self.shuffles.append(shuffle)
        weight, bias, at = torch.zeros(lesson.shape.width, lesson.shape.channels), [], 0
        for i, (members, width) in enumerate(zip(lesson.shape.members, lesson.shape.widths, strict=True)):
            weight[at : at + width, members] = found.pop(f"embed.{i}.weight")
            bias.append(found.pop(f"embed.{i}.bias"))
            at += width
        return found | {"embed.weight": weight, "embed.bias": torch.cat(bias)}

    def _series(self) -> tuple[Tensor, list[int]]:
        """The rows of all, one below the other, and where those of each begin; what several share is there once."""
        begins: dict[int, int] = {}
        parts, at = [], 0
        for lesson in self.lessons:
            if id(lesson.rows) not in begins:
                begins[id(lesson.rows)] = at
                parts.append(lesson.rows)
                at += len(lesson.rows)
        first = [begins[id(lesson.rows)] for lesson in self.lessons]
        return torch.as_tensor(np.concatenate(parts), device=self.device), first

    def learn(self, epoch: int, at_work: Tensor) -> Tensor:
        """One epoch, counted from 0, of the networks that are at work; the mean loss of each."""
        most, rate = self.settings.epoch_windows, self.settings.learning_rate * decay(epoch)
        ends = [
            lesson.training[torch.randperm(len(lesson.training), generator=shuffle)[:most].numpy()] + first
            for lesson, shuffle, first in zip(self.lessons, self.shuffles, self.first, strict=True)
        ]
        batches = Batches.of(ends, self.settings.batch_size, self.tensors["head.weight"])
        total = torch.zeros(len(self.lessons), dtype=torch.float64, device=self.device)
        for rows, real in zip(batches.ends, batches.real, strict=True):
            active = at_work & (real[:, 0] > 0)
            loss = self.loss(rows, real, active)
            self._step(torch.autograd.grad(loss.sum(), [self.tensors[name] for name in self.learnt]), active, rate)
            total += torch.where(active, loss.detach() * real.sum(dim=1), 0.0)
        return total / batches.real.sum(dim=(0, 2))

    @torch.no_grad()
    def check(self) -> Tensor:
        """The mean validation loss of each network."""
        total = torch.zeros(len(self.lessons), dtype=torch.float64, device=self.device)
        for rows, real in zip(self.checks.ends, self.checks.real, strict=True):
            total += self.loss(rows, real) * real.sum(dim=1)
        return total / self.checks.real.sum(dim=(0, 2))

    def loss(self, ends: Tensor, real: Tensor, active: Tensor | None = None) -> Tensor:
        """(networks,): the mean squared error of the newest row; `active` says which networks learn, if any."""
        x = self.rows[ends[:, None, :] + self.reach[:, None]]  # (networks, time, batch, channels)
        wrong = (self.reconstruct(x, real, active) - x[:, -1]).square().mean(dim=-1)  # (networks, batch)
        return (wrong * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)

    def reconstruct(self, x: Tensor, real: Tensor, active: Tensor | None) -> Tensor:
        """The newest row of each window, as `Network` does it."""  # -> (networks, batch, channels)
        shape, settings, learning = self.shape, self.settings, active is not None

        def drop(tensor: Tensor, share: float) -> Tensor:
            return functional.dropout(tensor, share, learning) if share else tensor

        def norm(name: str, tensor: Tensor) -> Tensor:
            return self._norm(name, tensor, real, active)

        x = drop(x, settings.input_dropout)
        embedded = self._linear("embed", x, self.tensors["embed.weight"] * self.mask)
        r0 = norm("norm", drop(embedded, settings.embedding_dropout))  # (networks, time, batch, width)
        r, mixer_dropout = r0, settings.mixer_dropout
        for i in range(shape.mixers):
            e = r
            if shape.temporal_mixer != "none":
                hidden = drop(functional.gelu(self._causal(f"mixers.{i}.time.first", r)), mixer_dropout)
                e = r + drop(self._causal(f"mixers.{i}.time.second", hidden), mixer_dropout)
            e = norm(f"mixers.{i}.time_norm", e)
            mixed = r + e
            if shape.embedding_mixer:
                hidden = drop(functional.gelu(self._linear(f"mixers.{i}.embedding.first", e)), mixer_dropout)
                mixed = mixed + drop(self._linear(f"mixers.{i}.embedding.second", hidden), mixer_dropout)
            r = norm(f"mixers.{i}.embedding_norm", mixed)
        seen = norm("head_norm", r0 + drop(r, mixer_dropout))
        return self._linear("head", seen[:, -1:])[:, 0]

    def _linear(self, name: str, x: Tensor, weight: Tensor | None = None) -> Tensor:
        """Along the last axis: (networks, time, batch, in) -> (networks, time, batch, out)."""
        weight = self.tensors[f"{name}.weight"] if weight is None else weight  # (networks, out, in)
        made = torch.baddbmm(self.tensors[f"{name}.bias"][:, None], x.flatten(1, 2), weight.transpose(1, 2))
        return made.view(*x.shape[:-1], -1)

    def _causal(self, name: str, x: Tensor) -> Tensor:
        """Along time: (networks, time, batch, width) -> the same."""
        weight = (self.tensors[f"{name}.weight"] * self.gate).transpose(1, 2)  # (networks, time out, time in)
        return torch.baddbmm(self.tensors[f"{name}.bias"][..., None], weight, x.flatten(2)).view_as(x)

    def _norm(self, name: str, x: Tensor, real: Tensor, active: Tensor | None) -> Tensor:
        """Batch norm of each network, over the windows that count."""
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]  # (networks, width)
        mean, variance = (self.tensors[f"{name}.{kind}"] for kind in NORM)
        if active is not None:
            counts, number = real[:, None, :, None], (real.sum(dim=1) * x.shape[1])[:, None].clamp(min=1)
            now = (x * counts).sum(dim=(1, 2)) / number
            spread = ((x - now[:, None, None]) * counts).square().sum(dim=(1, 2)) / number
            with torch.no_grad():
                unbiased = spread * number / (number - 1).clamp(min=1)
                for kept, new in ((mean, now), (variance, unbiased)):
                    kept.copy_(torch.where(active[:, None], (1 - MOMENTUM) * kept + MOMENTUM * new, kept))
            mean, variance = now, spread
        scale = weight * (variance + EPSILON).rsqrt()
        return (x - mean[:, None, None]) * scale[:, None, None] + bias[:, None, None]

    @torch.no_grad()
    def _step(self, gradients: Sequence[Tensor], active: Tensor, rate: float) -> None:
        """A step of Adam for the networks that are active; the others stay as they are, and so do their moments."""
        self.steps += active
        first, second = (1 - keep ** self.steps.clamp(min=1) for keep in (FIRST, SECOND))
        for name, gradient in zip(self.learnt, gradients, strict=True):
            tensor, (mean, square) = self.tensors[name], self.moments[name]
            goes = _like(active, tensor)
            mean.copy_(torch.where(goes, mean.lerp(gradient, 1 - FIRST), mean))
            square.copy_(torch.where(goes, SECOND * square + (1 - SECOND) * gradient * gradient, square))
            root = square.sqrt() / _like(second.sqrt(), tensor).to(tensor.dtype) + TINY
            change = mean / root * _like(rate / first, tensor).to(tensor.dtype)
            tensor.copy_(torch.where(goes, tensor - change, tensor))

    def of(self, number: int, tensors: dict[str, Tensor] | None = None) -> dict[str, NDArray[Any]]:
        """The tensors of one network, as they are or as they were, by the names and in the shapes that it has alone."""
        found = {
            name: tensor[number].detach().cpu().numpy().copy() for name, tensor in (tensors or self.tensors).items()
        }
        shape, weight, bias, at = self.lessons[number].shape, found.pop("embed.weight"), found.pop("embed.bias"), 0
        made = {}
        for i, (members, width) in enumerate(zip(shape.members, shape.widths, strict=True)):
            made[f"embed.{i}.weight"] = np.ascontiguousarray(weight[at : at + width, members])
            made[f"embed.{i}.bias"] = bias[at : at + width].copy()
            at += width
        return {name: (found | made)[name] for name in shape.shapes if name in found or name in made}


def _mask(shape: Architecture) -> Tensor:
    """(width, channels): 1 where an embedding dimension reads a channel."""
    mask = torch.zeros(shape.width, shape.channels)
    for channel, (first, end) in enumerate(shape.spans):
        mask[first:end, channel] = 1.0
    return mask


def _like(each: Tensor, tensor: Tensor) -> Tensor:
    """One value for each network, in as many dimensions as the tensor has."""
    return each.view(-1, *[1] * (tensor.ndim - 1))
