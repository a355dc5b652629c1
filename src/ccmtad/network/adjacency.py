"""How clearly the channels fall apart into their clusters, from the correlations that a model keeps."""

import numpy as np
from numpy.typing import NDArray

from .clusterings import cosine_similarity

__all__ = ["adjacency", "between", "silhouettes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def adjacency(correlation: NDArray[np.floating]) -> Floats:
    """(channels, channels): how alike correlation profiles are, 0 to 1; 0 on the diagonal and where a channel never
    moves.  eq. cosine_similarity"""
    found = cosine_similarity(_profiles(correlation))
    return np.clip(found - np.diag(np.diag(found)), 0.0, 1.0)


def silhouettes(correlation: NDArray[np.floating], label: Ints) -> Floats:
    """(channels,): how much nearer a channel's correlation profile is to those of its cluster than to those of the
    nearest other one, -1 to 1; 0 where it is alone in its cluster.

    NaN for channels that never move, and for all where the others are one cluster.
    """
    found = np.full(len(label), np.nan)
    moving = np.flatnonzero(np.diag(correlation))
    known, own = np.unique(label[moving], return_inverse=True)
    if len(known) < 2:
        return found
    profile = _profiles(correlation)[np.ix_(moving, moving)]
    size = np.einsum("ij,ij->i", profile, profile)
    distance = np.sqrt(np.maximum(size[:, None] + size - 2 * profile @ profile.T, 0.0))
    np.fill_diagonal(distance, 0.0)
    member = np.eye(len(known))[own]  # (moving, clusters)
    each, rows = member.sum(axis=0), np.arange(len(moving))
    total = distance @ member
    inside = total[rows, own] / np.maximum(each[own] - 1, 1)
    others = total / each
    others[rows, own] = np.inf
    nearest = others.min(axis=1)
    wider = np.maximum(np.maximum(inside, nearest), 1e-300)
    found[moving] = np.where(each[own] > 1, (nearest - inside) / wider, 0.0)
    return found


def between(matrix: NDArray[np.floating], correlation: NDArray[np.floating], label: Ints) -> Floats:
    """(clusters, clusters): means of a matrix over pairs of channels that move, a channel and itself left out; NaN
    where there is no such pair."""
    member = np.eye(int(label.max()) + 1)[label] * (np.diag(correlation) != 0)[:, None]  # (channels, clusters)
    pairs = member.T @ (1.0 - np.eye(len(label))) @ member
    total = member.T @ (matrix - np.diag(np.diag(matrix))) @ member
    return np.where(pairs > 0, total / np.maximum(pairs, 1.0), np.nan)


def _profiles(correlation: NDArray[np.floating]) -> Floats:
    return np.abs(np.asarray(correlation, dtype=np.float64))
