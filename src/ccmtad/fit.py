"""From a training series to a model: what is learnt from, what is calibrated on, and in which order."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import batch
from .calibrate.calibration import Calibration
from .errors import InputError, MissingExtraError
from .frame import Frame
from .model import Model, Series, prepare, series
from .network import clusterings, clusters
from .network.clusters import Clusters
from .network.engine import Engine
from .network.shapes import Architecture
from .network.weights import Trained, Weights
from .prepare import missing, timeline, windows
from .prepare.scale import Scaler
from .results import Epoch
from .score import combine
from .settings import Settings

__all__ = ["TrainingSeries", "threads", "warn_of_budget"]

log = logging.getLogger("ccmtad")


@dataclass(frozen=True, eq=False)
class TrainingSeries:
    """A training series made ready: its first part to learn from, its last to calibrate on."""

    settings: Settings
    channels: tuple[str, ...]
    named: bool  # whether the channel names came with the data
    period: float | None  # median seconds between rows; None where times are unknown
    rows_per_alarm: float  # the budget; infinite where the threshold is given
    fallback: NDArray[np.float64]  # (channels,) medians
    scaler: Scaler
    rows: NDArray[np.float32]  # (rows, channels), scaled
    good: NDArray[np.bool_]  # (rows,) not excluded
    present: NDArray[np.bool_]  # (rows, channels) what detection would judge
    cut: int  # first row of the validation part
    training: NDArray[np.int64]  # last rows of the training windows
    validation: NDArray[np.int64]  # last rows of the validation windows

    @classmethod
    def of(cls, frame: Frame, settings: Settings, bad: NDArray[np.bool_] | None = None) -> "TrainingSeries":
        """Prepares a series; rows marked `bad` enter no window and no statistic."""
        kept = timeline.kept(frame.times, len(frame))
        if not kept.all():
            log.warning("train: %d rows are not later than the ones before them and are ignored", int((~kept).sum()))
        times = None if frame.times is None else frame.times[kept]
        period = timeline.median_period(times)
        rows_per_alarm = settings.rows_per_alarm(period)
        bad = np.zeros(int(kept.sum()), dtype=np.bool_) if bad is None else bad[kept]
        values = np.where(bad[:, None], np.nan, frame.values[kept])
        _check_channels(values, frame.channels, "train")
        start = timeline.starts(times, len(values), timeline.longest_pause(period, settings.gap))
        start[1:] |= bad[:-1] & ~bad[1:]  # no average reaches back over an excluded span

        cut = _cut(~bad, settings.validation)
        ends = windows.ends(start, settings.window, bad)
        training, validation = ends[ends < cut], ends[ends >= cut]
        if not len(training) or len(validation) < 2:
            raise InputError(
                f"train must hold enough rows in a row for windows of {settings.window} in its first "
                f"{1 - settings.validation:.0%} and its last {settings.validation:.0%}; got {len(values)} rows, "
                f"{len(training)} training and {len(validation)} validation windows"
            )
        _check_channels(values[:cut], frame.channels, f"its first {1 - settings.validation:.0%}")
        filled = missing.fill(values)
        scaler = Scaler.fit(filled[:cut][~bad[:cut]])
        fallback = np.nanmedian(values, axis=0)
        return cls(
            settings,
            frame.channels,
            frame.named,
            period,
            rows_per_alarm,
            fallback,
            scaler,
            prepare(filled, start, scaler, settings),
            ~bad,
            # Calibration judges what detection would judge: not a channel that has been missing for long.
            missing.hold(values, settings.hold_rows, start, fallback)[1],
            cut,
            training,
            validation,
        )

    @cached_property
    def clusters(self) -> Clusters:
        """The channels that are embedded together."""
        settings = self.settings
        way = clusterings.find(settings.clustering)
        found = clusters.find(self.rows[self.good].astype(np.float64), settings.clusters, way, settings.seed)
        if settings.clusters != "auto" and way.group is not None and found.found < settings.clusters:
            log.warning(
                "clusters: %d asked for, %d found: there are no more distinct channels", settings.clusters, found.found
            )
        return found

    @cached_property
    def architecture(self) -> Architecture:
        """The shape of the network."""
        return Architecture.of(self.settings, self.clusters)

    def train(self, each: Callable[[Epoch, Callable[[], Weights]], object] | None = None) -> Trained:
        """Fits the network. `each` is called after every epoch; its second argument gives the weights as they are."""
        try:
            from .network import training
        except ImportError as error:
            raise MissingExtraError(
                f"fitting needs torch and scikit-learn ({error}): pip install 'ccmtad[train]'"
            ) from error
        return training.train(self.rows, self.training, self.validation, self.architecture, self.settings, each)

    def engine(self, weights: Weights) -> Engine:
        """The inference engine of these weights."""
        return Engine(weights, self.architecture)

    def series(self, frame: Frame) -> Series:
        """Another frame, prepared as detection would."""
        frame = frame.align(self.channels, named=self.named, argument="recent")
        return series(frame, self.scaler, self.fallback, self.period, self.settings)

    def model(self, weights: Weights) -> Model:
        """The calibrated model of these weights."""
        settings = self.settings
        way = combine.find(settings.combine)
        combiner, losses = batch.normal(self.engine(weights), self.rows, self.validation, self.present, way)
        calibration = Calibration.fit(losses, self.rows_per_alarm, settings)
        warn_of_budget(calibration)
        if not settings.online:
            log.warning("smoothing: the centred average looks ahead; results are not online")
        return Model(
            settings,
            self.channels,
            self.named,
            self.period,
            self.fallback,
            self.scaler,
            self.clusters,
            weights,
            combiner,
            calibration,
            clusters.correlation(self.rows[self.good].astype(np.float64)).astype(np.float32),
        )


@contextmanager
def threads(number: int) -> Iterator[None]:
    """So many threads of the linear algebra below numpy and scikit-learn: another number rounds differently."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # it comes with scikit-learn, without which nothing is fitted
        yield
        return
    with threadpool_limits(number):
        yield


def warn_of_budget(calibration: Calibration) -> None:
    """Says when the normal rows are too few for the budget, and what they support."""
    support = calibration.support
    if support is not None and not support.enough:
        log.warning(
            "budget: %d normal rows support at most one false alarm in %.0f rows, and one in %.0f is wanted: the "
            "threshold is extrapolated; give more rows, or a budget they support",
            len(calibration.reference),
            support.longest,
            support.wanted,
        )


def _check_channels(values: NDArray[np.float64], channels: tuple[str, ...], part: str) -> None:
    empty = np.isnan(values).all(axis=0)
    if empty.any():
        names = ", ".join(repr(channels[i]) for i in np.flatnonzero(empty))
        where = "" if part == "train" else f" of {part}"
        raise InputError(f"train must hold a value in every channel{where}; got none in {names}")


def _cut(good: NDArray[np.bool_], validation: float) -> int:
    """The first row of the validation part: the last share of the rows that are not excluded."""
    usable = np.flatnonzero(good)
    return int(usable[min(int(len(usable) * (1 - validation)), len(usable) - 1)])
