"""Real servers of the tests, each an instance of its own that may be stopped: Mosquitto, Redis, NATS; a table of the
PostgreSQL that answers, behind a relay that may be cut or stalled; files in a folder; librdkafka's mock of Kafka."""

import json
import os
import secrets
import select
import shutil
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

PATIENCE = 120.0  # seconds to wait for what must happen, however busy the machine is
RowOf = dict[str, Any]  # what is sent as one row: a time and tags


def until(happened: Callable[[], Any], what: str = "it", every: float = 0.02) -> None:
    given_up = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < given_up, f"{what} did not happen"
        time.sleep(every)  # looking may cost more than what is waited for


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class Server(ABC):
    """Something that rows are sent to, and read from."""

    url: str
    mock = False  # not the real thing
    stoppable = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def send(self, rows: Sequence[RowOf]) -> None:
        """In order."""

    @abstractmethod
    def send_bad(self) -> int:
        """Everything that is no row, as far as this server takes it; how many messages that is."""

    def close(self) -> None:
        self.stop()


Kind = TypeVar("Kind", bound=Server)


@contextmanager
def running(server: Kind) -> Iterator[Kind]:
    """Stopped in the end, whatever becomes of the test."""
    server.start()
    try:
        yield server
    finally:
        server.close()


class Program(Server):
    """A server that is a program of this machine."""

    program: str
    package: str

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        path = shutil.which(self.program) or shutil.which(self.program, path="/usr/sbin:/usr/local/sbin")
        if path is None:
            pytest.skip(f"no {self.program}: install it (Debian: apt-get install {self.package})")
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([path, *self.command()], stdout=log, stderr=log)
        until(lambda: answers(self.port), f"{self.program}'s answer")

    def stop(self) -> None:
        """Asked again and again: Mosquitto forgets what it was told before its main loop begins."""
        until(self._ended, f"{self.program}'s end", 0.0)

    def _ended(self) -> bool:
        self.process.terminate()
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            return False
        return True


BAD = (b"", b"no number", b"\xff\xfe", b'{"flow": 1', b"[1, 2]", b'{"other": 1.0}', b'{"time": "never", "flow": 1.0}',
       b'{"time": "2026-03-01", "flow": ' + b"1" * (1 << 20) + b"}")  # fmt: skip


class Mosquitto(Program):
    program, package = "mosquitto", "mosquitto"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"mqtt://127.0.0.1:{self.port}/plant/#?client=test"

    def command(self) -> list[str]:
        text = (
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser root\nmax_queued_messages 0\n"
            f"persistence true\npersistence_location {self.folder}/\n"
        )
        (self.folder / "mosquitto.conf").write_text(text)
        return ["-c", str(self.folder / "mosquitto.conf")]

    def publish(self, payloads: Sequence[bytes], topic: str = "plant/rows") -> None:
        import paho.mqtt.client as paho
        from paho.mqtt.enums import CallbackAPIVersion

        client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        client.max_inflight_messages_set(1_000)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        sent = [client.publish(topic, payload, qos=1) for payload in payloads]
        for one in sent:
            one.wait_for_publish(PATIENCE)
        client.disconnect()
        client.loop_stop()

    def send(self, rows: Sequence[RowOf]) -> None:
        self.publish([json.dumps(row).encode() for row in rows])

    def send_bad(self) -> int:
        self.publish(BAD)
        return len(BAD)


class Redis(Program):
    program, package = "redis-server", "redis-server"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"redis://127.0.0.1:{self.port}/plant"

    def command(self) -> list[str]:
        return ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--appendonly", "yes"]

    def start(self) -> None:
        super().start()
        with self.client() as client:
            until(lambda: self._ready(client), "Redis' start")

    @staticmethod
    def _ready(client: Any) -> bool:
        import redis

        try:
            return bool(client.ping())
        except redis.exceptions.BusyLoadingError:
            return False

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port)

    def send(self, rows: Sequence[RowOf]) -> None:
        with self.client() as client, client.pipeline(transaction=False) as pipe:
            for row in rows:
                pipe.xadd("plant", row)
            pipe.execute()

    def send_bad(self) -> int:
        bad: list[RowOf] = [
            {"other": "1.0"},
            {"time": "never", "flow": "1"},
            {"\ufffd": b"\xfe"},
            {"flow": "1" * (1 << 20)},
        ]
        self.send(bad)
        return len(bad)


class Nats(Program):
    program, package = "nats-server", "nats-server"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"nats://127.0.0.1:{self.port}/PLANT?subject=plant.rows"

    def command(self) -> list[str]:
        return ["-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder)]

    def start(self) -> None:
        super().start()
        self.run(self._stream)

    async def _stream(self, stream: Any) -> None:
        await stream.add_stream(name="PLANT", subjects=["plant.>"])

    def run(self, what: Callable[[Any], Any]) -> None:
        import asyncio

        import nats

        async def all_of_it() -> None:
            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            await what(client.jetstream(timeout=PATIENCE))
            await client.close()

        asyncio.run(all_of_it())

    def publish(self, payloads: Sequence[bytes], subject: Callable[[int], str] = lambda _: "plant.rows") -> None:
        async def publish(stream: Any) -> None:
            waiting = []
            for i, payload in enumerate(payloads):
                waiting.append(await stream.publish_async(subject(i), payload))
                if len(waiting) >= 500:
                    for one in waiting:
                        await one
                    waiting = []
            for one in waiting:
                await one

        self.run(publish)

    def send(self, rows: Sequence[RowOf]) -> None:
        self.publish([json.dumps(row).encode() for row in rows])

    def send_bad(self) -> int:
        bad = BAD[:-1]  # a message has a mebibyte at most there
        self.publish(bad)
        return len(bad)


class Kafka(Server):
    """librdkafka's mock broker, in this process; a real one where CCMTAD_KAFKA has its address."""

    stoppable = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.real = os.environ.get("CCMTAD_KAFKA", "")
        self.mock = not self.real
        self.topic = f"plant-{secrets.token_hex(4)}"

    def start(self) -> None:
        from confluent_kafka import Producer

        settings: dict[str, Any] = {"bootstrap.servers": self.real} if self.real else {"test.mock.num.brokers": 1}
        self.producer = Producer({**settings, "log_level": 0, "message.max.bytes": 4_000_000})
        brokers = self.producer.list_topics(timeout=PATIENCE).brokers
        hosts = ",".join(f"{one.host}:{one.port}" for one in brokers.values())
        self.url = f"kafka://{self.real or hosts}/{self.topic}"
        self.publish([])

    def publish(self, payloads: Sequence[bytes], keys: Sequence[str] = ()) -> None:
        for i, payload in enumerate(payloads):
            key = keys[i] if keys else None
            while True:
                try:
                    # One partition keeps the order; the mock's topics have four.
                    self.producer.produce(self.topic, payload, key=key, partition=-1 if keys else 0)
                    break
                except BufferError:
                    self.producer.poll(0.1)
        self.producer.flush(PATIENCE)

    def send(self, rows: Sequence[RowOf]) -> None:
        self.publish([json.dumps(row).encode() for row in rows])

    def send_bad(self) -> int:
        self.publish(BAD)
        return len(BAD)

    def stop(self) -> None:
        """It ends with its producer."""

    def close(self) -> None:
        del self.producer


class Relay:
    """Passes connections on to a port, until it is cut or stalled."""

    def __init__(self, port: int, target: tuple[str, int]) -> None:
        self.port, self.target = port, target
        self.stalled = threading.Event()
        self._listening: socket.socket | None = None
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()

    def start(self) -> None:
        self._ended.clear()
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._thread(self._accept, self._listening)

    def _thread(self, what: Callable[..., None], *given: Any) -> None:
        thread = threading.Thread(target=what, args=given)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listening: socket.socket) -> None:
        while not self._ended.is_set():
            if select.select([listening], [], [], 0.05)[0]:
                self._thread(self._pass_on, listening.accept()[0])

    def _pass_on(self, near: socket.socket) -> None:
        with near, socket.create_connection(self.target) as far:
            other = {near: far, far: near}
            while not self._ended.is_set():
                for one in select.select([near, far], [], [], 0.05)[0] if not self.stalled.is_set() else ():
                    try:
                        data = one.recv(1 << 16)
                    except OSError:
                        return
                    if not data:
                        return
                    other[one].sendall(data)
                if self.stalled.is_set():
                    self._ended.wait(0.05)

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        if self._listening is not None:
            self._listening.close()
            self._listening = None


class Postgresql(Server):
    """A table of the server that answers; it is reached through a relay, since it is not ours to stop."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.own = os.environ.get("CCMTAD_POSTGRESQL", "postgresql://root@127.0.0.1:5432/test")
        self.table = f"rows_{secrets.token_hex(4)}"

    def start(self) -> None:
        import psycopg

        if not hasattr(self, "relay"):
            try:
                self.connection = psycopg.connect(self.own, autocommit=True, connect_timeout=5)
            except psycopg.OperationalError as error:
                pytest.skip(f"no PostgreSQL: name one in CCMTAD_POSTGRESQL ({error})")
            self.do(
                "create table {} (id bigserial primary key, time timestamptz, flow float8, level float8, valve float8, "
                "note text)"
            )
            facts = self.connection.info
            self.relay = Relay(self.port, (facts.host, facts.port))
            login = f"{facts.user}:{facts.password}@" if facts.password else f"{facts.user}@"
            self.url = (
                f"postgresql://{login}127.0.0.1:{self.port}/{facts.dbname}?table={self.table}&every=0.05&timeout=2"
            )
        self.relay.start()

    def stop(self) -> None:
        self.relay.stop()

    def do(self, statement: str, rows: Sequence[RowOf] = ({},)) -> None:
        from psycopg import sql

        with self.connection.cursor() as cursor:
            cursor.executemany(sql.SQL(statement).format(sql.Identifier(self.table)), rows)

    def send(self, rows: Sequence[RowOf]) -> None:
        statement = "insert into {} (time, flow, level, valve) values (%(time)s, %(flow)s, %(level)s, %(valve)s)"
        self.do(statement, [{"flow": None, "level": None, "valve": None, **row} for row in rows])

    def send_bad(self) -> int:
        """A table has types: what is left are times of other calendars; the last one never comes, and is waited for."""
        for when in ("-infinity", "0044-03-15 BC", "infinity"):
            self.do("insert into {} (time, flow) values (%(time)s, 1)", [{"time": when}])
        return 2

    def close(self) -> None:
        self.stop()
        self.do("drop table {}")
        self.connection.close()


class Objects(Server):
    """Files in a folder, through the same library as buckets."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.rows = folder / "rows"
        self.url = f"file://{self.rows}?every=0.05"
        self.number = 0

    def start(self) -> None:
        self.rows.mkdir(exist_ok=True)
        if self.rows.with_name("away").exists():
            self.rows.rmdir()
            self.rows.with_name("away").rename(self.rows)

    def stop(self) -> None:
        if self.rows.exists():
            self.rows.rename(self.rows.with_name("away"))

    def put(self, data: bytes, ending: str) -> None:
        self.number += 1
        draft = self.folder / "draft"
        draft.write_bytes(data)
        draft.rename(self.rows / f"{self.number:08d}{ending}")

    def send(self, rows: Sequence[RowOf]) -> None:
        for i in range(0, len(rows), 100):
            self.put("".join(f"{json.dumps(row)}\n" for row in rows[i : i + 100]).encode(), ".jsonl")

    def send_bad(self) -> int:
        for one, ending in ((b"\xff\xfe\x00", ".csv"), (b"a,b,c\n1,2,3\n", ".csv"), (b"PAR1PAR1", ".parquet")):
            self.put(one, ending)
        self.put(b'{"time": "2026-03-01T14:00:00", "flow": 0.1}\nno row\n{"time": "never"}\n', ".jsonl")
        return 5


SERVERS: dict[str, type[Server]] = {
    "mqtt": Mosquitto, "redis": Redis, "nats": Nats, "kafka": Kafka, "postgresql": Postgresql, "objects": Objects,
}  # fmt: skip
