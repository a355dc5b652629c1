"""The detector: composes fitting and detecting, and is what users meet."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from . import batch, files, model_file, model_reading
from .calibrate import unlike
from .calibrate.calibration import Calibration
from .calibrate.feedback import in_force
from .errors import FileError, InputError, NotFittedError, SettingError
from .fit import TrainingSeries, threads, warn_of_budget
from .frame import Frame, inside
from .model import Model
from .network import adjacency
from .prepare import windows
from .results import Detection, Epoch, Event, Support, Verdict
from .settings import Settings, signature
from .stream import Stream
from .streams import Streams
from .wording import now

__all__ = ["Detector"]

Span = tuple[Any, Any]


class Detector:
    """Online anomaly detection for one multivariate series.

    Fit it on normal data, then ask for the events of new data. Settings are given by keyword; one left out is filled by
    `preset`. `ccmtad.Settings` says what each means and what it defaults to.

        detector = Detector(budget="1/10000 rows").fit(train)
        for event in detector.detect(recent).events:
            print(event.start, event.end, event.severity, event.channels[:3])
    """

    __signature__ = signature()

    def __init__(self, *, preset: str = "default", **settings: Any) -> None:
        """A wrong setting is a `SettingError` here, before any data is read."""
        Settings.known(settings)
        self.preset = preset
        for one in fields(Settings):  # each is an attribute, as given; None where the preset decides
            setattr(self, one.name, settings.get(one.name))
        self._model: Model | None = None
        self._undone: tuple[Model, ...] = ()  # before each recalibration
        self._history: tuple[Epoch, ...] = ()
        self._train: Frame | None = None  # what it was fitted on, for as long as it has not been judged
        self.settings  # noqa: B018

    @property
    def settings(self) -> Settings:
        """All settings, the preset's filled in."""
        return Settings.of(**self.get_params())

    def fit(
        self,
        train: Any,
        y: object = None,  # noqa: ARG002  scikit-learn's signature; labels are never used
        *,
        exclude: Iterable[Span] = (),
        progress: Callable[[Epoch], object] | None = None,
    ) -> Self:
        """Learns what is normal from `train`, in order of time.

        `exclude` lists known-bad spans, first and last inclusive, as row numbers or as times (UTC where they name no
        zone; a date alone is its midnight); they enter no window and no statistic. `progress` is called after each
        epoch. `y` is ignored.
        """
        frame, settings = Frame.of(train, argument="train"), self.settings
        said = () if self._model is None else self._model.feedback
        confirmed = tuple(one for one in in_force(said) if one.word == "confirmed")
        bad = inside(frame, exclude, "exclude") | _during(frame, confirmed)
        with threads(settings.threads):
            series = TrainingSeries.of(frame, settings, bad)
            trained = series.train(progress=progress)
            self._model, self._undone = series.model(trained).told(confirmed), ()
        self._history, self._train = trained.history, frame
        self.__dict__.pop("decision_scores_", None)
        return self

    def detect(self, recent: Any, *, progress: Callable[[float], object] | None = None) -> Detection:
        """Judges every row of `recent`, as a stream would have when it arrived; events are corrected in hindsight.

        `progress` is told the share that is done, now and then.
        """
        model = self._fitted().heeding
        return batch.detect(
            model, model.engine, Frame.of(recent, argument="recent", infinite_is_missing=True), progress
        )

    def backtest(
        self, recent: Any, budgets: Iterable[str], *, progress: Callable[[float], object] | None = None
    ) -> dict[str, Detection]:
        """The answer at each of several false-alarm budgets, side by side; the network is asked once."""
        models = {budget: self.with_budget(budget)._fitted().heeding for budget in budgets}
        if not models:
            raise SettingError("budgets must name at least one budget; got none")
        found = batch.compare(
            list(models.values()),
            self._fitted().heeding.engine,
            Frame.of(recent, argument="recent", infinite_is_missing=True),
            progress,
        )
        return dict(zip(models, found, strict=True))

    def with_budget(self, budget: str) -> Self:
        """A copy with the threshold of another budget: nothing is trained again."""
        model = self._fitted()
        losses = model.calibration.losses
        if losses is None:
            raise FileError(
                "budget cannot be changed: this model file is an older one that does not hold its losses in order; "
                "fit it again, or recalibrate(normal rows)"
            )
        settings = replace(model.settings, budget=budget, threshold="auto")
        # Alpha was found at fitting: finding it again would need scikit-learn.
        fixed = replace(settings, alpha=model.calibration.alpha)
        calibration = Calibration.fit(losses, settings.rows_per_alarm(model.period), fixed)
        warn_of_budget(calibration)
        other = type(self)(**{**self.get_params(), "budget": budget, "threshold": None})
        other._model = replace(model, settings=settings, calibration=replace(calibration, settings=settings))
        other._history = self._history
        return other

    def recalibrate(self, normal: Any, *, force: bool = False) -> Self:
        """Learns the normal losses and the threshold anew from other normal rows, without fitting the network again.

        All of `normal` is used, in order of time. Rows that the network does not know are an error, unless `force`: it
        would be calibrated to see nothing. `undo_recalibration()` goes back.
        """
        model = self._fitted()
        frame = Frame.of(normal, argument="normal", infinite_is_missing=True).align(
            model.channels, named=model.named, argument="normal"
        )
        bad = _during(frame, model.feedback)
        series = model.series(frame)
        if bad.any():
            clean = windows.ends(series.start, model.settings.window, bad[series.kept])
            series = replace(series, ends=clean)
        if len(series.ends) < 2:
            raise InputError(
                f"normal must hold at least {model.settings.window + 1} rows in a row; got {len(frame)} rows, "
                f"{len(series.ends)} of which can be judged"
            )
        losses = batch.losses(model.engine, model.combiner, series.rows, series.ends, series.present)
        if not force:
            _check_known(model, losses)
        # Alpha was found at fitting: finding it again would need scikit-learn.
        fixed = replace(model.settings, alpha=model.calibration.alpha)
        calibration = Calibration.fit(
            batch.in_order(losses, series.ends), model.settings.rows_per_alarm(model.period), fixed
        )
        warn_of_budget(calibration)
        self._undone = (*self._undone, model)
        tails = model.tails
        if tails is not None:  # what these rows did is normal too
            errors = np.concatenate([error for _, error in model.engine.errors(series.rows, series.ends)])
            there = np.ones(errors.shape, dtype=np.bool_) if series.present is None else series.present[series.ends]
            new = batch.tails(errors, there, frame.values[series.kept], model.settings)
            tails = tails if new is None else tails.over(new)
        self._now(replace(model, calibration=replace(calibration, settings=model.settings), tails=tails))
        return self

    def undo_recalibration(self) -> Self:
        """Back to the calibration before the last `recalibrate`."""
        self._fitted()
        if not self._undone:
            raise NotFittedError("there is no recalibration to undo")
        *rest, before = self._undone
        self._undone = tuple(rest)
        self._now(before)
        return self

    def _now(self, model: Model) -> None:
        """Another calibration than at fitting."""
        self._model, self._train = model, None
        self.__dict__.pop("decision_scores_", None)

    def dismiss(self, event: Event) -> Self:
        """This event was nothing: the channels it blames are judged so mildly from now on that it would have been
        normal, and nothing else changes. `undo(event)` takes it back."""
        return self.heed([event.verdict("dismissed", now())])

    def confirm(self, event: Event) -> Self:
        """This event was real: its rows, by their times, are kept out of every later fit and recalibration."""
        return self.heed([event.verdict("confirmed", now())])

    def undo(self, event: Event) -> Self:
        """Takes back what was said of this event."""
        return self.heed([event.verdict("undone", now())])

    def heed(self, said: Iterable[Verdict]) -> Self:
        """Takes words on events to heart: from another detector's `feedback_`, or a stream's."""
        self._model = self._fitted().told(said)
        return self

    @property
    def feedback_(self) -> tuple[Verdict, ...]:
        """All that was said of events, in order; the last word on each counts."""
        return self._fitted().feedback

    def stream(self, resume: bytes | None = None) -> Stream:
        """A live stream: feed it rows one at a time with `update(row, time)`.

        `resume` is an earlier stream's `snapshot()`: the new one goes on as if that one had never stopped. Raises a
        `FileError` where it is of another model.
        """
        stream = Stream(self._fitted())
        if resume is not None:
            stream.resume(resume)
        return stream

    def streams(self, keys: Iterable[Hashable], resume: Mapping[Any, bytes] | None = None) -> Streams:
        """Live streams of many entities that share this model, stepped together.

        `resume` holds an earlier `snapshot()` for each key that goes on.
        """
        streams = Streams(self._fitted(), keys)
        for key in resume or {}:
            if key not in streams:
                raise InputError(f"resume must be for the keys of these streams; got {key!r}")
        streams.resume(resume or {})
        return streams

    def save(self, path: str | Path) -> None:
        """Writes the fitted model to one pickle-free file, whole or not at all."""
        params = {n: v.item() if isinstance(v, np.generic) else v for n, v in self.get_params().items()}
        history = [asdict(epoch) for epoch in self._history]
        files.write(model_file.dumps(self._fitted(), {"params": params, "history": history}), path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a model that `save` wrote. Nothing in the file is executed; it needs no torch."""
        model, extra = model_file.loads(files.read(path, model_file.MAGIC), f"model file {str(path)!r}")
        try:
            detector = cls(**extra["params"])
            # What the preset says today may not be what it said when the file was written.
            today = asdict(detector.settings)
            detector.set_params(**{n: v for n, v in asdict(model.settings).items() if today[n] != v})
            detector._history = model_reading.epochs(extra["history"])
        except (LookupError, TypeError, SettingError) as error:
            raise FileError(f"model file {str(path)!r} must hold the detector's settings; got {error}") from error
        detector._model = model
        return detector

    def decision_function(self, x: Any) -> NDArray[np.float64]:
        """The score of each row; higher is worse, and above `threshold_` is an alarm."""
        return self.detect(x).score

    def predict(self, x: Any) -> NDArray[np.int64]:
        """1 for each row in alarm when it arrived, else 0. (`detect(x).label` is the hindsight-corrected answer.)"""
        return self.detect(x).alarm.astype(np.int64)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  scikit-learn's signature
        """The settings as given, None where the preset decides."""
        return {name: getattr(self, name) for name in ("preset", *(one.name for one in fields(Settings)))}

    def set_params(self, **params: Any) -> Self:
        """Changes settings for the next `fit`; a fitted model is left as it is."""
        Settings.known(name for name in params if name != "preset")
        Settings.of(**{**self.get_params(), **params})
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {"preset": "default"}
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value != usual.get(name)]
        return f"Detector({', '.join(given)})"

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        # Not "outlier_detector": there, predict gives -1 and 1; here it gives 1 and 0, as PyOD's does.
        return Tags(None, TargetTags(required=False), input_tags=InputTags(allow_nan=True))

    def _fitted(self) -> Model:
        if self._model is None:
            raise NotFittedError("this detector has learnt nothing yet: call fit(train) first")
        return self._model

    @property
    def model_(self) -> Model:
        """Everything that was learnt, as plain values."""
        return self._fitted()

    @property
    def channels_(self) -> tuple[str, ...]:
        """The fitted channels, in order."""
        return self._fitted().channels

    @property
    def n_features_in_(self) -> int:
        """Number of fitted channels."""
        return len(self._fitted().channels)

    @property
    def clusters_(self) -> tuple[tuple[str, ...], ...]:
        """The channels embedded together; fewer clusters than asked for where there are no more distinct channels."""
        model = self._fitted()
        return tuple(tuple(model.channels[i] for i in members) for members in model.clusters.members)

    @property
    def correlation_(self) -> NDArray[np.float64] | None:
        """(channels, channels): Pearson's correlation of the training rows, 0 where a channel is constant; None in
        older model files."""
        found = self._fitted().correlation
        return None if found is None else found.astype(np.float64)

    @property
    def adjacency_(self) -> NDArray[np.float64] | None:
        """(channels, channels): how alike the channels' correlation profiles are, 0 to 1: the weights of the graph that
        is cut into clusters. 0 on the diagonal and where a channel is constant; None where `correlation_` is."""
        found = self._fitted().correlation
        return None if found is None else adjacency.adjacency(found)

    @property
    def silhouettes_(self) -> NDArray[np.float64] | None:
        """(channels,): how clearly each channel belongs to its cluster, by its correlation profile, -1 to 1; 0 where it
        is alone in it. Their mean is what `clusters="auto"` makes largest. NaN for constant channels, and for all where
        the others are one cluster; None where `correlation_` is."""
        model = self._fitted()
        return None if model.correlation is None else adjacency.silhouettes(model.correlation, model.clusters.label)

    @property
    def history_(self) -> tuple[Epoch, ...]:
        """Training and validation loss of each epoch."""
        self._fitted()
        return self._history

    @property
    def alpha_(self) -> float:
        """The p-value below which evidence is positive."""
        return self._fitted().calibration.alpha

    @property
    def threshold_(self) -> float:
        """The score above which an alarm is raised."""
        return self._fitted().calibration.threshold

    @property
    def support_(self) -> Support | None:
        """How well the normal rows support the budget; None where the threshold was given or is the paper's."""
        return self._fitted().calibration.support

    @property
    def validation_losses_(self) -> NDArray[np.float64]:
        """The losses p-values are counted against, ascending."""
        first = self._fitted().calibration.tracks[0]
        losses: NDArray[np.float64] = first.reference * np.exp(first.normal)
        return losses

    @cached_property
    def decision_scores_(self) -> NDArray[np.float64]:
        """The score of each training row, as PyOD names it. A saved or recalibrated model has none."""
        self._fitted()
        if self._train is None:
            raise NotFittedError(
                "training scores are not kept in a saved or recalibrated model: call decision_function(train)"
            )
        return self.detect(self._train).score

    @property
    def labels_(self) -> NDArray[np.int64]:
        """1 for each training row above the threshold, else 0, as PyOD names it."""
        return (self.decision_scores_ > self.threshold_).astype(np.int64)


def _during(frame: Frame, said: Iterable[Verdict]) -> NDArray[np.bool_]:
    """The rows of confirmed events, by their times: what is real is not normal."""
    bad = np.zeros(len(frame), dtype=np.bool_)
    if frame.times is None:
        return bad
    for one in in_force(said):
        if one.word == "confirmed" and one.start is not None:
            begun = frame.times >= np.datetime64(one.start.removesuffix("Z"), "ns")
            over = False if one.end is None else frame.times > np.datetime64(one.end.removesuffix("Z"), "ns")
            bad |= begun & np.logical_not(over)
    return bad


def _check_known(model: Model, losses: NDArray[np.float64]) -> None:
    known = losses[~np.isnan(losses)]
    worse = float(np.median(known)) / model.calibration.typical if len(known) else 1.0
    limit = model.calibration.unlike if np.isfinite(model.calibration.unlike) else unlike.LEAST
    if np.log(max(worse, 1e-300)) > limit:
        raise InputError(
            "normal must hold rows like those the network learnt from; got rows with errors "
            f"{np.sqrt(worse):.3g} times those of training: fit again with these rows, or recalibrate with force=True"
        )
