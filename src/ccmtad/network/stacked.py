"""Small networks trained as one: every product is a batched one over a first axis of networks.

Each has its own rows, scaler, clusters, order of windows, dropout, learning steps and best epoch; they share the sizes
and the settings. What is computed of one does not depend on the others beside it (a test holds it to what the network
learns alone). On a GPU, where a small network spends its time on starting kernels, many cost about as much as one; on a
CPU it is slower than one process for each core.

Everything an epoch needs is on the device when it begins, a step that is the same each time is recorded once and
replayed, and nothing is asked of the device before the last epoch has ended, unless somebody wants to be told of each.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ..errors import TrainingError
from ..results import Epoch
from .batches import Batches
from .layers import EPSILON, MOMENTUM, Product, counted_norm
from .recorded import Recorder, Repeated
from .shapes import Architecture
from .training import build, checked, decay, reproducible
from .weights import Lesson, Trained, Weights

__all__ = ["Stack", "alike", "train"]

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # of Adam: what its moments keep, and what is added to the second's root
MEAN, VARIANCE = ".running_mean", ".running_var"
ALIGNED = (
    4  # numbers: products of what begins elsewhere, or has rows of other lengths, take four times as long on a GPU
)

Tell = Callable[[Epoch, Callable[[], Weights]], object]  # the second gives the weights of the moment


def alike(lesson: Lesson) -> tuple[object, ...]:
    """Lessons for which this is equal can be stacked."""
    return lesson.shape.channels, lesson.shape.width, lesson.settings.but(epochs=1, seed=0)


def train(lessons: Sequence[Lesson], each: Sequence[Tell] = ()) -> list[Trained | TrainingError]:
    """What each network learns, or why it could not; lessons must be alike. As many at a time as the device has
    memory for. `each` has what is called after every epoch of the first lesson, of the second and so on: of as many as
    somebody wants to be told of."""
    done: list[Trained | TrainingError] = []
    with reproducible(lessons[0].settings) as device, _current(device):
        most = _room(lessons[0], device)
        while len(done) < len(lessons):
            some = slice(len(done), len(done) + most)
            try:
                done += _train(lessons[some], device, each[some])
                continue
            except torch.OutOfMemoryError as error:
                reason = f"training must fit into the memory of {device}: {error}"
            # Somebody else is on the device, too.
            torch.cuda.empty_cache()
            if most == 1:
                done.append(TrainingError(reason))
            most = max(1, most // 2)
    return done


def _current(device: torch.device) -> AbstractContextManager[object]:
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def _room(lesson: Lesson, device: torch.device) -> int:
    """How many such networks share three fifths of the device's memory: always as many, since what is dropped in
    training depends on who is trained with whom."""
    if device.type != "cuda":
        return 128
    shape, settings = lesson.shape, lesson.settings
    # Counted, of a recorded step and of the last one of an epoch, in tensors of (time, batch, width) or channels.
    each = (30 + 20 * shape.mixers) * shape.width * shape.expansion + 4 * shape.channels
    most = 0.6 * torch.cuda.mem_get_info(device)[1] / (4 * settings.window * settings.batch_size * each)
    return max(1, int(most))


def _train(lessons: Sequence[Lesson], device: torch.device, each: Sequence[Tell]) -> list[Trained | TrainingError]:
    stack = Stack(lessons, device)
    planned = [lesson.settings.epochs for lesson in lessons]
    told: list[tuple[Tensor, Tensor]] = []
    best = stack.kept()
    lowest = torch.full((len(lessons),), torch.inf, dtype=torch.float64, device=device)
    latest = torch.tensor([lesson.keep_last for lesson in lessons], device=device)
    epochs = range(max(planned))
    for epoch, at_work in enumerate(torch.tensor([[i < one for one in planned] for i in epochs], device=device)):
        learnt = stack.learn(epoch, at_work)
        found = stack.check()
        better = at_work & (latest | (found < lowest))
        lowest = torch.where(better, found, lowest)
        best = [torch.where(_like(better, now), now, kept) for now, kept in zip(stack.kept(), best, strict=True)]
        told.append((learnt, found))
        losses = torch.stack([learnt, found]).T.tolist() if each else []
        for i, (tell, of_it) in enumerate(zip(each, losses, strict=False)):
            if epoch < planned[i] and np.isfinite(of_it).all():
                tell(Epoch(epoch + 1, planned[i], *of_it), partial(stack.now, i))
    history = torch.stack([torch.stack(pair) for pair in told]).cpu().numpy()  # (epochs, 2, networks)
    return [
        _trained(lesson, history[: lesson.settings.epochs, :, i], stack.now(i, best))
        for i, lesson in enumerate(lessons)
    ]


def _trained(lesson: Lesson, losses: NDArray[np.float64], tensors: Weights) -> Trained | TrainingError:
    planned = lesson.settings.epochs
    history = tuple(Epoch(i, planned, float(one), float(two)) for i, (one, two) in enumerate(losses, 1))
    for epoch in history:
        if not np.isfinite([epoch.training, epoch.validation]).all():
            return TrainingError(
                f"training must keep a finite loss; got {epoch.training} in epoch {epoch.number}: "
                f"try a learning_rate below {lesson.settings.learning_rate}"
            )
    return Trained(tensors, history, planned if lesson.keep_last else int(np.argmin(losses[:, 1])) + 1)


class Stack:
    """Networks side by side. The embedding of each is one dense product, of which only what joins a cluster with its
    own channels is not zero: so other clusters are the same shape. Of a tensor, all that belongs to one network and one
    embedding dimension lies together: (networks, width, time, batch)."""

    def __init__(self, lessons: Sequence[Lesson], device: torch.device) -> None:
        self.lessons, self.device = lessons, device
        self.shape, self.settings = lessons[0].shape, lessons[0].settings
        self.shuffles: list[torch.Generator] = []
        states = [self._state(lesson) for lesson in lessons]
        self.sizes = {name: tensor.shape for name, tensor in states[0].items() if not name.endswith((MEAN, VARIANCE))}
        self.places = [size.numel() for size in self.sizes.values()]
        self.norms = [name.removesuffix(MEAN) for name in states[0] if name.endswith(MEAN)]
        self.weights = torch.stack([torch.cat([state[name].flatten() for name in self.sizes]) for state in states])
        self.weights = self.weights.to(device).requires_grad_()  # (networks, all that is learnt)
        self.running = torch.stack(
            [torch.stack([state[norm + of] for state in states]) for norm in self.norms for of in (MEAN, VARIANCE)]
        ).to(device)  # (norms * 2, networks, width)
        self.moments = torch.zeros(2, *self.weights.shape).to(self.weights)
        self.steps = torch.zeros(len(lessons), dtype=torch.float64, device=device)
        self.mask = torch.stack([_mask(lesson.shape) for lesson in lessons]).to(self.weights)  # (.., width, channels)
        self.gate = torch.as_tensor(self.shape.gate).to(self.weights)  # (time in, time out)
        self.reach = torch.arange(1 - self.settings.window, 1, device=device)
        self.rows, self.first = self._series()
        checks = [checked(lesson) + first for lesson, first in zip(lessons, self.first, strict=True)]
        self.checks = Batches.of(checks, self.settings.batch_size, self.weights.dtype).to(device)
        self.batches = self._shuffled()
        # What a recorded step reads and writes: it stays where it is.
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        self.rate = torch.zeros((), dtype=torch.float64, device=device)
        self.at_work = torch.ones(len(lessons), dtype=torch.bool, device=device)
        self.total = torch.zeros(len(lessons), dtype=torch.float64, device=device)
        recorder = Recorder(device)
        self.step, self.look = Repeated(recorder), Repeated(recorder)
        self.begun = False

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

    def _shuffled(self) -> Batches:
        """The windows of the next epoch, in the order of each network."""
        most = self.settings.epoch_windows
        ends = [
            lesson.training[torch.randperm(len(lesson.training), generator=shuffle)[:most].numpy()] + first
            for lesson, shuffle, first in zip(self.lessons, self.shuffles, self.first, strict=True)
        ]
        return Batches.of(ends, self.settings.batch_size, self.weights.dtype).to(self.device)

    def learn(self, epoch: int, at_work: Tensor) -> Tensor:
        """One epoch, counted from 0, of the networks that are at work; the mean loss of each."""
        if self.begun:
            self.batches.copy_(self._shuffled())
        self.begun = True
        self.rate.fill_(self.settings.learning_rate * decay(epoch))
        self.at_work.copy_(at_work)
        return self._pass(self.batches, self.step, self._step)

    def check(self) -> Tensor:
        """The mean validation loss of each network."""
        return self._pass(self.checks, self.look, self._look)

    def _pass(self, batches: Batches, repeated: Repeated, work: Callable[[bool], None]) -> Tensor:
        self.at.zero_()
        self.total.zero_()
        for _ in range(len(batches.ends) - 1):
            repeated(partial(work, True))
        work(False)
        return self.total / batches.real.sum(dim=(0, 2))

    def _step(self, full: bool) -> None:
        """Learns from the next batch. Where it is `full`, each network has all of its windows or none."""
        rows, real = (part.index_select(0, self.at)[0] for part in (self.batches.ends, self.batches.real))
        active = self.at_work & (real[:, 0] > 0)
        before = self.running.clone()
        loss = self.loss(rows, real, full=full, learning=True)
        (gradient,) = torch.autograd.grad(loss.sum(), [self.weights])
        with torch.no_grad():
            self.running.copy_(torch.where(active[:, None], self.running, before))
            self._adam(gradient, active)
            self.total += torch.where(active, loss.detach() * real.sum(dim=1), 0.0)
            self.at += 1

    @torch.no_grad()
    def _look(self, full: bool) -> None:
        """Judges the next batch of those that an epoch is judged by."""
        rows, real = (part.index_select(0, self.at)[0] for part in (self.checks.ends, self.checks.real))
        self.total += self.loss(rows, real, full=full, learning=False) * real.sum(dim=1)
        self.at += 1

    def loss(self, ends: Tensor, real: Tensor, *, full: bool, learning: bool) -> Tensor:
        """(networks,): the mean squared error of the newest row."""
        x = self.rows[ends[:, None, :] + self.reach[:, None]]  # (networks, time, batch, channels)
        made = self.reconstruct(x, None if full else real, learning)
        wrong = (made - x[:, -1].transpose(1, 2)).square().mean(dim=1)  # (networks, batch)
        return (wrong * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)

    def reconstruct(self, x: Tensor, real: Tensor | None, learning: bool) -> Tensor:
        """The newest row of each window, as `Network` does it. `real` says which windows count, if not all do."""
        shape, settings = self.shape, self.settings  # -> (networks, channels, batch)
        made = self._named(self.weights)
        made["embed.weight"] = made["embed.weight"] * self.mask

        def drop(tensor: Tensor, share: float) -> Tensor:
            return functional.dropout(tensor, share, learning) if share else tensor

        def norm(name: str, tensor: Tensor) -> Tensor:
            weight, bias = made[f"{name}.weight"], made[f"{name}.bias"]
            mean, variance = self.running[2 * self.norms.index(name) :][:2]
            if learning and real is not None:
                return counted_norm(tensor, real, weight, bias, mean, variance)
            flat = tensor.reshape(1, -1, tensor.shape[2] * tensor.shape[3])
            mean, variance, weight, bias = (part.reshape(-1) for part in (mean, variance, weight, bias))
            return functional.batch_norm(flat, mean, variance, weight, bias, learning, MOMENTUM, EPSILON).view_as(
                tensor
            )

        def linear(name: str, tensor: Tensor) -> Tensor:  # along the second axis
            product: Tensor = Product.apply(made[f"{name}.weight"], tensor)  # type: ignore[no-untyped-call]
            return product.add_(made[f"{name}.bias"][..., None]).view(*product.shape[:2], *tensor.shape[2:])

        def causal(name: str, tensor: Tensor) -> Tensor:  # along time, for every width by itself
            width, time, batch = tensor.shape[1:]
            weight = (made[f"{name}.weight"] * self.gate).transpose(1, 2)  # (networks, time out, time in)
            weights = weight[:, None].expand(-1, width, -1, -1).reshape(-1, time, time)
            bias = made[f"{name}.bias"][:, None].expand(-1, width, -1).reshape(-1, time, 1)
            return torch.bmm(weights, tensor.reshape(-1, time, batch)).add_(bias).view_as(tensor)

        x = drop(x, settings.input_dropout)
        embedded = linear("embed", x.permute(0, 3, 1, 2))
        r0 = norm("norm", drop(embedded, settings.embedding_dropout))  # (networks, width, time, batch)
        r, mixer_dropout = r0, settings.mixer_dropout
        for i in range(shape.mixers):
            e = r
            if shape.temporal_mixer != "none":
                hidden = drop(functional.gelu(causal(f"mixers.{i}.time.first", r)), mixer_dropout)
                e = r + drop(causal(f"mixers.{i}.time.second", hidden), mixer_dropout)
            e = norm(f"mixers.{i}.time_norm", e)
            mixed = r + e
            if shape.embedding_mixer:
                hidden = drop(functional.gelu(linear(f"mixers.{i}.embedding.first", e)), mixer_dropout)
                mixed = mixed + drop(linear(f"mixers.{i}.embedding.second", hidden), mixer_dropout)
            r = norm(f"mixers.{i}.embedding_norm", mixed)
        seen = norm("head_norm", r0 + drop(r, mixer_dropout))
        return linear("head", seen[:, :, -1:])[:, :, 0]

    def _named(self, weights: Tensor) -> dict[str, Tensor]:
        """Every parameter, of each network."""
        parts = zip(weights.split(self.places, dim=1), self.sizes.items(), strict=True)
        return {name: part.unflatten(1, size) for part, (name, size) in parts}

    def _adam(self, gradient: Tensor, active: Tensor) -> None:
        """A step of the networks that are active; the others stay as they are, and so do their moments."""
        self.steps += active
        goes, (mean, square) = active[:, None], self.moments
        first, second = (1 - keep ** self.steps.clamp(min=1)[:, None] for keep in (FIRST, SECOND))
        mean.copy_(torch.where(goes, mean.lerp(gradient, 1 - FIRST), mean))
        square.copy_(torch.where(goes, SECOND * square + (1 - SECOND) * gradient * gradient, square))
        root = square.sqrt() / second.sqrt().to(square.dtype) + TINY
        change = mean / root * (self.rate / first).to(mean.dtype)
        self.weights.copy_(torch.where(goes, self.weights - change, self.weights))

    def kept(self) -> list[Tensor]:
        """All that is learnt, (networks, ..): what the weights are, and the running statistics of the norms."""
        return [self.weights.detach().clone(), self.running.transpose(0, 1).clone()]

    def now(self, number: int, kept: Sequence[Tensor] | None = None) -> Weights:
        """The weights of one network, as they are or as they were, as an engine takes them."""
        return {name: tensor.astype(np.float32) for name, tensor in self.of(number, kept).items()}

    def of(self, number: int, kept: Sequence[Tensor] | None = None) -> dict[str, NDArray[Any]]:
        """The tensors of one network, as they are or as they were, by the names and in the shapes that it has alone."""
        parts = kept or (self.weights.detach(), self.running.transpose(0, 1))
        weights, running = (part[number : number + 1].cpu() for part in parts)
        found = {name: tensor[0].numpy() for name, tensor in self._named(weights).items()}
        for i, norm in enumerate(self.norms):
            found[norm + MEAN], found[norm + VARIANCE] = running[0, 2 * i].numpy(), running[0, 2 * i + 1].numpy()
        shape, weight, bias, at = self.lessons[number].shape, found.pop("embed.weight"), found.pop("embed.bias"), 0
        for i, (members, width) in enumerate(zip(shape.members, shape.widths, strict=True)):
            found[f"embed.{i}.weight"] = np.ascontiguousarray(weight[at : at + width, members])
            found[f"embed.{i}.bias"] = bias[at : at + width]
            at += width
        return {name: found[name].copy() for name in shape.shapes if name in found}


def _mask(shape: Architecture) -> Tensor:
    """(width, channels): 1 where an embedding dimension reads a channel."""
    mask = torch.zeros(shape.width, shape.channels)
    for channel, (first, end) in enumerate(shape.spans):
        mask[first:end, channel] = 1.0
    return mask


def _like(each: Tensor, tensor: Tensor) -> Tensor:
    """One value for each network, in as many dimensions as the tensor has."""
    return each.view(-1, *[1] * (tensor.ndim - 1))
