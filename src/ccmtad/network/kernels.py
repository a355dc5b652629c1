"""The engine's inner loops, to be compiled. (Without numba the engine does the same in numpy.)

Here gelu(x) = x / 2 * (1 + z P(z²) / Q(z²)), z = x clipped: nothing but multiplications and one division, so that it
becomes vector instructions. P and Q are a minimax fit of 2 Phi(x) - 1 on [-5.6, 5.6], weighted by x / 2: its error is
below 3e-8.
"""

from typing import Any

import numpy as np

from ..compiled import Entry, fast_kernel

__all__ = ["GELU", "MIX_WINDOWS", "PUT_BACK", "RECONSTRUCT", "advance"]

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
def _times_four(x: Any, matrix: Any, out: Any) -> None:
    """The same of four rows at once: what is loaded is used sixteen times."""
    rows, columns = matrix.shape
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        a0, a1, a2, a3 = x[0, i], x[0, i + 1], x[0, i + 2], x[0, i + 3]
        b0, b1, b2, b3 = x[1, i], x[1, i + 1], x[1, i + 2], x[1, i + 3]
        c0, c1, c2, c3 = x[2, i], x[2, i + 1], x[2, i + 2], x[2, i + 3]
        d0, d1, d2, d3 = x[3, i], x[3, i + 1], x[3, i + 2], x[3, i + 3]
        for j in range(columns):
            m0, m1, m2, m3 = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            out[0, j] += a0 * m0 + a1 * m1 + a2 * m2 + a3 * m3
            out[1, j] += b0 * m0 + b1 * m1 + b2 * m2 + b3 * m3
            out[2, j] += c0 * m0 + c1 * m1 + c2 * m2 + c3 * m3
            out[3, j] += d0 * m0 + d1 * m1 + d2 * m2 + d3 * m3
    for i in range(whole, rows):
        for j in range(columns):
            out[0, j] += x[0, i] * matrix[i, j]
            out[1, j] += x[1, i] * matrix[i, j]
            out[2, j] += x[2, i] * matrix[i, j]
            out[3, j] += x[3, i] * matrix[i, j]


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
        out[c] = double[c]


@fast_kernel
def _embed_all(rows: Any, embedding: Any, embedding_bias: Any, out: Any) -> None:
    """Many scaled rows to embedded ones, four at once: (rows, channels) to (rows, width)"""
    number, channels = rows.shape
    four, double = np.zeros((4, channels)), np.empty((4, len(embedding_bias)))
    for begin in range(0, number, 4):
        together = min(number - begin, 4)
        for n in range(together):
            four[n] = rows[begin + n]
        for n in range(4):
            double[n] = embedding_bias
        _times_four(four, embedding, double)
        for n in range(together):
            for c in range(len(embedding_bias)):
                out[begin + n, c] = double[n, c]


@fast_kernel
def _mixed(
    r: Any, mixes: bool, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any, single: Any, mixed: Any
) -> None:
    """The newest row of an embedded window and what mixing along time adds to it: (time, width) to (width,)"""
    newest = len(r) - 1
    for c in range(len(mixed)):
        mixed[c] = r[newest, c]
    if mixes:
        for c in range(len(mixed)):
            mixed[c] += last_bias
        _mix(r, first, reach, bias, weight, single, mixed)


@fast_kernel
def _newest(
    x: Any, r: Any, mixes: bool, first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any, mixes_width: bool,
    hidden: Any, hidden_bias: Any, head: Any, head_bias: Any, single: Any, mixed: Any, inner: Any, joined: Any,
    out: Any,
) -> None:  # fmt: skip
    """The reconstruction of the newest row `x` of an embedded window, by one mixer block: (channels,) and (time, width)
    to (channels,)"""
    width = len(mixed)
    _mixed(r, mixes, first, reach, bias, weight, last_bias, single, mixed)
    for c in range(width):
        joined[c] = mixed[c]
    if mixes_width:
        inner[:] = hidden_bias
        _times(mixed, hidden, inner)
        for c in range(len(inner)):
            joined[width + c] = _gelu(inner[c])
    beside = width + len(inner)
    for c in range(len(x)):
        joined[beside + c] = x[c]
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


def _reconstruct(
    rows: Any, window: int, embedding: Any, embedding_bias: Any, mixes: bool, first: Any, reach: Any, bias: Any,
    weight: Any, last_bias: Any, mixes_width: bool, hidden: Any, hidden_bias: Any, head: Any, head_bias: Any,
) -> Any:  # fmt: skip
    """The newest row of every window of consecutive rows, by one mixer block, four windows at a time: (rows, channels)
    to (windows, channels)"""
    width, beside = len(embedding_bias), len(embedding_bias) + len(hidden_bias)
    windows, channels = len(rows) - window + 1, rows.shape[1]
    out = np.empty((windows, len(head_bias)))
    r = np.empty((len(rows), width), dtype=np.float32)
    _embed_all(rows, embedding, embedding_bias, r)
    four = np.zeros((len(rows), 4 * width), dtype=np.float32)  # each row with the three after it: windows side by side
    for t in range(len(rows)):
        for n in range(min(4, len(rows) - t)):
            for c in range(width):
                four[t, n * width + c] = r[t + n, c]
    single, mixed = np.empty((4, 4 * width), dtype=np.float32), np.empty(4 * width, dtype=np.float32)
    joined, inner, back = np.zeros((4, len(head))), np.zeros((4, len(hidden_bias))), np.empty((4, len(head_bias)))
    for begin in range(0, windows, 4):
        together = min(windows - begin, 4)
        side_by_side = four[begin : begin + window]
        _mixed(side_by_side, mixes, first, reach, bias, weight, last_bias, single, mixed)
        for n in range(together):
            newest = begin + n + window - 1
            for c in range(width):
                joined[n, c] = mixed[n * width + c]
            for c in range(channels):
                joined[n, beside + c] = rows[newest, c]
        if mixes_width:
            for n in range(4):
                inner[n] = hidden_bias
            _times_four(joined[:, :width], hidden, inner)
            for n in range(4):
                for c in range(len(hidden_bias)):
                    joined[n, width + c] = _gelu(inner[n, c])
        for n in range(4):
            back[n] = head_bias
        _times_four(joined, head, back)
        out[begin : begin + together] = back[:together]
    return out


def _put_back(
    rows: Any, which: Any, channels: Any, values: Any, embedding: Any, embedding_bias: Any, spans: Any, mixes: bool,
    first: Any, reach: Any, bias: Any, weight: Any, last_bias: Any, mixes_width: bool, hidden: Any, hidden_bias: Any,
    head: Any, head_bias: Any,
) -> Any:  # fmt: skip
    """The newest rows of windows, each with other values in one channel: (windows, time, channels), and which of them,
    in ascending order, in which channel, with which values (.., time), to (.., channels). A window is embedded once."""
    window, width = rows.shape[1], len(embedding_bias)
    out = np.empty((len(which), len(head_bias)))
    whole, r = np.empty((window, width)), np.empty((window, width), dtype=np.float32)
    newest = np.empty(rows.shape[2], dtype=np.float32)
    single, mixed = np.empty((4, width), dtype=np.float32), np.empty(width, dtype=np.float32)
    joined, inner = np.empty(head.shape[1]), np.empty(len(hidden_bias))
    for n in range(len(which)):
        of, c = rows[which[n]], channels[n]
        if n == 0 or which[n] != which[n - 1]:
            _embed_all(of, embedding, embedding_bias, whole)
        for t in range(window):
            other = np.float64(values[n, t]) - np.float64(of[t, c])
            for i in range(width):
                r[t, i] = np.float32(whole[t, i])
            for i in range(spans[c, 0], spans[c, 1]):
                r[t, i] = np.float32(whole[t, i] + other * embedding[c, i])
        newest[:] = of[window - 1]
        newest[c] = values[n, window - 1]
        _newest(
            newest, r, mixes, first, reach, bias, weight, last_bias, mixes_width,
            hidden, hidden_bias, head, head_bias, single, mixed, inner, joined, out[n],
        )  # fmt: skip
    return out


GELU = Entry(_gelus, fastmath=True)
MIX_WINDOWS = Entry(_mix_windows, fastmath=True)
RECONSTRUCT = Entry(_reconstruct, fastmath=True)
PUT_BACK = Entry(_put_back, fastmath=True)
