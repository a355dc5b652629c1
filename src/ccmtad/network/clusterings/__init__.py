"""Ways to group channels, by name. One file each.

A way is given the training rows of its channels (rows, channels), the sizes of their correlations (channels, channels)
and a seed; it answers with a function from a number of clusters to labels 0 .. k-1, k at most that.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...registry import gather

__all__ = ["Clustering", "Grouping", "cosine_similarity", "find", "kmeans_labels", "spectral"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Grouping = Callable[[int], Ints]

STARTS = 10  # of k-means


@dataclass(frozen=True)
class Clustering:
    """One way."""

    name: str
    group: Callable[[Floats, Floats, int], Grouping] | None  # None: all channels together
    constant_apart: bool = True  # whether channels that never move are a cluster of their own, and the way sees none


def find(name: str) -> Clustering:
    """The way of this name."""
    way: Clustering = gather("network.clusterings")[name]
    return way


def cosine_similarity(vectors: Floats) -> Floats:
    """Of every row with every other."""
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norm > 0, norm, 1.0)
    return unit @ unit.T


def spectral(affinity: Floats, seed: int) -> Grouping:
    """K-means on the smallest non-trivial eigenvectors of the normalised Laplacian, over the square root of the degree.

    Algorithm 1
    """
    weight = affinity - np.diag(np.diag(affinity))  # eq. cosine_similarity: the diagonal is 0
    degree = weight.sum(axis=1)
    unit = 1.0 / np.sqrt(np.where(degree > 1e-12, degree, 1.0))  # an isolated channel keeps degree 1
    laplacian = np.eye(len(weight)) - unit[:, None] * weight * unit
    vectors = np.linalg.eigh(laplacian)[1]
    return lambda count: kmeans_labels(vectors[:, 1 : count + 1] * unit[:, None], count, seed)


def kmeans_labels(points: Floats, count: int, seed: int) -> Ints:
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
