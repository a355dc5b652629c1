"""A million updates of one stream: resident memory stays flat, and a step late in life costs what an early one did.

    python benchmarks/soak.py [updates]

Blocks of updates alternate with a fixed reference load, and each block's time is taken relative to the load beside
it, so that a noisy machine does not look like an ageing stream.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ccmtad import Detector
from ccmtad.simulate import schedule, simulate

BLOCK = 2_000


def resident() -> float:
    """Megabytes of memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main(updates: int) -> None:
    detector = Detector(epochs=2).fit(simulate(10_000, seed=1).frame)
    rows = simulate(50_000, seed=2, faults=schedule(50_000, seed=2)).values
    stream = detector.stream()
    load = np.random.default_rng(0).normal(size=(64, 64))

    def reference() -> None:
        for _ in range(2_000):
            load @ load

    ratios, memory, fed = [], [], 0

    def block() -> None:
        nonlocal fed
        for _ in range(BLOCK):
            stream.update(rows[fed % len(rows)], fed)  # one row a second
            fed += 1

    while fed < updates:
        beside = seconds(reference)
        ratios.append(seconds(block) / beside)
        memory.append(resident())
        if len(ratios) % max(1, updates // BLOCK // 10) == 0:
            print(f"{fed:>9,} updates: {memory[-1]:.1f} MB resident, a block costs {ratios[-1]:.2f} reference loads")
    tenth = max(1, len(ratios) // 10)
    first, last = np.median(ratios[:tenth]), np.median(ratios[-tenth:])
    print(f"median block of the last tenth / of the first: {last / first:.3f}")
    print(f"resident memory after the first tenth {memory[tenth - 1]:.1f} MB, at the end {memory[-1]:.1f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
