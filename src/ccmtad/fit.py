"""From a training series to a model: what is learnt from, what is calibrated on, and in which order."""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from . import batch
from .calibrate.calibration import Calibration
from .errors import InputError, MissingExtraError, TrainingError
from .frame import Frame
from .model import Model, Series, check_state, prepare, series
from .network import clusterings, clusters, guess, linear
from .network.clusters import Clusters
from .network.engine import Engine, Reconstructor
from .network.shapes import Architecture
from .network.weights import Lesson, Trained, Weights
from .prepare import missing, timeline, windows
from .prepare.scale import Scaler
from .results import Epoch
from .score import astray, combine
from .score.level import TINY
from .settings import Settings

__all__ = ["TrainingSeries", "calibrating", "threads", "warn_of_budget"]

log = logging.getLogger("ccmtad")


LEAST_BLOCK = 300  # rows: a network that learnt from the rest of a shorter series does not know what is in it
LONG, FEWER = 20_000, 3  # so many rows need no more blocks than that
BLOCK_WINDOWS = 10_000  # that an epoch of such a network learns from, at most


@dataclass(frozen=True, eq=False)
class Block:
    """A stretch of rows to calibrate on, and what may be learnt from for that: no row is in a window of both."""

    training: NDArray[np.int64]  # last rows of windows
    validation: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingSeries:
    """A training series made ready: what to learn from, and what to calibrate on.

    Block by block each row is judged by a network that learnt from the other blocks, and the network in use learns from
    all of them; or, in one block, the first part is learnt from, and the last calibrated on. Where there are `kin`,
    nothing is learnt: the network, the scale and the clusters are those of the first, and all rows are calibrated on.
    """

    settings: Settings
    channels: tuple[str, ...]
    named: bool  # whether the channel names came with the data
    period: float | None  # median seconds between rows; None where times are unknown
    rows_per_alarm: float  # the budget; infinite where the threshold is given
    fallback: NDArray[np.float64]  # (channels,) medians
    scaler: Scaler
    values: NDArray[np.float64]  # (rows, channels) as they came, NaN where missing or excluded
    rows: NDArray[np.float32]  # (rows, channels), scaled
    start: NDArray[np.bool_]  # (rows,) after a pause or an excluded span, or the first
    good: NDArray[np.bool_]  # (rows,) not excluded
    present: NDArray[np.bool_]  # (rows, channels) what detection would judge
    cut: int  # rows that are learnt from
    training: NDArray[np.int64]  # last rows of the windows that are learnt from
    blocks: tuple[Block, ...]  # of which the validation windows are calibrated on
    kin: tuple[Model, ...] = ()  # of entities like this one, the most alike first

    @classmethod
    def of(
        cls, frame: Frame, settings: Settings, bad: NDArray[np.bool_] | None = None, kin: tuple[Model, ...] = ()
    ) -> "TrainingSeries":
        """Prepares a series; rows marked `bad` enter no window and no statistic."""
        check_state(settings, len(frame.channels))
        longest = timeline.longest_pause(timeline.median_period(frame.times), settings.gap)
        kept = timeline.kept(frame.times, len(frame), longest)
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

        ends = windows.ends(start, settings.window, bad)
        cut = _cut(~bad, settings.validation)
        blocks = () if kin else _blocks(ends, np.flatnonzero(~bad), settings)
        training = ends
        if kin:
            cut, training = len(values), ends[:0]
            blocks = (Block(training, ends),)
            if len(ends) < 2:
                raise InputError(
                    f"rows must hold at least {settings.window + 1} in a row; got {len(values)} rows, "
                    f"{len(ends)} of which can be judged"
                )
        elif not blocks:
            training = ends[ends < cut]
            blocks = (Block(training, ends[ends >= cut]),)
        else:
            cut = len(values)
        if not kin and (not len(training) or len(blocks[0].validation) < 2):
            raise InputError(
                f"train must hold enough rows in a row for windows of {settings.window} in its first "
                f"{1 - settings.validation:.0%} and its last {settings.validation:.0%}; got {len(values)} rows, "
                f"{len(training)} training and {len(blocks[0].validation)} validation windows"
            )
        if not kin:
            early = values[: _cut(~bad, settings.validation)]
            _check_channels(early, frame.channels, f"its first {1 - settings.validation:.0%}")
        filled = missing.fill(values)
        scaler = kin[0].scaler if kin else Scaler.fit(filled[:cut][~bad[:cut]])
        fallback = np.nanmedian(values, axis=0)
        return cls(
            settings,
            frame.channels,
            frame.named,
            period,
            rows_per_alarm,
            fallback,
            scaler,
            values,
            prepare(filled, start, scaler, settings),
            start,
            ~bad,
            # Calibration judges what detection would judge: not a channel that has been missing for long.
            missing.hold(values, settings.hold_rows, start, fallback)[1],
            cut,
            training,
            blocks,
            kin,
        )

    @property
    def crossed(self) -> bool:
        """Whether every row is learnt from and, by another network, calibrated on."""
        return len(self.blocks) > 1

    @cached_property
    def validation(self) -> NDArray[np.int64]:
        """Last rows of the windows that are calibrated on."""
        return np.concatenate([block.validation for block in self.blocks])

    def split(self, window: int) -> Block:
        """Windows of any length in one block, whatever `blocks` is: the first part to learn from, the last to calibrate
        on."""
        ends, cut = windows.ends(self.start, window, ~self.good), _cut(self.good, self.settings.validation)
        return Block(ends[ends < cut], ends[ends >= cut])

    def held_out(self, learn: Callable[[Block], Reconstructor]) -> NDArray[np.float64]:
        """(validation, channels): squared errors of each block by what was learnt for it."""
        found = [error for block in self.blocks for _, error in learn(block).errors(self.rows, block.validation)]
        return np.concatenate(found).astype(np.float64)

    @cached_property
    def clusters(self) -> Clusters:
        """The channels that are embedded together."""
        if self.kin:
            return self.kin[0].clusters
        settings = self.settings
        way = clusterings.find(settings.clustering)
        good = self.rows[self.good]
        first = good[: max(2, int(len(good) * settings.cluster_share))].astype(np.float64)
        found = clusters.find(first, settings.clusters, way, settings.seed)
        if settings.clusters != "auto" and way.group is not None and found.found < settings.clusters:
            log.warning(
                "clusters: %d asked for, %d found: there are no more distinct channels", settings.clusters, found.found
            )
        return found

    @cached_property
    def architecture(self) -> Architecture:
        """The shape of the network."""
        return Architecture.of(self.settings, self.clusters)

    def train(
        self,
        each: Callable[[Epoch, Callable[[], Weights]], object] | None = None,
        progress: Callable[[Epoch], object] | None = None,
    ) -> Trained:
        """Fits the network. `each` is called after every epoch of it; its second argument gives the weights as they
        are. `progress` is called after every epoch of the networks that judge blocks, too.
        """
        try:
            from .network import stacked, training
        except ImportError as error:
            raise MissingExtraError(
                f"fitting needs torch and scikit-learn ({error}): pip install 'ccmtad[train]'"
            ) from error
        together = training.on_gpu(self.settings)  # then what does not depend on each other counts as one
        networks = (1 if together else len(self.blocks)) + self.crossed

        def told(epoch: Epoch, weights: Callable[[], Weights], network: int) -> None:
            if progress is not None:
                progress(replace(epoch, network=network, networks=networks))
            if each is not None and network == networks:
                each(epoch, weights)

        course, done = self.course(), 0
        lessons = next(course)
        while True:
            listening = [partial(told, network=done + number) for number in range(1, len(lessons) + 1)]
            if together:
                learnt = stacked.train(lessons, listening[:1] if progress or each else ())
            else:
                learnt = [training.train(lesson, one) for lesson, one in zip(lessons, listening, strict=True)]
            done += 1 if together else len(lessons)
            try:
                lessons = course.send([_learnt(one) for one in learnt])
            except StopIteration as end:
                trained: Trained = end.value
                return trained

    def course(self) -> Generator[list[Lesson], list[Trained], Trained]:
        """What is to be learnt, step by step: gives lessons that do not depend on each other, takes what was learnt in
        them, and ends with the network in use. Whoever trains may do so one by one, or many series together."""
        settings, shape = self.settings, self.architecture
        if not self.crossed:
            (block,) = self.blocks
            (only,) = yield [Lesson(self.rows, block.training, block.validation, shape, settings)]
            return replace(only, weights=self._mixed(only.weights, self.training, self._share([only.weights])))
        small = settings.but(epoch_windows=min(settings.epoch_windows, BLOCK_WINDOWS))
        trained = yield [Lesson(self.rows, block.training, block.validation, shape, small) for block in self.blocks]
        share = self._share([one.weights for one in trained])
        learnt = iter(trained)
        held_out = self.held_out(lambda block: self.engine(self._mixed(next(learnt).weights, block.training, share)))
        # The network in use has no rows left to choose its epoch by: it takes the one that was best for the others.
        losses = np.mean([[epoch.validation for epoch in one.history] for one in trained], axis=0)
        best = int(np.argmin(losses)) + 1
        (last,) = yield [
            Lesson(
                self.rows, self.training, self.training[:: len(self.training) // 100 + 1], shape,
                settings.but(epochs=best), keep_last=True,
            )
        ]  # fmt: skip
        history = tuple(
            replace(epoch, validation=float(loss)) for epoch, loss in zip(last.history, losses, strict=False)
        )
        return Trained(self._mixed(last.weights, self.training, share), history, best, held_out)

    def _share(self, learnt: Sequence[Weights]) -> NDArray[np.float64] | None:
        """How much of the network's reconstruction each channel takes, by those learnt for each block; None: all."""
        if not self.settings.linear:
            return None
        networks = iter(learnt)
        by_network = self.held_out(lambda _: self.engine(next(networks)))
        return linear.share(by_network, self.held_out(lambda block: self._principal(block.training)))

    def _mixed(self, weights: Weights, rows: NDArray[np.int64], share: NDArray[np.float64] | None) -> Weights:
        return weights if share is None else linear.mixed(weights, self._principal(rows), share)

    def _principal(self, rows: NDArray[np.int64]) -> linear.Principal:
        return linear.Principal.fit(self.rows[rows], self.settings.window)

    def engine(self, weights: Weights) -> Engine:
        """The inference engine of these weights."""
        return Engine(weights, self.architecture)

    def series(self, frame: Frame) -> Series:
        """Another frame, prepared as detection would."""
        frame = frame.align(self.channels, named=self.named, argument="recent")
        return series(frame, self.scaler, self.fallback, self.period, self.settings)

    def model(self, trained: Trained) -> Model:
        """The calibrated model of a trained network."""
        return self.calibrated(self.engine(trained.weights), trained.weights, trained.held_out)

    def calibrated(self, engine: Reconstructor, weights: Weights, held_out: NDArray[np.float64] | None = None) -> Model:
        """The calibrated model of any reconstructor; one that is not the network has no weights.

        `held_out` are the errors of the validation rows by reconstructors that had not seen them; without, the one in
        use had not. With, each error is the larger of theirs and its own: a row may be no worse than either shows.
        """
        settings, judged = self.settings, self.validation
        way = combine.find(settings.combine)
        own = np.concatenate([error for _, error in engine.errors(self.rows, judged)]).astype(np.float64)
        held_out = own if held_out is None else np.maximum(own, held_out)
        errors = held_out
        if not self.crossed:  # extremes are rare: those of the rows that were learnt from count too
            judged = np.concatenate([self.training, judged])
            errors = np.concatenate([*(error for _, error in engine.errors(self.rows, self.training)), errors])
        combiner, losses = batch.normal(held_out, self.validation, self.present, way)
        far, distances = self._far(way)
        calibration = self._calibration(losses, distances)
        tails = batch.tails(errors, self.present[judged], self.values, self._strayed, settings)
        for other in self.kin:
            if tails is not None and other.tails is not None:
                tails = tails.over(other.tails.rescaled(other.scaler.span / self.scaler.span))
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
            self._correlation,
            tails,
            self.guess,
            far,
        )

    def _far(self, way: combine.Way) -> tuple[combine.Combiner | None, NDArray[np.float64] | None]:
        """How channels that are far from the middle of their range combine, and how far the validation rows are, in
        order of time: those of each block by the range of the rows that may be learnt from for it. None where no track
        looks at that."""
        if not self.settings.distance:
            return None, None
        filled, found = missing.fill(self.values), []
        for block in self.blocks:
            scaler = Scaler.fit(filled[block.training]) if len(block.training) else self.scaler
            found.append(prepare(filled, self.start, scaler, self.settings)[block.validation])
        away = np.square(np.concatenate(found).astype(np.float64))
        far, distances = batch.normal(away, self.validation, self.present, way)
        if self.kin and self.kin[0].distances is not None:  # few rows are of a few of all usual places
            far = replace(far, unit=np.maximum(far.unit, self.kin[0].distances.unit))
            present = self.present[self.validation]
            distances = batch.in_order(far.loss(away, present), self.validation)
        return far, distances

    def _calibration(self, losses: NDArray[np.float64], distances: NDArray[np.float64] | None) -> Calibration:
        """The operating point. Few rows say how large normal losses are; how they are spread, and how long they last,
        is what those of the first of the `kin` say, which count as if they were as large."""
        if not self.kin:
            return Calibration.fit(losses, self.rows_per_alarm, self.settings, distances)
        first = self.kin[0].calibration
        losses = _with_those_of(losses, first.losses)
        if distances is not None:
            distances = _with_those_of(distances, first.distances, least=1.0)
        # Alpha was found where the network was fitted: finding it again would need scikit-learn.
        found = Calibration.fit(losses, self.rows_per_alarm, self.settings.but(alpha=first.alpha), distances)
        return replace(found, settings=self.settings)

    @property
    def _correlation(self) -> NDArray[np.float32] | None:
        if self.kin:
            return self.kin[0].correlation
        found: NDArray[np.float32] = clusters.correlation(self.rows[self.good].astype(np.float64)).astype(np.float32)
        return found

    @cached_property
    def guess(self) -> guess.Guess | None:
        """Each channel by all the others; None where no one asks, or there are none."""
        if not self.settings.extremes or len(self.channels) < 2:
            return None
        return guess.Guess.fit(self.rows[self.good])

    @cached_property
    def _strayed(self) -> NDArray[np.float64] | None:
        """(rows, channels): how far off normal rows are on average, by guesses that had not seen them."""
        if self.guess is None:
            return None
        return astray.averages(guess.held_out(self.rows, self.good), self.present, self.start)[self.good]


def _with_those_of(
    few: NDArray[np.float64], others: NDArray[np.float64] | None, least: float = 0.0
) -> NDArray[np.float64]:
    """A series and one of another entity, as if it were as large."""
    if others is None:
        return few
    usual = max(np.nanmedian(few) / max(np.nanmedian(others), TINY), least)
    return np.concatenate([few, [np.nan], usual * others])


def _learnt(one: Trained | TrainingError) -> Trained:
    if isinstance(one, TrainingError):
        raise one
    return one


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


def calibrating(rows: int, settings: Settings) -> int:
    """Of so many rows without gaps, those that are calibrated on: all, block by block, or the last share."""
    return rows if _enough_for_blocks(rows, settings) else int(rows * settings.validation)


def _enough_for_blocks(rows: int, settings: Settings) -> bool:
    return settings.blocks > 1 and rows >= settings.blocks * LEAST_BLOCK


def _blocks(ends: NDArray[np.int64], good: NDArray[np.int64], settings: Settings) -> tuple[Block, ...]:
    """Equal parts of the good rows, in time; none where they would be too short."""
    if not _enough_for_blocks(len(good), settings):
        return ()
    made = []
    for part in np.array_split(good, min(settings.blocks, FEWER) if len(good) >= LONG else settings.blocks):
        first, last = int(part[0]), int(part[-1])
        inside = (ends >= first) & (ends <= last)
        apart = (ends < first - settings.window + 1) | (ends - settings.window + 1 > last)
        if inside.any():
            made.append(Block(ends[apart], ends[inside]))
    enough = len(made) > 1 and all(len(block.training) for block in made)
    return tuple(made) if enough and sum(len(block.validation) for block in made) > 1 else ()


def _cut(good: NDArray[np.bool_], validation: float) -> int:
    """The first row of the validation part: the last share of the rows that are not excluded."""
    usable = np.flatnonzero(good)
    return int(usable[min(int(len(usable) * (1 - validation)), len(usable) - 1)])
