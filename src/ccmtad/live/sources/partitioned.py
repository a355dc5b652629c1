"""A source whose messages are of many entities, in partitions that several workers share."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

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

    def messages(self) -> Iterator[Message]:
        """As `take`, but as they came, and each with the place after it: who wants one asks for its `rows`."""
        if not self._fetched:
            self._fetch(0.0)
        for _ in range(min(BATCH, len(self._fetched))):
            message = self._fetched.popleft()
            self.passed(message)
            yield message
