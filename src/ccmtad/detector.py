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
from .decision import Method, decision, probability
from .errors import FileError, InputError, NotFittedError, SettingError
from .fit import TrainingSeries, threads, warn_of_budget
from .frame import Frame, inside
from .model import Model
from .network import adjacency
from .network.weights import Trained
from .prepare import windows
from .results import Detection, Epoch, Event, Support, Verdict
from .settings import Settings, signature
from .stream import Stream
from .streams import Streams
from .tables.reading import Reading
from .wording import now

__all__ = ["Detector"]

Span = tuple[Any, Any]

MOST_DISTANCES = 100_000  # of normal rows, that are kept from one recalibration to the next


class Detector:
    """Online anomaly detection for one multivariate series.

    Fit it on normal data, then ask for the events of new data. Settings are given by keyword; one left out is filled by
    `preset`. `ccmtad.Settings` says what each means and what it defaults to.

    Example:
        detector = Detector(budget="1/10000 rows").fit(train)
        for event in detector.detect(recent).events:
            print(event.start, event.end, event.severity, event.channels[:3])
    """

    __signature__ = signature()

    def __init__(self, *, preset: str = "default", **settings: Any) -> None:
        """Takes settings; reads no data yet.

        Args:
            preset: "default", or "paper" for the published method.
            settings: any setting by its name, such as `budget="1/week"` or `window=48`.

        Raises:
            SettingError: where a setting is unknown or breaks its rule, before any data is read.

        Example:
            detector = Detector(budget="1/week", seed=1)
            print(detector.settings.window)
        """
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
        times: Any = None,
        exclude: Iterable[Span] = (),
        progress: Callable[[Epoch], object] | None = None,
        reading: Reading | None = None,
    ) -> Self:
        """Learns what is normal from `train`, in order of time. Needs torch and scikit-learn.

        Args:
            train: numpy `(rows, channels)`, nested sequences, a pandas, polars or pyarrow table, or a `Frame`.
            y: ignored; scikit-learn passes it.
            times: the time of each row where the table has none, numpy's say: datetimes, ISO texts, or seconds since
                1970.
            exclude: known-bad spans, first and last inclusive, as row numbers or as times (in the zone of
                `train`, UTC where it has none, unless they name one; a date alone is its midnight); they enter no
                window and no statistic.
            progress: called with an `Epoch` after each.
            reading: how `train` was read from a file (`ccmtad.tables.load`), kept in the model for the files that come
                after.

        Returns:
            The detector itself, fitted.

        Raises:
            InputError: where the table cannot be used, or is too short.
            TrainingError: where the network could not be trained.
            MissingExtraError: where torch or scikit-learn is absent.

        Example:
            detector = Detector(budget="1/week").fit(train, exclude=[(100, 140)])
            print(detector.channels_, detector.threshold_)
        """
        frame, settings = Frame.of(train, times=times, argument="train"), self.settings
        said = () if self._model is None else self._model.feedback
        confirmed = tuple(one for one in in_force(said) if one.word == "confirmed")
        bad = inside(frame, exclude, "exclude") | _during(frame, confirmed)
        with threads(settings.threads):
            series = TrainingSeries.of(frame, settings, bad)
            trained = series.train(progress=progress)
            return self._learnt(series, trained, frame, confirmed, reading)

    def _learnt(
        self,
        series: TrainingSeries,
        trained: Trained,
        frame: Frame,
        confirmed: tuple[Verdict, ...] = (),
        reading: Reading | None = None,
    ) -> Self:
        """What was trained, by `fit` or with many others (`ccmtad.fleet`), becomes the model in use."""
        self._model, self._undone = replace(series.model(trained).told(confirmed), reading=reading), ()
        self._history, self._train = trained.history, frame
        self.__dict__.pop("decision_scores_", None)
        return self

    def fit_predict(self, train: Any, y: object = None, **more: Any) -> NDArray[np.int64]:
        """Fits on `train`, and judges it: 1 for each of its rows in alarm, else 0.

        Args:
            train: as of `fit`.
            y: ignored.
            more: what else `fit` takes, `exclude` and `progress`.

        Returns:
            `labels_`, one for each row.

        Raises:
            InputError: as `fit` does.

        Example:
            labels = Detector(epochs=1).fit_predict(train)
            print(labels.mean())
        """
        return self.fit(train, y, **more).labels_

    def detect(
        self,
        recent: Any,
        *,
        times: Any = None,
        allow_missing: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> Detection:
        """Judges every row of `recent`, as a stream would have when it arrived; events are corrected in hindsight.

        Args:
            recent: a table as `fit` takes it, with the fitted channels in any order.
            times: the time of each row where the table has none.
            allow_missing: judge without fitted channels that are not there, as lost signals, and leave out those that
                were not fitted; both are logged. Else either is an error.
            progress: told the share that is done, now and then.

        Returns:
            A `Detection`: events, and one value per row of everything that led to them.

        Raises:
            NotFittedError: before `fit`.
            ChannelError: where channels are missing, or others are there, and `allow_missing` is not given.
            InputError: where the table cannot be used.

        Example:
            result = detector.detect(recent)
            print([event.sentence for event in result.events])
        """
        model = self._fitted().heeding
        return batch.detect(model, model.engine, self._recent(recent, times, allow_missing), progress)

    def _recent(self, recent: Any, times: Any, allow_missing: bool) -> Frame:
        model = self._fitted()
        frame = Frame.of(recent, times=times, argument="recent", infinite_is_missing=True)
        return frame.align(model.channels, named=model.named, argument="recent", allow_missing=allow_missing)

    def backtest(
        self,
        recent: Any,
        budgets: Iterable[str],
        *,
        times: Any = None,
        allow_missing: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> dict[str, Detection]:
        """The answer at each of several false-alarm budgets, side by side; the network is asked once.

        Args:
            recent: a table as `detect` takes it.
            budgets: such as "1/day" and "1/week".
            times: the time of each row where the table has none.
            allow_missing: as of `detect`.
            progress: told the share that is done, now and then.

        Returns:
            A `Detection` for each budget, by its text.

        Raises:
            SettingError: where there is no budget, or one does not read like one.
            InputError: where the table cannot be used.

        Example:
            for budget, result in detector.backtest(recent, ["1/100 rows", "1/10000 rows"]).items():
                print(budget, len(result.events))
        """
        models = {budget: self.with_budget(budget)._fitted().heeding for budget in budgets}
        if not models:
            raise SettingError("budgets must name at least one budget; got none")
        found = batch.compare(
            list(models.values()),
            self._fitted().heeding.engine,
            self._recent(recent, times, allow_missing),
            progress,
        )
        return dict(zip(models, found, strict=True))

    def with_budget(self, budget: str) -> Self:
        """A copy with the threshold of another budget: nothing is trained again.

        Args:
            budget: such as "1/10000 rows" or "1/week".

        Returns:
            Another detector; this one stays as it is.

        Raises:
            SettingError: where it does not read like a budget, or is per time and times are unknown.
            FileError: where the model comes from a file too old to hold what this needs.

        Example:
            quieter = detector.with_budget("1/100000 rows")
            print(quieter.threshold_ > detector.threshold_)
        """
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
        calibration = Calibration.fit(losses, settings.rows_per_alarm(model.period), fixed, model.calibration.distances)
        warn_of_budget(calibration)
        other = type(self)(**{**self.get_params(), "budget": budget, "threshold": None})
        other._model = replace(model, settings=settings, calibration=replace(calibration, settings=settings))
        other._history = self._history
        return other

    def recalibrate(self, normal: Any, *, times: Any = None, force: bool = False) -> Self:
        """Learns the normal losses and the threshold anew from other normal rows, without fitting the network again.

        All of `normal` is used, in order of time, but for the rows of confirmed events. `undo_recalibration()` goes
        back.

        Args:
            normal: recent normal rows, a table as `detect` takes it.
            times: the time of each row where it has none.
            force: also with rows that the network does not know: it would be calibrated to see nothing.

        Returns:
            The detector itself.

        Raises:
            InputError: where the rows are too few, or unlike those of training and `force` is not given.

        Example:
            detector.recalibrate(train)
            print(detector.threshold_)
        """
        model = self._fitted()
        frame = Frame.of(normal, times=times, argument="normal", infinite_is_missing=True).align(
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
            batch.in_order(losses, series.ends), model.settings.rows_per_alarm(model.period), fixed,
            self._places(batch.distances(model, series)),
        )  # fmt: skip
        warn_of_budget(calibration)
        self._undone = (*self._undone, model)
        tails = model.tails
        if tails is not None:  # what these rows did is normal too
            errors = np.concatenate([error for _, error in model.engine.errors(series.rows, series.ends)])
            there = np.ones(errors.shape, dtype=np.bool_) if series.present is None else series.present[series.ends]
            real, strayed = bad[series.kept], batch.strayed(model, series)
            values = np.where(real[:, None], np.nan, frame.values[series.kept])
            strayed = strayed if strayed is None else strayed[~real]
            new = batch.tails(errors, there, values, strayed, model.settings)
            tails = tails if new is None else tails.after(new)
        self._now(replace(model, calibration=replace(calibration, settings=model.settings), tails=tails))
        return self

    def _places(self, new: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Distances of new normal rows, and of those before: few rows are of a few of all usual places."""
        before = self._fitted().calibration.distances
        if new is None or before is None:
            return new
        return np.concatenate([before, [np.nan], new])[-MOST_DISTANCES:]

    def undo_recalibration(self) -> Self:
        """Back to the calibration before the last `recalibrate`.

        Returns:
            The detector itself.

        Raises:
            NotFittedError: where there is none to undo.

        Example:
            detector.recalibrate(train)
            detector.undo_recalibration()
        """
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
        """This event was nothing: the channels that were beyond normal in it are judged so mildly from now on that it
        would have been normal, and nothing else changes. `undo(event)` takes it back.

        Args:
            event: of this detector's answers, or of a stream's.

        Returns:
            The detector itself.

        Raises:
            NotFittedError: before `fit`.

        Example:
            detector.dismiss(result.events[0])
            print(detector.feedback_[-1].word)
        """
        return self.heed([event.verdict("dismissed", now())])

    def confirm(self, event: Event) -> Self:
        """This event was real: its rows, by their times, are kept out of every later fit and recalibration.

        Args:
            event: of this detector's answers, or of a stream's.

        Returns:
            The detector itself.

        Raises:
            NotFittedError: before `fit`.

        Example:
            detector.confirm(result.events[0])
            print(detector.feedback_[-1].word)
        """
        return self.heed([event.verdict("confirmed", now())])

    def undo(self, event: Event) -> Self:
        """Takes back what was said of this event.

        Args:
            event: that was dismissed or confirmed.

        Returns:
            The detector itself.

        Raises:
            NotFittedError: before `fit`.

        Example:
            detector.dismiss(result.events[0])
            detector.undo(result.events[0])
        """
        return self.heed([event.verdict("undone", now())])

    def heed(self, said: Iterable[Verdict]) -> Self:
        """Takes words on events to heart: from another detector's `feedback_`, or a stream's.

        Args:
            said: verdicts; the last word on each event counts.

        Returns:
            The detector itself.

        Raises:
            NotFittedError: before `fit`.

        Example:
            detector.heed(stream.feedback)
            print(len(detector.feedback_))
        """
        self._model = self._fitted().told(said)
        return self

    @property
    def feedback_(self) -> tuple[Verdict, ...]:
        """All that was said of events, in order; the last word on each counts."""
        return self._fitted().feedback

    def stream(self, resume: bytes | None = None) -> Stream:
        """A live stream: feed it rows one at a time with `update(row, time)`.

        Args:
            resume: an earlier stream's `snapshot()`: the new one goes on as if that one had never stopped.

        Returns:
            A `Stream`.

        Raises:
            NotFittedError: before `fit`.
            FileError: where the snapshot is damaged, or of another model.

        Example:
            stream = detector.stream()
            print(stream.update(row).score)
        """
        stream = Stream(self._fitted())
        if resume is not None:
            stream.resume(resume)
        return stream

    def streams(self, keys: Iterable[Hashable], resume: Mapping[Any, bytes] | None = None) -> Streams:
        """Live streams of many entities that share this model, stepped together.

        Args:
            keys: names of the entities; more may be added later.
            resume: an earlier `snapshot()` for each key that goes on.

        Returns:
            The `Streams`.

        Raises:
            NotFittedError: before `fit`.
            InputError: where `resume` has another key.
            FileError: where a snapshot is damaged, or of another model.

        Example:
            streams = detector.streams(["pump 1", "pump 2"])
            print(streams.update({"pump 1": row, "pump 2": row}).score)
        """
        streams = Streams(self._fitted(), keys)
        for key in resume or {}:
            if key not in streams:
                raise InputError(f"resume must be for the keys of these streams; got {key!r}")
        streams.resume(resume or {})
        return streams

    def save(self, path: str | Path) -> None:
        """Writes the fitted model to one pickle-free file, whole or not at all.

        Args:
            path: of the file, which may exist.

        Raises:
            NotFittedError: before `fit`.
            FileError: where it cannot be written.

        Example:
            detector.save("plant.ccm")
            detector = Detector.load("plant.ccm")
        """
        params = {n: v.item() if isinstance(v, np.generic) else v for n, v in self.get_params().items()}
        history = [asdict(epoch) for epoch in self._history]
        files.write(model_file.dumps(self._fitted(), {"params": params, "history": history}), path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a model that `save` wrote. Nothing in the file is executed; it needs no torch.

        Args:
            path: of the file.

        Returns:
            A fitted detector.

        Raises:
            FileError: where it cannot be read, is damaged, or of a newer version.

        Example:
            detector.save("plant.ccm")
            print(Detector.load("plant.ccm").channels_)
        """
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
        """How odd each row is, as one number: higher is worse; above `threshold_` is exactly what `predict` calls 1.

        It is the score. Where that is 0, as in nearly every normal row, it is the evidence log(alpha / p-value), which
        is at most 0: rows without a score are ranked by their p-values. A row in alarm without a score above the
        threshold, such as one of a lost signal, is just above it.

        Args:
            x: a table as `detect` takes it.

        Returns:
            (rows,): one number for each.

        Raises:
            NotFittedError: before `fit`.
            InputError: where the table cannot be used.

        Example:
            odd = detector.decision_function(recent)
            print((odd > detector.threshold_).sum(), odd.argmax())
        """
        return _decision(self.detect(x))

    def predict(self, x: Any) -> NDArray[np.int64]:
        """1 for each row in alarm when it arrived, else 0. (`detect(x).label` is the hindsight-corrected answer.)

        Args:
            x: a table as `detect` takes it.

        Returns:
            (rows,): 0 or 1 for each.

        Raises:
            NotFittedError: before `fit`.
            InputError: where the table cannot be used.

        Example:
            labels = detector.predict(recent)
            print(labels.sum())
        """
        return self.detect(x).alarm.astype(np.int64)

    def predict_proba(self, x: Any, method: Method = "linear") -> NDArray[np.float64]:
        """That each row is normal, and that it is an anomaly, by PyOD's two ways of turning `decision_function` into
        numbers from 0 to 1. No calibrated probabilities: `detect(x).pvalue` is what is counted against normal rows.

        Args:
            x: a table as `detect` takes it.
            method: "linear" goes from 0 at the lowest decision of the normal rows that calibrated the model to 1 at the
                threshold (or at their highest, where that is higher): every alarm is 1. "unify" is the error
                function of how many standard deviations a row is above their mean.

        Returns:
            (rows, 2): normal and anomaly, which add up to 1.

        Raises:
            NotFittedError: before `fit`.
            InputError: where the table cannot be used, or `method` is another.
            FileError: where the model comes from a file too old to hold what this needs.

        Example:
            odd = detector.predict_proba(recent)[:, 1]
            print(odd.max())
        """
        model = self._fitted().heeding
        if model.calibration.losses is None:
            raise FileError(
                "predict_proba needs the losses of normal rows: this model file is an older one that does not hold "
                "them; fit it again, or recalibrate(normal rows)"
            )
        judged = model.calibration.score(model.calibration.losses)
        there, threshold = ~np.isnan(judged.loss), model.calibration.threshold
        normal = decision(
            judged.score[there], judged.pvalue[there], judged.alarm[there], threshold, model.calibration.alpha
        )
        return probability(self.decision_function(x), normal, threshold, method)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  scikit-learn's signature
        """The settings as given, None where the preset decides.

        Args:
            deep: ignored; scikit-learn passes it.

        Returns:
            Names and values.

        Example:
            other = Detector(**detector.get_params())
            print(other.get_params() == detector.get_params())
        """
        return {name: getattr(self, name) for name in ("preset", *(one.name for one in fields(Settings)))}

    def set_params(self, **params: Any) -> Self:
        """Changes settings for the next `fit`; a fitted model is left as it is.

        Args:
            params: `preset`, or any setting by its name.

        Returns:
            The detector itself.

        Raises:
            SettingError: where one is unknown or breaks its rule; then nothing has changed.

        Example:
            detector.set_params(window=48)
            print(detector.settings.window)
        """
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
        """The score above which an alarm is raised; `decision_function` is above it in rows in alarm, only there."""
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
        """`decision_function` of the training rows, as PyOD names it. A saved or recalibrated model has none."""
        self._fitted()
        if self._train is None:
            raise NotFittedError(
                "training scores are not kept in a saved or recalibrated model: call decision_function(train)"
            )
        return _decision(self.detect(self._train))

    @property
    def labels_(self) -> NDArray[np.int64]:
        """1 for each training row in alarm, else 0, as PyOD names it."""
        return (self.decision_scores_ > self.threshold_).astype(np.int64)


def _decision(found: Detection) -> NDArray[np.float64]:
    return decision(found.score, found.pvalue, found.alarm, found.threshold, found.learnt.alpha)


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
    rise = model.calibration.unlike
    limit = rise.settled if len(known) >= model.settings.settle else rise.early
    limit = limit if np.isfinite(limit) else unlike.LEAST
    if np.log(max(worse, 1e-300)) > limit:
        raise InputError(
            "normal must hold rows like those the network learnt from; got rows with errors "
            f"{np.sqrt(worse):.3g} times those of training: fit again with these rows, or recalibrate with force=True"
        )
