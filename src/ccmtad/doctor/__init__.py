"""A look at a table before anything is learnt from it: what would spoil a fit, and what a fit would make of it."""

from collections.abc import Callable, Iterator

import numpy as np

from ..frame import Frame
from ..settings import Settings
from . import signals, times, values
from .drift import drift
from .finding import Finding

__all__ = ["Finding", "compare", "examine"]

Look = Callable[[Frame, Settings], Iterator[Finding]]

ALWAYS: tuple[Look, ...] = (times.order, times.gaps, times.sampling, values.stretched)
LOOKS: tuple[Look, ...] = (
    *ALWAYS,
    values.missing,
    values.constant,
    values.copies,
    values.jumps,
    signals.standstill,
    times.rows,
)


@np.errstate(over="ignore", invalid="ignore")  # values of 1e308: their range is infinite, and that is said
def examine(frame: Frame, settings: Settings | None = None, *, learning: bool = True) -> tuple[Finding, ...]:
    """Everything worth saying about rows that are to be learnt from; or, not `learning`, only to be judged."""
    looks = LOOKS if learning else ALWAYS
    return tuple(finding for look in looks for finding in look(frame, settings or Settings()))


@np.errstate(over="ignore", invalid="ignore")
def compare(train: Frame, recent: Frame, settings: Settings | None = None) -> tuple[Finding, ...]:
    """What sets new rows apart from those that were, or are to be, learnt from."""
    recent = recent.align(train.channels, named=train.named, argument="recent")
    return (*drift(train, recent), *signals.silent(train, recent, settings or Settings()))
