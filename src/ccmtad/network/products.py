"""Products of many rows with a matrix, in which what a row comes to does not depend on the rows after it.

A matrix product rounds differently for different numbers of rows: BLAS takes them in tiles, and what is left over in
another way. In a batch that would be a look ahead, if only at whether there are more rows. So rows are taken so many at
a time, and a series is filled up with rows that are thrown away.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["filled", "product"]

Numbers = NDArray[Any]  # single or double precision

ROWS = 64  # a power of two: at a time, or half as many, or a quarter, ..
# Multiplications of one product. OpenBLAS shares larger ones out among threads: on two cores that wins little, and on a
# busy machine, where one thread waits for another to get its turn, it costs several times the whole.
ON_ONE_THREAD = 250_000


def product(x: Numbers, matrix: Numbers) -> Numbers:
    """(rows, in) and (in, out) to (rows, out)."""
    rows = ROWS
    while rows > 1 and rows * matrix.size > ON_ONE_THREAD:
        rows //= 2
    if len(x) <= rows:
        return x @ matrix
    out: Numbers = np.empty((len(x), matrix.shape[1]), np.result_type(x, matrix))
    for first in range(0, len(x), rows):
        np.matmul(x[first : first + rows], matrix, out=out[first : first + rows])
    return out


def filled(rows: Numbers, number: int) -> Numbers:
    """The rows of a series of which so many are judged, and more like the last one, until those are a multiple of
    `ROWS`: then all products have the shapes that they would have if the series went on."""
    more = -number % ROWS
    return np.concatenate([rows, np.repeat(rows[-1:], more, axis=0)]) if more else rows
