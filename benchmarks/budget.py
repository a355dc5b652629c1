"""Does the false-alarm budget hold on normal data? `python benchmarks/budget.py` (about ten minutes).

Requested against observed mean rows between false alarms, on a plant without faults and on an autocorrelated toy, with
20,000 to 100 validation rows. Prints a Markdown table; a budget that the rows do not support stands in brackets.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from ccmtad import Settings, batch
from ccmtad.calibrate.calibration import Calibration
from ccmtad.fit import TrainingSeries
from ccmtad.score import events
from ccmtad.simulate import simulate

BUDGETS = (1_000, 10_000, 100_000)
VALIDATION = (20_000, 5_000, 1_000, 300, 100)

Floats = NDArray[np.float64]


def toy(rows: int, seed: int) -> Floats:
    """Losses whose logarithms are an AR(1) process."""
    return np.asarray(np.exp(lfilter([0.5], [1.0, -0.87], np.random.default_rng(seed).normal(size=rows))))


def toys(validation: int, runs: int = 20, rows: int = 300_000) -> Iterator[tuple[Floats, Floats]]:
    for seed in range(runs):
        yield toy(validation, 2 * seed), toy(rows, 2 * seed + 1)


def plants(validation: int, runs: int = 3) -> Iterator[tuple[Floats, Floats]]:
    """Validation losses of a network, and its losses on as many normal rows as tell."""
    rows = 400_000 if validation >= 20_000 else 100_000
    for seed in range(runs):
        settings = Settings.of(seed=seed, epochs=5, blocks=1)
        series = TrainingSeries.of(simulate(5 * validation, seed=9_000 + seed).frame, settings)
        model = series.model(series.train())
        normal = model.calibration.losses
        assert normal is not None  # it was calibrated a moment ago
        new = series.series(simulate(rows, seed=9_100 + seed).frame)
        yield normal, batch.losses(model.engine, model.combiner, new.rows, new.ends)


def alarms(calibration: Calibration, losses: Floats) -> int:
    scores = calibration.score(losses)
    return len(events.find(scores.score, scores.evidence, scores.alarm))


def main() -> None:
    print("| data | validation rows | " + " | ".join(f"1/{budget:,}" for budget in BUDGETS) + " | vouched for |")
    print("|---|---:" + "|---:" * (len(BUDGETS) + 1) + "|")
    for name, make in (("toy", toys), ("plant", plants)):
        for validation in VALIDATION:
            seen, rows, longest = np.zeros(len(BUDGETS)), 0, []
            for normal, fresh in make(validation):
                rows += len(fresh)
                for i, budget in enumerate(BUDGETS):
                    calibration = Calibration.fit(normal, budget, Settings.of(extremes=False, signals=False))
                    seen[i] += alarms(calibration, fresh)
                    longest.append(0.0 if calibration.support is None else calibration.support.longest)
            vouched = float(np.median(longest))
            each = [f"{rows / max(count, 1):,.0f}" for count in seen]
            cells = [cell if budget <= vouched else f"({cell})" for cell, budget in zip(each, BUDGETS, strict=True)]
            print(f"| {name} | {validation:,} | {' | '.join(cells)} | 1/{vouched:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
