"""Channel clusters hold for any input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples

from ccmtad.network import adjacency as quality
from ccmtad.network import clusterings
from ccmtad.network.clusters import Clusters, correlation, silhouettes, widths
from ccmtad.network.clusters import find as find_clusters

HOWS = ("profile", "cosine", "correlation", "kmeans")


def find(rows: NDArray[np.float64], asked: Any, how: str = "profile", seed: int = 0) -> Clusters:
    return find_clusters(rows, asked, clusterings.find(how), seed)


def groups(per_group: int = 4, rows: int = 500) -> NDArray[np.float64]:
    """Three groups of channels, each driven by its own signal, and two constant channels."""
    random = np.random.default_rng(5)
    signals = random.normal(size=(rows, 3)).cumsum(axis=0)
    driven = np.repeat(signals, per_group, axis=1) * random.uniform(0.5, 2.0, 3 * per_group)
    noisy = driven + 0.1 * random.normal(size=driven.shape)
    return np.column_stack([noisy, np.full(rows, 3.0), np.zeros(rows)])


def truth(per_group: int = 4) -> NDArray[np.int64]:
    return np.array([*np.repeat([0, 1, 2], per_group), 3, 3])


def same_partition(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


@pytest.mark.parametrize("how", ["profile", "correlation", "kmeans"])
def test_channels_driven_by_one_signal_are_one_cluster(how: str) -> None:
    assert same_partition(find(groups(), 4, how).label, truth())


def test_auto_finds_how_many_there_are() -> None:
    assert find(groups(), "auto").found == 4


def test_the_silhouette_of_each_number_says_why() -> None:
    found = silhouettes(groups(), clusterings.find("profile"))
    assert min(found) == 3  # two of those that move, and the constant ones: one cluster has no silhouette
    assert max(found, key=lambda number: found[number]) == 4
    assert silhouettes(groups(), clusterings.find("off")) == {}


def test_the_silhouette_of_a_channel_is_scikit_learns() -> None:
    rows = groups()
    found, matrix = find(rows, "auto"), correlation(rows)
    moving = np.arange(12)
    expected = silhouette_samples(np.abs(matrix[np.ix_(moving, moving)]), found.label[moving])
    each = quality.silhouettes(matrix, found.label)
    np.testing.assert_allclose(each[moving], expected, atol=1e-7)
    assert np.isnan(each[12:]).all()  # constant channels have no profile
    assert np.nanmean(each) == pytest.approx(silhouettes(rows, clusterings.find("profile"))[4])
    alone = quality.silhouettes(matrix, np.array([*range(12), 12, 12]))
    assert alone[:12].tolist() == [0.0] * 12
    assert np.isnan(quality.silhouettes(matrix, np.zeros(14, dtype=np.int64))).all()


def test_adjacency_is_how_alike_profiles_are() -> None:
    rows = groups()
    matrix = correlation(rows)
    found, profile = quality.adjacency(matrix), np.abs(matrix)
    by_hand = profile[0] @ profile[5] / np.linalg.norm(profile[0]) / np.linalg.norm(profile[5])
    assert found[0, 5] == found[5, 0] == pytest.approx(by_hand)
    assert not np.diag(found).any()
    assert not found[12:].any()
    means = quality.between(found, matrix, truth())
    inside = [found[i, j] for i in range(4) for j in range(4) if i != j]
    assert means[0, 0] == pytest.approx(np.mean(inside))
    assert means[0, 1] == pytest.approx(found[:4, 4:8].mean())
    assert (np.diag(means)[:3] > 0.99).all()
    assert np.isnan(means[3]).all()  # no pair of channels that move


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("asked", [1, 2, 3, 7, 50, "auto"])
@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((30, 4)),
        np.full((30, 1), 2.0),
        np.arange(30.0)[:, None],
        np.column_stack([np.arange(30.0), np.sin(np.arange(30.0))]),
        np.column_stack([np.arange(30.0)] * 5),
        np.column_stack([np.arange(30.0), np.full(30, 1.0)]),
        np.column_stack([np.arange(30.0), np.arange(30.0), np.cos(np.arange(30.0)), np.zeros(30)]),
        np.full((30, 3), 0.1) * 3,
    ],
    ids=[
        "constant",
        "one constant",
        "one",
        "two",
        "duplicates",
        "one and a constant",
        "mixed",
        "constant to rounding",
    ],
)
def test_any_input_has_clusters(rows: NDArray[np.float64], asked: int, how: str) -> None:
    clusters = find(rows, asked, how)
    assert sorted(set(clusters.label.tolist())) == list(range(clusters.found))
    assert 1 <= clusters.found <= (asked if asked != "auto" else 10)  # type: ignore[comparison-overlap]
    assert sum(map(len, clusters.members)) == rows.shape[1]


def test_no_more_clusters_than_distinct_profiles() -> None:
    rows = np.column_stack([np.arange(30.0)] * 3 + [np.cos(np.arange(30.0))] * 2 + [np.zeros(30)])
    assert find(rows, 6).found == 3


def test_constant_channels_are_a_cluster_of_their_own() -> None:
    clusters = find(groups(), 4)
    assert [12, 13] in [members.tolist() for members in clusters.members]


def test_off_is_one_cluster() -> None:
    assert find(groups(), 5, "off").found == 1


def test_the_same_seed_gives_the_same_clusters() -> None:
    assert find(groups(), 4, seed=3).label.tolist() == find(groups(), 4, seed=3).label.tolist()


def test_profiles_are_absolute_correlations() -> None:
    rows = groups()[:, :12]
    np.testing.assert_allclose(correlation(rows), np.corrcoef(rows.T), atol=1e-12)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 300))
def test_widths_are_in_proportion_and_at_least_one(labels: list[int], width: int) -> None:
    label = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    share = widths(Clusters(label), width)
    sizes = np.bincount(label)
    assert len(share) == len(sizes)
    assert min(share) >= 1
    if width >= 7 * len(labels):
        assert sum(share) == width
        assert list(share[:-1]) == [int(n * width // len(labels)) for n in sizes[:-1]]
