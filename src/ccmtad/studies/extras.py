"""What a study measures of a trained network besides its losses, by name: numbers small enough to keep."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..fit import TrainingSeries
from ..model import Series
from ..network import clusterings, clusters
from ..network.weights import Weights

__all__ = ["ALONE", "EXTRAS", "Trained", "separation", "spurious"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOMENT, CHANNEL = 15, 19  # where the gradient map looks from, counted from 1
BATCH = 512
TIMED = 30  # batches
NEIGHBOURS_AT_ONCE = 512


class Network(Protocol):
    """The trained network in torch, which only training has (`sight.Sight`)."""

    def load(self, weights: Weights) -> None: ...

    def forward(self, rows: NDArray[np.float32]) -> None: ...

    def gradient(self, weights: Weights, window: NDArray[np.float32], moment: int, channel: int) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network, the rows it learnt from, and those it is judged on."""

    series: TrainingSeries
    new: Series  # the test rows
    truth: Bools  # (windows,) of the test
    weights: Weights  # of the epoch by the authors' rule
    sight: Network

    @property
    def rows(self) -> Floats:
        """(windows, channels): the newest test row of each window."""
        return self.new.rows[self.new.ends].astype(np.float64)

    @cached_property
    def reconstructed(self) -> Floats:
        """(windows, channels): what the network makes of them."""
        engine = self.series.engine(self.weights)
        off = [difference for _, difference in engine.differences(self.new.rows, self.new.ends)]
        return np.asarray(self.rows - np.concatenate(off))


def separation(points: Floats, anomalous: Bools) -> Floats:
    """Mean distances to the nearest normal point: of anomalous points, and of normal ones (from another). NN-sep is
    their ratio."""
    normal = points[~anomalous]
    if len(normal) < 2 or not anomalous.any():
        return np.array([np.nan, np.nan])
    return np.array([_nearest(points[anomalous], normal, False), _nearest(normal, normal, True)])


def _nearest(of: Floats, among: Floats, same: bool) -> float:
    """The mean distance. Found by products, measured by differences: those alone are exact for near duplicates."""
    size, total = np.einsum("ij,ij->i", among, among), 0.0
    for first in range(0, len(of), NEIGHBOURS_AT_ONCE):
        part = of[first : first + NEIGHBOURS_AT_ONCE]
        distance = size - 2 * part @ among.T  # less the part's own size, which orders nothing
        if same:
            distance[np.arange(len(part)), first + np.arange(len(part))] = np.inf
        total += float(np.linalg.norm(part - among[np.argmin(distance, axis=1)], axis=1).sum())
    return total / len(of)


def spurious(rows: Floats, reconstructed: Floats) -> Floats:
    """(channels,): how far the correlations of the reconstruction are from those of the rows, on average."""
    return np.asarray(np.abs(clusters.correlation(rows) - clusters.correlation(reconstructed)).mean(axis=1))


def _separation(trained: Trained) -> Floats:
    return separation(trained.reconstructed, trained.truth)


def _spurious(trained: Trained) -> Floats:
    normal = ~trained.truth
    return spurious(trained.rows[normal], trained.reconstructed[normal])


def _silhouettes(trained: Trained) -> Floats:
    """(numbers of clusters, 2): the number, and its silhouette."""
    series, settings = trained.series, trained.series.settings
    rows = series.rows[series.good].astype(np.float64)
    found = clusters.silhouettes(rows, clusterings.find(settings.clustering), settings.seed)
    return np.array(list(found.items()), dtype=np.float64).reshape(-1, 2)


def _gradient(trained: Trained) -> Floats:
    """(time, channels): how much each value of the first test window moves the loss at one moment and channel."""
    window, channels = trained.series.settings.window, trained.new.rows.shape[1]
    last = int(trained.new.ends[0])
    rows = trained.new.rows[last - window + 1 : last + 1]
    return trained.sight.gradient(trained.weights, rows, min(MOMENT, window) - 1, min(CHANNEL, channels) - 1)


def _seconds(trained: Trained) -> Floats:
    """Of a batch of windows: by torch, where it was trained, and by the engine that detects. The middle of several."""
    series, window = trained.series, trained.series.settings.window
    rows = np.resize(series.rows, (BATCH + window - 1, series.rows.shape[1]))
    engine = series.engine(trained.weights)
    trained.sight.load(trained.weights)
    return np.array([_middle(lambda: trained.sight.forward(rows)), _middle(lambda: engine.reconstruct(rows))])


def _middle(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(TIMED):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken))


EXTRAS: Mapping[str, Callable[[Trained], Floats]] = {
    "separation": _separation,
    "spurious": _spurious,
    "silhouettes": _silhouettes,
    "gradient": _gradient,
    "seconds": _seconds,
}
ALONE = ("seconds",)  # measured when nothing else runs
