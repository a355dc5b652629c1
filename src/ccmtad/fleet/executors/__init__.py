"""Who does the work of a fleet, one file each, found by name. None of them schedules anything itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ...errors import SettingError
from ...registry import gather, names
from ...wording import got

__all__ = ["Executor", "find"]

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
    known = gather("fleet.executors")
    if name not in known:
        raise SettingError(f"on must be one of {', '.join(names('fleet.executors'))}; got {got(name)}")
    found: Executor = known[name]
    return found
