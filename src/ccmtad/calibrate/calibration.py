"""The operating point, from normal data alone: alpha, the tracks, and the thresholds that keep the budget."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..compiled import available
from ..errors import InputError
from ..score import tails
from ..score.step import NO_LIMIT, Judged, Rise, Rules, fold
from ..score.tracks import Track, in_use
from ..settings import Settings
from . import alpha as alphas
from . import budget, unlike
from .budget import Support

__all__ = ["SMALL_SHARE", "Calibration", "tracks_of"]

Floats = NDArray[np.float64]

SMALL_SHARE = 0.1  # of the budget, for extremes, for lost and frozen signals, and for each track of distances
LEAST_THRESHOLD = 0.01  # so low a one only comes of a budget of alarms every few rows


@dataclass(frozen=True, eq=False)
class Calibration:
    """Turns losses into scores, and says above which score an alarm is raised."""

    settings: Settings
    tracks: tuple[Track, ...]
    alpha: float
    support: Support | None = None  # None where the threshold was given, or is the paper's
    losses: Floats | None = None  # all this was learnt from, in order of time; None in older files
    distances: Floats | None = None  # the same of those rows; None where no track looks at them
    unlike: Rise = NO_LIMIT

    @classmethod
    def fit(
        cls, losses: Floats, rows_per_alarm: float, settings: Settings, distances: Floats | None = None
    ) -> "Calibration":
        """Calibrates on validation losses in order of time, NaN where the series breaks, and on how far those rows are
        from where values usually are; without, no track looks at that.

        `auto` alpha and threshold are chosen here. The threshold is that of independent rows; unless p-values are the
        paper's it is raised to what the validation part itself needs, whose losses are not independent.
        """
        looks = tracks_of(losses, distances, settings)
        alpha = alphas.choose(looks[0].reference) if settings.alpha == "auto" else float(settings.alpha)
        rise = unlike.limit(losses, looks[0], settings)
        draft = cls(settings, looks, alpha, losses=losses, distances=distances, unlike=rise)
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
            allowed = rows_per_alarm / draft.share_of(track)
            independent = max(budget.independent_threshold(draft.rules, track, allowed), LEAST_THRESHOLD)
            if not track.tail.as_observed:
                done.append(replace(track, threshold=independent))
                continue
            normal = distances if track.of_distance else losses
            assert normal is not None
            observed, support = budget.observed_threshold(draft.rules, track, normal, allowed, independent)
            done.append(replace(track, threshold=max(independent, observed)))
            if (
                not track.of_distance
            ):  # those lie far out in few, long stretches; their threshold errs on the quiet side
                supports.append(support)
        return replace(draft, tracks=tuple(done), support=budget.together(supports, rows_per_alarm))

    def over(self, losses: Floats) -> "Calibration":
        """The same operating point over other normal losses."""
        looks = tracks_of(losses, self.distances, self.settings)
        kept = tuple(replace(new, threshold=old.threshold) for new, old in zip(looks, self.tracks, strict=True))
        return replace(self, tracks=kept, losses=losses)

    @cached_property
    def rules(self) -> Rules:
        """What a step goes by."""
        return Rules(self.settings, self.alpha, self.tracks, self.unlike)

    def share_of(self, track: Track) -> float:
        """Of the budget: extremes, lost and frozen signals, and each track of distances have a tenth; those of errors
        share what is left."""
        if track.of_distance:
            return SMALL_SHARE
        of_distance = sum(one.of_distance for one in self.tracks)
        left = 1.0 - SMALL_SHARE * (self.settings.extremes + self.settings.signals + of_distance)
        return left / (len(self.tracks) - of_distance)

    @cached_property
    def quiet(self) -> float:
        """A loss that is no evidence, though not far from being some."""
        return self.tracks[0].quiet(self.alpha)

    @cached_property
    def typical(self) -> float:
        """The loss of a usual normal row."""
        return self.tracks[0].typical

    @cached_property
    def usual_distance(self) -> float:
        """How far the values of a usual normal row are; anything where no track looks at that."""
        return next((track.typical for track in self.tracks if track.of_distance), 1.0)

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

    def score(
        self, loss: Floats, progress: Callable[[float], object] | None = None, distance: Floats | None = None
    ) -> Judged:
        """Scores a series of losses; NaN is a row that could not be judged, and the score starts afresh after it.

        `progress` is told the share that is done, now and then. Without a `distance`, values are where they usually
        are.
        """
        loss = np.ascontiguousarray(loss, dtype=np.float64)
        far = np.full(len(loss), self.usual_distance) if distance is None else np.ascontiguousarray(distance)
        return fold(self.rules, loss, far, available(), progress)


def tracks_of(losses: Floats, distances: Floats | None, settings: Settings) -> tuple[Track, ...]:
    """What normal losses and distances look like on each track, before there is a threshold."""
    tail, follows, looks = tails.find(settings.tail), bool(settings.adapt), []
    for kind in in_use(settings):
        normal = distances if kind.of_distance else losses
        if normal is not None:
            looks.append(Track.of(kind, normal, kind.rows(settings), tail, follows))
    return tuple(looks)
