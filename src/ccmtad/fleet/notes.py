"""What the library warns of while an entity is worked on, kept with it: lines of many processes would be nobody's."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["notes"]


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


@contextmanager
def notes() -> Iterator[list[str]]:
    """The warnings, as they come; they go nowhere else."""
    log, kept = logging.getLogger("ccmtad"), _Kept()
    before, propagated = log.handlers, log.propagate
    log.handlers, log.propagate = [kept], False
    try:
        yield kept.told
    finally:
        log.handlers, log.propagate = before, propagated
