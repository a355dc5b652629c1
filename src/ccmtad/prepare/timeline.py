"""Which rows count, and where the series breaks, from their times alone."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept", "median_period", "starts"]

Times = NDArray[np.datetime64]
Bools = NDArray[np.bool_]


def kept(times: Times | None, rows: int) -> Bools:
    """Rows later than every row before them; late and duplicate ones are ignored."""
    keep = np.ones(rows, dtype=np.bool_)
    if times is not None:
        latest = np.maximum.accumulate(times)
        keep[1:] = times[1:] > latest[:-1]
    return keep


def median_period(times: Times | None) -> float | None:
    """Median seconds between rows that are in order; None where times are unknown or there is one row."""
    if times is None or len(times) < 2:
        return None
    return float(np.median(np.diff(times).astype(np.int64))) * 1e-9


def starts(times: Times | None, rows: int, longest: float | None) -> Bools:
    """Rows at which a new stretch begins: the first, and each after a pause of more than `longest` seconds."""
    start = np.zeros(rows, dtype=np.bool_)
    start[:1] = True
    if times is not None and longest is not None:
        start[1:] = np.diff(times).astype(np.int64) > round(longest * 1e9)
    return start
