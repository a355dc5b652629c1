"""One thing seen in a table, and how such things are worded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "listed", "moves"]

Weight = Literal["fine", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing seen. A problem would stop a fit or spoil it; a note is worth knowing."""

    weight: Weight
    topic: str
    text: str
    channels: tuple[str, ...] = ()  # it is about, worst first


def listed(names: Sequence[str], most: int = 6) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def moves(verb: str, names: Sequence[str]) -> str:
    """The verb as one channel or several do it."""
    return verb + "s" * (len(names) == 1)
