"""Channels grouped by their correlation profiles.  Algorithm 1"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .clusterings import Clustering, Grouping

__all__ = ["Clusters", "correlation", "find", "silhouettes", "widths"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_CLUSTERS = 10  #  that "auto" considers


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which channels are embedded together."""

    label: Ints  # (channels,), 0 .. found - 1; no cluster is empty

    @property
    def found(self) -> int:
        """How many there are: fewer than asked for where the data has no more distinct profiles."""
        return int(self.label.max()) + 1

    @property
    def members(self) -> tuple[Ints, ...]:
        """The channels of each cluster."""
        order = np.argsort(self.label, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.label))[:-1]))


def find(rows: Floats, asked: int | Literal["auto"], how: Clustering, seed: int = 0) -> Clusters:
    """Groups the channels (columns) of the training rows."""
    channels = rows.shape[1]
    if how.group is None or asked == 1 or channels == 1:
        return Clusters(np.zeros(channels, dtype=np.int64))
    group, moving, idle = _moving(rows, how, seed)
    label = np.zeros(channels, dtype=np.int64)
    if len(moving):
        label[~idle] = _best(group, moving, int(idle.any()), asked)
    label[idle] = label.max() + 1 if len(moving) else 0
    return Clusters(np.unique(label, return_inverse=True)[1].astype(np.int64))


def silhouettes(rows: Floats, how: Clustering, seed: int = 0) -> dict[int, float]:
    """By number of clusters, of those that "auto" considers: the silhouette of the correlation profiles, best 1."""
    if how.group is None or rows.shape[1] == 1:
        return {}
    group, moving, idle = _moving(rows, how, seed)
    apart = int(idle.any())
    return {count + apart: quality for count, _, (_, quality) in _tried(group, moving, apart)}


def _moving(rows: Floats, how: Clustering, seed: int) -> tuple[Grouping, Floats, Bools]:
    """What groups the channels that move, their profiles, and which do not: constant channels are a cluster of their
    own, unless the way takes them too."""
    profile = np.abs(correlation(rows))
    idle = np.asarray(~profile.any(axis=1) & how.constant_apart)
    active = np.flatnonzero(~idle)
    moving = profile[np.ix_(active, active)]
    most = len(np.unique(np.round(moving, 9), axis=0))  # duplicates have one profile between them
    group = how.group(rows[:, active], moving, seed) if how.group is not None and len(active) else None
    return (
        lambda count: np.zeros(len(active), dtype=np.int64) if group is None else group(min(count, most)),
        moving,
        idle,
    )


def correlation(rows: Floats) -> Floats:
    """Pearson's, of each channel with every other; 0 where a channel is constant. Its size is the channel's profile."""
    centred = rows - rows.mean(axis=0)
    norm = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    # Rounding leaves a constant channel a tiny spread; it is still constant.
    moves = norm > 1e-12 * np.sqrt(len(rows)) * np.maximum(np.abs(rows).max(axis=0), 1e-300)
    unit = np.where(moves, centred / np.where(moves, norm, 1.0), 0.0)
    found: Floats = np.clip(unit.T @ unit, -1.0, 1.0)
    return found


def widths(clusters: Clusters, width: int) -> tuple[int, ...]:
    """Embedding dimensions of each cluster: in proportion to its channels, the rest to the last, at least 1 each."""
    sizes = np.bincount(clusters.label)
    share = [max(1, int(size * width // len(clusters.label))) for size in sizes[:-1]]
    return (*share, max(1, width - sum(share)))


def _best(group: Grouping, profile: Floats, idle: int, asked: int | Literal["auto"]) -> Ints:
    """Labels for the number asked for, or for the one with the best silhouette of the correlation profiles."""
    if asked != "auto":
        return group(max(1, asked - idle))
    best, best_quality = np.zeros(len(profile), dtype=np.int64), (False, -np.inf)
    for _, label, quality in _tried(group, profile, idle):
        if quality > best_quality:
            best, best_quality = label, quality
    return best


def _tried(group: Grouping, profile: Floats, idle: int) -> Iterator[tuple[int, Ints, tuple[bool, float]]]:
    """Each number of clusters that "auto" considers, its labels, and how good they are."""
    from sklearn.metrics import silhouette_score

    for count in range(max(2 - idle, 1), min(MOST_CLUSTERS - idle, len(profile) - 1) + 1):
        label = group(count)
        if len(np.unique(label)) < 2:
            continue
        # A channel alone in its cluster is reconstructed from itself: such a number is taken only if all are so.
        shared = bool(np.bincount(label).min() > 1)
        yield count, label, (shared, float(silhouette_score(profile, label)))
