"""Signals that were lost, or stood still: inside one table, and in new rows by the limits that old ones teach."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..calibrate.limits import FEWEST_RUNS, SHORTEST_STANDSTILL, TIMES_AS_LONG, Tails
from ..errors import SettingError
from ..frame import Frame
from ..prepare import timeline
from ..score.channels import GONE_LIMIT, STILL_LIMIT
from ..settings import Settings
from ..wording import count, moment
from .finding import Finding

__all__ = ["silent", "standstill"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Stretch = tuple[int, int]  # first row, rows


def standstill(frame: Frame, _: Settings) -> Iterator[Finding]:
    """A channel that stood still once for far longer than ever else: was the sensor dead?"""
    found: dict[str, tuple[Stretch, str]] = {}
    for i, name in enumerate(frame.channels):
        first, rows = _standstills(frame.values[:, i])
        if len(rows) < FEWEST_RUNS:
            continue
        next_longest, longest = np.argsort(rows, kind="stable")[-2:]
        if rows[longest] > max(TIMES_AS_LONG * rows[next_longest], SHORTEST_STANDSTILL):
            otherwise = f", while otherwise {count(int(rows[next_longest]), 'row')} at most"
            found[name] = (int(first[longest]), int(rows[longest])), otherwise
    yield from _said(frame, "frozen", "stood still", found, ": if the sensor was dead, such rows are not normal")


def silent(train: Frame, recent: Frame, settings: Settings) -> Iterator[Finding]:
    """What would be called lost or frozen in new rows by a model of the old ones."""
    known = np.flatnonzero(~np.isnan(train.values).all(axis=0))
    errors, present = np.empty((0, len(known))), np.empty((0, len(known)), dtype=np.bool_)
    tails = Tails.learn(train.values[:, known], errors, present, settings.hold_rows, extremes=False, signals=True)
    try:
        wanted = settings.rows_per_alarm(timeline.median_period(train.times))
    except SettingError:  # `rows` says so
        wanted = np.inf
    limits = tails.limits(wanted)
    lost: dict[str, tuple[Stretch, str]] = {}
    frozen: dict[str, tuple[Stretch, str]] = {}
    for i, channel in enumerate(known.tolist()):
        name, column = train.channels[channel], recent.values[:, channel]
        for found, (first, rows), line in (
            (lost, _missing(column), GONE_LIMIT),
            (frozen, _standstills(column), STILL_LIMIT),
        ):
            if rows.max(initial=0) > limits[line, i]:
                longest = int(rows.argmax())
                too_many = f"; more than {int(limits[line, i]):,} are too many"
                found[name] = (int(first[longest]), int(rows[longest])), too_many
    yield from _said(recent, "lost", "missing", lost)
    yield from _said(recent, "frozen", "stood still", frozen)


def _said(
    frame: Frame, topic: str, what: str, found: dict[str, tuple[Stretch, str]], advice: str = ""
) -> Iterator[Finding]:
    if not found:
        return
    names = sorted(found, key=lambda name: -found[name][0][1])
    texts = [f"{name!r} {what} for {_where(frame, *found[name])}" for name in names[:3]]
    more = f"; and {len(names) - 3} more" * (len(names) > 3)
    yield Finding("note", topic, "; ".join(texts) + more + advice, tuple(names))


def _where(frame: Frame, stretch: Stretch, compared: str) -> str:
    first, rows = stretch
    since = moment(first, None if frame.times is None else frame.times[first], frame.zone)
    return f"{count(rows, 'row')} from {since} on{compared}"


def _standstills(column: Floats) -> tuple[Ints, Ints]:
    """First rows and lengths of stretches of one value, single rows too; missing values are passed over."""
    known = np.flatnonzero(~np.isnan(column))
    begins = np.flatnonzero(np.r_[True, np.diff(column[known]) != 0][: len(known)])
    return known[begins], np.diff(np.r_[begins, len(known)])


def _missing(column: Floats) -> tuple[Ints, Ints]:
    """First rows and lengths of stretches without a value."""
    edges = np.flatnonzero(np.diff(np.r_[False, np.isnan(column), False].astype(np.int8)))
    return edges[::2], edges[1::2] - edges[::2]
