"""What sets one table apart from another."""

from collections.abc import Iterator

import numpy as np

from ..frame import Frame
from ..prepare.scale import CLIP, Scaler
from ..wording import span
from .finding import Finding, listed, moves
from .times import period
from .values import SAMPLE

__all__ = ["drift"]

MOVED = 3.0  # spreads between two files' medians that count as drift
OUTSIDE = 0.05  # share of values outside the range of training that counts as drift


def drift(train: Frame, recent: Frame) -> Iterator[Finding]:
    first, second = (frame.values[:: max(len(frame) // SAMPLE, 1)] for frame in (train, recent))
    moved, outside, beyond, dead = [], [], [], []
    for i, name in enumerate(train.channels):
        a, b = (values[:, i][~np.isnan(values[:, i])] for values in (first, second))
        if not len(b):
            dead.append(name)
        if not len(a) or not len(b):
            continue
        with np.errstate(over="ignore"):  # of numbers that are absurd, and so outside
            spread = max(float(np.std(a)), float(np.ptp(a)) / 100, 1e-12)
            shift = (float(np.median(b)) - float(np.median(a))) / spread
            scaled = Scaler.fit(a[:, None])(b[:, None])
        if np.mean(np.abs(scaled) > CLIP) > OUTSIDE:
            beyond.append(name)
        elif np.mean(np.abs(scaled) > 1.02) > OUTSIDE:
            outside.append(name)
        if abs(shift) > MOVED:
            moved.append((abs(shift), name))
    if dead:
        yield Finding("note", "drift", f"no value at all in {listed(dead)}: it will be left out", tuple(dead))
    if beyond:
        yield Finding(
            "problem",
            "drift",
            f"{listed(beyond)} {moves('lie', beyond)} far outside the range of training: another unit?",
            tuple(beyond),
        )
    if outside:
        text = f"{listed(outside)}: more than {OUTSIDE:.0%} of the new values are outside the range of training"
        yield Finding("note", "drift", f"{text}; expect alarms there, or fit on rows that cover it", tuple(outside))
    if moved:
        names = tuple(name for _, name in sorted(moved, reverse=True))
        yield Finding(
            "note", "drift", f"{listed(names)}: the median moved by more than {MOVED:.0f} spreads of training", names
        )
    periods = [period(frame) for frame in (train, recent)]
    if periods[0] is not None and periods[1] is not None and not 0.5 < periods[1] / periods[0] < 2:
        text = f"one row every {span(periods[1])}, and every {span(periods[0])} in training"
        yield Finding("problem", "sampling", f"{text}: the network counts rows; resample to the same step")
    if not (beyond or outside or moved or dead):
        yield Finding("fine", "drift", "every channel lies where it lay in training")
