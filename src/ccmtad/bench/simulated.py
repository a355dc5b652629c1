"""The simulated plant as the demonstration and the benchmark use it."""

from ..simulate import Run, schedule, simulate

__all__ = ["ROWS", "TRAIN_ROWS", "simulated"]

TRAIN_ROWS = 40_000  # minutes of normal operation to learn from
ROWS = 24_000  # minutes to watch


def simulated(seed: int, train_rows: int = TRAIN_ROWS, rows: int = ROWS) -> tuple[Run, Run]:
    """A normal run and one with faults: other weather and other faults for each seed."""
    return (
        simulate(train_rows, seed=1_000 + 2 * seed),
        simulate(rows, seed=1_001 + 2 * seed, faults=schedule(rows, seed=seed)),
    )
