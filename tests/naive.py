"""Slow, obvious versions of the method, straight from its equations. Oracles: nothing here is meant to be fast."""

import math
from collections.abc import Sequence


def pvalue(loss: float, reference: Sequence[float], tail: str) -> float:
    at_least = sum(1 for e in reference if e >= loss * (1 - 1e-5))
    return (at_least + 1) / (len(reference) + 1) if tail == "conformal" else at_least / len(reference)


def evidence(p: float, alpha: float, tail: str) -> float:
    return math.log(alpha / p) if tail == "conformal" else math.log(alpha / (p + 1e-8))


def accumulate(evidence: Sequence[float], patience: int, reset: str) -> list[float]:
    """s_t from the whole history each time; NaN evidence is an unjudged row."""
    scores: list[float] = []
    for t, b in enumerate(evidence):
        if math.isnan(b):
            scores.append(0.0)
            continue
        before = scores[t - 1] if t > 0 else 0.0
        past = [evidence[t - i] for i in range(1, patience + 1) if t - i >= 0]
        quiet = len(past) == patience and all(value < 0 for value in past)  # NaN is not negative
        if quiet and reset == "everything":
            scores.append(0.0)
        elif quiet:
            scores.append(max(b, 0.0))
        else:
            scores.append(max(before + b, 0.0))
    return scores


def events(
    score: Sequence[float], evidence: Sequence[float], threshold: float
) -> list[tuple[int, int, int, int, bool]]:
    """(onset, alarm, last, offset, open) of every event, by walking along each alarm stretch and merging by onset."""
    found: dict[int, tuple[int, int, int, int, bool]] = {}
    t = 0
    while t < len(score):
        if not score[t] > threshold:
            t += 1
            continue
        first = t
        while t < len(score) and score[t] > threshold:
            t += 1
        last = t - 1
        onset = first
        while score[onset] > 0 and onset > 0 and not math.isnan(evidence[onset - 1]):
            onset -= 1
        alarm = found[onset][1] if onset in found else first
        offset = max(u for u in range(alarm, last + 1) if evidence[u] > 0)
        found[onset] = (onset, alarm, last, offset, last == len(score) - 1)
    return list(found.values())


def trailing(rows: Sequence[float], length: int, start: Sequence[bool]) -> list[float]:
    out = []
    begin = 0
    for t in range(len(rows)):
        if start[t]:
            begin = t
        seen = rows[max(begin, t - length + 1) : t + 1]
        out.append(sum(seen) / len(seen))
    return out


def centred(rows: Sequence[float], length: int) -> list[float]:
    def at(t: int) -> float:
        return rows[t] if 0 <= t < len(rows) else 0.0

    return [sum(at(t + k) for k in range(-((length - 1) // 2), length // 2 + 1)) / length for t in range(len(rows))]


def hold(values: Sequence[float], limit: int, start: Sequence[bool], fallback: float) -> tuple[list[float], list[bool]]:
    filled, present = [], []
    last, age = fallback, None
    for value, begins in zip(values, start, strict=True):
        if begins:
            last, age = fallback, None
        if not math.isnan(value):
            last, age = value, 0
        elif age is not None:
            age += 1
        filled.append(last)
        present.append(age is not None and age <= limit)
    return filled, present


def window_ends(start: Sequence[bool], window: int, bad: Sequence[bool]) -> list[int]:
    ends = []
    for t in range(window - 1, len(start)):
        inside = range(t - window + 1, t + 1)
        if not any(bad[i] for i in inside) and not any(start[i] for i in list(inside)[1:]):
            ends.append(t)
    return ends
