"""The way of a row through all stages, one call for all streams at hand: prepared, reconstructed, scored.

Compiled where numba is installed. The arguments are many because they are flat: numba takes one of a tuple in twice the
time, and a step of a small network would lose a fifth of its speed to it.
"""

import math
from typing import Any

import numpy as np

from .compiled import Entry, kernel
from .network.kernels import advance
from .prepare import live, timeline
from .prepare.timeline import GAP, LATE
from .record import Layout
from .score import events, step
from .score.combine import loss_of
from .score.health import worst_gap
from .score.level import accepting
from .score.step import judge, restart, risen

__all__ = ["ANSWER", "JUDGE", "LAYOUT", "TAKE", "UPDATE", "score", "take_plain"]

FIELDS = {
    "rows": 0, "late": 0, "gaps": 0, "missing": 0,  # what a tally tells
    "filled": 0,  # rows since the start of this stretch
}  # fmt: skip
LAYOUT = Layout(FIELDS, timeline.FIELDS, step.FIELDS, signed=(*timeline.SIGNED, *events.SIGNED))

ANSWER = Layout(
    {
        "index": 0, "ready": False, "loss": math.nan, "pvalue": 1.0, "evidence": 0.0, "score": 0.0, "alarm": False,
        "change": 0, "odd": 0, "waited": 0, "gone": 0, "accepting": False, "healthy_rows": 0, "gap": 0.0, "risen": 0.0,
    }
)  # fmt: skip


@kernel
def _arrive(stream: Any, answer: Any, records: Any, held: Any, age: Any, time: int, pause: int, fallback: Any) -> bool:
    """A row has come: its time. Whether it counts."""
    answer.ready = False
    answer.loss = math.nan
    answer.pvalue = 1.0
    answer.evidence = 0.0
    answer.score = 0.0
    answer.alarm = False
    answer.change = 0
    answer.gone = 0
    answer.accepting = False
    answer.index = stream.rows
    stream.rows = stream.rows + 1
    odd, waited = timeline.take(stream, time, pause)
    answer.odd = odd
    answer.waited = waited
    if odd & LATE:
        stream.late = stream.late + 1
        return False
    if odd & GAP:
        stream.gaps = stream.gaps + 1
        stream.filled = 0
        live.forget(held, age, fallback)
        restart(stream, records)
        answer.change = events.unjudged(stream)
    return True


@kernel
def _placed(stream: Any, answer: Any, records: Any, gone: int, any_present: bool, window: int) -> int:
    """A row has been prepared: its slot in the ring, and whether it can be judged."""
    slot = stream.filled % window
    stream.filled = stream.filled + 1
    answer.gone = gone
    stream.missing = stream.missing + gone
    if stream.filled >= window:
        answer.ready = any_present
        if not any_present:
            restart(stream, records)
            answer.change = events.unjudged(stream)
    return slot  # type: ignore[no-any-return]


@kernel
def _take(
    lanes: Any, values: Any, times: Any, pause: int, window: int, hold: int, low: Any, gain: Any, fallback: Any,
    streams: Any, records: Any, held: Any, age: Any, averaged: Any, answers: Any, slots: Any, x: Any, present: Any,
) -> None:  # fmt: skip
    """Everything up to the network. A late row gets no slot; one that cannot be judged is not ready."""
    for n in range(len(lanes)):
        k = lanes[n]
        stream, answer = streams[k], answers[n]
        slots[n] = -1
        if _arrive(stream, answer, records[k], held[k], age[k], times[n], pause, fallback):
            gone = live.take_row(
                values[n], held[k], age[k], averaged[k], stream.filled, low, gain, hold, x[n], present[n]
            )
            any_present = gone == 0
            for c in range(len(low)):
                any_present = any_present or present[n, c]
            slots[n] = _placed(stream, answer, records[k], gone, any_present, window)


def take_plain(
    lanes: Any, values: Any, times: Any, pause: int, window: int, hold: int, low: Any, gain: Any, fallback: Any,
    streams: Any, records: Any, held: Any, age: Any, averaged: Any, answers: Any, slots: Any, x: Any, present: Any,
) -> None:  # fmt: skip
    """The same for the interpreter."""
    for n, k in enumerate(lanes):
        stream, answer = streams[k], answers[n]
        slots[n] = -1
        if _arrive(stream, answer, records[k], held[k], age[k], times[n], pause, fallback):
            gone = live.take_row_at_once(
                values[n], held[k], age[k], averaged[k], stream.filled, low, gain, hold, x[n], present[n]
            )
            slots[n] = _placed(stream, answer, records[k], gone, not gone or bool(present[n].any()), window)


@kernel
def score(
    lanes: Any, times: Any, losses: Any, streams: Any, records: Any, recent: Any, settling: Any, rules: Any,
    looks: Any, references: Any, pvalues: Any, strengths: Any, normal: Any, answers: Any,
) -> None:  # fmt: skip
    """Everything after the loss."""
    tables = (references, pvalues, strengths)
    for n in range(len(lanes)):
        k = lanes[n]
        stream, answer = streams[k], answers[n]
        if answer.ready and math.isnan(losses[n]):  # numbers too large to be averaged
            answer.ready = False
            restart(stream, records[k])
            answer.change = events.unjudged(stream)
        elif answer.ready:
            pvalue, evidence, accumulated, alarm, _ = judge(
                stream, records[k], recent[k], settling[k], rules[0], looks, tables, losses[n]
            )
            answer.loss = losses[n]
            answer.pvalue = pvalue
            answer.evidence = evidence
            answer.score = accumulated
            answer.alarm = alarm
            answer.change = events.follow(stream, answer.index, times[n], evidence, accumulated, alarm)
            answer.accepting = accepting(records[k][0], rules[0])
        answer.healthy_rows = stream.healthy_rows
        answer.gap = worst_gap(stream, normal)
        answer.risen = risen(records[k], looks)


@kernel
def _judge(
    lanes: Any, times: Any, x: Any, back: Any, present: Any, unit: Any, most: int,
    streams: Any, records: Any, recent: Any, settling: Any, rules: Any, looks: Any, references: Any, pvalues: Any,
    strengths: Any, normal: Any, answers: Any,
) -> None:  # fmt: skip
    """Everything after the network; what came back becomes the squared errors."""
    losses = np.empty(len(lanes))
    for n in range(len(lanes)):
        if answers[n].ready:
            for c in range(len(unit)):
                difference = x[n, c] - back[n, c]
                back[n, c] = difference * difference
            losses[n] = loss_of(back[n], unit, present[n], most)
    score(
        lanes, times, losses, streams, records, recent, settling, rules, looks, references, pvalues, strengths, normal,
        answers,
    )  # fmt: skip


def _update(
    lanes: Any, values: Any, times: Any, answers: Any, slots: Any, ready: Any, x: Any, present: Any, back: Any,
    streams: Any, records: Any, recent: Any, settling: Any, held: Any, age: Any, averaged: Any, ring: Any,
    pause: int, window: int, hold: int, low: Any, gain: Any, fallback: Any, unit: Any, most: int,
    embedding: Any, embedding_bias: Any, spans: Any, mixes: bool, first: Any, reach: Any, bias: Any, weight: Any,
    last_bias: Any, mixes_width: bool, hidden: Any, hidden_bias: Any, head: Any, head_bias: Any,
    rules: Any, looks: Any, references: Any, pvalues: Any, strengths: Any, normal: Any,
) -> None:  # fmt: skip
    """The whole way of a row, in one call."""
    _take(
        lanes, values, times, pause, window, hold, low, gain, fallback, streams, records, held, age, averaged, answers,
        slots, x, present,
    )  # fmt: skip
    for n in range(len(lanes)):
        ready[n] = answers[n].ready
    advance(
        lanes, slots, ready, x, ring, embedding, embedding_bias, spans, mixes, first, reach, bias, weight, last_bias,
        mixes_width, hidden, hidden_bias, head, head_bias, back,
    )  # fmt: skip
    _judge(
        lanes, times, x, back, present, unit, most, streams, records, recent, settling, rules, looks, references,
        pvalues, strengths, normal, answers,
    )  # fmt: skip


UPDATE, TAKE, JUDGE = Entry(_update), Entry(_take), Entry(_judge)
