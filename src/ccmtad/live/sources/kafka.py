"""Rows of a Kafka topic: `kafka://broker:9092/plant`. The place is the next offset of each partition."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InputError, SettingError
from ..address import option
from .connected import BATCH
from .partitioned import Partitioned
from .payload import Message, PayloadOptions

__all__ = ["Kafka"]

log = logging.getLogger("ccmtad")

PATIENCE = 10.0  # seconds that an answer may take
LOOKED_EVERY = 60.0  # seconds between two looks at which partitions there are
MILLISECOND = 1_000_000


@dataclass(frozen=True)
class KafkaOptions(PayloadOptions):
    """Options of kafka://; one with a dot in its name, such as sasl.username, goes to librdkafka."""

    group: str = option("", "Consumer group that is told how far we are, for others to see.")


class Kafka(Partitioned):
    """Messages after offsets that we keep ourselves; a group, where one is named, only learns of them."""

    name = "kafka"
    schemes = ("kafka",)
    extra = ("confluent-kafka", "kafka")
    Options = KafkaOptions

    def further(self, name: str) -> bool:
        return "." in name

    def check(self) -> None:
        if not self.address.path or "/" in self.address.path:
            raise SettingError(f"kafka:// must name a topic after the host; got {self.address.shown!r}")

    def load(self) -> tuple[type[Exception], ...]:
        import confluent_kafka

        self._library = confluent_kafka
        self._consumer: Any = None
        self.place: dict[str, int] = {}
        self._only: frozenset[int] | None = None  # partitions that are ours; None: all
        try:
            self._library.Consumer(self._settings()).close()
        except confluent_kafka.KafkaException as error:
            why = self.address.clean(error.args[0].str())
            raise SettingError(f"options of kafka:// must be known to librdkafka: {why}") from None
        return confluent_kafka.KafkaException, OSError

    def _settings(self) -> dict[str, Any]:
        hosts = self.address.hosts or (("localhost", None),)
        login = {"sasl.username": self.address.user, "sasl.password": self.address.password}
        return {
            "bootstrap.servers": ",".join(f"{name}:{port or 9092}" for name, port in hosts),
            "group.id": self.options.group or f"ccmtad-{self.watch}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 2,
            "error_cb": self._on_error,
            **(login if self.address.user else {}),
            **self.address.rest(KafkaOptions),
        }

    def _on_error(self, error: Any) -> None:
        """All brokers are away: librdkafka says so nowhere else."""
        if error.code() == self._library.KafkaError._ALL_BROKERS_DOWN:
            self._down = error.str()

    def connect(self) -> None:
        self._down = ""
        self._consumer = self._library.Consumer(self._settings())
        self._partitions = self._found()
        self._assigned = self._partitions if self._only is None else self._partitions & self._only
        self._ended_at: set[int] = set()  # partitions that have nothing more
        starts = [self._start(one) for one in self._assigned]
        self._consumer.assign([self._library.TopicPartition(self.address.path, *start) for start in starts])

    def partitions(self, asked: int) -> int:  # noqa: ARG002  the topic says
        self._consumer = self._library.Consumer(self._settings())
        try:
            return len(self._found())
        except self.failures as error:
            raise InputError(f"source must be there: {self.address.shown} {self.address.clean(error)}") from None
        finally:
            self.disconnect()

    def partition(self, message: Message, number: int) -> int:  # noqa: ARG002
        return int(message.place[0])

    def own(self, places: Mapping[int, Any]) -> None:
        self._let_go()
        self._only = frozenset(places)
        self.place = {str(one): place for one, place in places.items() if place is not None}

    def beyond(self, message: Message, place: Any) -> bool:
        return place is None or message.place[1] > place

    def reached(self, partition: int, place: Any) -> Any:
        return self.place.get(str(partition), place)

    def _found(self) -> frozenset[int]:
        topic = self._consumer.list_topics(self.address.path, timeout=PATIENCE).topics[self.address.path]
        if topic.error is not None:
            raise self._library.KafkaException(topic.error)
        self._look_again = time.monotonic() + LOOKED_EVERY
        return frozenset(topic.partitions)

    def _start(self, partition: int) -> tuple[int, int]:
        """A partition, and where to go on in it."""
        place = self.place.get(str(partition))
        if place is None:
            return partition, self._library.OFFSET_BEGINNING
        one = self._library.TopicPartition(self.address.path, partition)
        low, high = self._consumer.get_watermark_offsets(one, timeout=PATIENCE)
        if place > high:
            log.warning("partition %d ends at %d, before %d: read from its start", partition, high, place)
            return partition, low
        if place < low:
            log.warning("messages %d to %d of partition %d were removed before they were read: lost",
                        place, low - 1, partition)  # fmt: skip
        return partition, max(place, low)

    def fetch(self, seconds: float) -> list[Message] | None:
        first = self._consumer.poll(seconds)
        found = [] if first is None else [first, *self._consumer.consume(BATCH, timeout=0)]
        messages = [one for each in found if (one := self._message(each)) is not None]
        if not messages and self._down:
            raise ConnectionError(self._down)
        if time.monotonic() > self._look_again and self._found() != self._partitions:
            raise ConnectionError("it has other partitions now")
        return messages if messages or self._ended_at != self._assigned else None

    def _message(self, found: Any) -> Message | None:
        error, partition = found.error(), found.partition()
        if error is not None:
            if error.code() != self._library.KafkaError._PARTITION_EOF:
                raise self._library.KafkaException(error)
            self._ended_at.add(partition)
            return None
        self._ended_at.discard(partition)
        kind, when = found.timestamp()
        key = None if found.key() is None else found.key().decode(errors="replace")
        taken = None if kind == self._library.TIMESTAMP_NOT_AVAILABLE else when * MILLISECOND
        place = (str(partition), found.offset() + 1)
        return Message(found.value() or b"", place, f"{self.address.path}/{key or ''}", taken, key)

    def passed(self, message: Message) -> None:
        partition, offset = message.place
        self.place = {**self.place, partition: offset}

    def acknowledge(self, place: dict[str, int]) -> None:
        if self.options.group:
            offsets = [self._library.TopicPartition(self.address.path, int(one), at) for one, at in place.items()]
            self._consumer.commit(offsets=offsets, asynchronous=True)

    def disconnect(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
