"""The operating point, from normal data alone: alpha, and the threshold that keeps the false-alarm budget."""

import math
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from ..errors import InputError
from ..results import Health
from .accumulate import accumulate
from .evidence import Reference, Tail
from .level import TINY
from .scorer import Scorer, averaged

__all__ = ["Calibration", "Scale", "Scores", "Support", "choose_alpha", "mixture_bound"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Reset = Literal["carried", "everything"]

ALPHA = 0.05
ENOUGH = 2_000  # validation losses from which the Gaussian-mixture bound is trusted
CHAINS = 4_096  # independent streams simulated side by side
FOLDS = 10  # parts of the validation series, each scored against the others
LEAST = 0.01  # a threshold; so low a one only comes of a budget of alarms every few rows
CONFIDENCE = 0.65  # with which the observed threshold keeps the budget
FEWEST = 5  # peaks from which the tail of their distribution is fitted
TOLERANCE = 3.0  # factor by which a supported budget may be missed


@dataclass(frozen=True, eq=False)
class Scores:
    """The causal part of the answer, one value per loss; evidence is NaN where a row could not be judged."""

    loss: Floats
    pvalue: Floats
    evidence: Floats
    score: Floats
    alarm: NDArray[np.bool_]
    health: Health  # at the end


@dataclass(frozen=True)
class Support:
    """How well the validation part supports the threshold. All in mean rows between false alarms."""

    wanted: float  # the budget
    low: float  # 90 % interval of what the threshold gives
    high: float
    longest: float  # the rarest budget the validation part can support within a factor of three

    @property
    def enough(self) -> bool:
        return self.wanted <= self.longest


@dataclass(frozen=True, eq=False)
class Scale:
    """How losses are looked at: averaged over so many rows, ranked among the normal ones, alarming above a score."""

    persistence: int
    reference: Floats  # validation losses, averaged and in units of their level, ascending
    tail: Tail
    level: float = 0.0  # logarithm of the normal loss; 0 where the level is not followed
    threshold: float = np.inf

    @classmethod
    def of(cls, losses: Floats, persistence: int, tail: Tail, follows: bool) -> Self:
        smooth = averaged(losses, persistence)
        known = smooth[~np.isnan(smooth)]
        level = float(np.median(np.log(np.maximum(known, TINY)))) if follows and len(known) else 0.0
        return cls(persistence, np.sort(known / np.exp(level)), tail, level)

    @cached_property
    def ranking(self) -> Reference:
        return Reference(self.reference, self.tail)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The shares of normal p-values below 0.1, 0.2, .. 0.9: those numbers, but for ties."""
        pvalues = np.exp(-self.ranking.strength(self.reference))
        return tuple(float(np.mean(pvalues < i / 10)) for i in range(1, 10))

    @property
    def strongest(self) -> float:
        """-log p of a loss above all others; infinite where a tail goes on."""
        if not len(self.reference):
            return -np.inf
        return np.inf if np.isfinite(self.ranking.start) else float(self.ranking.strengths[0])


@dataclass(frozen=True, eq=False)
class Calibration:
    """Turns losses into scores, and says above which score an alarm is raised."""

    scales: tuple[Scale, ...]  # row by row, then averaged
    alpha: float
    patience: int
    reset: Reset
    tail: Tail
    settle: int = 0  # first rows of a stream that set its level
    drift: float = 0.0  # most that the logarithm of the level moves in a row
    accept: int = 0  # rows of an event after which it is the new normal; 0: never
    duration: int = 1  # rows above the threshold before an alarm
    cooldown: int = 0  # rows after an event in which no other begins
    support: Support | None = None  # None where the threshold was given, or is the paper's

    @classmethod
    def fit(
        cls,
        losses: Floats,
        rows_per_alarm: float,
        *,
        patience: int,
        reset: Reset,
        tail: Tail,
        alpha: float | Literal["auto"] = "auto",
        threshold: float | Literal["auto"] = "auto",
        persistence: int = 1,
        settle: int = 0,
        drift: float = 0.0,
        accept: int = 0,
        duration: int = 1,
        cooldown: int = 0,
        seed: int = 0,
    ) -> Self:
        """Calibrates on validation losses in order of time, NaN where the series breaks.

        `auto` alpha and threshold are chosen here. The threshold is simulated for independent rows; unless p-values are
        the paper's it is raised to what the validation part itself needs, whose losses are not independent.
        """
        follows = settle > 0 or drift > 0
        scales = [Scale.of(losses, rows, tail, follows) for rows in ((1,) if persistence == 1 else (1, persistence))]
        chosen = choose_alpha(scales[0].reference) if alpha == "auto" else float(alpha)
        rules = (patience, reset, tail, settle, drift, accept, duration, cooldown)
        draft = cls(tuple(scales), chosen, *rules)
        if min(scale.strongest for scale in scales) + draft.log_alpha <= 0:
            raise InputError(
                f"train must leave at least {int(1 / chosen)} validation losses for an alpha of {chosen:g}, or no loss "
                f"could ever be evidence; got {len(draft.reference)}"
            )
        if threshold != "auto":
            return replace(draft, scales=tuple(replace(scale, threshold=float(threshold)) for scale in scales))
        done, supports = [], []
        for scale in scales:
            allowed = rows_per_alarm * len(scales)  # each scale has its share of the budget
            simulated = max(draft.simulated_threshold(scale, allowed, seed), LEAST)
            if tail == "empirical":
                done.append(replace(scale, threshold=simulated))
                continue
            observed, support = draft.observed_threshold(scale, losses, allowed, simulated)
            done.append(replace(scale, threshold=max(simulated, observed)))
            supports.append(support)
        return replace(draft, scales=tuple(done), support=_together(supports, rows_per_alarm))

    def over(self, losses: Floats) -> Self:
        """The same operating point over other normal losses."""
        scales = (
            replace(Scale.of(losses, old.persistence, self.tail, self.follows), threshold=old.threshold)
            for old in self.scales
        )
        return replace(self, scales=tuple(scales))

    @property
    def reference(self) -> Floats:
        return self.scales[0].reference

    @property
    def threshold(self) -> float:
        return self.scales[0].threshold

    @property
    def follows(self) -> bool:
        """Whether losses are measured against a level that may move."""
        return self.settle > 0 or self.drift > 0

    @cached_property
    def log_alpha(self) -> float:
        return float(np.log(self.alpha))

    def score(self, loss: Floats) -> Scores:
        """Scores a series of losses; NaN is a row that could not be judged, and the score starts afresh after it."""
        scorer = Scorer(self)
        p, b, score = np.ones(len(loss)), np.full(len(loss), np.nan), np.zeros(len(loss))
        alarm = np.zeros(len(loss), dtype=np.bool_)
        for t, value in enumerate(loss.tolist()):
            if math.isnan(value):
                scorer.restart()
            else:
                p[t], b[t], score[t], alarm[t] = scorer.step(value)
        return Scores(loss, p, b, score, alarm, scorer.health())

    def simulated_threshold(self, scale: Scale, rows_per_alarm: float, seed: int = 0) -> float:
        """The score that independent normal rows exceed once in `rows_per_alarm`."""
        references = 0 if np.isfinite(scale.ranking.start) else len(scale.reference)
        rules = (self.tail, self.alpha, self.patience, self.reset, self.duration)
        return _simulated(references, *rules, rows_per_alarm, seed)

    def observed_threshold(
        self, scale: Scale, losses: Floats, rows_per_alarm: float, simulated: float = 0.0
    ) -> tuple[float, Support]:
        """The score that these normal losses exceed once in `rows_per_alarm`, and how well they support that.

        Independent rows are the best case: real losses come in clusters, and their score climbs higher. Each tenth of
        the series is scored against the other nine, as new data would be; the peaks of excursions are independent,
        and their tail is exponential (a renewal argument). Too few peaks to tell: an extreme loss counts as often as
        it repeats, so the simulated threshold is multiplied by the correlation time of the evidence.
        """
        measured = averaged(losses, scale.persistence) / np.exp(scale.level)
        judged = np.flatnonzero(~np.isnan(measured))
        b = np.full(len(measured), np.nan)
        for fold in np.array_split(judged, min(FOLDS, len(judged))):
            others = Reference(np.sort(measured[np.setdiff1d(judged, fold, assume_unique=True)]), self.tail)
            b[fold] = self.log_alpha + others.strength(measured[fold])
        peaks, first, last = _peaks(accumulate(b, self.patience, self.reset), self.duration)
        order = np.sort(peaks)
        often = int(1.5 * len(judged) / rows_per_alarm)  # a frequent budget lies among the peaks, not beyond them
        top = min(len(peaks) - 1, max(10, len(peaks) // 10, often))
        if top < FEWEST:
            threshold = simulated * _correlation_time(b[judged])
            return threshold, Support(rows_per_alarm, 0.0, np.inf, len(judged) / FEWEST)
        start = float(order[-top - 1])
        excess = _clusters(peaks, first, last, start, self.cooldown) - start
        top = max(len(excess), 1)
        mean = max(float(excess.sum()) / top, float(np.finfo(float).tiny))
        every = len(judged) / top  # rows between peaks above the start
        # The mean excess of an exponential tail has a gamma distribution.
        wide, *interval = (mean * top / float(gammaincinv(top, q)) for q in (1 - CONFIDENCE, 0.05, 0.95))
        threshold = start + wide * float(np.log(max(rows_per_alarm / every, 1.0)))
        reached = max(threshold, simulated) - start
        low, high = (every * float(np.exp(min(max(reached, 0.0) / spread, 600.0))) for spread in interval)
        # Folds of an exponential that top peaks can be off by at most the tolerance in.
        longest = every * float(np.exp(np.log(TOLERANCE) * np.sqrt(top)))
        return threshold, Support(rows_per_alarm, low, high, longest)


def _together(supports: Sequence[Support], rows_per_alarm: float) -> Support | None:
    """Of scales side by side: rates of alarms add up."""
    if not supports:
        return None
    rates = [sum(1 / max(getattr(one, end), 1.0) for one in supports) for end in ("low", "high")]
    low, high = (1 / rate if rate > 0 else np.inf for rate in rates)
    return Support(rows_per_alarm, low, high, min(one.longest for one in supports) / len(supports))


@lru_cache(maxsize=64)
def _simulated(
    references: int,
    tail: Tail,
    alpha: float,
    patience: int,
    reset: Reset,
    duration: int,
    rows_per_alarm: float,
    seed: int,
) -> float:
    rows = int(np.clip(400 * rows_per_alarm, 2_000_000, 20_000_000))
    peaks = np.sort(simulated_peaks(references, tail, alpha, patience, reset, duration, rows, seed))[::-1]
    expected = rows / rows_per_alarm  # excursions allowed above the threshold
    if expected >= 50:
        return float(peaks[min(int(expected), len(peaks) - 1)])
    # Too rare to simulate: peaks of a drifting walk have an exponential tail, which is continued.
    near, far = peaks[min(500, len(peaks) - 1)], peaks[min(50, len(peaks) - 1)]
    return float(far + (far - near) * np.log(50 / expected) / np.log(10))


def simulated_peaks(
    references: int, tail: Tail, alpha: float, patience: int, reset: Reset, duration: int, rows: int, seed: int
) -> Floats:
    """The highest score of every excursion in about `rows` independent normal rows, many streams side by side.

    The number of references at least as large as a normal row's loss is uniform on 0 .. n; 0 references stands for a
    fitted tail, whose p-value is uniform on 0 .. 1.
    """
    random = np.random.default_rng(seed)
    table = Reference(np.arange(float(references)), tail).strengths + np.log(alpha) if references else np.empty(0)
    score, peak, negatives = np.zeros(CHAINS), np.zeros(CHAINS), np.zeros(CHAINS, dtype=np.int64)
    recent: deque[Floats] = deque([score] * duration, maxlen=duration)
    peaks: list[Floats] = [np.full(1, np.finfo(float).tiny)]  # never empty, never a threshold of 0
    for _ in range(-(-rows // CHAINS)):
        if references:
            new = table[random.integers(0, references + 1, CHAINS)]
        else:
            new = np.log(alpha) + random.standard_exponential(CHAINS)
        resets = negatives >= patience
        score = np.maximum(np.where(resets, 0.0, score) + new, 0.0)
        if reset == "everything":
            score[resets] = 0.0
        negatives = np.where(new < 0, negatives + 1, 0)
        recent.append(score)
        peaks.append(peak[(score == 0.0) & (peak > 0.0)])
        peak = np.where(score == 0.0, 0.0, np.maximum(peak, np.minimum.reduce(list(recent))))
    return np.concatenate([*peaks, peak[peak > 0.0]])


def _peaks(score: Floats, duration: int) -> tuple[Floats, Ints, Ints]:
    """Of every excursion: the highest score that lasts `duration` rows, and its first and last row."""
    excursion = np.cumsum(score <= 0.0)
    lasting = score.copy()
    for back in range(1, duration):
        lasting[back:] = np.minimum(lasting[back:], score[:-back])
        lasting[:back] = 0.0
    highest = np.zeros(int(excursion[-1]) + 1)
    np.maximum.at(highest, excursion, lasting)
    rows = np.arange(len(score))
    first, last = np.full(len(highest), len(score)), np.full(len(highest), -1)
    np.minimum.at(first, excursion[score > 0], rows[score > 0])
    np.maximum.at(last, excursion[score > 0], rows[score > 0])
    there = highest > 0.0
    return highest[there], first[there], last[there]


def _clusters(peaks: Floats, first: Ints, last: Ints, start: float, cooldown: int) -> Floats:
    """The peaks above `start`; of those within a cooldown of each other, which raise one alarm, the highest."""
    above = np.flatnonzero(peaks > start)
    apart = np.r_[True, first[above][1:] - last[above][:-1] > cooldown]
    highest = np.zeros(int(apart.sum()))
    np.maximum.at(highest, np.cumsum(apart) - 1, peaks[above])
    return highest


def _correlation_time(evidence: Floats) -> float:
    """Rows that count as one: twice the area under the autocorrelation, up to where it has faded; at least 1."""
    if np.ptp(evidence) < 1e-9:
        return 1.0  # rounding is no correlation
    centred = evidence - evidence.mean()
    size = len(centred)
    spectrum = np.fft.rfft(centred, 2 * size)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum))[:size]
    correlation = correlation / correlation[0]
    faded = np.flatnonzero(correlation < 0.05)
    return 1.0 + 2.0 * float(correlation[1 : faded[0] if len(faded) else size].sum())


def choose_alpha(losses: Floats) -> float:
    """0.05, or less where the paper's bound says so and there are enough losses to fit its mixture."""
    return ALPHA if len(losses) < ENOUGH else min(ALPHA, mixture_bound(losses))


def mixture_bound(losses: Floats, most: int = 4, sample: int = 20_000) -> float:
    """The paper's alpha_max: share of losses above mean + deviation of the Gaussian component nearest zero."""
    from sklearn.mixture import GaussianMixture

    points = losses[:: -(-len(losses) // sample), None]
    if np.ptp(points) == 0:
        return 1.0
    # Losses can be tiny, and the mixture's variance floor is absolute; one huge loss must not flatten the others.
    points = points / max(float(np.quantile(points, 0.99)), float(np.finfo(float).tiny))
    most = min(most, len(np.unique(points)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ties, which are common, make scikit-learn doubt its own clusters
        fits = [GaussianMixture(k, random_state=0, reg_covar=1e-9).fit(points) for k in range(1, most + 1)]
    mixture = min(fits, key=lambda fit: fit.bic(points))
    nearest = int(np.argmin(np.abs(mixture.means_[:, 0])))
    bound = mixture.means_[nearest, 0] + np.sqrt(mixture.covariances_[nearest, 0, 0])
    return max(float(np.mean(points > bound)), 1.0 / len(losses))
