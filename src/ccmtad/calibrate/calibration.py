"""The operating point, from normal data alone: alpha, the tracks, and the thresholds that keep the budget."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..compiled import available
from ..errors import InputError
from ..score import tails
from ..score.level import TINY
from ..score.step import NO_LIMIT, Judged, Rise, Rules, fold
from ..score.tracks import Track, in_use
from ..settings import Settings
from . import alpha as alphas
from . import budget, unlike
from .budget import Support

__all__ = ["SMALL_SHARE", "Calibration", "tracks_of"]

Floats = NDArray[np.float64]

SMALL_SHARE = 0.1  # of the budget, for extremes, and for lost and frozen signals
LEAST_THRESHOLD = 0.01  # so low a one only comes of a budget of alarms every few rows


@dataclass(frozen=True, eq=False)
class Calibration:
    """Turns losses into scores, and says above which score an alarm is raised."""

    settings: Settings
    tracks: tuple[Track, ...]
    alpha: float
    support: Support | None = None  # None where the threshold was given, or is the paper's
    losses: Floats | None = None  # all this was learnt from, in order of time; None in older files
    unlike: Rise = NO_LIMIT

    @classmethod
    def fit(cls, losses: Floats, rows_per_alarm: float, settings: Settings) -> "Calibration":
        """Calibrates on validation losses in order of time, NaN where the series breaks.

        `auto` alpha and threshold are chosen here. The threshold is that of independent rows; unless p-values are the
        paper's it is raised to what the validation part itself needs, whose losses are not independent.
        """
        looks = tracks_of(losses, settings)
        alpha = alphas.choose(looks[0].reference) if settings.alpha == "auto" else float(settings.alpha)
        draft = cls(settings, looks, alpha, losses=losses, unlike=unlike.limit(losses, looks[0], settings))
        if min(track.ranking.strongest for track in looks) + np.log(alpha) <= 0:
            raise InputError(
                f"train must leave at least {int(1 / alpha)} validation losses for an alpha of {alpha:g}, or no loss "
                f"could ever be evidence; got {len(looks[0].reference)}"
            )
        if settings.threshold != "auto":
            given = float(settings.threshold)
            return replace(draft, tracks=tuple(replace(track, threshold=given) for track in looks))
        done, supports = [], []
        for track in looks:
            allowed = rows_per_alarm * len(looks) / draft.share  # each track has an equal one
            independent = max(budget.independent_threshold(draft.rules, track, allowed), LEAST_THRESHOLD)
            if not track.tail.as_observed:
                done.append(replace(track, threshold=independent))
                continue
            observed, support = budget.observed_threshold(draft.rules, track, losses, allowed, independent)
            done.append(replace(track, threshold=max(independent, observed)))
            supports.append(support)
        return replace(draft, tracks=tuple(done), support=budget.together(supports, rows_per_alarm))

    def over(self, losses: Floats) -> "Calibration":
        """The same operating point over other normal losses."""
        looks = tracks_of(losses, self.settings)
        kept = tuple(replace(new, threshold=old.threshold) for new, old in zip(looks, self.tracks, strict=True))
        return replace(self, tracks=kept, losses=losses)

    @cached_property
    def rules(self) -> Rules:
        """What a step goes by."""
        return Rules(self.settings, self.alpha, self.tracks, self.unlike)

    @property
    def share(self) -> float:
        """Of the budget, what is left to the tracks: extremes, and lost and frozen signals, have a tenth each."""
        return 1.0 - SMALL_SHARE * (self.settings.extremes + self.settings.signals)

    @cached_property
    def quiet(self) -> float:
        """A loss that is no evidence, though not far from being some."""
        first = self.tracks[0]
        return max(float(np.quantile(first.reference, 1 - self.alpha)) * float(np.exp(first.normal)), TINY)

    @cached_property
    def typical(self) -> float:
        """The loss of a usual normal row."""
        first = self.tracks[0]
        return max(float(np.median(first.reference)) * float(np.exp(first.normal)), TINY)

    @property
    def reference(self) -> Floats:
        """The losses that p-values are counted against, in units of their level, ascending."""
        return self.tracks[0].reference

    @property
    def threshold(self) -> float:
        return self.tracks[0].threshold

    @property
    def log_alpha(self) -> float:
        return float(np.log(self.alpha))

    def score(self, loss: Floats, progress: Callable[[float], object] | None = None) -> Judged:
        """Scores a series of losses; NaN is a row that could not be judged, and the score starts afresh after it.

        `progress` is told the share that is done, now and then.
        """
        return fold(self.rules, np.ascontiguousarray(loss, dtype=np.float64), available(), progress)


def tracks_of(losses: Floats, settings: Settings) -> tuple[Track, ...]:
    """What normal losses look like on each track, before there is a threshold."""
    tail, follows = tails.find(settings.tail), bool(settings.adapt)
    return tuple(Track.of(kind, losses, kind.rows(settings), tail, follows) for kind in in_use(settings))
