"""The threshold that keeps a false-alarm budget, from normal data alone, and how far it can be trusted."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..score import tails
from ..score.accumulate import accumulate
from ..score.evidence import Ranking
from ..score.step import Rules
from ..score.tracks import Track, averaged

__all__ = ["Support", "independent_threshold", "observed_threshold", "simulated_peaks", "together"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHAINS = 4_096  # independent streams simulated side by side
FOLDS = 10  # parts of the validation series, each scored against the others
CONFIDENCE, UNSUPPORTED = 0.65, 0.9  # that the threshold keeps the budget, where the rows support it, and where not
FEWEST_PEAKS_FOR_A_TAIL = 5
FEW = 600  # rows: fewer know too little of how long normal losses stay high, and the threshold errs on the quiet side
TOLERANCE = 3.0  # factor by which a supported budget may be missed
LEAST_SPREAD = 0.1  # of peaks beyond their start: tied ones say nothing about how much higher others may come
# A few long stretches that most normal rows know nothing of must not blind a detector to all that is not enormous.
FARTHEST_ABOVE, ENOUGH = 15.0, 1_000  # times the threshold of independent rows, from so many rows on
# Where a track's share of the budget is rarer than once in so many times the rows there are, it is a guess about rows
# of a kind not seen, and the threshold rises with that distance: by a power that kept all budgets within three times
# what was asked for, on a plant and a toy (benchmarks/budget.py).
REACH, CAUTION = 20.0, 0.35
FURTHEST_EXTRAPOLATION = 1e4  # times as rare as the rarest peak seen: beyond that an interval is not a number


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


def independent_threshold(rules: Rules, track: Track, rows_per_alarm: float) -> float:
    """The score that independent normal rows exceed once in `rows_per_alarm`."""
    references = len(track.reference) if np.isinf(track.ranking.beyond.start) else 0
    by = rules.settings
    return _simulated(references, track.tail.name, rules.alpha, by.patience, by.reset, by.duration, rows_per_alarm)


def observed_threshold(
    rules: Rules, track: Track, losses: Floats, rows_per_alarm: float, independent: float = 0.0
) -> tuple[float, Support]:
    """The score that these normal losses exceed once in `rows_per_alarm`, and how well they support that.

    Independent rows are the best case: real losses come in clusters, and their score climbs higher. Each tenth of
    the series is scored against the other nine, as new data would be; the peaks of excursions are independent,
    and their tail is exponential (a renewal argument); where it goes far beyond what was seen, at the upper end of
    its confidence interval. Too few peaks to tell: an extreme loss counts as often as it repeats, so the threshold of
    independent rows is multiplied by the correlation time of the evidence, and by more where rows are few. Where they
    are few for the budget, all of it is raised.
    """
    by, measured = rules.settings, averaged(losses, track.rows) / np.exp(track.normal)
    judged = np.flatnonzero(~np.isnan(measured))
    b = np.full(len(measured), np.nan)
    for fold in np.array_split(judged, min(FOLDS, len(judged))):
        others = Ranking(np.sort(measured[np.setdiff1d(judged, fold, assume_unique=True)]), track.tail)
        b[fold] = np.log(rules.alpha) + others.strength(measured[fold])
    peaks, first, last = excursions(accumulate(b, by.patience, by.reset), by.duration)
    order = np.sort(peaks)
    often = int(1.5 * len(judged) / rows_per_alarm)  # a frequent budget lies among the peaks, not beyond them
    top = min(len(peaks) - 1, max(10, len(peaks) // 10, often))
    few = max(1.0, FEW / len(judged))
    cautious = max(1.0, rows_per_alarm / (REACH * len(judged))) ** CAUTION
    if top < FEWEST_PEAKS_FOR_A_TAIL:
        threshold = independent * _correlation_time(b[judged]) * few * cautious
        return threshold, Support(rows_per_alarm, 0.0, np.inf, len(judged) / FEWEST_PEAKS_FOR_A_TAIL)
    start = float(order[-top - 1])
    excess = declustered(peaks, first, last, start, by.cooldown) - start
    top = len(excess)
    mean = max(float(excess.mean()), LEAST_SPREAD)
    every = len(judged) / top  # rows between peaks above the start
    from scipy.special import gammaincinv

    # Folds of an exponential that top peaks can be off by at most the tolerance in.
    longest = every * float(np.exp(np.log(TOLERANCE) * np.sqrt(top)))
    confidence = CONFIDENCE if rows_per_alarm <= longest else UNSUPPORTED
    # The mean excess of an exponential tail has a gamma distribution.
    wide, *interval = (mean * top / float(gammaincinv(top, q)) for q in (1 - confidence, 0.05, 0.95))
    threshold = cautious * (start + few * wide * float(np.log(max(rows_per_alarm / every, 1.0))))
    highest = FARTHEST_ABOVE * independent * track.rows  # so many rows of an average say the same thing
    if len(judged) >= ENOUGH and 0.0 < highest < threshold:
        threshold = highest  # more would see nothing but what is enormous; what it is known to allow is said
        longest = min(longest, every * float(np.exp(max(threshold - start, 0.0) / mean)))
    reached = max(threshold, independent, start) - start
    furthest = np.log(FURTHEST_EXTRAPOLATION)
    low, high = (every * float(np.exp(min(reached / spread, furthest))) for spread in interval)
    high = high if reached / interval[1] < furthest else np.inf
    return threshold, Support(rows_per_alarm, low, high, longest)


def together(supports: Sequence[Support], rows_per_alarm: float) -> Support | None:
    """Of tracks side by side: rates of alarms add up."""
    if not supports:
        return None
    rates = [sum(1 / max(getattr(one, end), 1.0) for one in supports) for end in ("low", "high")]
    low, high = (1 / rate if rate > 0 else np.inf for rate in rates)
    return Support(rows_per_alarm, low, high, min(one.longest for one in supports) / len(supports))


@lru_cache(maxsize=64)
def _simulated(
    references: int, tail: str, alpha: float, patience: int, reset: str, duration: int, rows_per_alarm: float
) -> float:
    rows = int(np.clip(400 * rows_per_alarm, 2_000_000, 20_000_000))
    peaks = np.sort(simulated_peaks(references, tail, alpha, patience, reset, duration, rows))[::-1]
    expected = rows / rows_per_alarm  # excursions allowed above the threshold
    if expected >= 50:
        return float(peaks[min(int(expected), len(peaks) - 1)])
    # Too rare to simulate: peaks of a drifting walk have an exponential tail, which is continued.
    near, far = peaks[min(500, len(peaks) - 1)], peaks[min(50, len(peaks) - 1)]
    return float(far + (far - near) * np.log(50 / expected) / np.log(10))


def simulated_peaks(
    references: int, tail: str, alpha: float, patience: int, reset: str, duration: int, rows: int, seed: int = 0
) -> Floats:
    """The highest score of every excursion in about `rows` independent normal rows, many streams side by side.

    The number of references at least as large as a normal row's loss is uniform on 0 .. n; 0 references stands for a
    fitted tail, whose p-value is uniform on 0 .. 1.
    """
    random = np.random.default_rng(seed)
    ranking = Ranking(np.arange(float(references)), tails.find(tail))
    table = ranking.strengths + np.log(alpha) if references else np.empty(0)
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


def excursions(score: Floats, duration: int) -> tuple[Floats, Ints, Ints]:
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


def declustered(peaks: Floats, first: Ints, last: Ints, start: float, cooldown: int) -> Floats:
    """The peaks above `start`; of those within a cooldown of each other, which raise one alarm, the highest.

    Where all that is left ties with the start, those peaks.
    """
    above = np.flatnonzero(peaks > start)
    if not len(above):
        above = np.flatnonzero(peaks >= start)
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
