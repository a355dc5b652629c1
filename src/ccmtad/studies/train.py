"""Trains what is not kept yet. A killed run goes on where it stopped."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from ..bench import authors
from ..bench.datasets import Dataset, Entity
from ..bench.methods import losses_of
from ..executors import HERE, Crew, quietly
from ..fit import TrainingSeries, threads
from ..network.weights import Weights
from ..results import Epoch
from .keep import Keep, Kept, changes
from .plan import Plan, Training

__all__ = ["train", "trained"]

Progress = Callable[[int, int, Training], object]

FIRST_EPOCH_TO_CHOOSE = 2  # as the authors' code has it


def train(
    plan: Plan, keep: Keep, *, crew: Crew = HERE, device: str = "auto", minutes: float = np.inf,
    progress: Progress | None = None,
) -> int:  # fmt: skip
    """Does what is left of the plan, and says how much is left then. After so many minutes nothing new is begun.

    `progress` gets (kept, planned, training).
    """
    from . import known

    begun = time.time()
    planned = plan.trainings(tuple(known().values()))
    left = [training for training in planned if training.key not in keep]
    until = begun + 60 * minutes
    for training, kept in crew.map(partial(_trained, device=device, until=until), left):
        if kept is None:
            continue
        keep.add(kept)
        if progress is not None:
            progress(sum(one.key in keep for one in planned), len(planned), training)
    behind = sum(one.key not in keep for one in planned)
    if not behind:
        _time(planned, keep, device)
    return behind


def _time(planned: Sequence[Training], keep: Keep, device: str) -> None:
    """What is measured when nothing else runs, of the first entity of each dataset. Weights are of no account there."""
    from .extras import ALONE, EXTRAS, Trained
    from .sight import Sight

    for first in {one.dataset.name: one for one in reversed(planned) if set(one.extras) & set(ALONE)}.values():
        kept, wanted = keep[first.key], [name for name in first.extras if name in ALONE]
        if set(wanted) <= set(kept.extras):
            continue
        entity, settings = _read(first.dataset, first.entity), first.settings.but(device=device)
        with threads(settings.threads):
            series = TrainingSeries.of(entity.train, settings)
            new, sight = series.series(entity.test), Sight(series)
            seen = Trained(series, new, np.empty(0, dtype=np.bool_), sight.network.weights(), sight)
            more = {name: EXTRAS[name](seen) for name in wanted}
        keep.add(replace(kept, extras={**kept.extras, **more}))


def _trained(training: Training, device: str, until: float) -> tuple[Training, Kept | None]:
    """What came of it; None where it is too late to begin. What every training of an entity would say is not said."""
    if time.time() >= until:
        return training, None
    with quietly():
        return training, trained(training, device)


@lru_cache(maxsize=16)
def _read(dataset: Dataset, entity: str) -> Entity:
    return dataset.read(entity)


def trained(training: Training, device: str = "auto") -> Kept:
    """Trains one network, and keeps what judging needs of it."""
    import torch

    from .extras import ALONE, EXTRAS, Trained
    from .sight import Sight

    entity = _read(training.dataset, training.entity)
    settings = training.settings.but(device=device)
    with threads(settings.threads):
        series = TrainingSeries.of(entity.train, settings)
        new = series.series(entity.test)
        truth = entity.truth.anomalous[new.kept[new.ends]]
        sight = Sight(series)
        rows, ends = (torch.as_tensor(array, device=sight.device) for array in (new.rows, new.ends))
        points: list[float] = []
        best: dict[str, tuple[int, Weights]] = {}

        def each(epoch: Epoch, weights: Callable[[], Weights]) -> None:
            now = weights()
            points.append(authors.point(sight.losses(now, rows, ends), truth).f1)
            late = points[min(FIRST_EPOCH_TO_CHOOSE, epoch.of) - 1 :]
            if late and points[-1] > max(late[:-1], default=-1.0):  # the earliest of equals
                best["authors"] = epoch.number, now

        done = series.train(each)
        best["validation"] = done.best, done.weights
        losses = {
            name: losses_of(series.engine(weights), series, new, len(entity.test))
            for name, (_, weights) in best.items()
        }
        seen = Trained(series, new, truth, best["authors"][1], sight)
        extras = {name: EXTRAS[name](seen) for name in training.extras if name not in ALONE}
    history = [[epoch.training, epoch.validation, point] for epoch, point in zip(done.history, points, strict=True)]
    return Kept(
        training.dataset.name,
        training.entity,
        changes(training.settings),
        np.array(history),
        {name: number for name, (number, _) in best.items()},
        losses,
        entity.truth.anomalous,
        series.clusters.label,
        extras,
    )
