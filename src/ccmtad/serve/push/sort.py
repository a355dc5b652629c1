"""Series of a body by entity, each value with its tag. What cannot be used is counted and left out; nothing else is."""

from collections.abc import Collection
from dataclasses import dataclass, field

from ...live.labels import Naming
from .series import Body

__all__ = ["LAST", "Pushed", "Received", "sort"]

LAST = (1 << 63) - 1  # nanosecond since 1970 that can be told
Value = tuple[str, float, int]  # tag, value, time


@dataclass
class Pushed:
    """The values of a body by entity, in order of time."""

    entities: dict[str, list[Value]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)  # how many of tags that no model has


@dataclass(frozen=True)
class Received:
    """What became of pushed values: all that is accepted is on the disk."""

    accepted: int
    late: int  # values whose row was made already
    unknown: int  # of tags that are not fitted
    refused: int  # without an entity, of a wrong time, of an entity that cannot be, or unreadable
    rows: int  # that are whole now
    notes: tuple[str, ...]  # why some were left out


def sort(
    body: Body, naming: Naming, known: Collection[str], marks: Collection[float], latest: int, entity: str | None
) -> Pushed:
    """By entity, or all for the one that is given; `known` are the tags of all models, `marks` stand for missing; a
    value after the `latest` time would make all others late.

    In order of time, so that what a sender held back, series after series, makes whole rows.
    """
    pushed = Pushed()
    for series in body.series:
        named, tag = naming.place(series.name, series.labels, series.around)
        named = named if entity is None else entity
        if tag not in known:
            pushed.unknown[tag] = pushed.unknown.get(tag, 0) + len(series.samples)
        elif named is None:
            why = f"{tag!r} must have a label that names its entity: {', '.join(naming.entity_labels)}"
            body.leave_out(why, len(series.samples))
        else:
            there = pushed.entities.setdefault(named, [])
            for value, time in series.samples:
                if not 0 <= time <= latest:
                    body.leave_out(
                        f"time of {tag!r} must be after 1970, and no more than --ahead from now; got {time} ns"
                    )
                else:
                    there.append((tag, float("nan") if value in marks else value, time))
    for values in pushed.entities.values():
        values.sort(key=lambda one: one[2])
    return pushed
