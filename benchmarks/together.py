"""What a GPU is worth in training: `python benchmarks/together.py DATA`, on a machine that has one.

Twelve machines of SMD, and a hundred (the twelve again and again), learnt together and one by one, by the loop that a
CPU goes through (once; together is the better of two); then one large model alone. Default settings, but without blocks
and the linear part, which is no training. Beside it, how far that is from what the arithmetic and the memory of this
GPU would allow, both measured here.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle, islice

import numpy as np
import torch

from ccmtad import Settings
from ccmtad.bench.datasets import load
from ccmtad.fit import TrainingSeries
from ccmtad.network import stacked, training
from ccmtad.network.clusters import Clusters
from ccmtad.network.shapes import Architecture
from ccmtad.network.weights import Lesson, Trained

CUDA = Settings.of(device="cuda", blocks=1, linear=False)


def seconds(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begun


def machines(data: str) -> list[Lesson]:
    """What the network of each machine of SMD is to learn."""
    made = []
    for entity in load("SMD", data):
        series = TrainingSeries.of(entity.train, CUDA)
        (block,) = series.blocks
        made.append(Lesson(series.rows, block.training, block.validation, series.architecture, CUDA))
    return made


def large(width: int, windows: int = 79_000, channels: int = 51) -> Lesson:
    """A model of a whole plant."""
    settings = CUDA.but(width=width, epochs=3, epoch_windows=windows)
    rows = np.random.default_rng(0).uniform(-1, 1, (windows + 2_000, channels)).astype(np.float32)
    ends = np.arange(settings.window, len(rows))
    shape = Architecture.of(settings, Clusters(np.arange(channels) % 4))
    return Lesson(rows, ends[:windows], ends[windows:], shape, settings)


def one_by_one(lessons: Sequence[Lesson]) -> list[Trained]:
    return [training.train(lesson) for lesson in lessons]


def floor(lessons: Sequence[Lesson], rate: float, bandwidth: float) -> tuple[float, float]:
    """Seconds that the products of all epochs take at the rate of large ones, and that one reading and one writing of
    each (networks, width, time, batch) take which a step cannot do without: between any two sums over a batch, forth
    (two norms' worth in each mixer, one before, one after) and, at twice that, back."""
    operations = moved = 0.0
    for lesson in lessons:
        shape, settings = lesson.shape, lesson.settings
        windows = min(len(lesson.training), settings.epoch_windows) * settings.epochs
        along, width = settings.window, shape.width
        each = along * (shape.channels * width + shape.mixers * 2 * width * width * shape.expansion)
        each += shape.mixers * 2 * along * along * width + width * shape.channels
        operations += windows * each * 2 * 3
        moved += windows * along * width * 4 * 2 * (2 * shape.mixers + 2) * 3
    return operations / rate, moved / bandwidth


def ceilings() -> tuple[float, float]:
    """Operations and bytes a second, in single precision."""
    a, b = (torch.randn(8_192, 8_192, device="cuda") for _ in range(2))
    took = min(seconds(lambda: torch.mm(a, b)) for _ in range(5))
    here, there = (torch.randn(2**29, device="cuda") for _ in range(2))
    copied = min(seconds(lambda: there.copy_(here)) for _ in range(5))
    return 2 * 8_192**3 / took, 2 * 4 * 2**29 / copied


def equal() -> float:
    """The largest difference of a weight between networks learnt together on the GPU and one by one on the CPU, in
    double precision, without dropout, in twenty steps."""
    torch.set_default_dtype(torch.float64)
    lessons = []
    for i, rows in enumerate((200, 105, 190)):
        random = np.random.default_rng(i)
        values = np.cumsum(random.standard_normal((rows, 4)), axis=0) / 10
        settings = Settings.of(
            device="cpu", width=8, window=6, batch_size=32, epochs=4, embedding_dropout=0.0, learning_rate=1e-4
        )
        shape = Architecture.of(settings, Clusters(np.array([[0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 0, 0]][i])))
        ends = np.arange(5, rows)
        lessons.append(Lesson(values, ends[:-40], ends[-40:], shape, settings))  # type: ignore[arg-type]
    alone = one_by_one(lessons)
    there = [replace(lesson, settings=lesson.settings.but(device="cuda")) for lesson in lessons]
    together = stacked.train(there)
    torch.set_default_dtype(torch.float32)
    assert all(isinstance(one, Trained) for one in together)
    return max(
        float(abs(weight - two.weights[name]).max())
        for one, two in zip(alone, together, strict=True)
        if isinstance(two, Trained)
        for name, weight in one.weights.items()
    )


def main() -> None:
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    print(f"together on the GPU and alone on the CPU differ by {equal():.1e}")
    rate, bandwidth = ceilings()
    print(f"products {rate / 1e12:.1f} TFLOP/s, copies {bandwidth / 1e12:.2f} TB/s")
    twelve = machines(sys.argv[1])
    hundred = list(islice(cycle(twelve), 100))
    # What a process does once, for whatever it learns: libraries are loaded, nothing is compiled.
    short = replace(twelve[0], settings=CUDA.but(epochs=1))
    once = seconds(lambda: stacked.train([short]))
    seconds(lambda: one_by_one([short]))
    print(f"first use in a process: {once:.2f} s\n")
    losses = [
        [one.history[one.best - 1].validation for one in made if isinstance(one, Trained)]
        for made in (one_by_one(twelve[:4]), stacked.train(twelve[:4]))
    ]
    print("validation losses, one by one and together:", np.round(losses, 5).tolist(), "\n")
    print("| one model | the loop, s an epoch | now | times | products | memory |\n|---|---|---|---|---|---|")
    for width in (64, 128, 256):
        lesson = large(width)
        old, new = (
            seconds(lambda: work([lesson])) / 3  # noqa: B023
            for work in (one_by_one, stacked.train)
        )
        low = floor([lesson], rate, bandwidth)
        print(
            f"| {width} | {old:.3f} | {new:.3f} | {old / new:.1f} | {low[0] / 3:.3f} | {low[1] / 3:.3f} |", flush=True
        )
    print("\n| | together, s | one by one, s | times | first use counted | products, s | memory, s |")
    print("|---|---|---|---|---|---|---|")
    for lessons in (twelve[:1], twelve, hundred):
        took = min(seconds(lambda: stacked.train(lessons)) for _ in range(2))  # noqa: B023
        print(f"| {len(lessons)} | {took:.2f} ", end="", flush=True)
        alone, low = seconds(lambda: one_by_one(lessons)), floor(lessons, rate, bandwidth)  # noqa: B023
        print(f"| {alone:.1f} | {alone / took:.1f} | {alone / (took + once):.1f} | {low[0]:.2f} | {low[1]:.2f} |")


if __name__ == "__main__":
    main()
