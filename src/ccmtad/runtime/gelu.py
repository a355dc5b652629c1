"""The GELU activation, x times the normal distribution function, without the error function (which would dominate).

    gelu(x) = x / 2 * (1 + T(x)),   T(x) = 2 Phi(x) - 1 ~ z P(z²) / Q(z²),   z = x clipped to where T is not yet ±1

P and Q are a minimax fit of T, weighted by x / 2, on [-5.6, 5.6]; its error is below 3e-8, so that float32 rounding is
what remains (below 3e-7 relative). The same formula is compiled in `fast.py`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["EDGE", "P", "Q", "gelu"]

Numbers = NDArray[Any]  # single or double precision

EDGE = np.float32(5.6)
P = tuple(
    np.float32(c)
    for c in (0.7978838017, 0.07169466429, 0.009610857984, 0.0003803139051, 1.318121104e-05, 4.342111138e-08)
)
Q = tuple(np.float32(c) for c in (1.0, 0.2565186795, 0.0298040453, 0.002003363369, 8.101162101e-05, 1.185154672e-06))


def gelu(x: Numbers) -> Numbers:
    """GELU of every element; `x` is overwritten and must not be used again."""
    z: Numbers = np.minimum(np.maximum(x, -EDGE), EDGE)
    square = z * z
    top = square * P[5]
    bottom = square * Q[5]
    for p, q in zip(P[4:0:-1], Q[4:0:-1], strict=True):
        top += p
        top *= square
        bottom += q
        bottom *= square
    top += P[0]
    bottom += Q[0]
    top *= z
    top /= bottom
    x *= np.float32(0.5)
    top *= x
    top += x
    return top
