"""Four channels that move together, quick to learn, and settings that are quick to fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

QUICK: dict[str, Any] = {"window": 4, "width": 4, "epochs": 1, "blocks": 1, "budget": "1/100 rows"}
# For the tens of rows that other libraries' own checks have: some of them must be outliers.
TINY: dict[str, Any] = {**QUICK, "window": 2, "width": 2, "alpha": 0.3, "validation": 0.5, "threshold": 1.0}


def series(rows: int, seed: int = 0) -> NDArray[np.float64]:
    """Normal rows."""
    random = np.random.default_rng(seed)
    moving = np.sin(np.arange(rows) / 7)[:, None] * [1.0, -0.5, 2.0, 0.3]
    return moving + 0.1 * random.normal(size=(rows, 4))


def faulty() -> NDArray[np.float64]:
    """The same, with a fault in rows 200 to 219 and a few values missing."""
    values = series(300, seed=1)
    values[200:220, 2] += 25.0
    values[50:53, 0] = np.nan
    return values
