"""Tracks: several looks at the same losses, by name. One file each.

They look at one of two things: errors, or how far values are from where they usually are. Each has its own normal
losses and threshold, and a share of the budget; the score is that of the track nearest to its threshold, in units of
the first one's. Of those that look at the same, the first is the quickest.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compiled import Entry, available, hot_kernel, kernel
from ...record import Layout
from ...registry import gather
from ...settings import Settings
from .. import accumulate, level
from ..accumulate import add
from ..evidence import Ranking, rank
from ..level import TINY, measure
from ..tails import Tail

__all__ = ["LAYOUT", "LOOK", "Kind", "Track", "averaged", "forget", "in_use", "look"]

Floats = NDArray[np.float64]

FIELDS = {
    "met": 0,  # losses since the last restart
    "average": 0.0,  # of the newest of them
    "seen": False,  # of the quickest: whether it has been above its threshold, and not quiet since
}
LAYOUT = Layout(FIELDS, level.FIELDS, accumulate.FIELDS, within=level.WITHIN)

# What a track is to a step, as numbers; its tables lie end to end with those of the others.
LOOK = Layout(
    {
        "rows": 1, "limited": False, "of_distance": False, "quickest": 0, "normal": 0.0, "threshold": 0.0,
        "largest": 0.0, "start": 0.0, "at_start": 0.0, "scale": 0.0, "shape": 0.0, "first": 0, "last": 0, "table": 0,
    }
)  # fmt: skip


class Kind(ABC):
    """A way to look at losses."""

    name = ""
    order = 0  # the first one of those that look at the same is the quickest: it ends what it saw begin
    of_distance = False  # whether it looks at distances, not at errors
    limited = False  # whether a loss counts for no more than the largest normal one

    @abstractmethod
    def rows(self, settings: Settings) -> int:
        """Rows a loss is averaged over; 0 where this track is not in use."""


def in_use(settings: Settings) -> list[Kind]:
    """The tracks of these settings, in order."""
    kinds = sorted(gather("score.tracks").values(), key=lambda kind: kind.order)
    return [kind for kind in kinds if kind.rows(settings)]


@dataclass(frozen=True, eq=False)
class Track:
    """One look: averaged over so many rows, ranked among the normal losses, alarming above a score."""

    rows: int
    reference: Floats  # normal losses, averaged and in units of their level, ascending
    tail: Tail
    normal: float = 0.0  # logarithm of the normal loss; 0 where the level is not followed
    threshold: float = np.inf
    limited: bool = False
    of_distance: bool = False

    @classmethod
    def of(cls, kind: Kind, losses: Floats, rows: int, tail: Tail, follows: bool) -> "Track":
        """What normal losses in order of time (NaN where they break) look like, averaged over so many rows."""
        smooth = averaged(losses, rows)
        known = smooth[~np.isnan(smooth)]
        normal = float(np.median(np.log(np.maximum(known, TINY)))) if follows and len(known) else 0.0
        reference = np.sort(known / np.exp(normal))
        return cls(rows, reference, tail, normal, limited=kind.limited, of_distance=kind.of_distance)

    @cached_property
    def typical(self) -> float:
        """What it looks at, of a usual normal row."""
        return max(float(np.median(self.reference)) * float(np.exp(self.normal)), TINY)

    def quiet(self, alpha: float) -> float:
        """What is no evidence, though not far from being some."""
        return max(float(np.quantile(self.reference, 1 - alpha)) * float(np.exp(self.normal)), TINY)

    @cached_property
    def ranking(self) -> Ranking:
        return Ranking(self.reference, self.tail)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The shares of normal p-values below 0.1, 0.2, .. 0.9: those numbers, but for ties."""
        pvalues = np.exp(-self.ranking.strength(self.reference))
        return tuple(float(np.mean(pvalues < i / 10)) for i in range(1, 10))


@hot_kernel
def look(
    track: Any, look: Any, recent: Any, settling: Any, rules: Any, tables: Any, loss: float
) -> tuple[float, float, float]:
    """p-value, evidence and score of the newest loss."""
    average = _average(track, look.rows, recent, loss)
    measured = measure(track, look.normal, rules.settle, settling, average)
    pvalue, strength = rank(look, tables[0], tables[1], tables[2], measured)
    evidence = rules.log_alpha + strength
    return pvalue, evidence, add(track, evidence, rules.patience, rules.keeps_new)


@kernel
def _average(track: Any, rows: int, recent: Any, loss: float) -> float:
    """Over the newest losses, this one among them."""
    if rows > 1:
        recent[track.met % rows] = loss
        track.met = track.met + 1
        there = min(track.met, rows)
        loss = sum(recent[:there]) / there
    track.average = loss
    return loss


@kernel
def forget(track: Any) -> None:
    """A fresh start, but for the level."""
    accumulate.forget(track)
    track.met = 0
    track.seen = False


def _fold(records: Any, rows: int, recent: Any, losses: Any, out: Any) -> None:
    track = records[0]
    for t in range(len(losses)):
        if math.isnan(losses[t]):
            track.met = 0
        else:
            out[t] = _average(track, rows, recent, losses[t])


FOLD = Entry(_fold)


def averaged(losses: Floats, rows: int) -> Floats:
    """The trailing mean that a track takes, of a whole series; it starts afresh after a NaN."""
    if rows == 1:
        return losses
    out, recent, fast = np.full(len(losses), np.nan), np.zeros(rows), available()
    run, *given = (FOLD.fast, recent, losses) if fast else (FOLD.plain, recent.tolist(), losses.tolist())
    run(LAYOUT.many(1, fast), rows, *given, out)
    return out
