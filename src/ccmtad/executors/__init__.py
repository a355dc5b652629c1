"""Who does work that is many pieces (fleets, benchmarks, studies), one file each, found by name. None of them schedules
anything itself."""

import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..errors import SettingError
from ..registry import gather, names
from ..wording import got

__all__ = ["HERE", "Crew", "Executor", "find", "quietly"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(ABC):
    """Does one piece of work for each task, several at a time."""

    name = ""

    @abstractmethod
    def map(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None, address: str | None = None
    ) -> Iterator[Result]:
        """What came of each task, in the order they are done.

        `workers` work at a time, one thread each; None is one for each core. `address` is of the cluster to use, for
        executors that know such.
        """


def find(name: str) -> Executor:
    """The executor of this name."""
    known = gather("executors")
    if name not in known:
        raise SettingError(f"on must be one of {', '.join(names('executors'))}; got {got(name)}")
    found: Executor = known[name]
    return found


@dataclass(frozen=True)
class Crew:
    """Who does it, and how many at a time."""

    on: str = "joblib"
    workers: int | None = 1  # None: one for each core
    address: str | None = None  # of the cluster

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """What came of each task, in the order they are done. What goes wrong with one is raised after all others."""
        failed: Exception | None = None
        for result, error in find(self.on).map(_Tried(work), tasks, self.workers, self.address):
            if error is None:
                yield result  # type: ignore[misc]
            failed = failed or error
        if failed is not None:
            raise failed


@dataclass(frozen=True)
class _Tried(Generic[Task, Result]):
    """Work whose errors are answers."""

    work: Callable[[Task], Result]

    def __call__(self, task: Task) -> tuple[Result | None, Exception | None]:
        try:
            return self.work(task), None
        except Exception as error:  # whatever it is: it is raised by the one who asked
            error.add_note(traceback.format_exc())  # which does not travel with it
            return None, error


HERE = Crew()  # one after the other, in this process


@contextmanager
def quietly() -> Iterator[None]:
    """Without the notes of a fit, where many fits would all say the same."""
    log = logging.getLogger("ccmtad")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
