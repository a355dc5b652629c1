"""Records of a Kafka topic: `kafka://host1:9092,host2:9092/events`. The key is the entity."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SettingError
from ..address import option
from ..alert import Standing
from . import Letter, Sink

__all__ = ["KafkaTopic"]

PATIENCE = 10.0  # seconds that a broker may take to answer


@dataclass(frozen=True)
class KafkaOptions:
    """Options of kafka://; names with a dot are librdkafka's own."""

    acks: str = option("all", "How many brokers must have a record: all, or 1.")


class KafkaTopic(Sink):
    """Produced idempotently, and waited for until the brokers have them."""

    name = "kafka"
    schemes = ("kafka",)
    Options = KafkaOptions
    extra = ("confluent-kafka", "kafka")

    def further(self, name: str) -> bool:
        return "." in name

    def check(self) -> None:
        if not self.address.path or "/" in self.address.path:
            raise SettingError(f"kafka:// must name a topic after the host; got {self.address.shown!r}")

    def load(self) -> None:
        import confluent_kafka

        self._library = confluent_kafka
        self._producer: Any = None

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:  # noqa: ARG002
        if self._producer is None:
            self._producer = self._library.Producer(self._settings())
        troubles: list[str] = []

        def told(error: Any, _: object) -> None:
            if error is not None:
                troubles.append(str(error))

        for letter in letters:
            key = str(letter.notice["entity"]).encode()
            self._producer.produce(self.address.path, letter.line, key, on_delivery=told)
        left = self._producer.flush(PATIENCE)
        if left or troubles:
            self.close()
            raise ConnectionError(troubles[0] if troubles else "no broker answers")

    def _settings(self) -> dict[str, Any]:
        address = self.address
        hosts = ",".join(f"{host}:{port or 9092}" for host, port in address.hosts) or "localhost:9092"
        login = {}
        if address.user:
            login = {"sasl.username": address.user, "sasl.password": address.password}
            login |= {"sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL"}
        settings = {"bootstrap.servers": hosts, "acks": self.options.acks, "message.timeout.ms": round(PATIENCE * 1e3)}
        idempotent = {"enable.idempotence": True} if self.options.acks == "all" else {}
        quiet = {"log_level": 0, "error_cb": lambda _: None}  # what goes wrong is told where it is waited for
        return {**settings, **idempotent, **login, **quiet, **address.rest(KafkaOptions)}

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(0)
            self._producer = None
