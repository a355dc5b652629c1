"""A whole series judged at once, with the answer a stream would have given row by row."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blame import CANDIDATES, asked, put_back, times_asked
from .calibrate.limits import Tails
from .compiled import available
from .conditions import condition_event
from .frame import Frame
from .model import BLOCK, Model, Series
from .network.engine import Reconstructor
from .prepare import timeline, windows
from .record import NEVER, readable
from .results import Detection, Event
from .score import astray, events
from .score.channels import DISTANT, KINDS, TO_BLAME
from .score.combine import Combiner, Way
from .score.series import NO_ERRORS, NO_ONE, Fold
from .settings import Settings
from .wording import span, stamp

log = logging.getLogger("ccmtad")

__all__ = ["compare", "detect", "distances", "in_order", "losses", "normal", "reconstruct", "strayed", "tails"]

Errors = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Progress = Callable[[float], object]

TOGETHER = 32  # questions of blame that are answered at once, or fewer ..
NUMBERS = 2_000_000  # .. where their windows hold more than that


def detect(model: Model, engine: Reconstructor, frame: Frame, progress: Progress | None = None) -> Detection:
    """Frame to rows to losses to scores to events. `progress` is told the share that is done."""
    (detection,) = compare([model], engine, frame, progress)
    return detection


@np.errstate(over="ignore", invalid="ignore")  # a value of 1e308, scaled: it is clipped
def compare(
    models: Sequence[Model], engine: Reconstructor, frame: Frame, progress: Progress | None = None
) -> list[Detection]:
    """The answers of models that differ in nothing but their calibration: the network is asked once."""
    model, tell = models[0], progress or (lambda _: None)
    frame = frame.align(model.channels, named=model.named, argument="recent")
    series = model.series(frame)
    ignored = len(frame) - len(series.kept)
    if ignored:
        log.warning(
            "recent: %d of %d rows are not later than the ones before them and are ignored", ignored, len(frame)
        )
    times = frame.times[series.kept] if frame.times is not None and ignored else frame.times
    for i in () if times is None else np.flatnonzero(times[1:] <= times[:-1]).tolist():
        assert times is not None
        log.warning(
            "recent: the clock was ahead up to row %d (%s), and is right again from row %d on",
            series.kept[i], stamp(times[i], frame.zone), series.kept[i + 1],
        )  # fmt: skip
    period = timeline.median_period(times)
    if period is not None and model.period is not None and not 0.5 <= period / model.period <= 2.0:
        log.warning(
            "recent: one row every %s, and every %s in training: the network counts rows; resample to the same step",
            span(period),
            span(model.period),
        )
    if not len(series.ends):
        log.warning("recent: no row can be judged: no %d rows follow each other without a gap", model.settings.window)
    loss, runs = np.full(len(series.rows), np.nan), [_Judging(each, engine, series, frame) for each in models]
    for where, difference in engine.differences(series.rows, series.ends):
        rows, error = series.ends[where], np.square(difference)
        loss[rows] = model.combiner.loss(error, None if series.present is None else series.present[rows])
        for run in runs:
            run.take(loss, rows, difference, error)
        tell(where.stop / len(series.ends))
    return [run.detection(loss if run is runs[0] else loss.copy()) for run in runs]


class _Judging:
    """One model on its way through a series."""

    def __init__(self, model: Model, engine: Reconstructor, series: Series, frame: Frame) -> None:
        self.model, self.engine, self.series, self.frame = model, engine, series, frame
        known = frame.times is not None
        times = np.ascontiguousarray(frame.times).view(np.int64) if known else np.full(len(series.kept), NEVER)
        self.fold = Fold(
            model.calibration.rules, model.limits, model.combiner.unit, model.far_unit, series.start, series.kept,
            times if len(times) == len(series.kept) else times[series.kept], series.present, available(),
        )  # fmt: skip
        self.tail = np.zeros((model.settings.window, len(model.channels)))  # differences of the last rows
        self.own = NO_ONE  # who is to blame, of each of the newest rows
        self.questions: list[_Question] = []
        self.together = min(max(NUMBERS // (CANDIDATES * self.tail.size), 1), TOGETHER)
        self.excursions = 0  # rows with score 0, up to the newest: constant along one excursion
        self.alarmed: dict[int, _Alarmed] = {}  # by excursion
        self.sizes = np.zeros(len(series.kept))  # losses of rows in alarm, as they were before anything was clipped
        self.distance = np.zeros(len(series.kept))
        self.away = NO_ERRORS  # squared distances of the newest rows
        self.others: list[Event] = []  # of other kinds

    def take(self, loss: Floats, rows: Ints, difference: NDArray[Any], error: NDArray[Any]) -> None:
        """The next rows, with what was other than expected, and its square."""
        first, fold, combiner = self.fold.done, self.fold, self.model.combiner
        begin, end = int(rows[0]), int(rows[-1]) + 1
        if len(self.own) < end - begin:
            self.own = np.zeros((end - begin, len(TO_BLAME), error.shape[1]))
        own = self.own  # only that of rows in alarm is told, and read
        judged = None if self.series.present is None else self.series.present[rows]
        self.away = self.model.away(self.series.rows[rows], judged)
        self.distance[rows] = self.model.distance(self.away, judged)
        self._go(loss, end, begin, error, own)
        excursion = np.cumsum(fold.score[first : fold.done] <= 0.0) + self.excursions
        self.excursions = int(excursion[-1])
        window, off = len(self.tail), np.concatenate([self.tail, difference])
        self.tail = off[-window:]
        which = np.flatnonzero(fold.alarm[rows])
        if not len(which):
            return
        there = rows[which]
        present = None if self.series.present is None else self.series.present[there]
        whole = self.model.unclipped(self._values(there), error[which])
        far = self.distance[there] * self.model.calibration.rules.worth
        self.sizes[there] = np.maximum(combiner.loss(whole, present), far)
        of = excursion[there - first]
        for one in np.unique(of).tolist():
            mine = of == one
            alarmed = self.alarmed.setdefault(one, _Alarmed(whole.shape[1]))
            at = np.flatnonzero(mine)
            numbers = alarmed.rows + 1 + np.arange(len(at))
            for i in at[asked(numbers)].tolist():
                self._ask(alarmed, int(there[i]), off[which[i] + 1 :][:window], whole[i], own[there[i] - begin])
            alarmed.rows += len(at)
            seen = whole[at] if present is None else np.where(present[at], whole[at], 0.0)
            alarmed.take(seen, there[at], difference[which[at]], own[there[at] - begin])

    def _values(self, rows: Any) -> Floats:
        """Of rows of the series, as they came."""
        values: Floats = self.frame.values[self.series.kept[rows]]
        return values

    def _ask(self, alarmed: "_Alarmed", row: int, off: Floats, error: Floats, own: Floats) -> None:
        """Which channel did it: so many questions are answered at once."""
        before = row - len(off) + 1
        quiet = np.flatnonzero(self.fold.score[before : row + 1] <= 0.0)
        lasted = len(off) - 1 - int(quiet[-1]) if len(quiet) else len(off)
        present = np.ones(len(error), np.bool_) if self.series.present is None else self.series.present[row]
        rows = self.series.rows[before : row + 1]
        self.questions.append(_Question(alarmed, rows, off, lasted, error, present, own.copy()))
        if len(self.questions) == self.together:
            self._answer()

    def _answer(self) -> None:
        if not self.questions:
            return
        # Always so many: what one comes to must not depend on those after it, not in the last bit either.
        more = self.together - len(self.questions)
        alarmed, *asked_for = zip(*self.questions, *[self.questions[-1]] * more, strict=True)
        rows, off, *given = map(np.array, asked_for)
        shares = put_back(self.model, self.engine, rows, (rows - off).astype(np.float32), *given)
        for one, share in zip(alarmed[: self.together - more], shares, strict=False):
            one.blame += share
        self.questions.clear()

    def _go(
        self, loss: Floats, end: int, first: int = 0, error: NDArray[Any] = NO_ERRORS, own: Floats = NO_ONE
    ) -> None:
        """On to the row before `end`; events of other kinds are kept as they end."""
        while self.fold.done < end:
            upto = min(self.fold.done + BLOCK, end)
            part, guess = slice(self.fold.done, upto), self.model.guess
            off = NO_ERRORS if guess is None else guess.off(self.series.rows[part])
            given = loss, self.distance, self._values(part), off, upto, first, error, self.away, own
            for kind, change in enumerate(self.fold.take(*given)):
                if change == events.FINAL:
                    self.others.append(self._other(kind))

    def _other(self, kind: int) -> Event:
        state = self.fold.signals
        return condition_event(readable(state.conditions[0], kind), kind, self.model, state.traces[0])

    def detection(self, loss: Floats) -> Detection:
        """The answer, once all rows are taken."""
        self._answer()
        self._go(loss, len(loss))
        still = [kind for kind in range(len(KINDS)) if readable(self.fold.signals.conditions[0], kind).open]
        model, series, frame, scores = self.model, self.series, self.frame, self.fold.judged(loss)
        spans = events.find(scores.score, scores.evidence, scores.alarm, self.sizes)
        found = [*self._events(spans), *self.others, *(self._other(kind) for kind in still)]
        if frame.zone is not None:
            found = [replace(event, zone=frame.zone) for event in found]

        def spread(values: NDArray[Any], default: object) -> NDArray[Any]:
            """One value per input row; late and duplicate rows get the default."""
            if len(values) == len(frame):
                return values
            out = np.full(len(frame), default, dtype=values.dtype)
            out[series.kept] = values
            return out

        alarms = {"anomaly": spread(scores.alarm, False)}
        alarms |= {kind: spread(self.fold.others[:, i].copy(), False) for i, kind in enumerate(KINDS)}
        label = spread(events.label(spans, len(scores.loss)), False)
        for kind in KINDS:
            label |= alarms[kind]
        return Detection(
            loss=spread(scores.loss, np.nan),
            pvalue=spread(scores.pvalue, 1.0),
            evidence=spread(np.nan_to_num(scores.evidence, copy=False, nan=0.0), 0.0),
            score=spread(scores.score, 0.0),
            alarm=np.logical_or.reduce(list(alarms.values())),
            label=label,
            own_pvalue=spread(scores.alone, 1.0),
            events=tuple(sorted(found, key=lambda event: (event.alarm, event.kind))),
            alarms=alarms,
            threshold=model.calibration.threshold,
            frame=frame,
            health=scores.health,
            learnt=model.learnt,
            _blame=partial(_blame, self.engine, model, series, frame),
            _reconstruct=partial(reconstruct, self.engine, model, series),
        )

    def _events(self, spans: Sequence[events.Span]) -> Iterator[Event]:
        excursion, counted = 0, 0  # as `take` counted them
        for one in spans:
            excursion += int((self.fold.score[counted : one.alarm + 1] <= 0.0).sum())
            counted = one.alarm + 1
            yield self._event(one, self.alarmed[excursion])

    def _event(self, span: events.Span, alarmed: "_Alarmed") -> Event:
        series, times = self.series, self.frame.times
        start, raised, offset = (int(series.kept[i]) for i in (span.onset, span.alarm, span.offset))
        rows = (start, raised, None if span.open else offset)
        stamps = tuple(None if times is None or row is None else times[row] for row in rows)
        measured = events.measures(span, self.model.calibration.typical)
        channels = np.arange(len(self.model.channels))
        frame_values = self.frame.values
        peak, values = alarmed.row, frame_values[series.kept[alarmed.row], channels]
        scaled = self.series.rows[peak, channels]
        values = np.where(np.isnan(values), self.model.scaler.undo(scaled), values)  # held
        expected = self.model.scaler.undo(scaled - alarmed.difference)
        off, _, beyond, far = alarmed.own
        farthest, there = series.kept[alarmed.far_row], series.rows[alarmed.far_row, channels]
        place = frame_values[farthest, channels]
        place = np.where(np.isnan(place), self.model.scaler.undo(there), place)
        lines = alarmed.error, values, expected, off, beyond, far, alarmed.far, place
        peaks = self.model.peaks(np.stack(lines))
        blame = alarmed.blame / times_asked(alarmed.rows)
        return Event.of(rows, stamps, self.model.channels, blame, *peaks, **measured)  # type: ignore[arg-type]


class _Question(NamedTuple):
    """Which channel did it, at one row in alarm."""

    alarmed: "_Alarmed"
    rows: Errors  # (window, channels)
    off: Floats  # from what was expected of them
    lasted: int
    error: Floats
    present: Bools
    own: Floats


class _Alarmed:
    """What the channels did in the rows in alarm of one event."""

    def __init__(self, channels: int) -> None:
        self.rows = 0
        self.blame = np.zeros(channels)  # summed
        self.error = np.zeros(channels)  # largest squared one
        self.row = np.zeros(channels, dtype=np.int64)  # of it
        self.difference = np.zeros(channels)  # from what was expected, there
        self.own = np.zeros((len(TO_BLAME), channels))  # largest of each
        self.far = np.zeros(channels)  # farthest from the middle of its range, where that alarmed
        self.far_row = np.zeros(channels, dtype=np.int64)  # of it

    def take(self, error: NDArray[Any], rows: Ints, difference: NDArray[Any], own: Floats) -> None:
        channels, worst = np.arange(len(self.error)), error.argmax(axis=0)
        worse = error[worst, channels] > self.error
        self.error[worse] = error[worst, channels][worse]
        self.row[worse] = rows[worst][worse]
        self.difference[worse] = difference[worst, channels][worse]
        np.maximum(self.own, np.abs(own).max(axis=0), out=self.own)
        place = own[:, TO_BLAME.index(DISTANT)]
        farthest = place.argmax(axis=0)
        farther = place[farthest, channels] > self.far
        self.far[farther] = place[farthest, channels][farther]
        self.far_row[farther] = rows[farthest][farther]


def losses(
    engine: Reconstructor, combiner: Combiner, rows: Errors, ends: Ints, present: Bools | None = None
) -> NDArray[np.float64]:
    """The loss of each row in `ends`."""
    out = np.empty(len(ends))
    for where, error in engine.errors(rows, ends):
        out[where] = combiner.loss(error, None if present is None else present[ends[where]])
    return out


def distances(model: Model, series: Series) -> Floats | None:
    """How far the judged rows of a series are from where values usually are, in order of time; None where no track
    looks at that."""
    if model.distances is None:
        return None
    present = None if series.present is None else series.present[series.ends]
    return in_order(model.distance(model.away(series.rows[series.ends], present), present), series.ends)


def normal(errors: Floats, ends: Ints, present: Bools | None, way: Way) -> tuple[Combiner, Floats]:
    """Learns from the squared errors of normal rows how channels combine; their losses in order of time, NaN where it
    breaks."""
    there = None if present is None else present[ends]
    combiner = Combiner.fit(errors, way, there)
    return combiner, in_order(combiner.loss(errors, there), ends)


def tails(errors: Floats, present: Bools, values: Floats, strayed: Floats | None, settings: Settings) -> Tails | None:
    """How far is too far for each channel, from the raw values of normal rows, the errors of some, and how far off they
    were on average; None where no one asks."""
    if not settings.extremes and not settings.signals:
        return None
    return Tails.learn(
        values, errors, present, settings.hold_rows, strayed, extremes=settings.extremes, signals=settings.signals
    )


def strayed(model: Model, series: Series) -> Floats | None:
    """(rows, channels): how far off the rows of a series are on average; None where no one guesses."""
    if model.guess is None:
        return None
    present = np.ones(series.rows.shape, dtype=np.bool_) if series.present is None else series.present
    return astray.averages(model.guess.off(series.rows), present, series.start)


def in_order(losses: NDArray[np.float64], ends: Ints) -> NDArray[np.float64]:
    """The losses of the rows `ends` in order of time, NaN where the series breaks."""
    series = np.full(int(ends[-1] - ends[0]) + 1, np.nan)
    series[ends - ends[0]] = losses
    return series


@np.errstate(over="ignore", invalid="ignore")
def reconstruct(engine: Reconstructor, model: Model, series: Series, first: int, last: int) -> NDArray[np.float64]:
    """(rows, channels) of the input rows `first` to `last`, in the input's units; NaN where they are not judged."""
    out = np.full((last - first + 1, series.rows.shape[1]), np.nan)
    judged = series.ends[(series.kept[series.ends] >= first) & (series.kept[series.ends] <= last)]
    for run_first, run_last in windows.runs(judged):
        back = engine.reconstruct(series.rows[run_first - engine.window + 1 : run_last + 1])
        out[series.kept[run_first : run_last + 1] - first] = model.scaler.undo(back)
    return out


@np.errstate(over="ignore", invalid="ignore")
def _blame(engine: Reconstructor, model: Model, series: Series, frame: Frame) -> Errors:
    out = np.zeros((len(frame), series.rows.shape[1]), dtype=np.float32)
    for where, error in engine.errors(series.rows, series.ends):
        rows = series.ends[where]
        present = None if series.present is None else series.present[rows]
        whole = model.unclipped(frame.values[series.kept[rows]], error)
        out[series.kept[rows]] = model.combiner.blame(whole, model.blamable(series.rows[rows], present))
    return out
