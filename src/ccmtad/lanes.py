"""The state of live streams, side by side: one lane for each. A snapshot is a lane.

Constant time and memory however long they run.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blame import asked, put_back, times_asked
from .conditions import condition_event
from .errors import InputError
from .model import Model
from .network.engine import Engine
from .prepare import timeline
from .prepare.scale import CLIP
from .prepare.timeline import AGREEING, BACK, GAP, JUMP, LATE, UNTIMED
from .record import NEVER, readable
from .results import Change, Event, Health, Step, Tally, Verdict
from .score import events, step, tracks
from .score.astray import stray_at_once
from .score.channels import CONDITION, DISTANT, OFF, OWN, TO_BLAME, Signals
from .score.events import CHANGES
from .score.signals import beyond_at_once
from .way import ANSWER, JUDGE, LAYOUT, TAKE, UPDATE, score, take_plain, told_apart
from .wording import printable, span

__all__ = ["ACCEPTED", "AHEAD", "ARRAYS", "RIGHT_AGAIN", "SIGNALS", "Lanes", "Taken"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

AHEAD = "the clock jumps ahead"
CURE = f"if it is wrong, rows that go on from before are taken again once {AGREEING} of them agree"
RIGHT_AGAIN = "the clock was ahead, and is right again"
HEALTH_FIELDS = 16  # of an answer, the last of those a step tells
ACCEPTED = "this event has lasted so long that its level is taken for the new normal from here on"


class Lanes:
    """The state of streams side by side, and the three steps of a row."""

    def __init__(self, model: Model, number: int, engine: Engine | None = None) -> None:
        if not model.settings.online:
            raise InputError("a stream must be online; this model averages with smoothing='centred', which looks ahead")
        self.engine = model.engine if engine is None else engine
        self.compiled = self.engine.compiled
        self._heed(model)
        self._fresh(number)

    def heed(self, said: Iterable[Verdict]) -> None:
        """Takes words on events to heart, from the next row on."""
        self._heed(self.model.told(said))
        self._packed = None  # what a compiled update takes: made anew

    def _heed(self, model: Model) -> None:
        model = model.heeding
        self.model = model
        settings, scaler = model.settings, model.scaler
        pause = model.longest_pause
        nanos = timeline.LONGEST if pause is None else min(round(pause * 1e9), timeline.LONGEST)
        self._preparing = (
            nanos, settings.window, settings.hold_rows, scaler.low, scaler.gain, model.fallback, model.limits,
        )  # fmt: skip
        self._rules = model.calibration.rules.given(self.compiled)

    def _fresh(self, number: int) -> None:
        settings, channels = self.model.settings, len(self.model.channels)
        self.number = number
        self._scratch = _scratch(1)
        self.memory = self.model.calibration.rules.memory(LAYOUT, number, self.compiled)
        self.signals = Signals.fresh(number, channels, self.compiled)
        self.held = np.tile(self.model.fallback, (number, 1))  # the last value of each channel
        self.age = np.full((number, channels), -1)  # rows since then; -1: none yet
        self.averaged = np.zeros((number, settings.smooth, channels))  # ring of scaled rows
        self.ring = np.zeros((number, 2 * settings.window, self.engine.width), dtype=np.float32)  # embedded, kept twice
        self.past = np.zeros((number, 2, settings.window, channels), dtype=np.float32)  # rows, and expected ones
        self.blame = np.zeros((number, channels))  # summed over the rows in alarm of an event
        # Largest squared error in alarm, the value there, the expected one; the farthest from what the others tell,
        # beyond its own values and steps, and from the middle of its range; and that again where it alarmed, with the
        # value there.
        self.peaks = np.zeros((number, 8, channels))
        self._packed = None  # what a compiled update takes: made anew

    def _pack(self, parts: tuple[Any, ...]) -> Any:
        from .packed import PACK

        combiner = self.model.combiner
        return PACK.fast(
            (
                *self.memory.all, *self.signals.all, self.held, self.age, self.averaged, self.ring, self.past,
                *self._preparing, combiner.unit, self.model.far_unit, combiner.way.most, *self.model.guessing, *parts,
                *self._rules,
            )
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_packed": None}  # a copy has arrays of its own

    def update(self, lanes: Ints, values: Floats, times: Ints) -> "Taken":
        """One row for each of the `lanes`."""
        rows, channels = len(lanes), len(self.model.channels)
        # Zeros: a late row leaves them as they are.
        x = np.zeros((rows, channels), dtype=np.float32)
        present = np.zeros((rows, channels), dtype=np.bool_)
        slots, ready = self._scratch if rows == 1 else _scratch(rows)
        parts = self.engine.parts
        if parts is not None:
            # `_arrive` fills an answer: a record as it starts costs more than a small network.
            answers, back, errors = ANSWER.empty(rows), np.empty((rows, channels)), np.empty((rows, channels))
            self._packed = self._packed or self._pack(parts)
            UPDATE.fast(lanes, values, times, answers, slots, ready, x, present, back, errors, self._packed)
            return Taken(self, lanes, values, answers, x, back, errors, present)
        return self._update_in_parts(lanes, values, times, slots, x, present)

    @np.errstate(over="ignore", invalid="ignore")  # a value of 1e308, scaled: it is clipped
    def _update_in_parts(
        self, lanes: Ints, values: Floats, times: Ints, slots: Ints, x: NDArray[np.float32], present: Bools
    ) -> "Taken":
        """The same where the network is not compiled, or has several blocks."""
        answers, combiner = ANSWER.many(len(lanes), self.compiled), self.model.combiner
        model, (streams, records, *_) = self.model, self.memory.all
        counts, _, traces, kinds = self.signals.all
        given: tuple[Any, ...] = (lanes, values, times)
        if not self.compiled:
            given = (lanes.tolist(), values, times.tolist())
        take: Any = TAKE.fast if self.compiled else take_plain
        take(
            *given, *self._preparing, streams, records, *self.signals.all, self.held, self.age, self.averaged,
            self.past, answers, slots, x, present,
        )  # fmt: skip
        ready = [bool(answer["ready"]) if self.compiled else answer.ready for answer in answers]
        back = self.engine.advance(lanes, slots, np.array(ready), x, self.ring)
        if self.compiled:
            errors = np.empty_like(back)
            JUDGE.fast(
                *given, slots, x, back, errors, present, model.scaler.low, model.scaler.gain, combiner.unit,
                model.far_unit, combiner.way.most, model.limits, *model.guessing, self.averaged, self.past,
                *self.memory.all, counts, traces, kinds, *self._rules, answers,
            )  # fmt: skip
            return Taken(self, lanes, values, answers, x, back, errors, present)
        errors = np.square(x - back)
        off = None if model.guess is None else model.guess.off_now(x)
        for n, k in enumerate(given[0]):
            if not ready[n]:
                errors[n] = 0.0  # nothing was made of it
                continue
            self.past[k, 1, slots[n]] = back[n]
            answer, rise = answers[n], step.risen(records[k], self._rules[1])
            met, there = answer.index - streams[k].late, present[n]
            far = beyond_at_once(errors[n], there, combiner.unit, model.limits, counts[k], traces[k], rise, met)
            if off is not None:
                far = max(far, stray_at_once(off[n], there, model.limits, counts[k], traces[k], rise, met))
            answer.farthest = max(answer.farthest, far)
        there = present if any(answer.gone for answer in answers) else None
        sizes = losses = combiner.loss(errors, there).tolist()
        if np.count_nonzero(np.abs(x) == CLIP):
            sizes = combiner.loss(model.unclipped(values, errors), there).tolist()
        away = model.away(x, there)
        distances = model.distance(away, there).tolist()
        interpreted: Any = score
        interpreted(
            given[0], given[2], losses, sizes, distances, away, model.far_unit, model.limits, *self.memory.all, counts,
            traces, kinds, *self._rules, answers,
        )  # fmt: skip
        return Taken(self, lanes, values, answers, x, back, errors, present)

    def health(self, lane: int) -> Health:
        """Whether the calibration still fits."""
        return step.vitals(self.memory, lane, self._rules[1], self._rules[-1])

    def tally(self, lane: int) -> Tally:
        """What a stream has met."""
        record = readable(self.memory.streams, lane)
        return Tally(int(record.rows), int(record.late), int(record.gaps), int(record.missing))

    def last_time(self, lane: int) -> int | None:
        """Nanoseconds; None before the first row with a time."""
        time = int(readable(self.memory.streams, lane).last_time)
        return None if time == NEVER else time

    def event(self, lane: int) -> Event:
        """The newest anomaly of a stream, as it stands."""
        life = readable(self.memory.streams, lane)
        ended = None if life.in_alarm else int(life.end)
        times = (life.start_time, life.alarm_time, NEVER if life.in_alarm else life.end_time)
        peaks, thrown_off = self.model.peaks(self.peaks[lane])
        return Event.of(
            (int(life.start), int(life.alarm), ended),
            tuple(None if time == NEVER else np.datetime64(int(time), "ns") for time in times),  # type: ignore[arg-type]
            self.model.channels,
            self.blame[lane] / max(times_asked(int(life.alarmed)), 1),
            peaks,
            thrown_off,
            **events.measures(life, self.model.calibration.typical),
        )

    def condition(self, lane: int, kind: int) -> Event:
        """The newest event of another kind, as it stands."""
        condition = readable(self.signals.conditions[lane], kind)
        return condition_event(condition, kind, self.model, self.signals.traces[lane])

    def active(self, lane: int) -> bool:
        """Whether the newest event of a stream may still change."""
        return bool(readable(self.memory.streams, lane).active)

    def grow(self, number: int) -> None:
        """Room for so many more streams."""
        old, before = [self.state(lane) for lane in range(self.number)], self.number
        self._fresh(before + number)
        for lane, (arrays, facts) in enumerate(old):
            self.restore(lane, arrays, facts)

    def clear(self, lane: int) -> None:
        """A lane as new."""
        empty = Lanes(self.model, 1, self.engine)
        self.restore(lane, *empty.state(0))

    def state(self, lane: int) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """All that is remembered of a stream: arrays, and numbers by name."""
        _, records, recent, settling = self.memory.all
        arrays = {name: getattr(self, name)[lane] for name in ARRAYS}
        arrays |= {name: getattr(self.signals, name)[lane] for name in SIGNALS}
        arrays |= {"recent": np.array(recent[lane]), "settling": np.array(settling[lane])}
        told = [tracks.LAYOUT.state(record) for record in records[lane]]
        kinds = [CONDITION.state(record) for record in self.signals.conditions[lane]]
        return arrays, {"stream": LAYOUT.state(self.memory.streams[lane]), "tracks": told, "kinds": kinds}

    def restore(self, lane: int, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
        """Puts a lane into a state; the state must fit the model, which `snapshot` has checked."""
        _, records, recent, settling = self.memory.all
        LAYOUT.restore(self.memory.streams[lane], facts["stream"])
        for record, told in zip(records[lane], facts["tracks"], strict=True):
            tracks.LAYOUT.restore(record, told)
        for record, told in zip(self.signals.conditions[lane], facts["kinds"], strict=True):
            CONDITION.restore(record, told)
        for name in ARRAYS:
            getattr(self, name)[lane] = arrays[name]
        for name in SIGNALS:
            getattr(self.signals, name)[lane] = arrays[name]
        for kept, name in ((recent, "recent"), (settling, "settling")):
            kept[lane] = arrays[name] if self.compiled else arrays[name].tolist()


def _scratch(rows: int) -> tuple[Ints, Bools]:
    """Slots, and whether rows are ready."""
    return np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.bool_)


ARRAYS = ("held", "age", "averaged", "ring", "past", "blame", "peaks")
SIGNALS = ("counts", "since", "traces")


@dataclass(eq=False, slots=True)
class Taken:
    """One round of rows, judged."""

    of: Lanes
    lanes: Ints
    values: Floats  # (rows, channels) as they came
    answers: Any
    x: NDArray[np.float32]  # (rows, channels) scaled
    back: Floats  # (rows, channels) what was expected, scaled; anything where a row was not ready
    errors: Floats  # (rows, channels) squared; anything where a row was not ready
    present: Bools  # (rows, channels)

    @property
    def changed(self) -> bool:
        """Whether any row changed an event."""
        if self.of.compiled:
            return bool(self.answers["changes"].any())
        return any(answer.changes for answer in self.answers)

    def changes(self) -> Iterator[tuple[int, Change]]:
        """Adds the rows in alarm to the blame of their events; which rows changed an event, and how."""
        for number, changes, alarm in self._moved():
            lane = int(self.lanes[number])
            change, *others = told_apart(changes)
            what = CHANGES[change]
            if what == "opened":
                self.of.blame[lane] = 0.0
                self.of.peaks[lane] = 0.0
            if alarm:
                self._in_alarm(number, lane)
            if what is not None:
                yield number, Change(what, self.of.event(lane))
            for kind, other in enumerate(others):
                happened = CHANGES[other]
                if happened is not None:
                    yield number, Change(happened, self.of.condition(lane, kind))

    def _moved(self) -> Iterator[tuple[int, int, bool]]:
        """The rows that changed events: how, and whether an anomaly is going on (then there is a change)."""
        if self.of.compiled:
            changes, alarm = self.answers["changes"], self.answers["anomaly"]
            for number in changes.nonzero()[0].tolist():
                yield number, int(changes[number]), bool(alarm[number])
        else:
            for number, answer in enumerate(self.answers):
                if answer.changes:
                    yield number, answer.changes, answer.anomaly

    @np.errstate(over="ignore", invalid="ignore")
    def _in_alarm(self, number: int, lane: int) -> None:
        """Keeps what each channel did at its worst."""
        life = readable(self.of.memory.streams, lane)
        if asked(int(life.alarmed)):
            self.of.blame[lane] += self._put_back(number, lane, life)
        whole, peaks = self._whole(number)[0], self.of.peaks[lane]
        worse = self.present[number] & (whole > peaks[0])
        there = np.isfinite(self.values[number])
        expected = self.of.model.scaler.undo(self.back[number])
        values = np.where(there, self.values[number], self.of.held[lane])
        for line, new in zip(peaks[:3], (whole, values, expected), strict=True):
            line[worse] = new[worse]
        traces = self.of.signals.traces[lane]
        np.maximum(peaks[3:6], np.abs(traces[[OFF, OWN, DISTANT]]), out=peaks[3:6])
        farther = traces[DISTANT] > peaks[6]
        for line, new in zip(peaks[6:], (traces[DISTANT], values), strict=True):
            line[farther] = new[farther]

    def _put_back(self, number: int, lane: int, life: Any) -> Floats:
        """Which channel did it."""
        model, window = self.of.model, self.of.model.settings.window
        order = (np.arange(window) + int(life.filled)) % window  # oldest first
        rows, expected = self.of.past[lane][:, None, order]
        lasted, row = np.array([min(int(life.rising), window)]), slice(number, number + 1)
        own = self.of.signals.traces[None, lane, list(TO_BLAME)]
        error, present = self._whole(number), self.present[row]
        (shares,) = put_back(model, self.of.engine, rows, expected, lasted, error, present, own)
        return shares  # type: ignore[no-any-return]

    def _whole(self, number: int) -> Floats:
        """Squared errors as they would be had nothing been clipped."""
        row = slice(number, number + 1)
        return self.of.model.unclipped(self.values[row], self.errors[row])

    def step(self, number: int, changes: tuple[Change, ...] | None = None) -> Step:
        """The answer for one row, with the changes it made: all there are, where None are given."""
        told = self.answer(number)[:HEALTH_FIELDS]
        index, ready, loss, pvalue, evidence, score, alarm, changed, odd, waited, gone, accepting, *health = told
        if changes is None:
            changes = tuple([change for _, change in self.changes()]) if changed else ()
        notes = self._notes(number, odd, waited, gone, accepting) if odd or gone or accepting else ()
        made: Step = object.__new__(Step)  # as the class would, but for one call a field
        object.__setattr__(
            made, "__dict__",
            {
                "index": index, "ready": ready, "loss": loss, "pvalue": pvalue, "evidence": evidence, "score": score,
                "alarm": alarm, "changes": changes, "notes": notes, "_health": health, "_of": (self, number),
            },
        )  # fmt: skip
        return made

    def answer(self, number: int) -> tuple[Any, ...]:
        """What the step wrote, in the order of its fields."""
        if self.of.compiled:
            return self.answers.item(number)  # type: ignore[no-any-return]
        return tuple(vars(self.answers[number]).values())

    @np.errstate(over="ignore", invalid="ignore")
    def blame(self, number: int) -> NDArray[np.float32]:
        """(channels,): each channel's share of the loss of a row; 0 where the row was not judged."""
        if not self.answer(number)[1]:
            return np.zeros(len(self.of.model.channels), dtype=np.float32)
        row, model = slice(number, number + 1), self.of.model
        there = model.blamable(self.x[row], self.present[row])
        shares: NDArray[np.float32] = model.combiner.blame(self._whole(number), there)[0].astype(np.float32)
        return shares

    def _notes(self, number: int, odd: int, waited: int, gone: int, accepting: bool) -> tuple[str, ...]:
        if odd & LATE:
            return ("late or duplicate row ignored",)
        notes = [f"gap of {waited * 1e-9:g} s: window restarted"] * bool(odd & GAP and not odd & (JUMP | BACK))
        notes += [f"{AHEAD} by {span(waited * 1e-9)}: window restarted; {CURE}"] * bool(odd & JUMP)
        notes += [f"{RIGHT_AGAIN}: window restarted"] * bool(odd & BACK)
        notes += ["no time given: the next pause is not measured"] * bool(odd & UNTIMED)
        if gone:
            missing, present = ~np.isfinite(self.values[number]), self.present[number]
            for what, which in (("last value held", missing & present), ("left out", ~present)):
                names = ", ".join(printable(self.of.model.channels[i]) for i in np.flatnonzero(which))
                notes += [f"missing, {what}: {names}"] * bool(names)
        return (*notes, *[ACCEPTED] * accepting)
