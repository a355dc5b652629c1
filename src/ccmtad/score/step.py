"""One step: from losses to an alarm, over the record of a stream. Streams, batches, calibration: all take it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import Entry, hot_kernel, kernel
from ..record import Layout, assign, readable
from ..settings import Settings
from . import accumulate, alarm, events, health, level, tracks
from .accumulate import KEEPS_NEW
from .alarm import decide
from .channels import DISTANT
from .kinds import risen_too_far
from .level import PLACE_ACCEPTED, accepting, follow
from .tracks import LOOK, Track, look

__all__ = [
    "FIELDS",
    "NO_LIMIT",
    "WITHIN",
    "Fold",
    "Judged",
    "Memory",
    "Rise",
    "Rules",
    "accepted",
    "fold",
    "judge",
    "restart",
    "risen",
    "to_blame",
    "unlike",
    "vitals",
]

Floats = NDArray[np.float64]

FARTHEST = 1e300
GRAINS = 16.0  # of a unit: how finely an extreme is told, so that a last bit of rounding moves no score
MOST_RISEN = 600.0  # logarithms: beyond that an exponential is hardly a number
EARLIEST = 50  # rows that a level must have settled on, before it is called unlike training's

FIELDS = {
    "distant": False,  # whether the newest row's score is that of a track of distances
    **alarm.FIELDS,
    **health.FIELDS,
    **events.FIELDS,
}

WITHIN = {**health.WITHIN, **events.WITHIN}

GOES_BY = {**accumulate.GOES_BY, **level.GOES_BY, **alarm.GOES_BY}  # settings, as they stand
RULES = Layout(
    {
        "log_alpha": 0.0, "keeps_new": False, "unlike_early": math.inf, "unlike": math.inf,
        "worth": 0.0,
        "of_distance": -1,  # the quickest track of distances, if there is one
        "quiet": math.inf, "quietest": math.inf,  # a distance that is no evidence to it, and to any of them
    },
    GOES_BY,
)  # fmt: skip


class Rise(NamedTuple):
    """How far the level may rise, in logarithms, before that is an event: as soon as a few rows have set it, and once
    it has settled."""

    early: float = math.inf
    settled: float = math.inf


NO_LIMIT = Rise()


@dataclass(frozen=True, eq=False)
class Rules:
    """What a step goes by: settings, the tracks, and their tables end to end."""

    settings: Settings
    alpha: float
    tracks: tuple[Track, ...]
    unlike: Rise = NO_LIMIT

    def given(self, compiled: bool) -> tuple[Any, ...]:
        """The arguments of a step, as it takes them compiled or interpreted."""
        return self._compiled if compiled else self._plain

    @cached_property
    def _compiled(self) -> tuple[Any, ...]:
        return self._arguments(True)

    @cached_property
    def _plain(self) -> tuple[Any, ...]:
        return self._arguments(False)

    def _arguments(self, compiled: bool) -> tuple[Any, ...]:
        rules = {
            "log_alpha": math.log(self.alpha), "keeps_new": KEEPS_NEW[self.settings.reset],
            "unlike_early": self.unlike.early, "unlike": self.unlike.settled,
            **{name: getattr(self.settings, name) for name in GOES_BY},
        }  # fmt: skip
        distances = [number for number, track in enumerate(self.tracks) if track.of_distance]
        if distances:
            quiet = [self.tracks[number].quiet(self.alpha) for number in distances]
            rules |= {"worth": self.worth, "of_distance": distances[0], "quiet": quiet[0], "quietest": min(quiet)}
        looks, first = [], 0
        for number, track in enumerate(self.tracks):
            ranking, beyond, size = track.ranking, track.ranking.beyond, len(track.reference)
            looks.append(
                {
                    "rows": track.rows, "limited": track.limited, "of_distance": track.of_distance,
                    "quickest": distances[0] if track.of_distance else 0, "normal": track.normal,
                    "threshold": track.threshold, "largest": float(track.reference[-1]),
                    "start": beyond.start, "at_start": ranking.at_start,
                    "scale": beyond.scale, "shape": beyond.shape, "first": first, "last": first + size,
                    "table": first + number,
                }
            )  # fmt: skip
            first += size
        tables: list[Any] = [
            np.concatenate(parts)
            for parts in (
                [track.reference for track in self.tracks],
                [track.ranking.pvalues for track in self.tracks],
                [track.ranking.strengths for track in self.tracks],
            )
        ]
        normal: Any = self.tracks[0].shares
        if not compiled:
            tables = [table.tolist() for table in tables]
        return RULES.of(compiled, [rules]), LOOK.of(compiled, looks), *tables, np.array(normal) if compiled else normal

    @cached_property
    def worth(self) -> float:
        """What a distance counts for in the size of an event, as a loss."""
        usual = next((track.typical for track in self.tracks if track.of_distance), math.inf)
        return self.tracks[0].typical / usual

    @property
    def longest(self) -> int:
        """Rows of the longest average."""
        return max(track.rows for track in self.tracks)

    def memory(self, layout: Layout, streams: int, compiled: bool) -> "Memory":
        """What so many new streams remember; `layout` has at least the fields of a step."""
        count, longest, settle = len(self.tracks), self.longest, self.settings.settle
        if compiled:
            rings = (np.zeros((streams, count, size)) for size in (longest, settle))
            made = Memory(layout.array(streams), tracks.LAYOUT.array((streams, count)), *rings)
        else:
            made = Memory(
                layout.many(streams, False),
                [tracks.LAYOUT.many(count, False) for _ in range(streams)],
                [[[0.0] * longest for _ in range(count)] for _ in range(streams)],
                [[[0.0] * settle for _ in range(count)] for _ in range(streams)],
            )
        for i in range(streams):
            self.begin(made, i)
        return made

    def begin(self, memory: "Memory", stream: int) -> None:
        """What a stream does not start with as zero."""
        assign(memory.streams[stream], "since_alarm", self.settings.cooldown)
        for record, track in zip(memory.tracks[stream], self.tracks, strict=True):
            assign(record, "level", track.normal)


@dataclass(eq=False)
class Memory:
    """What scoring remembers of streams side by side: arrays where code is compiled, plain values elsewhere."""

    streams: Any  # (streams,) records
    tracks: Any  # (streams, tracks) records
    recent: Any  # (streams, tracks, rows) losses to average over
    settling: Any  # (streams, tracks, rows) logarithms that set the level, ascending

    @property
    def all(self) -> tuple[Any, Any, Any, Any]:
        return self.streams, self.tracks, self.recent, self.settling


@hot_kernel
def judge(
    stream: Any, records: Any, recent: Any, settling: Any, rules: Any, looks: Any, tables: Any, loss: float,
    distance: float, farthest: float,
) -> tuple[float, float, float, bool, float]:  # fmt: skip
    """p-value, evidence, score and alarm of the newest row, and the p-value of its loss by itself.

    `farthest` is how many times its own limit some channel is beyond what was ever seen: above 1, that alone is an
    alarm.
    """
    threshold = looks[0].threshold
    pvalue, evidence, score, alone = 1.0, 0.0, -1.0, 1.0
    for i in range(len(records)):
        q, given = looks[i].quickest, distance if looks[i].of_distance else loss
        if i != q and looks[i].limited:
            given = min(given, looks[q].largest * math.exp(records[q].level))
        p, b, s = look(records[i], looks[i], recent[i], settling[i], rules, tables, given)
        if i == q:
            _over(records, looks, rules, i, s)
        if i == 0:
            alone = p
        else:
            s *= threshold / looks[i].threshold
        if s > score:
            pvalue, evidence, score = p, b, s
            stream.distant = looks[i].of_distance
    if farthest > 1.0:
        alone_enough = threshold * (1.0 + (math.floor(GRAINS * math.log(min(farthest, FARTHEST))) + 1.0) / GRAINS)
        if alone_enough > score:
            stream.distant = False
            score = alone_enough
            evidence = max(evidence, score)
            pvalue = min(pvalue, math.exp(rules.log_alpha - evidence))
    in_alarm = decide(stream, rules, score, threshold)
    high = score > threshold  # announced or not
    for i in range(len(records)):
        follow(records[i], looks[i].normal, rules, records[i].average, high, _accepts(looks[i].of_distance, rules))
    health.count(stream, in_alarm)
    if not high:
        health.take(stream, alone)
    return pvalue, evidence, score, in_alarm, alone


@kernel
def _accepts(of_distance: bool, rules: Any) -> int:
    """Rows of an event that make it the new normal; 0: none do."""
    return min(rules.accept, PLACE_ACCEPTED) if of_distance else rules.accept  # type: ignore[no-any-return]


@kernel
def accepted(stream: Any, records: Any, rules: Any) -> bool:
    """Whether the newest row is the first whose event is taken for the new normal."""
    place = stream.distant and accepting(records[rules.of_distance], rules, _accepts(True, rules))
    return place or accepting(records[0], rules, _accepts(False, rules))


@kernel
def _over(records: Any, looks: Any, rules: Any, quickest: int, score: float) -> None:
    """Where an event that the quickest track saw is over, averages of the same shall not drag it on."""
    track = records[quickest]
    track.seen = track.seen or score > looks[quickest].threshold
    if track.seen and track.negatives >= rules.patience:
        track.seen = False
        for i in range(quickest + 1, len(records)):
            if looks[i].quickest == quickest:
                tracks.forget(records[i])


@kernel
def to_blame(stream: Any, records: Any, looks: Any, rules: Any, away: Any, unit: Any, traces: Any) -> None:
    """Of a row in alarm: how many times as far as is no evidence, in training, each channel is, 0 where it is near now;
    below 0 where that is not what alarmed. `away` are the squared distances."""
    quickest = rules.of_distance
    if quickest < 0:
        return
    sign, quiet = (1.0, rules.quietest) if stream.distant else (-1.0, rules.quiet)
    now = quiet * math.exp(min(records[quickest].level - looks[quickest].normal, MOST_RISEN))
    for c in range(len(unit)):
        far = away[c] / unit[c]
        traces[DISTANT, c] = sign * math.sqrt(min(far / quiet, FARTHEST)) if far > now else 0.0


@kernel
def restart(stream: Any, records: Any) -> None:
    """A row that could not be judged: everything starts afresh but the levels."""
    for i in range(len(records)):
        tracks.forget(records[i])
    alarm.forget(stream)
    stream.distant = False


@hot_kernel
def unlike(records: Any, looks: Any, rules: Any, kinds: Any, traces: Any, row: int, time: int) -> int:
    """Whether the level has come to where this is no longer the data of training; what that changed."""
    settled = records[0].settled
    far = risen(records, looks) if settled >= min(rules.settle, EARLIEST) else 0.0
    limit = rules.unlike if settled >= rules.settle else rules.unlike_early
    return risen_too_far(kinds, traces, far, limit, row, time)


@kernel
def risen(records: Any, looks: Any) -> float:
    """How far the level has risen since training, in logarithms."""
    return records[0].level - looks[0].normal  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Judged:
    """The causal part of the answer, one value per loss; evidence is NaN where a row could not be judged."""

    loss: Floats
    pvalue: Floats
    evidence: Floats
    score: Floats
    alarm: NDArray[np.bool_]
    alone: Floats  # p-value of the row by itself
    health: health.Health  # at the end


def _fold(
    streams: Any, records: Any, recent: Any, settling: Any, rules: Any, looks: Any, references: Any, pvalues: Any,
    strengths: Any, losses: Any, distances: Any, pvalue: Any, evidence: Any, score: Any, in_alarm: Any, alone: Any,
) -> None:  # fmt: skip
    tables = (references, pvalues, strengths)
    for t in range(len(losses)):
        if math.isnan(losses[t]):
            restart(streams[0], records[0])
        else:
            pvalue[t], evidence[t], score[t], in_alarm[t], alone[t] = judge(
                streams[0], records[0], recent[0], settling[0], rules[0], looks, tables, losses[t], distances[t], 0.0
            )


FOLD = Entry(_fold)
LAYOUT = Layout(FIELDS, signed=events.SIGNED, within=WITHIN)
TOLD_ROWS = 10_000  # rows between two words of progress


class Fold:
    """The step over a series of losses that comes piece by piece."""

    def __init__(self, rules: Rules, rows: int, compiled: bool) -> None:
        self.compiled, self.done = compiled, 0
        self.memory = rules.memory(LAYOUT, 1, compiled)
        *self._given, self._normal = rules.given(compiled)
        self._run = FOLD.fast if compiled else FOLD.plain
        self.pvalue, self.evidence, self.score = np.ones(rows), np.full(rows, np.nan), np.zeros(rows)
        self.alarm, self.alone = np.zeros(rows, dtype=np.bool_), np.ones(rows)

    def take(self, loss: Floats, distance: Floats, end: int) -> None:
        """Goes on to the row before `end`; NaN is a row that could not be judged: the score starts afresh after it."""
        part = slice(self.done, end)
        losses, distances = (one[part] if self.compiled else one[part].tolist() for one in (loss, distance))
        out = (one[part] for one in (self.pvalue, self.evidence, self.score, self.alarm, self.alone))
        self._run(*self.memory.all, *self._given, losses, distances, *out)
        self.done = end

    def judged(self, loss: Floats) -> Judged:
        """The answer, once all losses are taken."""
        state = vitals(self.memory, 0, self._given[1], self._normal)
        return Judged(loss, self.pvalue, self.evidence, self.score, self.alarm, self.alone, state)


def fold(rules: Rules, loss: Floats, distance: Floats, compiled: bool, progress: Any = None) -> Judged:
    """The step over a whole series of losses. `progress` is told the share that is done, now and then."""
    series = Fold(rules, len(loss), compiled)
    for first in range(0, len(loss), TOLD_ROWS):
        series.take(loss, distance, min(first + TOLD_ROWS, len(loss)))
        if progress is not None:
            progress(series.done / len(loss))
    return series.judged(loss)


def vitals(memory: Memory, stream: int, looks: Any, normal: Any) -> health.Health:
    """Whether the calibration still fits, as a stream stands."""
    record = readable(memory.streams, stream)
    rise = risen([readable(memory.tracks[stream], 0)], [readable(looks, 0)])
    gap, alarmed = float(health.worst_gap(record, normal)), float(record.alarmed_share)
    return health.read(int(record.healthy_rows), gap, float(rise), alarmed)
