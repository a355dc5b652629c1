"""A small fleet."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

QUICK: dict[str, Any] = {"epochs": 1, "width": 8, "blocks": 1, "budget": "1/500 rows"}


def rows(count: int, seed: int, channels: int = 3) -> NDArray[np.float64]:
    """A few waves that belong together, and noise."""
    random = np.random.default_rng(seed)
    wave = np.sin(np.arange(count) / 9 + seed)
    return wave[:, None] * random.uniform(0.5, 2, channels) + 0.1 * random.standard_normal((count, channels))


def table(values: NDArray[np.float64]) -> pl.DataFrame:
    return pl.DataFrame({f"c{i}": column for i, column in enumerate(values.T)})


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three machines to learn from, one file that is none, and one that cannot be fitted. Treat as read-only."""
    folder = tmp_path_factory.mktemp("fleet") / "history"
    folder.mkdir()
    for number in range(3):
        table(rows(400 + 50 * number, number)).write_csv(folder / f"machine-{number}.csv")
    (folder / "notes.md").write_text("no data")
    (folder / "broken.csv").write_text("a,b\n1,2\n3\n")
    return folder


@pytest.fixture(scope="session")
def recent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """New rows of the same machines; the second breaks. Treat as read-only."""
    folder = tmp_path_factory.mktemp("fleet") / "recent"
    folder.mkdir()
    for number in range(3):
        values = rows(300, number)
        if number == 1:
            values[200:260, 1] += 40
        table(values).write_parquet(folder / f"machine-{number}.parquet")
    return folder
