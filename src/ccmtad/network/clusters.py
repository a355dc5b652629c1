"""Channels grouped by their correlation profiles.  Algorithm 1"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clusters", "correlation", "find", "widths"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
How = Literal["profile", "cosine", "correlation", "kmeans", "off"]

STARTS = 10  # of k-means
MOST = 10  # clusters that "auto" considers


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which channels are embedded together."""

    label: Ints  # (channels,), 0 .. found - 1; no cluster is empty
    asked: int | Literal["auto"]

    @property
    def found(self) -> int:
        """How many there are: fewer than asked for where the data has no more distinct profiles."""
        return int(self.label.max()) + 1

    @property
    def members(self) -> tuple[Ints, ...]:
        """The channels of each cluster."""
        return tuple(np.flatnonzero(self.label == i) for i in range(self.found))


def find(rows: Floats, asked: int | Literal["auto"], how: How = "profile", seed: int = 0) -> Clusters:
    """Groups the channels (columns) of the training rows."""
    channels = rows.shape[1]
    if how == "off" or asked == 1 or channels == 1:
        return Clusters(np.zeros(channels, dtype=np.int64), asked)
    profile = np.abs(correlation(rows))
    idle = ~profile.any(axis=1)  # constant channels: a cluster of their own
    active = np.flatnonzero(~idle)
    label = np.zeros(channels, dtype=np.int64)
    if len(active):
        group = _grouping(rows[:, active], profile[np.ix_(active, active)], how, seed)
        label[active] = _best(group, profile[np.ix_(active, active)], int(idle.any()), asked)
    label[idle] = label.max() + 1 if len(active) else 0
    return Clusters(np.unique(label, return_inverse=True)[1].astype(np.int64), asked)


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


def _grouping(rows: Floats, profile: Floats, how: How, seed: int) -> Callable[[int], Ints]:
    """A function from a number of clusters to labels (as many as the data supports)."""
    most = len(np.unique(np.round(profile, 9), axis=0))  # duplicates have one profile between them
    if how == "kmeans":
        return lambda count: _kmeans(profile, min(count, most), seed)
    if how == "correlation":
        affinity = profile
    elif how == "cosine":
        affinity = np.maximum(_cosine(rows.T), 0.0)
    else:
        affinity = _cosine(profile)
    embedding = _spectral(affinity)
    return lambda count: _kmeans(embedding(min(count, most)), min(count, most), seed)


def _best(group: Callable[[int], Ints], profile: Floats, idle: int, asked: int | Literal["auto"]) -> Ints:
    """Labels for the number asked for, or for the one with the best silhouette of the correlation profiles."""
    if asked != "auto":
        return group(max(1, asked - idle))
    from sklearn.metrics import silhouette_score

    best, best_quality = np.zeros(len(profile), dtype=np.int64), (False, -np.inf)
    for count in range(max(2 - idle, 1), min(MOST - idle, len(profile) - 1) + 1):
        label = group(count)
        if len(np.unique(label)) < 2:
            continue
        # A channel alone in its cluster is reconstructed from itself: such a number is taken only if all are so.
        shared = bool(np.bincount(label).min() > 1)
        quality = (shared, float(silhouette_score(profile, label)))
        if quality > best_quality:
            best, best_quality = label, quality
    return best


def _cosine(vectors: Floats) -> Floats:
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norm > 0, norm, 1.0)
    return unit @ unit.T


def _spectral(affinity: Floats) -> Callable[[int], Floats]:
    """Rows of the smallest non-trivial eigenvectors of the normalised Laplacian, over the square root of the degree."""
    weight = affinity - np.diag(np.diag(affinity))  # eq. cosine_similarity: the diagonal is 0
    degree = weight.sum(axis=1)
    scale = 1.0 / np.sqrt(np.where(degree > 1e-12, degree, 1.0))  # an isolated channel keeps degree 1
    laplacian = np.eye(len(weight)) - scale[:, None] * weight * scale
    vectors = np.linalg.eigh(laplacian)[1]
    return lambda count: vectors[:, 1 : count + 1] * scale[:, None]


def _kmeans(points: Floats, count: int, seed: int) -> Ints:
    """K-means labels 0 .. k-1 with no empty cluster; k is `count`, or the number of distinct points if smaller."""
    from sklearn.cluster import KMeans

    # To rounding: duplicate channels must be one point whatever the order of summation.
    points = np.round(points / max(float(np.abs(points).max(initial=0.0)), 1e-300), 9) + 0.0
    distinct = len(np.unique(points, axis=0)) if points.shape[1] else 1
    count = min(count, distinct)
    if count == 1:
        return np.zeros(len(points), dtype=np.int64)
    label = KMeans(count, n_init=STARTS, random_state=seed).fit(points).labels_
    return np.unique(label, return_inverse=True)[1].astype(np.int64)
