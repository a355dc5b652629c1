"""Products of many rows with a matrix, in which what a row comes to does not depend on the rows after it.

A matrix product rounds differently for different numbers of rows: BLAS takes them in tiles, and what is left over in
another way. In a batch that would be a look ahead, if only at whether there are more rows. So all have one shape.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["product"]

Numbers = NDArray[Any]  # single or double precision

ROWS = 64  # at a time; the last ones are filled up with zeros
# Multiplications of one product. OpenBLAS shares larger ones out among threads: on two cores that wins little, and on a
# busy machine, where one thread waits for another to get its turn, it costs several times the whole.
ON_ONE_THREAD = 250_000


def product(x: Numbers, matrix: Numbers) -> Numbers:
    """(rows, in) and (in, out) to (rows, out)."""
    rows = max(1, min(ROWS, ON_ONE_THREAD // max(1, matrix.size)))
    out: Numbers = np.empty((len(x), matrix.shape[1]), np.result_type(x, matrix))
    rest = len(x) % rows
    for first in range(0, len(x) - rest, rows):
        np.matmul(x[first : first + rows], matrix, out=out[first : first + rows])
    if rest:
        filled = np.zeros((rows, x.shape[1]), x.dtype)
        filled[:rest] = x[-rest:]
        out[-rest:] = np.matmul(filled, matrix)[:rest]
    return out
