"""The compiled twins of the engine's inner loops. Importing this needs numba: pip install 'ccmtad[fast]'."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .gelu import EDGE, P, Q

__all__ = ["gelu", "mix_last", "vector_times_matrix"]

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Numbers = NDArray[Any]  # single or double precision

P0, P1, P2, P3, P4, P5 = P
Q0, Q1, Q2, Q3, Q4, Q5 = Q
HALF = np.float32(0.5)


def _compiled(function: Any) -> Any:
    """Compiled at its first call, and kept on disk where there is a folder to keep it in."""
    options: Any = {"fastmath": True, "error_model": "numpy"}  # a check for division by 0 would stop vectorising
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no such folder: a read-only container, say
        return njit(**options)(function)


@njit(inline="always", fastmath=True, error_model="numpy")
def _gelu(x: np.float32) -> np.float32:
    z = min(max(x, -EDGE), EDGE)
    u = z * z
    top = ((((P5 * u + P4) * u + P3) * u + P2) * u + P1) * u + P0
    bottom = ((((Q5 * u + Q4) * u + Q3) * u + Q2) * u + Q1) * u + Q0
    half = HALF * x
    return half + half * (z * top / bottom)


@_compiled
def gelu(x: Numbers) -> Numbers:
    """GELU of every element, in place."""
    flat = x.reshape(-1)
    for i in range(flat.size):
        flat[i] = _gelu(flat[i])
    return x


@_compiled
def mix_last(hidden: Floats, bias: Floats, weight: Floats, last_bias: np.float32) -> Floats:
    """last_bias + sum over j of weight[j] * gelu(hidden[:, j] + bias[j]): (windows, time, width) to (windows, width)"""
    windows, positions, width = hidden.shape
    out = np.full((windows, width), last_bias, dtype=np.float32)
    for n in range(windows):
        for j in range(positions):
            b, w = bias[j], weight[j]
            for c in range(width):
                out[n, c] += w * _gelu(hidden[n, j, c] + b)
    return out


@_compiled
def vector_times_matrix(x: Numbers, matrix: Floats, bias: Doubles) -> Doubles:
    """x @ matrix + bias in double precision; half the memory of a double matrix is what makes it fast."""
    rows, columns = matrix.shape
    out = bias.copy()
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        a, b, c, d = np.float64(x[i]), np.float64(x[i + 1]), np.float64(x[i + 2]), np.float64(x[i + 3])
        for j in range(columns):
            out[j] += a * matrix[i, j] + b * matrix[i + 1, j] + c * matrix[i + 2, j] + d * matrix[i + 3, j]
    for i in range(whole, rows):
        a = np.float64(x[i])
        for j in range(columns):
            out[j] += a * matrix[i, j]
    return out
