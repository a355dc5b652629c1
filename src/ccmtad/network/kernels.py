"""The engine's inner loops, to be compiled. (Without numba the engine does the same in numpy.)

Here gelu(x) = x / 2 * (1 + z P(z²) / Q(z²)), z = x clipped: nothing but multiplications and one division, so that it
becomes vector instructions. P and Q are a minimax fit of 2 Phi(x) - 1 on [-5.6, 5.6], weighted by x / 2: its error is
below 3e-8.
"""

from typing import Any

import numpy as np

from ..compiled import Entry, fast_kernel

__all__ = ["GELU", "MIX_ROWS", "MIX_WINDOWS", "advance"]

EDGE = np.float32(5.6)
P0, P1, P2, P3, P4, P5 = (
    np.float32(c)
    for c in (0.7978838017, 0.07169466429, 0.009610857984, 0.0003803139051, 1.318121104e-05, 4.342111138e-08)
)
Q0, Q1, Q2, Q3, Q4, Q5 = (
    np.float32(c) for c in (1.0, 0.2565186795, 0.0298040453, 0.002003363369, 8.101162101e-05, 1.185154672e-06)
)
HALF = np.float32(0.5)


@fast_kernel
def _gelu(x: Any) -> Any:
    z = min(max(x, -EDGE), EDGE)
    u = z * z
    top = ((((P5 * u + P4) * u + P3) * u + P2) * u + P1) * u + P0
    bottom = ((((Q5 * u + Q4) * u + Q3) * u + Q2) * u + Q1) * u + Q0
    half = HALF * x
    return half + half * (z * top / bottom)


@fast_kernel
def _mix(r: Any, first: Any, reach: Any, bias: Any, weight: Any, hidden: Any, out: Any) -> None:
    """Adds to out the last position of both maps along time, with GELU between them: (time, width) to (width,)

    Position j of the first map takes `reach[j]` positions in.
    """
    positions, width = r.shape
    for j in range(positions):
        taken = reach[j]
        whole = taken - taken % 4
        for c in range(width):
            hidden[c] = bias[j]
        for i in range(0, whole, 4):
            w0, w1, w2, w3 = first[j, i], first[j, i + 1], first[j, i + 2], first[j, i + 3]
            for c in range(width):
                hidden[c] += w0 * r[i, c] + w1 * r[i + 1, c] + w2 * r[i + 2, c] + w3 * r[i + 3, c]
        for i in range(whole, taken):
            w0 = first[j, i]
            for c in range(width):
                hidden[c] += w0 * r[i, c]
        w = weight[j]
        for c in range(width):
            out[c] += w * _gelu(hidden[c])


@fast_kernel
def _times(x: Any, matrix: Any, out: Any) -> None:
    """Adds x @ matrix to out in double precision; half the memory of a double matrix is what makes it fast."""
    rows, columns = matrix.shape
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        a, b, c, d = np.float64(x[i]), np.float64(x[i + 1]), np.float64(x[i + 2]), np.float64(x[i + 3])
        for j in range(columns):
            out[j] += a * matrix[i, j] + b * matrix[i + 1, j] + c * matrix[i + 2, j] + d * matrix[i + 3, j]
    for i in range(whole, rows):
        a = np.float64(x[i])
        for j in range(columns):
            out[j] += a * matrix[i, j]


@fast_kernel
def _dots(matrix: Any, x: Any, out: Any) -> None:
    """Adds matrix @ x to out in double precision: for few rows of many columns."""
    rows, columns = matrix.shape
    whole = rows - rows % 4
    for j in range(0, whole, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(columns):
            a += x[i] * matrix[j, i]
            b += x[i] * matrix[j + 1, i]
            c += x[i] * matrix[j + 2, i]
            d += x[i] * matrix[j + 3, i]
        out[j] += a
        out[j + 1] += b
        out[j + 2] += c
        out[j + 3] += d
    for j in range(whole, rows):
        a = 0.0
        for i in range(columns):
            a += x[i] * matrix[j, i]
        out[j] += a


def _gelus(x: Any) -> Any:
    """GELU of every element, in place."""
    flat = x.reshape(-1)
    for i in range(flat.size):
        flat[i] = _gelu(flat[i])
    return x


def _mix_rows(rows: Any, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any) -> Any:
    """Every window of consecutive rows: (rows, width) to (windows, width)"""
    positions, width = len(reach), rows.shape[1]
    windows = len(rows) - positions + 1
    out = np.full((windows, width), last_bias, dtype=np.float32)
    hidden = np.empty(width, dtype=np.float32)
    for n in range(windows):
        _mix(rows[n : n + positions], first, reach, bias, weight, hidden, out[n])
    return out


def _mix_windows(windows: Any, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any) -> Any:
    """(windows, time, width) to (windows, width)"""
    out = np.full((len(windows), windows.shape[2]), last_bias, dtype=np.float32)
    hidden = np.empty(windows.shape[2], dtype=np.float32)
    for n in range(len(windows)):
        _mix(windows[n], first, reach, bias, weight, hidden, out[n])
    return out


@fast_kernel
def advance(
    streams: Any, slots: Any, ready: Any, x: Any, ring: Any, embedding: Any, embedding_bias: Any, spans: Any,
    mixes: bool, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any,
    mixes_width: bool, hidden: Any, hidden_bias: Any, head: Any, head_bias: Any, back: Any,
) -> None:  # fmt: skip
    """Embeds the newest row of each stream into its ring, and reconstructs those that are ready, of one mixer block."""
    window = ring.shape[1] // 2
    width = ring.shape[2]
    single = np.empty(width, dtype=np.float32)
    mixed = np.empty(width, dtype=np.float32)
    double = np.empty(width, dtype=np.float64)
    inner = np.empty(len(hidden_bias), dtype=np.float64)
    joined = np.empty(head.shape[1], dtype=np.float64)
    for n in range(len(streams)):
        k, slot = streams[n], slots[n]
        if slot < 0:
            continue
        double[:] = embedding_bias
        for i in range(len(spans)):  # a channel reaches only its own cluster's part
            value = np.float64(x[n, i])
            for c in range(spans[i, 0], spans[i, 1]):
                double[c] += value * embedding[i, c]
        for c in range(width):
            ring[k, slot, c] = np.float32(double[c])
            ring[k, slot + window, c] = np.float32(double[c])
        if not ready[n]:
            continue
        r = ring[k, slot + 1 : slot + 1 + window]
        if mixes:
            for c in range(width):
                mixed[c] = last_bias
            _mix(r, first, reach, bias, weight, single, mixed)
            for c in range(width):
                mixed[c] += r[window - 1, c]
        else:
            mixed[:] = r[window - 1]
        for c in range(width):
            joined[c] = r[window - 1, c]
            joined[width + c] = mixed[c]
        if mixes_width:
            inner[:] = hidden_bias
            _times(mixed, hidden, inner)
            for c in range(len(inner)):
                joined[2 * width + c] = _gelu(inner[c])
        back[n] = head_bias
        _dots(head, joined, back[n])


GELU = Entry(_gelus, fastmath=True)
MIX_ROWS = Entry(_mix_rows, fastmath=True)
MIX_WINDOWS = Entry(_mix_windows, fastmath=True)
