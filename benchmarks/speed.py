"""Speed, as ratios in one run: `make bench`. One thread, since seconds on a shared machine say little.

Every figure is the median of several alternating repetitions.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from ccmtad import Detector
from ccmtad.bench.metrics.volume import volumes
from ccmtad.bench.sweep import sweep
from ccmtad.calibrate.calibration import Calibration
from ccmtad.compiled import available
from ccmtad.model import Model
from ccmtad.network.clusters import Clusters, widths
from ccmtad.network.engine import Engine
from ccmtad.network.network import Network
from ccmtad.network.shapes import Architecture
from ccmtad.network.training import build
from ccmtad.prepare.scale import Scaler
from ccmtad.score import combine, events
from ccmtad.score.accumulate import accumulate
from ccmtad.score.combine import Combiner
from ccmtad.settings import Settings
from ccmtad.simulate import simulate
from ccmtad.stream import Stream

REPEAT = 5
ROWS = 4_096
STEPS = 300
KERNELS = {"numba": True, "numpy": False} if available() else {"numpy": False}


def medians(*runs: Callable[[], object]) -> list[float]:
    """Median seconds of each, taken in turn so that a noisy moment hits all alike."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(REPEAT):
        for taken, run in zip(seconds, runs, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return [float(np.median(taken)) for taken in seconds]


def network_of(channels: int, clusters: int, width: int, expansion: int) -> tuple[Network, Model]:
    """A network of this shape, untrained, and the model made of its weights."""
    settings = Settings(width=width, expansion=expansion, clusters=clusters)
    grouped = Clusters(np.arange(channels) % clusters)
    network = build(Architecture.of(settings, grouped), settings).eval()
    ones = np.ones(channels)
    calibration = Calibration.fit(np.random.default_rng(0).exponential(50.0, 10_000), 10_000, settings)
    names = tuple(f"c{i}" for i in range(channels))
    model = Model(
        settings, names, True, 1.0, 0 * ones, Scaler(-ones, 2 * ones), grouped, network.weights(),
        Combiner(ones, combine.find("largest")), calibration,
    )  # fmt: skip
    return network, model


def network_speed(channels: int, clusters: int, width: int, expansion: int) -> None:
    """Engine and stream against the written-out forward pass of the same network in torch."""
    network, model = network_of(channels, clusters, width, expansion)
    window = model.settings.window
    rows = np.random.default_rng(0).uniform(-1, 1, (ROWS, channels))
    single = rows.astype(np.float32)
    ends = np.arange(window - 1, ROWS)
    series = torch.as_tensor(single)
    reach = torch.arange(1 - window, 1)
    engines = {name: Engine(model.weights, model.architecture, on) for name, on in KERNELS.items()}

    def torch_batch() -> None:
        with torch.no_grad():
            for batch in torch.as_tensor(ends).split(512):
                network(series[batch[:, None] + reach])

    def torch_steps() -> None:
        with torch.no_grad():
            for end in range(window, window + STEPS):
                network(series[None, end - window : end])

    def batch_of(engine: Engine) -> Callable[[], object]:
        return lambda: [None for _ in engine.errors(single, ends)]

    def steps_of(engine: Engine) -> Callable[[], object]:
        stream = Stream(model, engine)
        for row in rows[:window]:
            stream.update(row)
        return lambda: [stream.update(row) for row in rows[:STEPS]]

    print(f"\n{channels} channels, {clusters} clusters, width {width}, expansion {expansion}")
    slow, *fast = medians(torch_batch, *(batch_of(engine) for engine in engines.values()))
    for name, seconds in zip(engines, fast, strict=True):
        print(
            f"  batch, {name:<6} {slow / seconds:5.1f} times torch's rows per second ({len(ends) / seconds:,.0f} here)"
        )
    slow, *fast = medians(torch_steps, *(steps_of(engine) for engine in engines.values()))
    for name, seconds in zip(engines, fast, strict=True):
        micro = 1e6 * seconds / STEPS
        print(f"  update, {name:<5} {slow / seconds:5.1f} times faster than torch's forward pass ({micro:.0f} µs)")
    floor, written = multiply_adds(model)
    print(f"  multiply-adds: {floor:,} needed for a step, {written:,} as written out ({written / floor:.0f} times)")


def multiply_adds(model: Model) -> tuple[int, int]:
    """What one step needs, and what the forward pass as written spends on it."""
    window, width = model.settings.window, sum(widths(model.clusters, model.settings.width))
    channels = len(model.channels)
    embed = sum(len(m) * w for m, w in zip(model.clusters.members, widths(model.clusters, width), strict=True))
    hidden = width * model.settings.expansion
    head = (2 * width + hidden) * channels  # the second half of the embedding mixer is folded into it
    needed = embed + width * (window * (window + 1) // 2 + window) + width * hidden + head
    return needed, window * (embed + 2 * window * width + 2 * width * hidden) + width * channels


def plant() -> None:
    """How much plant a second of simulation gives, in units of the same loop doing nothing but floating point."""

    def reference() -> None:
        x = 0.5
        for _ in range(1_000_000):
            x = 3.7 * x * (1.0 - x)

    slow, unit = medians(lambda: simulate(10_000), reference)
    print(f"simulation: 100,000 rows cost {10 * slow / unit:.0f} times a million scalar steps ({10 * slow:.1f} s here)")


def thresholds(rows: int = 90_000, loops: int = 1_000) -> None:
    """The exact sweep against the obvious loop over a thousand thresholds, each judged by finding its events."""
    random = np.random.default_rng(0)
    evidence = np.log(0.05 / random.uniform(0, 1, rows))
    evidence[random.random(rows) < 0.05] += 3.0
    score = accumulate(evidence, 5, "carried")
    truth = random.random(rows) < 0.1

    def obvious(count: int) -> None:
        for h in np.linspace(0, score.max(), count):
            label = np.zeros(rows, dtype=np.bool_)
            for span in events.find(score, evidence, score > h):
                label[span.onset : span.offset + 1] = True
            (label & truth).sum(), label.sum()

    slow, fast = medians(lambda: obvious(loops // 50), lambda: sweep(score, evidence, truth))
    times = 50 * slow / fast
    print(f"every threshold of {rows:,} rows: {times:.0f} times faster than a loop over {loops:,} of them")


def following() -> None:
    """A step that follows drift and averages, against one that does neither; everything else alike."""
    _, model = network_of(53, 8, 64, 1)
    rows = np.random.default_rng(0).uniform(-1, 1, (STEPS, 53))
    plain = model.settings.but(persistence=1, settle=0, drift=0.0, accept=0)
    losses = np.random.default_rng(0).exponential(50.0, 10_000)
    streams = [
        Stream(replace(model, settings=settings, calibration=Calibration.fit(losses, 10_000, settings)))
        for settings in (model.settings, plain.but(drift=1e-3), plain)
    ]
    full, drifting, bare = medians(*(lambda s=s: [s.update(row) for row in rows] for s in streams))
    print(
        f"following drift adds {drifting / bare - 1:.1%} to a step, the averaged track another "
        f"{(full - drifting) / bare:.1%} ({1e6 * bare / STEPS:.0f} µs without)"
    )


FIRST = """
import sys, time
import numpy as np
from ccmtad import Detector
stream = Detector.load(sys.argv[1]).stream()
start = time.perf_counter()
stream.update(np.zeros(len(stream.model.channels)))
print(time.perf_counter() - start)
"""


def first_step() -> None:
    """The first update of a new process, in seconds: compiled then, and compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        Detector(epochs=1, width=8).fit(simulate(2_000).frame).save(f"{folder}/model.ccm")
        for what in ("cold", "cached"):
            where = os.environ | {"NUMBA_CACHE_DIR": f"{folder}/cache"}
            run = subprocess.run(
                [sys.executable, "-c", FIRST, f"{folder}/model.ccm"],
                env=where,
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"first step of a new process, {what}: {float(run.stdout):.2f} s")


def volume(rows: int = 100_000, window: int = 3) -> None:
    """VUS against aeon's, both volumes, over a few windows (aeon takes a minute for each ten)."""
    try:
        from aeon.benchmarking.metrics import anomaly_detection as aeon
    except ImportError:
        print("volume under the surface: aeon is missing, pip install aeon")
        return
    random = np.random.default_rng(0)
    truth = np.zeros(rows, dtype=np.bool_)
    for start in random.integers(0, rows - 1_000, 50):
        truth[start : start + random.integers(20, 600)] = True
    score = random.normal(size=rows) + truth
    labels = truth.astype(np.int64)

    def theirs() -> None:
        aeon.range_pr_vus_score(labels, score, max_buffer_size=window)
        aeon.range_roc_vus_score(labels, score, max_buffer_size=window)

    start = time.perf_counter()
    theirs()
    slow = time.perf_counter() - start
    (fast,) = medians(lambda: volumes(score, truth, window))
    (whole,) = medians(lambda: volumes(score, truth))
    print(
        f"volume under the surface of {rows:,} rows, windows 0 to {window}: {slow / fast:.0f} times faster than aeon "
        f"(all 101 windows: {whole:.2f} s here)"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for shape in ((25, 4, 256, 1), (123, 9, 256, 3), (53, 8, 64, 1)):
        network_speed(*shape)
    print()
    following()
    if available():
        first_step()
    thresholds()
    volume()
    plant()
