"""Single values on their way to the assembler."""

from dataclasses import dataclass

__all__ = ["Values", "ValuesReceipt"]

BYTES_OF_A_VALUE = 64


@dataclass(frozen=True)
class Values:
    """Values of one entity that came together: channel, value, time in nanoseconds."""

    entity: str
    model: str
    values: tuple[tuple[str, float, int], ...]
    flush: bool = False  # nothing more is expected: what waits becomes rows

    @property
    def size(self) -> int:
        """Bytes, about."""
        return BYTES_OF_A_VALUE * len(self.values)


@dataclass(frozen=True)
class ValuesReceipt:
    """What became of values: all that is accepted is on the disk."""

    accepted: int
    late: int  # values whose row was made already: left out
    rows: int  # that are whole now
    waiting: int  # rows that wait for more
    ahead: int = 0  # values stamped too far ahead of the clock of the service: left out
