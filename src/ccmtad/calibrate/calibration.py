"""The operating point, from normal data alone: alpha, and the threshold that keeps the false-alarm budget."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError
from ..results import Health
from ..score.evidence import Reference, Tail
from ..score.level import TINY
from ..score.tracks import Scorer, averaged
from . import budget
from .budget import Support

__all__ = ["Calibration", "Scale", "Scores", "choose_alpha", "mixture_bound"]

Floats = NDArray[np.float64]
Reset = Literal["carried", "everything"]

ALPHA = 0.05
ENOUGH = 2_000  # validation losses from which the Gaussian-mixture bound is trusted
TELL = 10_000  # rows between two words of progress
LEAST = 0.01  # a threshold; so low a one only comes of a budget of alarms every few rows


@dataclass(frozen=True, eq=False)
class Scores:
    """The causal part of the answer, one value per loss; evidence is NaN where a row could not be judged."""

    loss: Floats
    pvalue: Floats
    evidence: Floats
    score: Floats
    alarm: NDArray[np.bool_]
    own: Floats  # p-value of the row by itself
    health: Health  # at the end


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
    losses: Floats | None = None  # all this was learnt from, in order of time; None in older files

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
        draft = cls(tuple(scales), chosen, *rules, losses=losses)
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
            simulated = max(budget.simulated_threshold(draft, scale, allowed, seed), LEAST)
            if tail == "empirical":
                done.append(replace(scale, threshold=simulated))
                continue
            observed, support = budget.observed_threshold(draft, scale, losses, allowed, simulated)
            done.append(replace(scale, threshold=max(simulated, observed)))
            supports.append(support)
        return replace(draft, scales=tuple(done), support=budget.together(supports, rows_per_alarm))

    def over(self, losses: Floats) -> Self:
        """The same operating point over other normal losses."""
        scales = (
            replace(Scale.of(losses, old.persistence, self.tail, self.follows), threshold=old.threshold)
            for old in self.scales
        )
        return replace(self, scales=tuple(scales), losses=losses)

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

    def score(self, loss: Floats, progress: Callable[[float], object] | None = None) -> Scores:
        """Scores a series of losses; NaN is a row that could not be judged, and the score starts afresh after it.

        `progress` is told the share that is done, now and then.
        """
        scorer = Scorer(self)
        p, b, score, own = np.ones(len(loss)), np.full(len(loss), np.nan), np.zeros(len(loss)), np.ones(len(loss))
        alarm = np.zeros(len(loss), dtype=np.bool_)
        for t, value in enumerate(loss.tolist()):
            if math.isnan(value):
                scorer.restart()
            else:
                p[t], b[t], score[t], alarm[t], own[t] = scorer.step(value)
            if progress is not None and t % TELL == 0:
                progress(t / len(loss))
        return Scores(loss, p, b, score, alarm, own, scorer.health())


def choose_alpha(losses: Floats) -> float:
    """0.05, or less where the paper's bound says so and there are enough losses to fit its mixture."""
    return ALPHA if len(losses) < ENOUGH else min(ALPHA, mixture_bound(losses))


def mixture_bound(losses: Floats, most: int = 4, sample: int = 20_000) -> float:
    """The paper's alpha_max: share of losses above mean + deviation of the Gaussian component nearest zero."""
    try:
        from sklearn.mixture import GaussianMixture
    except ImportError as error:
        raise MissingExtraError(
            "finding alpha needs scikit-learn: pip install 'ccmtad[train]', or give alpha"
        ) from error

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
