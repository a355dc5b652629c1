"""Where notices go in tests: the real thing for each sink (librdkafka's mock of Kafka), and what has arrived there."""

import json
import secrets
import sqlite3
import threading
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from ..serve.monitors import an_alertmanager
from ..serve.receiver import receiving
from . import servers

Told = tuple[str, int]  # id and revision
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Place(ABC):
    """Somewhere that a sink tells."""

    url: str
    once = False  # whether a notice told twice is there once
    all_of_them = True  # whether each revision is kept, and not only how events stand

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    def close(self) -> None:
        self.stop()

    @abstractmethod
    def told(self) -> list[dict[str, Any]]:
        """What has arrived, in order."""

    def revisions(self) -> list[Told]:
        return [(one["id"], one["revision"]) for one in self.told()]


class InFile(Place):
    def start(self) -> None:
        self.path = self.folder / "events.jsonl"
        self.url = f"file://{self.path}"

    def stop(self) -> None: ...

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []


class InSqlite(Place):
    once = True

    def start(self) -> None:
        self.path = self.folder / "events.db"
        self.url = f"sqlite:///{self.path}"

    def stop(self) -> None: ...

    def told(self) -> list[dict[str, Any]]:
        connection = sqlite3.connect(self.path)
        try:
            return [json.loads(row[0]) for row in connection.execute("select notice from ccmtad_events order by rowid")]
        except sqlite3.OperationalError:
            return []
        finally:
            connection.close()


class InPostgresql(Place):
    once = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = servers.Postgresql(folder)

    def start(self) -> None:
        self.server.start()
        self.table = f"{self.server.table}_notices"
        self.url = self.server.url.partition("?")[0] + f"?table={self.table}&connect_timeout=2"

    def stop(self) -> None:
        self.server.stop()

    def close(self) -> None:
        self.server.connection.execute(f"drop table if exists {self.table}")
        self.server.close()

    def told(self) -> list[dict[str, Any]]:
        found = self.server.connection.execute("select to_regclass(%s)", [self.table]).fetchone()
        if found is None or found[0] is None:
            return []
        rows = self.server.connection.execute(f"select notice from {self.table} order by ctid")
        return [json.loads(row[0]) for row in rows]


class InRedis(Place):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = servers.Redis(folder)
        self.url = f"redis://127.0.0.1:{self.server.port}/told"

    def start(self) -> None:
        self.server.start()

    def stop(self) -> None:
        self.server.stop()

    def told(self) -> list[dict[str, Any]]:
        import redis

        client: Any = redis.Redis(port=self.server.port)
        try:
            return [json.loads(fields[b"notice"]) for _, fields in client.xrange("told")]
        finally:
            client.close()


class InMqtt(Place):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = servers.Mosquitto(folder)
        self.url = f"mqtt://127.0.0.1:{self.server.port}/told?homeassistant=discovery"
        self.came: list[tuple[str, bytes]] = []
        self.client: Any = None

    def start(self) -> None:
        import paho.mqtt.client as paho
        from paho.mqtt.enums import CallbackAPIVersion

        self.server.start()
        # A session that the broker keeps: a sink that waits may publish before this one is back.
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id="listener", clean_session=False, reconnect_on_failure=False
        )
        listening = threading.Event()
        self.client.on_subscribe = lambda *_: listening.set()
        self.client.on_message = lambda _, __, message: self.came.append((message.topic, message.payload))
        self.client.connect("127.0.0.1", self.server.port)
        self.client.subscribe("#", qos=1)
        self.client.loop_start()
        assert listening.wait(20)

    def stop(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
        self.server.stop()

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(payload) for topic, payload in self.came if topic == "told"]


class InNats(Place):
    once = True  # within the window of the stream

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = servers.Nats(folder)
        self.url = f"nats://127.0.0.1:{self.server.port}/plant.told"

    def start(self) -> None:
        self.server.start()

    def stop(self) -> None:
        self.server.stop()

    def told(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        async def read(stream: Any) -> None:
            last = (await stream.stream_info("PLANT")).state.last_seq
            for number in range(1, last + 1):
                found.append(json.loads((await stream.get_msg("PLANT", number)).data))

        self.server.run(read)
        return found


class InKafka(Place):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = servers.Kafka(folder)

    def start(self) -> None:
        self.server.start()
        self.url = self.server.url

    def stop(self) -> None:
        self.server.close()

    def told(self) -> list[dict[str, Any]]:
        from confluent_kafka import Consumer, TopicPartition

        hosts = self.url.removeprefix("kafka://").partition("/")[0]
        consumer = Consumer({"bootstrap.servers": hosts, "group.id": secrets.token_hex(4), "log_level": 0})
        try:
            found = []
            for number in consumer.list_topics(self.server.topic, 20).topics[self.server.topic].partitions:
                _, high = consumer.get_watermark_offsets(TopicPartition(self.server.topic, number), 20)
                consumer.assign([TopicPartition(self.server.topic, number, 0)])
                for _ in range(high):
                    message = consumer.poll(20)
                    assert message is not None
                    assert message.error() is None
                    found.append(json.loads(message.value() or b""))
            return found
        finally:
            consumer.close()


class InWebhook(Place):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = servers.free_port()
        self.url = f"http://127.0.0.1:{self.port}/hook?to=pager&secret={SECRET}"
        self.came: list[Any] = []

    def start(self) -> None:
        self.stack = ExitStack()
        self.receiver = self.stack.enter_context(receiving(port=self.port, came=self.came))

    def stop(self) -> None:
        self.stack.close()

    def told(self) -> list[dict[str, Any]]:
        return [one.told["notice"] for one in list(self.came)]


class InAlertmanager(Place):
    """It knows alerts, not notices: what goes on, by the id of the event."""

    all_of_them = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = servers.free_port()
        self.url = f"alertmanager://127.0.0.1:{self.port}?interval=0.5"

    def start(self) -> None:
        self.stack = ExitStack()
        self.client: httpx.Client = self.stack.enter_context(an_alertmanager(self.folder, "1s", self.port))

    def stop(self) -> None:
        self.stack.close()

    def told(self) -> list[dict[str, Any]]:
        return [{"id": one["annotations"]["event"]} for one in self.client.get("/api/v2/alerts").json()]


class InPrometheus(Place):
    """A page to be scraped: how many events go on."""

    all_of_them = False

    def start(self) -> None:
        self.port = servers.free_port()
        self.url = f"prometheus://127.0.0.1:{self.port}"

    def stop(self) -> None: ...

    def told(self) -> list[dict[str, Any]]:
        try:
            text = httpx.get(f"http://127.0.0.1:{self.port}/metrics", trust_env=False).text
        except httpx.HTTPError:
            return []
        lines = [line for line in text.splitlines() if line.startswith("ccmtad_watch_open_events{")]
        return [{"id": line} for line in lines for _ in range(round(float(line.split()[-1])))]


PLACES: dict[str, type[Place]] = {
    "file": InFile, "sqlite": InSqlite, "postgresql": InPostgresql, "redis": InRedis, "mqtt": InMqtt, "nats": InNats,
    "kafka (mock)": InKafka, "webhook": InWebhook, "alertmanager": InAlertmanager, "prometheus": InPrometheus,
}  # fmt: skip
STOPPABLE = ("postgresql", "redis", "mqtt", "nats", "webhook", "alertmanager")
EVERY_NOTICE = tuple(name for name, place in PLACES.items() if place.all_of_them)
