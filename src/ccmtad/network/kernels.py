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

    Position j of the first map takes `reach[j]` positions in. Four of them are done at once, from four rows at a time:
    what is loaded is used sixteen times. `hidden` is room for them, (4, width).
    """
    positions, width = r.shape
    blocks = positions - positions % 4
    for j in range(0, blocks, 4):
        for c in range(width):
            hidden[0, c] = bias[j]
            hidden[1, c] = bias[j + 1]
            hidden[2, c] = bias[j + 2]
            hidden[3, c] = bias[j + 3]
        taken = reach[j + 3]
        whole = taken - taken % 4
        for i in range(0, whole, 4):
            a0, a1, a2, a3 = first[j, i], first[j, i + 1], first[j, i + 2], first[j, i + 3]
            b0, b1, b2, b3 = first[j + 1, i], first[j + 1, i + 1], first[j + 1, i + 2], first[j + 1, i + 3]
            c0, c1, c2, c3 = first[j + 2, i], first[j + 2, i + 1], first[j + 2, i + 2], first[j + 2, i + 3]
            d0, d1, d2, d3 = first[j + 3, i], first[j + 3, i + 1], first[j + 3, i + 2], first[j + 3, i + 3]
            for c in range(width):
                r0, r1, r2, r3 = r[i, c], r[i + 1, c], r[i + 2, c], r[i + 3, c]
                hidden[0, c] += a0 * r0 + a1 * r1 + a2 * r2 + a3 * r3
                hidden[1, c] += b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3
                hidden[2, c] += c0 * r0 + c1 * r1 + c2 * r2 + c3 * r3
                hidden[3, c] += d0 * r0 + d1 * r1 + d2 * r2 + d3 * r3
        for i in range(whole, taken):
            a0, b0, c0, d0 = first[j, i], first[j + 1, i], first[j + 2, i], first[j + 3, i]
            for c in range(width):
                hidden[0, c] += a0 * r[i, c]
                hidden[1, c] += b0 * r[i, c]
                hidden[2, c] += c0 * r[i, c]
                hidden[3, c] += d0 * r[i, c]
        w0, w1, w2, w3 = weight[j], weight[j + 1], weight[j + 2], weight[j + 3]
        for c in range(width):
            out[c] += (
                w0 * _gelu(hidden[0, c])
                + w1 * _gelu(hidden[1, c])
                + w2 * _gelu(hidden[2, c])
                + w3 * _gelu(hidden[3, c])
            )
    for j in range(blocks, positions):
        for c in range(width):
            hidden[0, c] = bias[j]
        for i in range(reach[j]):
            for c in range(width):
                hidden[0, c] += first[j, i] * r[i, c]
        for c in range(width):
            out[c] += weight[j] * _gelu(hidden[0, c])


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
    hidden = np.empty((4, width), dtype=np.float32)
    for n in range(windows):
        _mix(rows[n : n + positions], first, reach, bias, weight, hidden, out[n])
    return out


def _mix_windows(windows: Any, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any) -> Any:
    """(windows, time, width) to (windows, width)"""
    out = np.full((len(windows), windows.shape[2]), last_bias, dtype=np.float32)
    hidden = np.empty((4, windows.shape[2]), dtype=np.float32)
    for n in range(len(windows)):
        _mix(windows[n], first, reach, bias, weight, hidden, out[n])
    return out


@fast_kernel
def _embed(x: Any, embedding: Any, embedding_bias: Any, spans: Any, double: Any, out: Any) -> None:
    """A scaled row to an embedded one; a channel reaches only its own cluster's part."""
    double[:] = embedding_bias
    for i in range(len(spans)):
        value = np.float64(x[i])
        for c in range(spans[i, 0], spans[i, 1]):
            double[c] += value * embedding[i, c]
    for c in range(len(out)):
        out[c] = np.float32(double[c])


@fast_kernel
def _newest(
    x: Any, r: Any, mixes: bool, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any, mixes_width: bool,
    hidden: Any, hidden_bias: Any, head: Any, head_bias: Any, single: Any, mixed: Any, inner: Any, joined: Any,
    out: Any,
) -> None:  # fmt: skip
    """The reconstruction of the newest row `x` of an embedded window, by one mixer block, and by a linear map of the
    row itself where there is one: (channels,) and (time, width) to (channels,)"""
    window, width = r.shape
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
    beside = 2 * width + len(inner)
    for c in range(beside, len(joined)):
        joined[c] = x[c - beside]
    out[:] = head_bias
    _dots(head, joined, out)


@fast_kernel
def advance(
    streams: Any, slots: Any, ready: Any, x: Any, ring: Any, embedding: Any, embedding_bias: Any, spans: Any,
    mixes: bool, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any,
    mixes_width: bool, hidden: Any, hidden_bias: Any, head: Any, head_bias: Any, back: Any,
) -> None:  # fmt: skip
    """Embeds the newest row of each stream into its ring, and reconstructs those that are ready, of one mixer block."""
    window, width = ring.shape[1] // 2, ring.shape[2]
    single, mixed = np.empty((4, width), dtype=np.float32), np.empty(width, dtype=np.float32)
    double, inner = np.empty(width, dtype=np.float64), np.empty(len(hidden_bias), dtype=np.float64)
    joined = np.empty(head.shape[1], dtype=np.float64)
    for n in range(len(streams)):
        k, slot = streams[n], slots[n]
        if slot < 0:
            continue
        _embed(x[n], embedding, embedding_bias, spans, double, ring[k, slot])
        ring[k, slot + window] = ring[k, slot]
        if ready[n]:
            _newest(
                x[n], ring[k, slot + 1 : slot + 1 + window], mixes, first, reach, bias, weight, last_bias, mixes_width,
                hidden, hidden_bias, head, head_bias, single, mixed, inner, joined, back[n],
            )  # fmt: skip


GELU = Entry(_gelus, fastmath=True)
MIX_ROWS = Entry(_mix_rows, fastmath=True)
MIX_WINDOWS = Entry(_mix_windows, fastmath=True)
