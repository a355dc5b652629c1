"""A look at a table before anything is learnt from it: what would spoil a fit, and what a fit would make of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..frame import Frame, Others
from ..settings import Settings
from . import signals, times, values
from .drift import drift
from .finding import Finding, listed

__all__ = ["Finding", "compare", "examine"]

Look = Callable[[Frame, Settings], Iterator[Finding]]

LOOKS: tuple[Look, ...] = (
    times.order,
    times.gaps,
    times.sampling,
    values.stretched,
    values.unlearnt,
    values.missing,
    values.constant,
    values.unmoved,
    values.copies,
    values.jumps,
    signals.standstill,
    times.rows,
)
# Of no account where nothing is learnt: what stood still among new rows, `compare` finds.
LEARNING: tuple[Look, ...] = (values.unlearnt, values.unmoved, signals.standstill, times.rows)


@np.errstate(over="ignore", invalid="ignore")  # values of 1e308: their range is infinite, and that is said
def examine(frame: Frame, settings: Settings | None = None, *, learning: bool = True) -> tuple[Finding, ...]:
    """Everything worth saying about rows that are to be learnt from; or, not `learning`, only to be judged."""
    looks = [look for look in LOOKS if learning or look not in LEARNING]
    return tuple(finding for look in looks for finding in look(frame, settings or Settings()))


@np.errstate(over="ignore", invalid="ignore")
def compare(train: Frame, recent: Frame, settings: Settings | None = None) -> tuple[Finding, ...]:
    """What sets new rows apart from those that were, or are to be, learnt from."""
    found: tuple[Finding, ...] = ()
    if train.named and recent.named:
        others = Others.of(recent.channels, train.channels, "recent", allow_missing=True)
        if others.missing or others.extra:
            found = (_other_channels(others),)
            missing = set(others.missing)
            train = _only(train, [name for name in train.channels if name not in missing])
            recent = _only(recent, train.channels)
    recent = recent.align(train.channels, named=train.named, argument="recent")
    return (*found, *drift(train, recent), *signals.silent(train, recent, settings or Settings()))


def _other_channels(others: Others) -> Finding:
    parts = [f"missing: {listed(others.missing)}"] * bool(others.missing)
    parts += [f"not fitted: {listed(others.extra)}"] * bool(others.extra)
    cure = "detect judges the others alone with allow_missing=True"
    return Finding("problem", "channels", f"{'; '.join(parts)}: {cure}", (*others.missing, *others.extra))


def _only(frame: Frame, channels: Sequence[str]) -> Frame:
    place = {name: i for i, name in enumerate(frame.channels)}
    return replace(frame, values=frame.values[:, [place[name] for name in channels]], channels=tuple(channels))
