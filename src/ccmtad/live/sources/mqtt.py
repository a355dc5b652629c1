"""Rows of an MQTT broker: `mqtt://localhost/plant/#?client=hall`. A payload is a JSON object, which is a row, or a
number, which is one value of the tag that its topic ends in."""

import threading
from collections import deque
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ...errors import SettingError
from ...tables.lines import Row
from ...wording import count
from ..address import option
from . import Mark
from .connected import BATCH, Connected
from .payload import Message, PayloadOptions

__all__ = ["Mqtt"]

UNACKNOWLEDGED = 1_000  # messages that the broker may send ahead of our acknowledgements
MOST_WAITING = 100_000  # messages that wait here; the broker is told of the limit above, but need not obey
WEEK = 7 * 86_400
PATIENCE = 30.0  # seconds that an answer may take
NOTHING = "ccmtad/nothing"  # a topic that we never subscribe to


@dataclass(frozen=True)
class MqttOptions(PayloadOptions):
    """Options of mqtt://."""

    client: str = option("", "Name by which the broker keeps what we have not read; ccmtad-NAME if absent.")
    session: int = option(WEEK, "Seconds that the broker keeps it while nobody reads.", least=0)
    ca: str = option("", "File of the authorities to trust, for mqtts://; those of the system if absent.")
    keepalive: int = option(30, "Seconds after which a silent connection is tried.", least=1)


class Mqtt(Connected):
    """Messages of topics, acknowledged once their rows are saved.

    The broker sends what was not acknowledged again after a connection ends, marked as sent again and with the same
    packet number. The place is what was taken and is not known to be acknowledged: number and digest of each, by which
    it is known when it comes again. MQTT has no answer to an acknowledgement; whatever is asked of the broker after one
    is answered after it too, so the answer to a question without meaning tells.
    """

    name = "mqtt"
    schemes = ("mqtt", "mqtts")
    extra = ("paho-mqtt", "mqtt")
    Options = MqttOptions

    def check(self) -> None:
        if not self.address.path:
            raise SettingError(
                f"mqtt:// must name a topic after the host, such as /plant/#; got {self.address.shown!r}"
            )
        if self.once:
            raise SettingError("once must be off for mqtt://: a broker does not say that nothing more will come")

    def load(self) -> tuple[type[Exception], ...]:
        import paho.mqtt.client as paho

        self._library = paho
        self._client: Any = None
        self._came = threading.Condition()  # guards what paho's thread fills: the next three
        self._arrived: deque[Any] = deque()  # messages, and answered questions among them
        self._subscribed, self._broken = False, ""
        self._lost = 0
        self.place: dict[str, str] = {}  # number to digest
        self._saved: set[str] = set()  # of them, those whose rows are saved
        self._here: set[str] = set()  # of them, those that came on this connection
        self._acknowledged: set[str] = set()  # of those, the acknowledged ones
        self._asked: dict[int, tuple[dict[str, str], frozenset[str]]] = {}  # question to place and acknowledged then
        self._since = 0  # messages taken since the last commit
        return OSError, ValueError

    @property
    def full(self) -> bool:
        return self._since >= UNACKNOWLEDGED // 2

    def connect(self) -> None:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        paho = self._library
        client = paho.Client(
            paho.CallbackAPIVersion.VERSION2,
            client_id=self.options.client or f"ccmtad-{self.watch}",
            protocol=paho.MQTTv5,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        if self.address.user:
            client.username_pw_set(self.address.user, self.address.password or None)
        if self.address.scheme == "mqtts":
            client.tls_set(ca_certs=self.options.ca or None)
        client.on_connect, client.on_message, client.on_subscribe = (
            self._on_connect,
            self._on_message,
            self._on_subscribe,
        )
        client.on_unsubscribe, client.on_disconnect = self._on_unsubscribe, self._on_disconnect
        asked: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        asked.SessionExpiryInterval = self.options.session if self.kept else 0
        asked.ReceiveMaximum = UNACKNOWLEDGED
        self._arrived.clear()
        self._here.clear()
        self._acknowledged.clear()
        self._asked.clear()
        self._subscribed, self._broken, self._client = False, "", client
        client.connect_timeout = PATIENCE
        port = self.address.port(8883 if self.address.scheme == "mqtts" else 1883)
        client.connect(self.address.host, port, self.options.keepalive, clean_start=not self.kept, properties=asked)
        client.loop_start()
        with self._came:
            # What was kept for us comes before the answer, and may be much.
            self._came.wait_for(lambda: self._subscribed or self._broken or self._arrived, PATIENCE)
            if not self._subscribed and not self._arrived:
                raise ConnectionError(self._broken or "the broker does not answer")

    def _on_connect(self, client: Any, _: object, __: object, code: Any, *___: object) -> None:
        from paho.mqtt.subscribeoptions import SubscribeOptions

        if code.is_failure:
            self._break(f"refused: {code}")
            return
        # What was retained before we came is no news, and its time is unknown.
        client.subscribe(self.address.path, options=SubscribeOptions(qos=1, retainHandling=2))

    def _on_subscribe(self, _: object, __: object, ___: object, codes: list[Any], *____: object) -> None:
        if any(code.is_failure for code in codes):
            self._break(f"topic {self.address.path!r} refused: {codes[0]}")
            return
        with self._came:
            self._subscribed = True
            self._came.notify()

    def _on_disconnect(self, _: object, __: object, ___: object, code: Any, *____: object) -> None:
        self._break(f"the connection has ended: {code}")

    def _break(self, why: str) -> None:
        with self._came:
            self._broken = self._broken or why
            self._came.notify()

    def _on_message(self, _: object, __: object, message: Any) -> None:
        with self._came:
            if len(self._arrived) < MOST_WAITING:
                self._arrived.append(message)
            else:
                self._lost += 1
            self._came.notify()

    def _on_unsubscribe(self, _: object, __: object, question: int, *___: object) -> None:
        with self._came:
            self._arrived.append(question)

    def fetch(self, seconds: float) -> list[Message]:
        with self._came:
            if not self._arrived and not self._broken and seconds:
                self._came.wait(seconds)
            if self._broken and not self._arrived:
                raise ConnectionError(self._broken)
            found = [self._arrived.popleft() for _ in range(min(BATCH, len(self._arrived)))]
            lost, self._lost = self._lost, 0
        if lost:
            self.payloads.leave_out(count(lost, "message"), "came faster than they could be read, and unasked", lost)
        return [Message(b"", one) if isinstance(one, int) else Message(one.payload, one, one.topic) for one in found]

    def _answered(self, question: int) -> None:
        """The broker knows what was acknowledged before it was asked, and what it has not sent again on this
        connection: that does not come again."""
        place, acknowledged = self._asked.pop(question, ({}, frozenset[str]()))
        for number, digest in place.items():
            known = number in acknowledged or number not in self._here
            if known and self.place.get(number) == digest:
                del self.place[number]
                for one in (self._here, self._acknowledged, self._saved):
                    one.discard(number)

    def taken(self, message: Message) -> list[Row]:
        sent = message.place
        if isinstance(sent, int):
            self._answered(sent)
            return []
        if sent.qos == 0:
            return self.rows(message)
        number, digest = str(sent.mid), blake2b(sent.topic.encode() + b"\0" + sent.payload, digest_size=6).hexdigest()
        self._here.add(number)
        if sent.dup and self.place.get(number) == digest:  # sent again, and judged already
            if number in self._saved:
                self._acknowledge(number)
            return []
        self.place[number] = digest
        self._acknowledged.discard(number)
        self._saved.discard(number)
        self._since += 1
        return self.rows(message)

    def _acknowledge(self, number: str) -> None:
        self._client.ack(int(number), 1)
        self._acknowledged.add(number)

    def acknowledge(self, place: dict[str, str]) -> None:
        """Of what did not come on this connection the broker knows already: it would have sent it again. An
        acknowledgement that it does not expect makes a Mosquitto send messages out of order."""
        for number in place:
            if number in self._here and number not in self._acknowledged:
                self._acknowledge(number)
        if place:
            code, question = self._client.unsubscribe(NOTHING)
            if code == self._library.MQTT_ERR_SUCCESS:
                self._asked[question] = dict(place), frozenset(self._acknowledged)

    def mark(self) -> Mark:
        return {**super().mark(), "place": dict(self.place)}

    def resume(self, mark: Mark, rows: int) -> bool:
        super().resume(mark, rows)
        self.place = {str(number): str(digest) for number, digest in mark["place"].items()}
        self._saved = set(self.place)
        return True

    def commit(self, mark: Mark) -> None:
        self._since, self._saved = 0, set(mark["place"])
        super().commit(mark)

    def disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()
