"""What a pushed body holds, whatever the protocol."""

from dataclasses import dataclass, field

from ...live.labels import Labels
from ..refusal import Refusal

__all__ = ["Body", "Series", "malformed"]

MOST_NOTES = 5


@dataclass(frozen=True)
class Series:
    """Values of one metric with one set of labels."""

    name: str
    labels: Labels
    samples: tuple[tuple[float, int], ...]  # value, time in nanoseconds
    around: Labels = ()  # of what sends it: may name the entity, and is no part of the tag


@dataclass
class Body:
    """All series of a body, and what of it is none."""

    series: list[Series] = field(default_factory=list)
    refused: int = 0  # values that cannot be used
    notes: list[str] = field(default_factory=list)  # why, of the first few

    def leave_out(self, why: str, values: int = 1) -> None:
        """Something is no value."""
        self.refused += values
        if len(self.notes) < MOST_NOTES and why not in self.notes:
            self.notes.append(why)


def malformed(what: str) -> Refusal:
    """Nothing of a body can be read."""
    return Refusal(400, "bad-body", what)
