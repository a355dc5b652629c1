"""Rows of a NATS JetStream: `nats://localhost/PLANT?subject=plant.rows`. The place is the stream's sequence number."""

import asyncio
import logging
import zlib
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...errors import InputError, SettingError
from ..address import option
from .connected import BATCH
from .partitioned import Partitioned
from .payload import Message, PayloadOptions

__all__ = ["Nats"]

log = logging.getLogger("ccmtad")

PATIENCE = 10.0  # seconds that an answer may take
QUICK = 0.05  # seconds to wait for messages where nobody waits: the server answers within them
FORGOTTEN = 300.0  # seconds without us after which the server forgets our consumer

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class NatsOptions(PayloadOptions):
    """Options of nats://."""

    subject: str = option("", "Subject to read; all of the stream if absent.")


class Nats(Partitioned):
    """Messages after a sequence number.

    The server keeps no place for us: each connection begins a consumer of its own after the last message taken. Each
    message carries its number among those sent to that consumer, so one that got lost on the way is noticed, and all
    after it are asked for again. There is nothing to acknowledge, and nothing that an end at a wrong moment could lose.
    """

    name = "nats"
    schemes = ("nats", "natss")
    extra = ("nats-py", "nats")
    Options = NatsOptions

    def check(self) -> None:
        if not self.address.path or "/" in self.address.path:
            raise SettingError(f"nats:// must name a stream after the host; got {self.address.shown!r}")

    def load(self) -> tuple[type[Exception], ...]:
        import nats
        import nats.errors

        self._library = nats
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Any = None
        self._stream: Any = None
        self._shared = False  # with other workers
        self._pending = -1  # messages that the server still has for us, as far as it said; -1: it did not
        return nats.errors.Error, OSError, asyncio.TimeoutError

    def identity(self) -> str:
        return f"{self.name} {self.address.path} {self.options.subject}".rstrip()

    def _do(self, what: Coroutine[Any, Any, Answer], limit: float = PATIENCE) -> Answer:
        assert self._loop is not None
        return self._loop.run_until_complete(asyncio.wait_for(what, limit))

    def connect(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._do(self._connect())

    async def _connect(self) -> None:
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        scheme = "tls" if self.address.scheme == "natss" else "nats"
        hosts = [f"{scheme}://{name}:{port or 4222}" for name, port in self.address.hosts or (("localhost", None),)]
        login = {"user": self.address.user, "password": self.address.password}
        if not self.address.password:
            login = {"token": self.address.user} if self.address.user else {}
        self._client = await self._library.connect(
            servers=hosts,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=5,
            ping_interval=5,
            error_cb=_quietly,
            **login,
        )
        stream = self._client.jetstream()
        facts = (await stream.stream_info(self.address.path)).state
        place = self.place or 0
        if facts.last_seq < place and self._shared:
            raise InputError(
                f"stream {self.address.path} must go on after {place}, as the states do; it ends at {facts.last_seq}"
            )
        if facts.last_seq < place:
            log.warning("stream %s ends at %d, before %d: it is another one, and read from its start",
                        self.address.path, facts.last_seq, place)  # fmt: skip
            place = 0
        elif place and facts.first_seq > place + 1:
            log.warning("messages %d to %d were removed before they were read: lost", place + 1, facts.first_seq - 1)
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=place + 1,
            ack_policy=AckPolicy.NONE,
            filter_subject=self.options.subject or None,
            inactive_threshold=FORGOTTEN,
        )
        made = await stream.add_consumer(self.address.path, config)
        self._pending, self._number = made.num_pending, 0
        self._messages = await stream.pull_subscribe_bind(consumer=made.name, stream=self.address.path)
        self._stream, self._consumer = stream, made.name

    def partitions(self, asked: int) -> int:
        self._shared = True
        return asked

    def partition(self, message: Message, number: int) -> int:
        return zlib.crc32((message.key or "").encode()) % number

    def own(self, places: Mapping[int, Any]) -> None:
        self._let_go()
        self.place = min((place or 0 for place in places.values()), default=0)

    def beyond(self, message: Message, place: Any) -> bool:
        return bool(message.place > (place or 0))

    def reached(self, partition: int, place: Any) -> Any:  # noqa: ARG002  one sequence for all
        return max(self.place or 0, place or 0)

    def fetch(self, seconds: float) -> list[Message] | None:
        if self._client.is_closed:
            raise ConnectionError("the connection has ended")
        try:
            found = self._do(self._messages.fetch(BATCH, timeout=max(seconds, QUICK)), PATIENCE)
        except TimeoutError:  # there was none, or no answer: the end of a dead connection is told by pings
            return None if self._pending == 0 and not self._client.is_closed else []
        return [self._message(one) for one in found]

    def _message(self, found: Any) -> Message:
        facts = found.metadata
        self._number += 1
        if facts.sequence.consumer != self._number:
            raise ConnectionError(f"message {self._number} must be next; got {facts.sequence.consumer}")
        self._pending = facts.num_pending
        when = int(facts.timestamp.timestamp() * 1_000_000) * 1_000
        topic = found.subject.replace(".", "/")
        return Message(found.data, facts.sequence.stream, topic, when, key=found.subject.rpartition(".")[2])

    def disconnect(self) -> None:
        loop, client, self._loop, self._client = self._loop, self._client, None, None
        if loop is None:
            return
        try:
            if client is not None:
                loop.run_until_complete(asyncio.wait_for(self._leave(client), PATIENCE))
        finally:
            loop.run_until_complete(_end_all())
            loop.close()

    async def _leave(self, client: Any) -> None:
        try:
            if self._stream is not None and not client.is_closed:
                await asyncio.wait_for(self._stream.delete_consumer(self.address.path, self._consumer), 1.0)
        finally:
            await client.close()


async def _quietly(error: Exception) -> None:
    """What goes wrong is told when we are asked for messages."""
    log.debug("nats: %s", error)


async def _end_all() -> None:
    """Ends what the client has left running."""
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
