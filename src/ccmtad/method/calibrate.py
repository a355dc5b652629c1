"""The operating point, from normal data alone: alpha, and the threshold that keeps the false-alarm budget."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from ..errors import InputError
from .accumulate import accumulate
from .evidence import Tail, counts, evidence, pvalue

__all__ = ["Calibration", "Scores", "choose_alpha", "mixture_bound"]

Floats = NDArray[np.float64]
Reset = Literal["carried", "everything"]

ALPHA = 0.05
ENOUGH = 2_000  # validation losses from which the Gaussian-mixture bound is trusted
CHAINS = 4_096  # independent streams simulated side by side
FOLDS = 10  # parts of the validation series, each scored against the others
LEAST = 0.01  # a threshold; so low a one only comes of a budget of alarms every few rows
CONFIDENCE = 0.9  # with which the observed threshold keeps the budget


@dataclass(frozen=True, eq=False)
class Scores:
    """The causal part of the answer, one value per loss; evidence is NaN where a row could not be judged."""

    loss: Floats
    pvalue: Floats
    evidence: Floats
    score: Floats


@dataclass(frozen=True, eq=False)
class Calibration:
    """Turns losses into scores, and says above which score an alarm is raised."""

    reference: Floats  # validation losses, ascending
    alpha: float
    threshold: float
    patience: int
    reset: Reset
    tail: Tail

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
        seed: int = 0,
    ) -> Self:
        """Calibrates on validation losses in order of time, NaN where the series breaks.

        `auto` alpha and threshold are chosen here. The threshold is simulated for independent rows; where p-values are
        conformal it is raised to what the validation part itself needs, whose losses are not independent.
        """
        reference = np.sort(losses[~np.isnan(losses)])
        chosen = choose_alpha(reference) if alpha == "auto" else float(alpha)
        draft = cls(reference, chosen, np.inf, patience, reset, tail)
        if not len(reference) or draft.evidences[0] <= 0:
            raise InputError(
                f"train must leave at least {int(1 / chosen)} validation losses for an alpha of {chosen:g}, or no loss "
                f"could ever be evidence; got {len(reference)}"
            )
        if threshold == "auto":
            threshold = max(draft.simulated_threshold(rows_per_alarm, seed), LEAST)
            if tail == "conformal":
                threshold = max(threshold, draft.observed_threshold(losses, rows_per_alarm))
        return replace(draft, threshold=float(threshold))

    def over(self, losses: Floats) -> Self:
        """The same alpha and threshold over other normal losses."""
        return replace(self, reference=np.sort(losses[~np.isnan(losses)]))

    @cached_property
    def pvalues(self) -> Floats:
        """The p-value of a loss that 0, 1, .. n references reach: there are no others."""
        n = len(self.reference)
        return pvalue(np.arange(n + 1), n, self.tail)

    @cached_property
    def evidences(self) -> Floats:
        """The evidence of each of these p-values."""
        return evidence(self.pvalues, self.alpha, self.tail)

    def score(self, loss: Floats) -> Scores:
        """Scores a series of losses; NaN is a row that could not be judged, and the score starts afresh after it."""
        count = counts(loss, self.reference)
        p = np.where(np.isnan(loss), 1.0, self.pvalues[count])
        b = np.where(np.isnan(loss), np.nan, self.evidences[count])
        return Scores(loss, p, b, accumulate(b, self.patience, self.reset))

    def simulated_threshold(self, rows_per_alarm: float, seed: int = 0) -> float:
        """The score that independent normal rows exceed once in `rows_per_alarm`."""
        rows = int(np.clip(400 * rows_per_alarm, 2_000_000, 20_000_000))
        peaks = np.sort(self.simulated_peaks(rows, seed))[::-1]
        expected = rows / rows_per_alarm  # excursions allowed above the threshold
        if expected >= 50:
            return float(peaks[min(int(expected), len(peaks) - 1)])
        # Too rare to simulate: peaks of a drifting walk have an exponential tail, which is continued.
        near, far = peaks[min(500, len(peaks) - 1)], peaks[min(50, len(peaks) - 1)]
        return float(far + (far - near) * np.log(50 / expected) / np.log(10))

    def simulated_peaks(self, rows: int, seed: int = 0) -> Floats:
        """The highest score of every excursion in about `rows` independent normal rows, many streams side by side.

        The number of references at least as large as a normal row's loss is uniform on 0 .. n.
        """
        random = np.random.default_rng(seed)
        n, table = len(self.reference), self.evidences
        score, peak, negatives = np.zeros(CHAINS), np.zeros(CHAINS), np.zeros(CHAINS, dtype=np.int64)
        peaks: list[Floats] = [np.full(1, np.finfo(float).tiny)]  # never empty, never a threshold of 0
        for _ in range(-(-rows // CHAINS)):
            new = table[random.integers(0, n + 1, CHAINS)]
            resets = negatives >= self.patience
            score = np.maximum(np.where(resets, 0.0, score) + new, 0.0)
            if self.reset == "everything":
                score[resets] = 0.0
            negatives = np.where(new < 0, negatives + 1, 0)
            peaks.append(peak[(score == 0.0) & (peak > 0.0)])
            peak = np.where(score == 0.0, 0.0, np.maximum(peak, score))
        return np.concatenate([*peaks, peak[peak > 0.0]])

    def observed_threshold(self, losses: Floats, rows_per_alarm: float) -> float:
        """The score that these normal losses exceed once in `rows_per_alarm`, with 90 % confidence.

        Independent rows are the best case: real losses come in clusters, and their score climbs higher. Each tenth of
        the series is scored against the other nine, as new data would be; the tail of its peaks is exponential. Too few
        peaks to tell: 0.
        """
        judged = np.flatnonzero(~np.isnan(losses))
        p = np.full(len(losses), np.nan)
        for fold in np.array_split(judged, min(FOLDS, len(judged))):
            others = np.sort(losses[np.setdiff1d(judged, fold, assume_unique=True)])
            p[fold] = pvalue(counts(losses[fold], others), len(others), self.tail)
        score = accumulate(evidence(p, self.alpha, self.tail), self.patience, self.reset)
        excursion = np.cumsum(score <= 0.0)
        highest = np.zeros(int(excursion[-1]) + 1)
        np.maximum.at(highest, excursion, score)
        peaks = np.sort(highest[highest > 0.0])
        top = min(len(peaks) - 1, max(10, len(peaks) // 10))
        if top < 5:
            return 0.0
        start = float(peaks[-top - 1])
        # The mean excess of an exponential tail, at the upper end of its confidence interval (gamma distributed).
        excess = float(np.mean(peaks[-top:] - start)) * top / float(gammaincinv(top, 1 - CONFIDENCE))
        return start + excess * float(np.log(max(top / len(judged) * rows_per_alarm, 1.0)))


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
