"""Speed, as ratios in one run: `make bench`. One thread, since seconds on a shared machine say little.

Every figure is the median of several alternating repetitions.
"""

import time
from collections.abc import Callable

import numpy as np
import torch

from ccmtad.config import Settings
from ccmtad.method.cluster import Clusters
from ccmtad.runtime.engine import Engine
from ccmtad.simulate import simulate
from ccmtad.train.loop import build

REPEAT = 5
ROWS = 4_096


def medians(*runs: Callable[[], object]) -> list[float]:
    """Median seconds of each, taken in turn so that a noisy moment hits all alike."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(REPEAT):
        for taken, run in zip(seconds, runs, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return [float(np.median(taken)) for taken in seconds]


def batch_scoring(channels: int, clusters: int, width: int, expansion: int) -> None:
    """The numpy engine against the written-out forward pass of the same network in torch."""
    settings = Settings(width=width, expansion=expansion, clusters=clusters)
    grouped = Clusters(np.arange(channels) % clusters, clusters)
    network = build(grouped, settings).eval()
    engine = Engine(network.weights(), grouped, settings)
    rows = np.random.default_rng(0).uniform(-1, 1, (ROWS, channels)).astype(np.float32)
    ends = np.arange(settings.window - 1, ROWS)
    series = torch.as_tensor(rows)
    reach = torch.arange(1 - settings.window, 1)

    def written_out() -> None:
        with torch.no_grad():
            for batch in torch.as_tensor(ends).split(512):
                network(series[batch[:, None] + reach])

    def folded() -> None:
        for _ in engine.errors(rows, ends):
            pass

    slow, fast = medians(written_out, folded)
    name = f"{channels} channels, {clusters} clusters, width {width}, expansion {expansion}"
    print(
        f"batch scoring, {name}: {slow / fast:.1f} times the rows per second ({len(ends) / fast:,.0f} against torch's)"
    )


def plant() -> None:
    """How much plant a second of simulation gives, in units of the same loop doing nothing but floating point."""

    def reference() -> None:
        x = 0.5
        for _ in range(1_000_000):
            x = 3.7 * x * (1.0 - x)

    slow, unit = medians(lambda: simulate(10_000), reference)
    print(f"simulation: 100,000 rows cost {10 * slow / unit:.0f} times a million scalar steps ({10 * slow:.1f} s here)")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for shape in ((25, 4, 256, 1), (123, 9, 256, 3), (53, 8, 64, 1)):
        batch_scoring(*shape)
    plant()
