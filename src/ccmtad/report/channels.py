"""Every channel through time, as it was and as it was expected, in few bytes: what the page draws on demand.

All channels share their places in time: blocks of nearly equal size, of which a channel keeps the smallest and the
largest value in the order in which they came, and the mean of what was expected. Single precision, base64.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import Detection
from .clock import Clock
from .stretches import Spans
from .text import in_picture
from .thin import blocks, drawable

__all__ = ["BLAMED", "all_channels", "every"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BYTES = 1_500_000  # of all channels together, as they stand in the page
MOST, FEWEST = 1_200, 60  # blocks
BLAMED = 4  # channels of an event that are called its own: those drawn up close
ASKED = 64  # rows of a block, at most, that the network is asked about: a long file takes no longer than a short one
LARGEST = float(np.finfo(np.float32).max)


def all_channels(found: Detection, gone: Mapping[str, Spans]) -> dict[str, Any]:
    """Places in time, every channel there, and where events are: for JSON. `gone` is what `silent` found."""
    clock, there = Clock(found), drawable(found)
    first = _first(found, there)
    last = np.append(first[1:], len(there)) - 1
    single = bool((first == last).all())
    places = there[first] if single else there[np.stack([first, (first + last + 1) // 2], axis=1).ravel()]
    values, expected = _values(found, there, first, last, single), _expected(found, there, first, last)
    reach, events = found.learnt.reach, _blaming(found)
    ends = [int(there[-1]) if one.end is None else one.end for one in found.events]
    return {
        "x": _packed(np.asarray(clock.x(places), dtype=np.float64), "f8"),
        "events": [clock.x([one.start, end]).tolist() for one, end in zip(found.events, ends, strict=True)],
        "channels": [
            {
                "name": in_picture(name),
                "real": _packed(values[:, i], "f4"),
                "expected": _packed(expected[:, i], "f4"),
                "reach": None if reach is None or not np.isfinite(reach[i]) else float(f"{reach[i]:.6g}"),
                "silent": [[float(clock.x(a)), float(clock.x(b))] for a, b in gone.get(name, ())],
                "events": events.get(name, []),
            }
            for i, name in enumerate(found.channels)
        ],
    }


def every(found: Detection) -> int:
    """Rows of a block."""
    there = drawable(found)
    return -(-len(there) // max(len(_first(found, there)), 1))


def _first(found: Detection, there: Ints) -> Ints:
    """The first of each block."""
    each = int(BYTES * 3 / 4 / (3 * 4 * len(found.channels)))  # two values and what was expected, four bytes each
    return blocks(len(there), int(np.clip(each, FEWEST, MOST)))


def _values(found: Detection, there: Ints, first: Ints, last: Ints, single: bool) -> Floats:
    """(places, channels): the smallest and the largest of every block, as they came."""
    if single:
        return found.frame.values[there[first]]
    out = np.full((2 * len(first), len(found.channels)), np.nan)
    for i, (a, b) in enumerate(zip(first, last, strict=True)):
        part = found.frame.values[there[a : b + 1]]
        low, high = np.where(np.isnan(part), np.inf, part), np.where(np.isnan(part), -np.inf, part)
        least, most = low.min(axis=0), high.max(axis=0)
        least, most = np.where(np.isinf(least), np.nan, least), np.where(np.isinf(most), np.nan, most)
        falls = high.argmax(axis=0) < low.argmin(axis=0)
        out[2 * i], out[2 * i + 1] = np.where(falls, most, least), np.where(falls, least, most)
    return out


def _expected(found: Detection, there: Ints, first: Ints, last: Ints) -> Floats:
    """(blocks, channels): the mean of what was expected of some rows of each block, the first ones."""
    out = np.full((len(first), len(found.channels)), np.nan)
    for begin, end in _runs(first, last):
        rows = there[first[begin] : min(last[end], first[end] + ASKED - 1) + 1]
        back = found.reconstruction(int(rows[0]), int(rows[-1]))[rows - rows[0]]
        for i in range(begin, end + 1):
            a = first[i] - first[begin]
            part = back[a : a + min(last[i] - first[i] + 1, ASKED)]
            known = ~np.isnan(part).all(axis=1)
            if known.any():
                out[i] = part[known].mean(axis=0)
    return out


def _runs(first: Ints, last: Ints) -> Iterator[tuple[int, int]]:
    """Blocks to ask about together: many where they are short, else one at a time."""
    step = max(1, 8_192 // int((last - first).max() + 1)) if (last - first).max() < ASKED else 1
    for begin in range(0, len(first), step):
        yield begin, min(begin + step, len(first)) - 1


def _blaming(found: Detection) -> dict[str, list[int]]:
    """The numbers of the events that blame each channel, from 0."""
    blamed: dict[str, list[int]] = {}
    for number, one in enumerate(found.events):
        for name in one.channels[:BLAMED]:
            blamed.setdefault(name, []).append(number)
    return blamed


def _packed(values: NDArray[Any], kind: str) -> str:
    if kind == "f4":
        values = np.clip(values, -LARGEST, LARGEST)
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode()
