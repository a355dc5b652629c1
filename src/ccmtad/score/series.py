"""The step over a whole series: values, errors and losses in, with the answers a stream would have given."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import Entry
from . import channels
from .astray import stray, stray_at_once
from .channels import KINDS, Signals
from .events import NONE
from .kinds import conditions, excursion
from .signals import beyond, beyond_at_once, sense, sense_at_once
from .step import LAYOUT, Judged, Rules, judge, restart, risen, to_blame, unlike, vitals

__all__ = ["Fold"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def _fold(
    streams: Any, records: Any, recent: Any, settling: Any, counts: Any, since: Any, traces: Any, kinds: Any,
    rules: Any, looks: Any, references: Any, pvalues: Any, strengths: Any, limits: Any, unit: Any, far_unit: Any,
    values: Any, start: Any, numbers: Any, times: Any, losses: Any, distances: Any, begin: int, end: int, first: int,
    errors: Any, away: Any, present: Any, everything: Any, off: Any, pvalue: Any, evidence: Any, score: Any,
    in_alarm: Any, alone: Any, others: Any, own: Any,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """From row `begin` on, up to `end` or to the first row that changes an event of another kind than an anomaly.

    `values` are those of the rows from `begin` to `end`, and so is `off`, which is empty where no one guesses;
    `errors`, squared distances `away` and `own` begin at row `first`. `present` is empty where `everything` is. The row
    that comes next, and the changes.
    """
    tables, tracks, stream = (references, pvalues, strengths), records[0], streams[0]
    count, trace, kind, rule = counts[0], traces[0], kinds[0], rules[0]
    for t in range(begin, end):
        if start[t]:
            channels.forget(trace)
        far, gone, still = sense(values[t - begin], count, since[0], trace, limits, numbers[t], t, times[t])
        lost, frozen = conditions(kind, count, since[0], trace, limits, gone, still, numbers[t], t, times[t])
        strange = NONE
        if math.isnan(losses[t]):
            restart(stream, tracks)
        else:
            there = present[t] if len(present) > 0 else everything
            rise = risen(tracks, looks)
            far = max(far, beyond(errors[t - first], there, unit, limits, count, trace, rise, t))
            if len(off) > 0:
                far = max(far, stray(off[t - begin], there, limits, count, trace, rise, t))
            pvalue[t], evidence[t], score[t], in_alarm[t], alone[t] = judge(
                stream, tracks, recent[0], settling[0], rule, looks, tables, losses[t], distances[t], far
            )
            if in_alarm[t]:
                to_blame(stream, tracks, looks, rule, away[t - first], far_unit, trace)
                for i in range(len(channels.TO_BLAME)):
                    for c in range(len(unit)):
                        own[t - first, i, c] = trace[channels.TO_BLAME[i], c]
            strange = unlike(tracks, looks, rule, kind, trace, numbers[t], times[t])
        further = excursion(kind, count, trace, limits, stream.lasted, far, numbers[t], times[t])
        for i in range(len(KINDS)):
            others[t, i] = kind[i].open
        if lost != NONE or frozen != NONE or strange != NONE or further != NONE:
            return t + 1, lost, frozen, strange, further
    return end, NONE, NONE, NONE, NONE


def _fold_plain(
    streams: Any, records: Any, recent: Any, settling: Any, counts: Any, since: Any, traces: Any, kinds: Any,
    rules: Any, looks: Any, references: Any, pvalues: Any, strengths: Any, limits: Any, unit: Any, far_unit: Any,
    values: Any, start: Any, numbers: Any, times: Any, losses: Any, distances: Any, begin: int, end: int, first: int,
    errors: Any, away: Any, present: Any, everything: Any, off: Any, pvalue: Any, evidence: Any, score: Any,
    in_alarm: Any, alone: Any, others: Any, own: Any,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """The same for the interpreter."""
    tables = (references, pvalues, strengths)
    for t in range(begin, end):
        if start[t]:
            channels.forget(traces[0])
        row, time = int(numbers[t]), int(times[t])
        far, gone, still = sense_at_once(values[t - begin], counts[0], since[0], traces[0], limits, row, t, time)
        lost, frozen = conditions(kinds[0], counts[0], since[0], traces[0], limits, gone, still, row, t, time)
        strange = NONE
        loss = float(losses[t])
        if math.isnan(loss):
            restart(streams[0], records[0])
        else:
            there = present[t] if len(present) > 0 else everything
            rise = risen(records[0], looks)
            far = max(far, beyond_at_once(errors[t - first], there, unit, limits, counts[0], traces[0], rise, t))
            if len(off) > 0:
                far = max(far, stray_at_once(off[t - begin], there, limits, counts[0], traces[0], rise, t))
            pvalue[t], evidence[t], score[t], in_alarm[t], alone[t] = judge(
                streams[0], records[0], recent[0], settling[0], rules[0], looks, tables, loss, float(distances[t]), far
            )
            if in_alarm[t]:
                to_blame(streams[0], records[0], looks, rules[0], away[t - first], far_unit, traces[0])
                own[t - first] = traces[0][list(channels.TO_BLAME)]
            strange = unlike(records[0], looks, rules[0], kinds[0], traces[0], row, time)
        further = excursion(kinds[0], counts[0], traces[0], limits, streams[0].lasted, far, row, time)
        others[t] = [kind.open for kind in kinds[0]]
        if lost or frozen or strange or further:
            return t + 1, lost, frozen, strange, further
    return end, NONE, NONE, NONE, NONE


FOLD = Entry(_fold)
NO_ERRORS, NO_ONE = np.empty((0, 0)), np.empty((0, 0, 0))


class Fold:
    """The step over a series that comes piece by piece."""

    def __init__(
        self, rules: Rules, limits: Floats, unit: Floats, far_unit: Floats, start: Bools, numbers: Ints, times: Ints,
        present: Bools | None, compiled: bool,
    ) -> None:  # fmt: skip
        rows, channels = len(start), len(unit)
        self.done = 0
        self.memory = rules.memory(LAYOUT, 1, compiled)
        self.signals = Signals.fresh(1, channels, compiled)
        *self._given, self._normal = rules.given(compiled)
        self._limits, self._series = (limits, unit, far_unit), (start, numbers, times)
        there = np.empty((0, channels), dtype=np.bool_) if present is None else np.ascontiguousarray(present)
        self._present = there, np.ones(channels, dtype=np.bool_)
        self._run: Any = FOLD.fast if compiled else _fold_plain
        self.pvalue, self.evidence, self.score = np.ones(rows), np.full(rows, np.nan), np.zeros(rows)
        self.alarm, self.alone = np.zeros(rows, dtype=np.bool_), np.ones(rows)
        self.others = np.zeros((rows, len(KINDS)), dtype=np.bool_)  # whether an event of each other kind is open

    def take(
        self, loss: Floats, distance: Floats, values: Floats, off: Floats, end: int, first: int = 0,
        errors: Floats = NO_ERRORS, away: Floats = NO_ERRORS, own: Floats = NO_ONE,
    ) -> tuple[int, ...]:  # fmt: skip
        """Goes on to the row before `end`, or stops after a row that changes an event of another kind: the changes.

        `values` are those of the rows up to there, `off` how far they are from what the others tell (empty where no one
        guesses), `errors` and squared distances `away` those of the row `first` and the ones after it. A loss of NaN is
        a row that could not be judged: the score starts afresh after it. What tells who is to blame for a row in alarm
        comes into `own`, which begins at row `first`.
        """
        out = self.pvalue, self.evidence, self.score, self.alarm, self.alone, self.others, own
        self.done, *changes = self._run(
            *self.memory.all, *self.signals.all, *self._given, *self._limits, values, *self._series, loss, distance,
            self.done, end, first, np.ascontiguousarray(errors, dtype=np.float64), away, *self._present, off, *out,
        )  # fmt: skip
        return tuple(changes)

    def judged(self, loss: Floats) -> Judged:
        """The answer, once all rows are taken."""
        state = vitals(self.memory, 0, self._given[1], self._normal)
        return Judged(loss, self.pvalue, self.evidence, self.score, self.alarm, self.alone, state)
