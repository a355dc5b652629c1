"""The compiled twins of the engine's inner loops. Importing this needs numba: pip install 'ccmtad[fast]'.

Here gelu(x) = x / 2 * (1 + z P(z²) / Q(z²)), z = x clipped: nothing but multiplications and one division, so that it
becomes vector instructions. P and Q are a minimax fit of 2 Phi(x) - 1 on [-5.6, 5.6], weighted by x / 2: its error is
below 3e-8.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["gelu", "mix_last", "vector_times_matrix"]

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Numbers = NDArray[Any]  # single or double precision

EDGE = np.float32(5.6)
P0, P1, P2, P3, P4, P5 = (
    np.float32(c)
    for c in (0.7978838017, 0.07169466429, 0.009610857984, 0.0003803139051, 1.318121104e-05, 4.342111138e-08)
)
Q0, Q1, Q2, Q3, Q4, Q5 = (
    np.float32(c) for c in (1.0, 0.2565186795, 0.0298040453, 0.002003363369, 8.101162101e-05, 1.185154672e-06)
)
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
