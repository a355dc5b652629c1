"""How far is too far, and how long too long, for each channel: tails of what normal rows did.

A power law is fitted to the largest of each (values on either side of the middle, steps, errors, averages of how far
a channel is from what the others tell, rows missing, rows standing still), at the upper end of its confidence
interval, and followed to where the budget allows one in so many rows. A tail says little about what was never seen: a
value two whole ranges outside everything seen is too far whatever it says, and so is a standstill three times as long
as the longest.

A switch is a channel that has only ever taken two values, and gone from one to the other time and again: what is not a
whole number of such steps away is too far, whatever the budget. Whole steps are left to the tail, since it may be a
count, until it has been at an end often enough that a count would have gone beyond. Of a switch that has stood still
many times, twice the longest standstill is too long.

A channel that came back to exactly 0 time and again and was never below has its floor there: clearly below is too far.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..score.channels import LIMITS

__all__ = ["Tails", "nothing"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TESTS = LIMITS[1:]  # the first is where the middle is
EXTREMES = ("above", "below", "step", "error", "astray")
TAIL_SHARE, FEWEST_IN_TAIL, MOST_IN_TAIL = 0.01, 10, 500
CONFIDENCE = 0.9
# Least shapes: the lightest tail that is believed. Squared errors have twice the shape of errors.
LIGHTEST = {"above": 0.1, "below": 0.1, "step": 0.1, "error": 0.2, "astray": 0.13, "lost": 0.3, "still": 0.3}
RANGES_OUTSIDE = 1.9  # beyond everything seen: too far, whatever the tail says
NEVER_ASTRAY = 0.01  # in scaled units, of which a range has two
TIMES_AS_LONG, TIMES_AS_LONG_OF_A_SWITCH = 3.0, 2.0
FEWEST_RUNS_OF_A_SWITCH = 50  # standstills before the shorter of these counts
SHORTEST_STANDSTILL = 24.0  # rows that are never too long
FEWEST_RUNS = 2 * FEWEST_IN_TAIL  # standstills of a channel, or it has moved too seldom to tell
ROWS_PER_ALARM = 10_000.0  # where a threshold is given, and no budget counts
FURTHEST = 600.0  # exponent
FEWEST_CHANGES = 10  # of a switch: a rate that was seen to be above 0 twice is none
OFF_LEVEL = 0.05  # of the gap between the two values of a switch: nearer is one of them; of a range: below a floor
FEWEST_VISITS = 10  # to 0, before that is a floor
MISSED = 5.0  # times that a count was to be expected beyond an end: that it never was has a chance of e^-5


@dataclass(frozen=True, eq=False)
class Tails:
    """-log of how often, in a row, something is beyond x: `strength` + log(x / start) / shape, from `start` on."""

    middle: Floats  # (channels,)
    start: Floats  # (tests, channels) each; infinite where nothing is too far
    shape: Floats
    strength: Floats
    least: Floats  # no limit is below
    most: Floats  # nor above
    # (3, channels) of those that took two values: the lower one, the gap above it, how often it changed; NaN of others.
    # None: nobody looked, as in older files.
    switch: Floats | None = None

    @property
    def arrays(self) -> dict[str, Floats]:
        """By name, as they are kept in a model file."""
        return {f"tails.{name}": array for name, array in vars(self).items() if array is not None}

    def limits(self, rows_per_alarm: float) -> Floats:
        """(limits, channels): each test has its share of one false alarm in so many rows."""
        rows = rows_per_alarm if np.isfinite(rows_per_alarm) else ROWS_PER_ALARM
        found = np.full(self.start.shape, np.inf)
        for tests in (EXTREMES, ("lost", "still")):
            lines = [TESTS.index(test) for test in tests]
            known = np.isfinite(self.start[lines])
            wanted = np.log(rows * max(int(known.sum()), 1))
            with np.errstate(over="ignore", invalid="ignore"):
                reach = np.clip((wanted - self.strength[lines]) * self.shape[lines], 0.0, FURTHEST)
                found[lines] = np.where(known, self.start[lines] * np.exp(reach), np.inf)
        table: Floats = np.vstack([self.middle, np.minimum(np.maximum(found, self.least), self.most)])
        if self.switch is None or not (self.switch[2] >= FEWEST_CHANGES).any():
            return table
        low, gap, changes = self.switch
        known = changes >= FEWEST_CHANGES
        levels = np.where(known, low, 0.0), np.where(known, gap, 1.0), np.where(known, OFF_LEVEL, np.inf)
        return np.vstack([table, *levels])

    @classmethod
    def learn(
        cls, values: Floats, error: Floats, present: Bools, hold: int, strayed: Floats | None = None, *,
        extremes: bool, signals: bool,
    ) -> "Tails":  # fmt: skip
        """From the raw values of normal rows, in order of time (NaN where missing), the squared errors of some, and how
        far off each was on average (None: no one guesses).

        A constant channel has no range, and no limits but for being lost.
        """
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        middle, span = np.nanmedian(values, axis=0), high - low
        moves = span > 1e-12 * np.maximum(np.abs(low), np.abs(high))
        made, switch = {test: [_NEVER] * values.shape[1] for test in TESTS}, np.full((3, values.shape[1]), np.nan)
        for c in range(values.shape[1]):
            column = values[:, c]
            there = column[~np.isnan(column)]
            two_values = bool(moves[c] and ((there == low[c]) | (there == high[c])).all())
            if extremes and moves[c]:
                if two_values:
                    switch[:, c] = low[c], span[c], np.count_nonzero(there[1:] != there[:-1])
                steps = np.abs(np.diff(column))
                steps = steps[~np.isnan(steps)]
                for test, sizes, end in (
                    ("above", there - middle[c], two_values and _is_end(there == high[c])),
                    ("below", middle[c] - there, (two_values and _is_end(there == low[c])) or _is_floor(there)),
                    ("step", steps, False),
                ):
                    top, outside = float(np.max(sizes, initial=0.0)), OFF_LEVEL if end else RANGES_OUTSIDE
                    made[test][c] = _tail(sizes[sizes > 0.0], len(sizes), test, top, top + outside * span[c])
                if strayed is not None:
                    sizes = np.maximum(np.abs(strayed[:, c]), NEVER_ASTRAY)
                    made["astray"][c] = _tail(sizes, len(sizes), "astray", float(sizes.max()), np.inf)
                made["error"][c] = _tail(error[present[:, c], c], int(present[:, c].sum()), "error", 0.0, np.inf)
            if signals:
                missing = _runs(np.isnan(column))
                longest = TIMES_AS_LONG * float(missing.max(initial=0))
                made["lost"][c] = _tail(missing, len(column), "lost", float(hold), max(longest, float(hold)))
                if moves[c]:
                    made["still"][c] = _standstill(there, two_values)
        table = [[[one[i] for one in made[test]] for test in TESTS] for i in range(5)]
        return replace(cls(middle, *(np.array(part) for part in table)), switch=switch)

    def rescaled(self, ratio: Floats) -> "Tails":
        """As they are for values that are scaled otherwise: those of scaled ones become so many times as large."""
        parts = {name: getattr(self, name).copy() for name in ("start", "least", "most")}
        for array in parts.values():
            array[TESTS.index("astray")] *= ratio
            array[TESTS.index("error")] *= ratio**2
        return replace(self, **parts)

    def seen_from(self, middle: Floats) -> "Tails":
        """The same limits of values, as distances from another middle."""
        parts = {name: getattr(self, name).copy() for name in ("start", "least", "most")}
        for array in parts.values():
            array[TESTS.index("above")] += self.middle - middle
            array[TESTS.index("below")] -= self.middle - middle
            np.maximum(array, TINY if array is parts["start"] else 0.0, out=array)
        return replace(self, middle=middle, **parts)

    def after(self, newer: "Tails") -> "Tails":
        """With newer normal rows of the same entity. What is too far whatever a tail says moves only where they went
        beyond it: fewer rows know of fewer bounds."""
        newer = newer.seen_from(self.middle)
        beyond = newer.least > self.most
        beyond[TESTS.index("lost")] = True
        return self._with(newer, beyond | (newer.start < newer.most), beyond)

    def over(self, other: "Tails") -> "Tails":
        """What both call normal, each around a middle of its own, is normal."""
        anything = np.ones(self.start.shape, dtype=np.bool_)
        return self._with(other, anything, anything)

    def _with(self, other: "Tails", known: Bools, beyond: Bools) -> "Tails":
        """The milder of both, where the other's tail is `known`, and its bounds where it went `beyond` these; a channel
        that stood still in the other's rows says nothing."""
        told = np.isfinite(other.start)
        milder = told & known & (other.start > self.start)
        start, shape, strength = (
            np.where(milder, getattr(other, name), getattr(self, name)) for name in ("start", "shape", "strength")
        )
        least = np.where(told, np.maximum(self.least, other.least), self.least)
        most = np.where(told & beyond, np.maximum(self.most, other.most), self.most)
        switch = self.switch
        if switch is not None and other.switch is not None:
            moved = told[TESTS.index("above")] | told[TESTS.index("below")]
            same = (switch[:2] == other.switch[:2]).all(axis=0)
            switch = np.where(moved & ~same, np.nan, switch)
        return Tails(self.middle, start, shape, strength, least, most, switch)


_NEVER = (np.inf, 1.0, 0.0, 0.0, np.inf)
TINY = float(np.finfo(float).tiny)


def nothing(channels: int) -> Tails:
    """No limits at all."""
    shape = (len(TESTS), channels)
    never = (np.full(shape, value) for value in _NEVER)
    return Tails(np.zeros(channels), *never)


def _tail(sizes: Floats, rows: int, test: str, least: float, most: float) -> tuple[float, float, float, float, float]:
    """(start, shape, strength, least, most) of what happened `len(sizes)` times in so many rows."""
    from scipy.special import gammaincinv

    count = int(np.clip(TAIL_SHARE * len(sizes), FEWEST_IN_TAIL, MOST_IN_TAIL))
    if len(sizes) < 2 * FEWEST_IN_TAIL:
        if np.isinf(most):
            return _NEVER
        return most, LIGHTEST[test], 0.0, least, most
    ordered = np.sort(sizes)
    start = max(float(ordered[-1 - count]), TINY)
    mean = float((np.log(np.maximum(ordered[-count:], start)) - np.log(start)).mean())
    shape = max(mean * count / float(gammaincinv(count, 1 - CONFIDENCE)), LIGHTEST[test])
    return start, shape, float(-np.log((count + 1) / (rows + 1))), least, most


def _is_end(at: Bools) -> bool:
    """Whether a channel of two values has been at one of them so often that it cannot be a count, which goes on from
    there: of those that come and go by chance, as many visits in hundred do as rows in hundred are spent there."""
    return len(_runs(at)) * float(at.mean()) >= MISSED


def _is_floor(values: Floats) -> bool:
    """Whether a channel is never below 0, and rests there time and again."""
    at = values == 0.0
    return not (values < 0.0).any() and len(_runs(at)) >= FEWEST_VISITS


def _standstill(values: Floats, two_values: bool) -> tuple[float, float, float, float, float]:
    """Of a channel that moves; never, where it has moved too seldom to tell."""
    runs = _runs(np.r_[True, values[1:] == values[:-1]], whole=True)
    if len(runs) < FEWEST_RUNS:
        return _NEVER
    longest = float(runs.max())
    known = two_values and len(runs) >= FEWEST_RUNS_OF_A_SWITCH
    most = (TIMES_AS_LONG_OF_A_SWITCH if known else TIMES_AS_LONG) * longest
    least = max(longest, SHORTEST_STANDSTILL)
    return _tail(runs, len(values), "still", least, max(most, SHORTEST_STANDSTILL))


def _runs(same: Bools, whole: bool = False) -> Floats:
    """Lengths of the stretches that are True; `whole`: each False begins a stretch, and belongs to it."""
    if whole:
        same = np.r_[False, same[1:]]
        edges = np.r_[np.flatnonzero(~same), len(same)]
        whole_lengths: Floats = np.diff(edges).astype(np.float64)
        return whole_lengths
    edges = np.flatnonzero(np.diff(np.r_[False, same, False].astype(np.int8)))
    lengths: Floats = (edges[1::2] - edges[::2]).astype(np.float64)
    return lengths
