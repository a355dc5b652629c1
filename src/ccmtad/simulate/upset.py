"""What faults do to one stretch of rows during which they do not change."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Upset"]


@dataclass(frozen=True)
class Upset:
    """Interventions in the plant. Empty: normal operation."""

    offset: Mapping[str, float] = field(default_factory=dict)  # added to the readings of these controlling sensors
    frozen: frozenset[str] = frozenset()  # controlling sensors that repeat their last reading
    stuck: Mapping[str, float] = field(default_factory=dict)  # valves held at this opening
    tripped: frozenset[str] = frozenset()  # pumps and blowers that do not turn
    leak: Mapping[str, float] = field(default_factory=dict)  # m³/h lost behind these flow meters while they flow

    def reading(self, sensor: str, last: float) -> tuple[float, float]:
        """(gain, offset) by which a true value becomes a reading: frozen is gain 0 at the last reading."""
        return (0.0, last) if sensor in self.frozen else (1.0, self.offset.get(sensor, 0.0))
