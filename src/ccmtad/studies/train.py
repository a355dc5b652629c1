"""Trains what is not kept yet. A killed run goes on where it stopped."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import replace
from functools import lru_cache
from multiprocessing import get_context

import numpy as np

from ..bench import authors
from ..bench.datasets import Dataset, Entity
from ..bench.methods import losses_of
from ..bench.run import one_thread
from ..fit import TrainingSeries, threads
from ..network.weights import Weights
from ..results import Epoch
from .keep import Keep, Kept, changes
from .plan import Plan, Training

__all__ = ["train", "trained"]

Progress = Callable[[int, int, Training], object]

FIRST_EPOCH_TO_CHOOSE = 2  # as the authors' code has it


def train(
    plan: Plan, keep: Keep, *, device: str = "auto", workers: int = 1, minutes: float = np.inf,
    progress: Progress | None = None,
) -> int:  # fmt: skip
    """Does what is left of the plan, and says how much is left then. After so many minutes nothing new is begun.

    `progress` gets (kept, planned, training).
    """
    from . import known

    begun = time.monotonic()
    planned = plan.trainings(tuple(known().values()))
    left = [training for training in planned if training.key not in keep]
    for training, kept in _results(left, device, workers, begun + 60 * minutes):
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


def _results(left: Sequence[Training], device: str, workers: int, until: float) -> Iterator[tuple[Training, Kept]]:
    if workers == 1:
        for training in left:
            if time.monotonic() >= until:
                return
            yield training, trained(training, device)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_quietly) as pool:
        waiting, running, failed = iter(left), {}, None
        while True:
            for training in waiting if time.monotonic() < until else ():
                running[pool.submit(trained, training, device)] = training
                if len(running) > workers:
                    break
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                training = running.pop(future)
                if future.exception() is None:
                    yield training, future.result()
                failed = failed or future.exception()
        if failed is not None:  # after the results of all others
            raise failed


def _quietly() -> None:
    """Workers do not fight over cores, and do not repeat what every training of an entity would say."""
    one_thread()
    logging.getLogger("ccmtad").setLevel(logging.ERROR)


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
