"""A source whose messages are of many entities, in partitions that several workers share."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from ...tables.lines import Row
from .connected import BATCH, Connected
from .payload import Message

__all__ = ["Partitioned"]


class Partitioned(Connected):
    """Who reads some partitions says where to go on in each; an entity's messages are all of one partition."""

    @abstractmethod
    def partitions(self, asked: int) -> int:
        """How many there are: what the server says, or else what is asked for."""

    @abstractmethod
    def partition(self, message: Message, number: int) -> int:
        """Which of so many a message is of."""

    @abstractmethod
    def own(self, places: Mapping[int, Any]) -> None:
        """From here on these partitions are read, each after its place; None is the start."""

    @abstractmethod
    def beyond(self, message: Message, place: Any) -> bool:
        """Whether a message comes after the place of its partition."""

    @abstractmethod
    def reached(self, partition: int, place: Any) -> Any:
        """The place of a partition whose place was that one, after all messages taken."""

    def messages(self) -> list[tuple[Message, list[Row]]]:
        """As `take`, with what each row came from."""
        if not self._fetched:
            self._fetch(0.0)
        found = [self._fetched.popleft() for _ in range(min(BATCH, len(self._fetched)))]
        return [(message, self.taken(message)) for message in found]
