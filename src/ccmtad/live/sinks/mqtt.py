"""Messages on a topic of an MQTT broker: `mqtt://user:secret@localhost/plant/events?homeassistant=homeassistant`.

With `homeassistant`, the prefix of its discovery, Home Assistant finds a problem sensor by itself: on while an event
goes on.
"""

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SettingError
from ..address import option
from ..alert import Standing
from . import Letter, Sink

__all__ = ["MqttTopic"]

PATIENCE = 10.0  # seconds that a broker may take to answer
HOURS = 3600.0


@dataclass(frozen=True)
class MqttOptions:
    """Options of mqtt://."""

    homeassistant: str = option("", "Prefix of Home Assistant's discovery: homeassistant, unless it was changed.")
    retain: bool = option(False, "Whether the broker keeps the last notice for those who come later.")
    ca: str = option("", "File of the authorities to trust, for mqtts://; those of the system if absent.")


class MqttTopic(Sink):
    """Published with quality of service 1, and waited for until the broker has said that it has them."""

    name = "mqtt"
    schemes = ("mqtt", "mqtts")
    Options = MqttOptions
    extra = ("paho-mqtt", "mqtt")

    def check(self) -> None:
        if not self.address.path or set(self.address.path) & {"#", "+"}:
            raise SettingError(f"mqtt:// must name a topic without # and + after the host; got {self.address.shown!r}")
        if self.options.homeassistant:
            self.again = HOURS

    def load(self) -> None:
        import paho.mqtt.client as paho

        self._library: Any = paho
        self._client: Any = None

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:
        told = [(self.address.path, letter.line, self.options.retain) for letter in letters]
        if self.options.homeassistant:
            told += self._for_home_assistant(letters, standings)
        client = self._connected()
        try:
            sent = [client.publish(topic, payload, qos=1, retain=keep) for topic, payload, keep in told]
            for one in sent:
                one.wait_for_publish(PATIENCE)
                if not one.is_published():
                    raise ConnectionError("the broker does not answer")
        except (RuntimeError, ValueError) as error:  # as paho says that a connection has ended
            self.close()
            raise ConnectionError(str(error)) from error
        except ConnectionError:
            self.close()  # with all that it would send again of itself
            raise

    def _connected(self) -> Any:
        if self._client is not None and self._client.is_connected():
            return self._client
        self.close()
        paho, address = self._library, self.address
        client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5, reconnect_on_failure=False)
        if address.user:
            client.username_pw_set(address.user, address.password or None)
        if address.scheme == "mqtts":
            client.tls_set(ca_certs=self.options.ca or None)
        refused: list[str] = []
        done = threading.Event()

        def on_connect(_: object, __: object, ___: object, code: Any, *____: object) -> None:
            if code.is_failure:
                refused.append(str(code))
            done.set()

        client.on_connect = on_connect
        client.connect_timeout = PATIENCE
        client.connect(address.host, address.port(8883 if address.scheme == "mqtts" else 1883))
        client.loop_start()
        self._client = client
        if not done.wait(PATIENCE) or refused:
            self.close()
            raise ConnectionError(f"the broker refuses: {refused[0]}" if refused else "the broker does not answer")
        return client

    def _for_home_assistant(
        self, letters: Sequence[Letter], standings: Sequence[Standing]
    ) -> list[tuple[str, bytes, bool]]:
        """What makes and sets the sensor of each entity; all of it kept by the broker."""
        found = []
        newest = {letter.notice["entity"]: letter.standing for letter in letters}
        newest = {one.event["entity"]: one for one in standings} | newest
        firing = {one.event["entity"] for one in standings if one.firing}
        for entity, last in newest.items():
            node = re.sub(r"[^A-Za-z0-9_-]", "_", entity)
            topic = f"{self.address.path}/{node}"
            config = {
                "name": "anomaly", "unique_id": f"ccmtad_{node}", "device_class": "problem",
                "state_topic": f"{topic}/state", "json_attributes_topic": f"{topic}/attributes",
                "device": {"identifiers": [f"ccmtad_{node}"], "name": entity, "manufacturer": "ccmtad"},
            }  # fmt: skip
            where = f"{self.options.homeassistant}/binary_sensor/ccmtad_{node}/config"
            found += [
                (where, json.dumps(config).encode(), True),
                (f"{topic}/state", b"ON" if entity in firing else b"OFF", True),
                (f"{topic}/attributes", Letter(last).line, True),
            ]
        return found

    def close(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None
