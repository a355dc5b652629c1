"""Every method by name: from a training series to the losses of new rows. No method is ever given a label.

ccmtad         the network, as a user's detector trains it
pca            PCA reconstruction error
iforest        isolation forest
norm           squared length of the scaled row
difference     squared step from the row before
random         noise
all-positive   calls every row anomalous
MODULE:CLASS   any class with PyOD's fit and decision_function, such as pyod.models.ecod:ECOD
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import batch
from ..errors import InputError, MissingExtraError
from ..fit import Lesson, Weights
from ..frame import Frame
from ..model import Series
from ..network.engine import Reconstructor
from ..results import Epoch
from .baselines import Difference, PcaError, RandomScore, RowNorm

__all__ = ["METHODS", "Fitted", "Losses", "Method", "find", "seeded"]

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

CONTAMINATION = 0.01  # for a method's own threshold, where it has one: the share of training rows it may call anomalous


@dataclass(frozen=True, eq=False)
class Losses:
    """What a method says of normal rows it has not learnt from, and of the test rows. Higher is worse."""

    validation: Floats  # in order of time, NaN where the series breaks
    test: Floats  # one per test row, NaN where it could not be judged


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fitted method."""

    losses: Losses
    epochs: tuple[Losses, ...] = ()  # after each epoch of training, where that was asked for
    own: NDArray[np.bool_] | None = None  # the test rows that the method's own threshold calls anomalous


Method = Callable[[Lesson, Frame, bool], Fitted]  # the training series made ready, the test rows, whether every epoch


def network(lesson: Lesson, test: Frame, every_epoch: bool = False) -> Fitted:
    """The weights of the lowest validation loss, as `Detector.fit` keeps them."""
    series = lesson.series(test)
    epochs: list[Losses] = []

    def keep(_: Epoch, weights: Callable[[], Weights]) -> None:
        epochs.append(_losses(lesson.engine(weights()), lesson, series, len(test)))

    trained = lesson.train(keep if every_epoch else None)
    if every_epoch:
        return Fitted(epochs[trained.best - 1], tuple(epochs))
    return Fitted(_losses(lesson.engine(trained.weights), lesson, series, len(test)))


def reconstruction(make: Callable[[Rows, int], Reconstructor], lesson: Lesson, test: Frame, _: bool = False) -> Fitted:
    """A simple reconstructor in the network's place."""
    engine = make(_training_rows(lesson), lesson.settings.window)
    return Fitted(_losses(engine, lesson, lesson.series(test), len(test)))


def random(lesson: Lesson, test: Frame, every_epoch: bool = False) -> Fitted:
    """Noise; where every epoch is asked for, as many draws as there are epochs: what choosing among them is worth."""
    series, settings = lesson.series(test), lesson.settings
    draws = [
        _losses(RandomScore(lesson.rows, settings.window, settings.seed + draw * 2**32), lesson, series, len(test))
        for draw in range(settings.epochs if every_epoch else 1)
    ]
    return Fitted(draws[0], tuple(draws) if every_epoch else ())


def all_positive(lesson: Lesson, test: Frame, _: bool = False) -> Fitted:
    """Every test row worse than every validation row."""
    series = lesson.series(test)
    everything = _spread(np.full(len(series.ends), np.inf), series, len(test))
    return Fitted(Losses(np.zeros(len(lesson.validation)), everything))


def outliers(make: Callable[[int], Any], lesson: Lesson, test: Frame, _: bool = False) -> Fitted:
    """Any detector with PyOD's interface, on the same scaled rows; its own threshold is kept beside ours."""
    detector = make(lesson.settings.seed)
    detector.fit(_training_rows(lesson))
    series = lesson.series(test)
    score = _spread(detector.decision_function(series.rows[series.ends]), series, len(test))
    validation = batch.in_order(detector.decision_function(lesson.rows[lesson.validation]), lesson.validation)
    own = score > detector.threshold_ if hasattr(detector, "threshold_") else None
    return Fitted(Losses(validation, score), own=own)


class IsolationForest:
    """scikit-learn's, with PyOD's signs: higher is worse."""

    def __init__(self, seed: int) -> None:
        from sklearn.ensemble import IsolationForest as Forest

        self.forest = Forest(random_state=seed)

    def fit(self, rows: Rows) -> None:
        self.forest.fit(rows)
        self.threshold_ = np.quantile(self.decision_function(rows), 1 - CONTAMINATION)

    def decision_function(self, rows: Rows) -> Floats:
        return -np.asarray(self.forest.score_samples(rows), dtype=np.float64)


METHODS: MappingProxyType[str, Method] = MappingProxyType(
    {
        "ccmtad": network,
        "pca": partial(reconstruction, PcaError),
        "iforest": partial(outliers, IsolationForest),
        "norm": partial(reconstruction, RowNorm),
        "difference": partial(reconstruction, Difference),
        "random": random,
        "all-positive": all_positive,
    }
)


def find(name: str) -> Method:
    """The method of this name; "module:Class" imports one."""
    if name in METHODS:
        return METHODS[name]
    module, _, attribute = name.partition(":")
    if not attribute:
        raise InputError(f"method must be one of {', '.join(METHODS)}, or MODULE:CLASS; got {name!r}")
    try:
        loaded = import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"method {name!r} needs {module}: pip install {module.partition('.')[0]}") from error
    made = getattr(loaded, attribute, None)
    if not all(hasattr(made, part) for part in ("fit", "decision_function")):
        raise InputError(f"method must name a class with fit and decision_function; got {name!r}")

    def make(seed: int) -> Any:
        accepted = inspect.signature(made).parameters  # type: ignore[arg-type]
        given = {"contamination": CONTAMINATION, "random_state": seed}
        return made(**{key: value for key, value in given.items() if key in accepted})  # type: ignore[misc]

    return partial(outliers, make)


def seeded(name: str) -> bool:
    """Whether another seed can change the answer."""
    return name not in {"pca", "norm", "difference", "all-positive"}


def _training_rows(lesson: Lesson) -> Rows:
    return lesson.rows[: lesson.cut][lesson.good[: lesson.cut]]


def _losses(engine: Reconstructor, lesson: Lesson, series: Series, rows: int) -> Losses:
    combiner, validation = batch.normal(engine, lesson.rows, lesson.validation, lesson.present, lesson.settings.combine)
    test = batch.losses(engine, combiner, series.rows, series.ends, series.present)
    return Losses(validation, _spread(test, series, rows))


def _spread(values: Floats, series: Series, rows: int) -> Floats:
    """One value per input row, NaN where there is none."""
    out = np.full(rows, np.nan)
    out[series.kept[series.ends]] = values
    return out
