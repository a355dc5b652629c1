"""The GELU activation, x times the normal distribution function, without the error function (which would dominate).

    gelu(x) = x / 2 * (1 + tanh(z R(z²))),   z = x clipped to where the activation is not yet 0 or x

R is a minimax fit on [-6, 6] of atanh(2 Phi(x) - 1) / x, weighted so that the error of gelu itself is below 7e-8:
float32 rounding is what remains. `kernels.py` has another fit of the same function, one that compiles well.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact_gelu", "gelu"]

Numbers = NDArray[Any]  # single or double precision

EDGE = np.float32(6.0)
R = tuple(
    np.float32(c)
    for c in (
        7.97884216e-01,
        3.63342835e-02,
        -3.31300064e-05,
        -5.52401547e-05,
        3.96910895e-06,
        -1.33446378e-07,
        1.80561572e-09,
    )
)


def exact_gelu(x: Numbers) -> Numbers:
    """GELU by the distribution function itself: for few elements, where one call is quicker than twenty."""
    product: Numbers = x * _distribution()(x)
    return product


@cache
def _distribution() -> Any:
    from scipy.special import ndtr  # here, so that a command that reconstructs nothing starts without it

    return ndtr


def gelu(x: Numbers) -> Numbers:
    """GELU of every element; `x` is overwritten and must not be used again."""
    z: Numbers = np.minimum(np.maximum(x, -EDGE), EDGE)
    square = z * z
    out = square * R[-1]
    for coefficient in R[-2:0:-1]:
        out += coefficient
        out *= square
    out += R[0]
    out *= z
    np.tanh(out, out=out)
    x *= np.float32(0.5)
    out *= x
    out += x
    return out
