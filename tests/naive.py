"""Slow, obvious versions of the method, straight from its equations. Oracles: nothing here is meant to be fast."""

import math
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv


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

    return [sum(at(t + k) for k in range(-(length // 2), (length - 1) // 2 + 1)) / length for t in range(len(rows))]


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


def stretches(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last rows of every stretch of True."""
    found, start = [], None
    for t, on in enumerate([*mask.tolist(), False]):
        if on and start is None:
            start = t
        elif not on and start is not None:
            found.append((start, t - 1))
            start = None
    return found


def volumes(score: NDArray[np.float64], truth: NDArray[np.bool_], window: int, thresholds: int) -> tuple[float, float]:
    """VUS-ROC and VUS-PR threshold by threshold, as TSB-AD defines them."""
    n = len(score)
    events = stretches(truth)
    ranked = sorted(score.tolist(), reverse=True)
    picks = [ranked[int(i)] for i in np.linspace(0, n - 1, thresholds)]
    rocs, prs = [], []
    for width in range(window + 1):
        half = width // 2
        label = truth.astype(float)
        for first, last in events:
            for d in range(1, half + 1):
                for t in (first - d, last + d):
                    if 0 <= t < n:
                        label[t] += np.sqrt(1 - d / width)
        label = np.minimum(label, 1.0)
        wide: list[list[int]] = []
        for first, last in events:
            if wide and wide[-1][1] >= first - half:
                wide[-1][1] = last + half
            else:
                wide.append([first - half, last + half])
        curve = [(0.0, 0.0, 1.0)]
        for pick in picks:
            predicted = score >= pick
            slope = float(sum(label[t] for t in range(n) if predicted[t] and not truth[t]))
            true = slope + int((truth & predicted).sum())
            positives = (truth.sum() + truth.sum() + slope) / 2
            hit = sum(bool(predicted[max(a, 0) : b + 1].any()) for a, b in wide) / len(wide)
            false = (predicted.sum() - true) / (n - positives)
            curve.append((false, min(true / positives, 1.0) * hit, true / predicted.sum()))
        prs.append(sum((b[1] - a[1]) * b[2] for a, b in pairwise(curve)))
        curve.append((1.0, 1.0, 0.0))
        rocs.append(sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(curve)))
    return float(np.mean(rocs)), float(np.mean(prs))


def affiliation(predicted: NDArray[np.bool_], truth: NDArray[np.bool_], fine: int = 40) -> tuple[float, float]:
    """Affiliation precision and recall by sampling time finely: moments of row t are t + 1/(2 fine), and so on."""
    n = len(truth)
    moments = (np.arange(n * fine) + 0.5) / fine
    rows = moments.astype(int)
    events = [(a, b + 1) for a, b in stretches(truth)]
    middles = [(end + begin) / 2 for (_, end), (begin, _) in pairwise(events)]
    precisions, recalls = [], []
    for (a, b), low, high in zip(events, [0.0, *middles], [*middles, float(n)], strict=True):
        zone = (moments >= low) & (moments < high)
        there = moments[zone]
        to_event = np.maximum(np.maximum(a - there, there - b), 0.0)
        said = moments[zone & predicted[rows]]
        if len(said):
            away = np.maximum(np.maximum(a - said, said - b), 0.0)
            precisions.append(np.mean([1.0 if d == 0 else np.mean(to_event > d) for d in away]))
            inside = there[(there >= a) & (there < b)]
            nearest = [np.abs(said - y).min() for y in inside]
            recalls.append(np.mean([np.mean(np.abs(there - y) >= d) for y, d in zip(inside, nearest, strict=True)]))
        else:
            recalls.append(0.0)
    return float(np.mean(precisions)) if precisions else 0.0, float(np.mean(recalls))


def delays(score: NDArray[np.float64], truth: NDArray[np.bool_], level: float) -> tuple[float, float]:
    """(rows between false alarms, average delay) at one threshold."""
    false = sum(
        bool(not truth[t] and score[t] > level and (t == 0 or score[t - 1] <= level)) for t in range(len(score))
    )
    late = []
    for first, last in stretches(truth):
        above = [t for t in range(first, last + 1) if score[t] > level]
        late.append((above[0] if above else last + 1) - first)
    return float((~truth).sum() / max(false, 1)), float(np.mean(late))


def strength(loss: float, reference: Sequence[float], tail: str) -> float:
    """-log p of a loss: by its rank, and beyond the top twentieth by a power law where the tail is fitted."""
    n = len(reference)
    if tail == "pareto" and n >= 20:
        ordered = sorted(reference)
        size = min(max(int(0.05 * n), 10), 500)
        start = max(ordered[n - 1 - size], sys.float_info.min)
        if loss > start:
            logs = [math.log(max(e, start) / start) for e in ordered[n - size :]]
            shape = max(sum(logs) / float(gammaincinv(size, 0.1)), 0.1)
            at_start = -math.log(pvalue(start, reference, "conformal"))
            return at_start + (math.log(min(loss, sys.float_info.max)) - math.log(start)) / shape
    kind = "empirical" if tail == "empirical" else "conformal"
    return evidence(pvalue(loss, reference, kind), 1.0, kind)


def excursions(score: Sequence[float], duration: int) -> list[tuple[float, int, int]]:
    """(peak, first row, last row) of every stretch above 0; a peak must last `duration` rows of the stretch."""
    found = []
    for first, last in stretches(np.array(score) > 0):
        lasting = [
            min(score[t - duration + 1 : t + 1]) for t in range(first, last + 1) if t - duration + 1 >= max(first, 0)
        ]
        if lasting:
            found.append((max(lasting), first, last))
    return found


def declustered(peaks: Sequence[tuple[float, int, int]], start: float, cooldown: int) -> list[float]:
    """The highest of the peaks above the start that lie within a cooldown of each other."""
    above = [peak for peak in peaks if peak[0] > start] or [peak for peak in peaks if peak[0] >= start]
    groups: list[list[tuple[float, int, int]]] = []
    for peak in above:
        if groups and peak[1] - groups[-1][-1][2] <= cooldown:
            groups[-1].append(peak)
        else:
            groups.append([peak])
    return [max(one[0] for one in group) for group in groups]


def scores(
    losses: Sequence[float], calibration: Any, distances: Sequence[float] | None = None
) -> list[tuple[float, float, bool]]:
    """(evidence, score, alarm) of every row, from the whole history of each track; a NaN is a row not judged."""
    tracks, rules = calibration.tracks, calibration.settings
    quickest = [next(k for k, one in enumerate(tracks) if one.of_distance == track.of_distance) for track in tracks]
    unit = tracks[0].threshold
    logs = [track.normal for track in tracks]
    met: list[list[float]] = [[] for _ in tracks]  # logarithms of averages, from the start of the stream
    histories: list[list[float]] = [[] for _ in tracks]  # losses since a restart
    evidences: list[list[float]] = [[] for _ in tracks]
    alarmed, above, since, same, seen = 0, 0, rules.cooldown, False, [False for _ in tracks]
    out: list[tuple[float, float, bool]] = []
    for loss, distance in zip(losses, distances or losses, strict=True):
        if math.isnan(loss):
            histories, evidences = [[] for _ in tracks], [[] for _ in tracks]
            above, same, seen = 0, False, [False for _ in tracks]
            out.append((math.nan, 0.0, False))
            continue
        best = (math.nan, -1.0)
        averages = []
        largest = 0.0
        for i, track in enumerate(tracks):
            q, given = quickest[i], distance if track.of_distance else loss
            if i == q + 1 and seen[q]:
                quiet = evidences[q][-rules.patience :]
                if len(quiet) == rules.patience and all(b < 0 for b in quiet):
                    seen[q] = False
                    for k in range(len(tracks)):
                        if k > q == quickest[k]:
                            histories[k], evidences[k] = [], []
            histories[i].append(given if i == q else min(given, largest))
            recent = histories[i][-track.rows :]
            average = sum(recent) / len(recent)
            averages.append(average)
            if rules.adapt:
                met[i].append(math.log(max(average, 1e-12)))
                if len(met[i]) <= rules.settle:
                    logs[i] = max(track.normal, float(np.median(met[i])))
            measured = average / math.exp(logs[i]) if rules.adapt else average
            beyond = strength(measured, track.reference.tolist(), rules.tail)
            evidences[i].append(math.log(calibration.alpha) + beyond)
            score = accumulate(evidences[i], rules.patience, rules.reset)[-1]
            if i == q:
                seen[i] = seen[i] or score > track.threshold
                largest = track.reference[-1] * (math.exp(logs[i]) if rules.adapt else 1.0)
            score *= unit / track.threshold
            if score > best[1]:
                best = (evidences[i][-1], score)
        evidence, score = best
        above = above + 1 if score > unit else 0
        same = same and score > 0
        alarm = above >= rules.duration and (same or since >= rules.cooldown)
        since = 0 if alarm else since + 1
        same = same or alarm
        high = score > unit
        alarmed = alarmed + 1 if high else 0
        for i, track in enumerate(tracks):
            # The row that ends the settling moves the level too.
            if not rules.adapt or len(met[i]) < rules.settle:
                continue
            accept = min(rules.accept, 1_000) if track.of_distance else rules.accept
            if not high or 0 < accept < alarmed:
                step = rules.drift * (3 if high else 1)
                up = math.log(max(averages[i], 1e-12)) > logs[i]
                logs[i] = logs[i] + step if up else max(track.normal, logs[i] - step)
        out.append((evidence, score, alarm))
    return out


def matrix_lstm(
    query: NDArray[np.float64], key: NDArray[np.float64], value: NDArray[np.float64],
    entry: NDArray[np.float64], forget: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """One head of an mLSTM, (time, part) each, from the logarithms of its gates, (time,): its memory step by step."""
    time, part = query.shape
    memory, size, out = np.zeros((part, part)), np.zeros(part), []
    for t in range(time):
        f, i = math.exp(forget[t]), math.exp(entry[t])
        memory = f * memory + i * np.outer(value[t], key[t] / math.sqrt(part))
        size = f * size + i * key[t] / math.sqrt(part)
        out.append(memory @ query[t] / max(abs(size @ query[t]), 1.0))
    return np.array(out)


def assembled(
    told: list[tuple[str, float, int]], channels: tuple[str, ...], period: int
) -> list[tuple[int, list[float | None]]]:
    """Rows of single values, all of which are there: by period, the latest value of each channel, the larger of two at
    one time; any number is larger than none."""
    rows = []
    for number in sorted({time // period for _, _, time in told}):
        row: list[float | None] = []
        for channel in channels:
            mine = [(time, value) for name, value, time in told if name == channel and time // period == number]
            newest = [value for time, value in mine if time == max(time for time, _ in mine)]
            numbers = [value for value in newest if not math.isnan(value)]
            row.append(max(numbers) if numbers else None)
        rows.append((number * period, row))
    return rows


class Training:
    """One network trained alone, a step at a time, by torch's own batch norm and Adam."""

    def __init__(self, lesson: Any, epsilon: float = 1e-8) -> None:
        import torch

        from ccmtad.network.training import build

        self.lesson, self.torch, self.steps = lesson, torch, 0
        torch.manual_seed(lesson.settings.seed)
        self.network = build(lesson.shape, lesson.settings)
        self.order = torch.Generator()
        self.order.set_state(torch.get_rng_state())
        self.adam = torch.optim.Adam(self.network.parameters(), lr=lesson.settings.learning_rate, eps=epsilon)
        self.rows = torch.as_tensor(lesson.rows)

    def _loss(self, ends: Any) -> Any:
        window = self.lesson.settings.window
        x = self.torch.stack([self.rows[end - window + 1 : end + 1] for end in ends])
        return ((self.network(x) - x[:, -1]) ** 2).mean()

    def epoch(self, number: int) -> float:
        size, total = self.lesson.settings.batch_size, 0.0
        for group in self.adam.param_groups:
            group["lr"] = self.lesson.settings.learning_rate * 0.9 ** max(0, number - 3)
        self.network.train()
        ends = self.lesson.training[self.torch.randperm(len(self.lesson.training), generator=self.order).numpy()]
        for first in range(0, len(ends), size):
            batch = ends[first : first + size]
            loss = self._loss(batch)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            self.steps += 1
            total += float(loss.detach()) * len(batch)
        return total / len(ends)

    def check(self) -> float:
        self.network.eval()
        with self.torch.no_grad():
            return float(self._loss(self.lesson.validation))

    @property
    def tensors(self) -> dict[str, Any]:
        """As they are, unrounded."""
        return {
            name: tensor.detach().numpy()
            for name, tensor in self.network.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }


def guessed(rows: NDArray[np.float64], channel: int, ridge: float) -> tuple[NDArray[np.float64], float]:
    """Ridge regression of one channel on the others, those that never move left out: a weight for each, and a bias."""
    moving = [c for c in range(rows.shape[1]) if c != channel and rows[:, c].std() > 1e-6]
    weight = np.zeros(rows.shape[1])
    unit = rows[:, moving].std(axis=0)
    alike = (rows[:, moving] - rows[:, moving].mean(axis=0)) / unit
    target = rows[:, channel] - rows[:, channel].mean()
    penalty = ridge * len(rows) * np.eye(len(moving))
    weight[moving] = np.linalg.solve(alike.T @ alike + penalty, alike.T @ target) / unit
    return weight, float(rows[:, channel].mean() - rows.mean(axis=0) @ weight)


def astray(off: Sequence[float], limit: float) -> list[bool]:
    """Whether a channel is astray in each row: by the average of some fifty rows, and by that of the last few."""
    told, average, lately = [], 0.0, 0.0
    for one in off:
        counted = one if abs(one) <= 15 * limit else math.copysign(15 * limit, one)
        average = 0.98 * average + 0.02 * counted
        lately = 0.75 * lately + 0.25 * math.copysign(min(abs(one), abs(average)), one)
        still = math.copysign(1.0, average) * lately > 0.4 * abs(average)
        told.append(abs(average) > limit and still)
    return told
