"""Every method by name, one file each: from a training series to the losses of new rows. None is ever given a label."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import batch
from ...errors import InputError, MissingExtraError
from ...fit import TrainingSeries
from ...frame import Frame
from ...model import Series
from ...network.engine import Reconstructor
from ...registry import gather
from ...results import Detection
from ...score import combine
from ..watching import Baseline

__all__ = [
    "Fitted",
    "Losses",
    "Method",
    "Outliers",
    "Reconstruction",
    "find",
    "known",
    "losses_of",
    "named",
    "spread",
    "training_rows",
    "usual",
]

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

RIVALS = "rivals"


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
    detection: Detection | None = None  # what a user would be told; where there is none, it is made of the losses
    watching: Baseline | None = None  # that said so

    @classmethod
    def of(cls, watching: Baseline, test: Frame, epochs: tuple[Losses, ...] = ()) -> "Fitted":
        """A reconstructor calibrated as a user's detector is, asked about the test rows."""
        found, normal = watching.detect(test), watching.model.calibration.losses
        assert normal is not None  # it was calibrated a moment ago
        return cls(Losses(normal, found.loss), epochs, detection=found, watching=watching)


class Method(ABC):
    """One method. `fit` is given the training series made ready, the test rows, and whether every epoch is wanted."""

    name = ""
    title = ""  # to people; its name where there is none
    means = ""
    order = 50  # among the others, in lists and tables
    seeded = False  # whether another seed can change the answer
    looks_ahead = ""  # how what it says of a row depends on later ones, where it does: said beside its name everywhere
    asked_for = False  # run only where it is named, or its group is

    def on(self, dataset: str) -> "Method":  # noqa: ARG002
        """With what its authors set for a dataset, where they did."""
        return self

    @abstractmethod
    def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:
        """Learns, and judges."""

    def watching(self, series: TrainingSeries) -> Baseline:  # noqa: ARG002
        """Learns, to be asked about any number of series; for methods that say what they expected of each channel."""
        raise InputError(f"method must reconstruct rows to be asked about injected faults; got {self.name!r}")

    @property
    def reconstructs(self) -> bool:
        """Whether it can be asked about any number of series."""
        return type(self).watching is not Method.watching


class Reconstruction(Method):
    """A simple reconstructor in the network's place."""

    @abstractmethod
    def make(self, rows: Rows, window: int) -> Reconstructor:
        """From the scaled training rows."""

    def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:  # noqa: ARG002
        return Fitted.of(self.watching(series), test)

    def watching(self, series: TrainingSeries) -> Baseline:
        window = series.settings.window
        engine = self.make(training_rows(series), window)
        held_out = series.held_out(lambda block: self.make(series.rows[block.training], window))
        return Baseline(series.calibrated(engine, {}, held_out), engine)


class Outliers(Method):
    """Any detector with PyOD's interface, on the same scaled rows; its own threshold is kept beside ours."""

    seeded = True

    @abstractmethod
    def make(self, seed: int, channels: int) -> Any:
        """Something with `fit` and `decision_function`."""

    def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:  # noqa: ARG002
        detector = self._learnt(series, training_rows(series))
        new = series.series(test)
        score = spread(detector.decision_function(new.rows[new.ends]), new, len(test))
        normal = [
            self._learnt(series, series.rows[block.training]).decision_function(series.rows[block.validation])
            for block in series.blocks
        ]
        validation = batch.in_order(np.concatenate(normal), series.validation)
        own = score > detector.threshold_ if hasattr(detector, "threshold_") else None
        return Fitted(Losses(validation, score), own=own)

    def _learnt(self, series: TrainingSeries, rows: Rows) -> Any:
        detector = self.make(series.settings.seed, rows.shape[1])
        detector.fit(rows)
        return detector


def known() -> Mapping[str, Method]:
    """Those that are here, in order."""
    here = gather("bench.methods").values()
    return MappingProxyType({method.name: method for method in sorted(here, key=lambda method: method.order)})


def usual() -> tuple[str, ...]:
    """Those that run where none is named."""
    return tuple(name for name, method in known().items() if not method.asked_for)


def named(name: str) -> tuple[str, ...]:
    """The method of this name, or all of them where it is "rivals": the networks of other papers."""
    return tuple(one for one, method in known().items() if method.asked_for) if name == RIVALS else (name,)


def find(name: str) -> Method:
    """The method of this name; "module:Class" imports one."""
    if name in known():
        return known()[name]
    module, _, attribute = name.partition(":")
    if not attribute:
        raise InputError(f"method must be one of {', '.join(known())}, or MODULE:CLASS; got {name!r}")
    try:
        loaded = import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"method {name!r} needs {module}: pip install {module.partition('.')[0]}") from error
    made = getattr(loaded, attribute, None)
    if not all(hasattr(made, part) for part in ("fit", "decision_function")):
        raise InputError(f"method must name a class with fit and decision_function; got {name!r}")
    from .pyod import Imported

    return Imported(made)


def training_rows(series: TrainingSeries) -> Rows:
    """What a method learns from."""
    return series.rows[: series.cut][series.good[: series.cut]]


def losses_of(engine: Reconstructor, series: TrainingSeries, new: Series, rows: int) -> Losses:
    """What a reconstructor says of the validation part and of new rows."""
    way = combine.find(series.settings.combine)
    errors = np.concatenate([error for _, error in engine.errors(series.rows, series.validation)])
    combiner, validation = batch.normal(errors, series.validation, series.present, way)
    test = batch.losses(engine, combiner, new.rows, new.ends, new.present)
    return Losses(validation, spread(test, new, rows))


def spread(values: Floats, new: Series, rows: int) -> Floats:
    """One value per input row, NaN where there is none."""
    out = np.full(rows, np.nan)
    out[new.kept[new.ends]] = values
    return out
