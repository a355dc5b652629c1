"""Accuracy on the simulated plant over several seeds, default settings, floors beside it.

python benchmarks/plant.py [seeds]
"""

import sys

import numpy as np

from ccmtad.bench import plant
from ccmtad.bench.judge import Judgement


def figures(judgement: Judgement) -> list[float]:
    """Share found, false events, share of normal rows in alarm, median delay, share rightly blamed."""
    found = len(judgement.found) / len(judgement.matches)
    return [found, len(judgement.false_events), judgement.normal_alarm, judgement.median_delay, judgement.blamed]


def main(seeds: int) -> None:
    table: dict[str, list[list[float]]] = {}
    print(f"{'':6} {'method':<14} {'found':>7} {'false':>7} {'normal':>8} {'delay':>7} {'blamed':>7}")
    for seed in range(seeds):
        for name, judgement in plant.prepare(seed).run()[1].items():
            table.setdefault(name, []).append(figures(judgement))
            show(f"{seed}", name, table[name][-1])
    for name, rows in table.items():
        show("mean", name, np.nanmean(rows, axis=0) if name != "random score" else np.mean(rows, axis=0))
        show("spread", name, np.nanstd(rows, axis=0) if name != "random score" else np.std(rows, axis=0))


def show(seed: str, name: str, row: "list[float] | np.ndarray[tuple[int], np.dtype[np.float64]]") -> None:
    found, false, normal, delay, blamed = row
    print(f"{seed:6} {name:<14} {found:7.3f} {false:7.1f} {normal:8.2%} {delay:7.1f} {blamed:7.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
