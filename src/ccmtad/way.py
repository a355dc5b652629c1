"""The way of a row through all stages, one call for all streams at hand: prepared, reconstructed, scored.

Compiled where numba is installed. The arguments are many because they are flat: numba takes one of a tuple in twice the
time. Seventy of them still take a fifth of a small network's step, so those that stay from row to row are `packed`.
"""

import math
from typing import Any

import numpy as np

from .compiled import Entry, kernel
from .network.kernels import advance
from .prepare import live, timeline
from .prepare.scale import CLIP
from .prepare.timeline import GAP, LATE
from .record import Layout
from .score import channels, events, step
from .score.astray import off_by, stray
from .score.channels import KINDS
from .score.combine import LARGEST_LOSS, loss_of
from .score.events import CHANGES
from .score.health import worst_gap
from .score.kinds import conditions, excursion
from .score.signals import beyond, sense, sense_at_once
from .score.step import accepted, judge, restart, risen, to_blame, unlike

__all__ = ["ANSWER", "JUDGE", "LAYOUT", "TAKE", "UPDATE", "score", "take_plain", "told_apart"]

FIELDS = {
    "rows": 0, "late": 0, "gaps": 0, "missing": 0,  # what a tally tells
    "filled": 0,  # rows since the start of this stretch
}  # fmt: skip
LAYOUT = Layout(FIELDS, timeline.FIELDS, step.FIELDS, signed=(*timeline.SIGNED, *events.SIGNED), within=step.WITHIN)

ANSWER = Layout(
    {
        "index": 0, "ready": False, "loss": math.nan, "pvalue": 1.0, "evidence": 0.0, "score": 0.0, "alarm": False,
        "changes": 0, "odd": 0, "waited": 0, "gone": 0, "accepting": False, "healthy_rows": 0, "gap": 0.0, "risen": 0.0,
        "alarmed": 0.0, "anomaly": False, "farthest": 0.0, "change": 0, "lost": 0, "frozen": 0,
    }
)  # fmt: skip
SORTS = len(CHANGES)  # of changes: those of several kinds of event are told as one number


def told_apart(changes: int) -> tuple[int, ...]:
    """What happened to the anomaly, and to the event of each other kind."""
    return tuple([changes // SORTS**kind % SORTS for kind in range(1 + len(KINDS))])


@kernel
def _arrive(
    stream: Any, answer: Any, records: Any, held: Any, age: Any, traces: Any, time: int, pause: int, fallback: Any
) -> bool:
    """A row has come: its time. Whether it counts."""
    answer.ready = False
    answer.loss = math.nan
    answer.pvalue = 1.0
    answer.evidence = 0.0
    answer.score = 0.0
    answer.alarm = False
    answer.anomaly = False
    answer.farthest = 0.0
    answer.changes = 0
    answer.change = 0
    answer.lost = 0
    answer.frozen = 0
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
        channels.forget(traces)
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
def _sensed(
    answer: Any, kinds: Any, counts: Any, since: Any, traces: Any, limits: Any, lost: int, frozen: int, met: int,
    time: int,
) -> None:  # fmt: skip
    """So many channels are lost, and so many frozen."""
    answer.lost, answer.frozen = conditions(
        kinds, counts, since, traces, limits, lost, frozen, answer.index, met, time
    )  # fmt: skip


@kernel
def _take(
    lanes: Any, values: Any, times: Any, pause: int, window: int, hold: int, low: Any, gain: Any, fallback: Any,
    limits: Any, streams: Any, records: Any, counts: Any, since: Any, traces: Any, kinds: Any, held: Any,
    age: Any, averaged: Any, past: Any, answers: Any, slots: Any, x: Any, present: Any,
) -> None:  # fmt: skip
    """Everything up to the network. A late row gets no slot; one that cannot be judged is not ready."""
    for n in range(len(lanes)):
        k = lanes[n]
        stream, answer = streams[k], answers[n]
        slots[n] = -1
        if _arrive(stream, answer, records[k], held[k], age[k], traces[k], times[n], pause, fallback):
            met = answer.index - stream.late
            answer.farthest, lost, frozen = sense(
                values[n], counts[k], since[k], traces[k], limits, answer.index, met, times[n]
            )
            _sensed(answer, kinds[k], counts[k], since[k], traces[k], limits, lost, frozen, met, times[n])
            gone = live.take_row(
                values[n], held[k], age[k], averaged[k], stream.filled, low, gain, hold, x[n], present[n]
            )
            any_present = gone == 0
            for c in range(len(low)):
                any_present = any_present or present[n, c]
            slots[n] = _placed(stream, answer, records[k], gone, any_present, window)
            for c in range(len(low)):
                past[k, 0, slots[n], c] = x[n, c]


def take_plain(
    lanes: Any, values: Any, times: Any, pause: int, window: int, hold: int, low: Any, gain: Any, fallback: Any,
    limits: Any, streams: Any, records: Any, counts: Any, since: Any, traces: Any, kinds: Any, held: Any,
    age: Any, averaged: Any, past: Any, answers: Any, slots: Any, x: Any, present: Any,
) -> None:  # fmt: skip
    """The same for the interpreter."""
    for n, k in enumerate(lanes):
        stream, answer = streams[k], answers[n]
        slots[n] = -1
        if _arrive(stream, answer, records[k], held[k], age[k], traces[k], times[n], pause, fallback):
            met = answer.index - stream.late
            answer.farthest, lost, frozen = sense_at_once(
                values[n], counts[k], since[k], traces[k], limits, answer.index, met, times[n]
            )
            _sensed(answer, kinds[k], counts[k], since[k], traces[k], limits, lost, frozen, met, times[n])
            gone = live.take_row_at_once(
                values[n], held[k], age[k], averaged[k], stream.filled, low, gain, hold, x[n], present[n]
            )
            slots[n] = _placed(stream, answer, records[k], gone, not gone or bool(present[n].any()), window)
            past[k, 0, slots[n]] = x[n]


@kernel
def score(
    lanes: Any, times: Any, losses: Any, sizes: Any, distances: Any, away: Any, far_unit: Any, limits: Any,
    streams: Any, records: Any, recent: Any, settling: Any, counts: Any, traces: Any, kinds: Any, rules: Any,
    looks: Any, references: Any, pvalues: Any, strengths: Any, normal: Any, answers: Any,
) -> None:  # fmt: skip
    """Everything after the loss. `sizes` are the losses as they were before anything was clipped, `away` the squared
    distances of each channel, which `far_unit` measures."""
    tables = (references, pvalues, strengths)
    for n in range(len(lanes)):
        k = lanes[n]
        stream, answer, strange, further = streams[k], answers[n], 0, 0
        if answer.ready and math.isnan(losses[n]):  # numbers too large to be averaged
            answer.ready = False
            restart(stream, records[k])
            answer.change = events.unjudged(stream)
        elif answer.ready:
            pvalue, evidence, accumulated, alarm, _ = judge(
                stream, records[k], recent[k], settling[k], rules[0], looks, tables, losses[n], distances[n],
                answer.farthest,
            )  # fmt: skip
            if alarm:
                to_blame(stream, records[k], looks, rules[0], away[n], far_unit, traces[k])
            answer.loss = losses[n]
            answer.pvalue = pvalue
            answer.evidence = evidence
            answer.score = accumulated
            answer.anomaly = alarm
            answer.change = events.follow(
                stream, answer.index, times[n], evidence, accumulated, alarm,
                max(sizes[n], distances[n] * rules[0].worth),
            )  # fmt: skip
            answer.accepting = accepted(stream, records[k], rules[0])
            strange = unlike(records[k], looks, rules[0], kinds[k], traces[k], answer.index, times[n])
        if not answer.odd & LATE:
            further = excursion(
                kinds[k], counts[k], traces[k], limits, stream.lasted, answer.farthest, answer.index, times[n]
            )
            answer.alarm = answer.anomaly
            for kind in range(len(KINDS)):
                answer.alarm = answer.alarm or kinds[k][kind].open
        others = answer.lost + SORTS * (answer.frozen + SORTS * (strange + SORTS * further))
        answer.changes = answer.change + SORTS * others
        answer.healthy_rows = stream.healthy_rows
        answer.alarmed = stream.alarmed_share
        answer.gap = worst_gap(stream, normal)
        answer.risen = risen(records[k], looks)


@kernel
def size_of(
    loss: float, error: Any, values: Any, x: Any, present: Any, low: Any, gain: Any, unit: Any, most: int
) -> float:
    """The loss as it would be had nothing been clipped."""
    clipped = False
    for c in range(len(unit)):
        if x[c] == CLIP or x[c] == -CLIP:
            clipped = True
    if not clipped:
        return loss
    whole = np.empty(len(unit))
    for c in range(len(unit)):
        whole[c] = error[c]
        if math.isfinite(values[c]):
            over = abs((values[c] - low[c]) * gain[c] - 1.0) - CLIP
            if over > 0.0:
                root = math.sqrt(error[c]) + over
                whole[c] = min(root * root, LARGEST_LOSS * unit[c])
    return loss_of(whole, unit, present, most)


@kernel
def _judge(
    lanes: Any, values: Any, times: Any, slots: Any, x: Any, back: Any, errors: Any, present: Any, low: Any, gain: Any,
    unit: Any, far_unit: Any, most: int, limits: Any, guess: Any, bias: Any, averaged: Any, past: Any, streams: Any,
    records: Any, recent: Any, settling: Any, counts: Any, traces: Any, kinds: Any, rules: Any, looks: Any,
    references: Any, pvalues: Any, strengths: Any, normal: Any, answers: Any,
) -> None:  # fmt: skip
    """Everything after the network."""
    losses, sizes, off = np.empty(len(lanes)), np.empty(len(lanes)), np.empty(len(bias))
    distances, away = np.zeros(len(lanes)), np.empty((len(lanes), len(far_unit)))
    for n in range(len(lanes)):
        if answers[n].ready:
            for c in range(len(unit)):
                difference = x[n, c] - back[n, c]
                errors[n, c] = difference * difference
                past[lanes[n], 1, slots[n], c] = back[n, c]
            losses[n] = loss_of(errors[n], unit, present[n], most)
            sizes[n] = losses[n]
            if averaged.shape[1] == 1:
                sizes[n] = size_of(losses[n], errors[n], values[n], x[n], present[n], low, gain, unit, most)
            for c in range(len(far_unit)):
                away[n, c] = np.float64(x[n, c]) * np.float64(x[n, c]) if present[n, c] else 0.0
            if len(far_unit) > 0:
                distances[n] = loss_of(away[n], far_unit, present[n], most)
            k = lanes[n]
            rise, met = risen(records[k], looks), answers[n].index - streams[k].late
            far = beyond(errors[n], present[n], unit, limits, counts[k], traces[k], rise, met)
            if len(bias) > 0:
                off_by(x[n], guess, bias, off)
                far = max(far, stray(off, present[n], limits, counts[k], traces[k], rise, met))
            answers[n].farthest = max(answers[n].farthest, far)
    score(
        lanes, times, losses, sizes, distances, away, far_unit, limits, streams, records, recent, settling, counts,
        traces, kinds, rules, looks, references, pvalues, strengths, normal, answers,
    )  # fmt: skip


@kernel
def _whole_way(
    lanes: Any, values: Any, times: Any, answers: Any, slots: Any, ready: Any, x: Any, present: Any, back: Any,
    errors: Any, streams: Any, records: Any, recent: Any, settling: Any, counts: Any, since: Any, traces: Any,
    kinds: Any, held: Any, age: Any, averaged: Any, ring: Any, past: Any, pause: int, window: int, hold: int, low: Any,
    gain: Any, fallback: Any, limits: Any, unit: Any, far_unit: Any, most: int, guess: Any, guess_bias: Any,
    embedding: Any, embedding_bias: Any, spans: Any, mixes: bool, first: Any, reach: Any, bias: Any, weight: Any,
    last_bias: Any, mixes_width: bool, hidden: Any, hidden_bias: Any, head: Any, head_bias: Any,
    rules: Any, looks: Any, references: Any, pvalues: Any, strengths: Any, normal: Any,
) -> None:  # fmt: skip
    _take(
        lanes, values, times, pause, window, hold, low, gain, fallback, limits, streams, records, counts,
        since, traces, kinds, held, age, averaged, past, answers, slots, x, present,
    )  # fmt: skip
    for n in range(len(lanes)):
        ready[n] = answers[n].ready
    advance(
        lanes, slots, ready, x, ring, embedding, embedding_bias, spans, mixes, first, reach, bias, weight, last_bias,
        mixes_width, hidden, hidden_bias, head, head_bias, back,
    )  # fmt: skip
    _judge(
        lanes, values, times, slots, x, back, errors, present, low, gain, unit, far_unit, most, limits, guess,
        guess_bias, averaged, past, streams, records, recent, settling, counts, traces, kinds, rules, looks, references,
        pvalues, strengths, normal, answers,
    )  # fmt: skip


def _update(
    lanes: Any, values: Any, times: Any, answers: Any, slots: Any, ready: Any, x: Any, present: Any, back: Any,
    errors: Any, packed: Any,
) -> None:  # fmt: skip
    """The whole way of a row, in one call. What stays from row to row is packed."""
    _whole_way(lanes, values, times, answers, slots, ready, x, present, back, errors, *packed.parts)


UPDATE, TAKE, JUDGE = Entry(_update), Entry(_take), Entry(_judge)
