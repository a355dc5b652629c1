"""What tells over HTTP: a webhook, `https://pager.example/hook?secret=${PAGER_SECRET}`, and an Alertmanager,
`alertmanager://localhost:9093`."""

import base64
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ...errors import SettingError
from ..address import option
from ..alert import Standing, Style, alerts_of, distinct, message_id, message_of
from . import Letter, RefusedError, Sink

__all__ = ["Alertmanager", "Webhook"]

PATIENCE = 10.0  # seconds that a receiver may take to answer
REFUSED = (400, 413, 422)  # what is wrong with a letter will be wrong again; anything else may pass
PREFIX = "whsec_"  # of a secret
INTERVALS = 4  # after which an alert that was not sent again has ended


class Http(Sink):
    """Posts JSON. Redirects are not followed."""

    extra = ("httpx", "live")

    def load(self) -> None:
        import httpx

        login = (self.address.user, self.address.password) if self.address.user else None
        self._client = httpx.Client(trust_env=False, follow_redirects=False, timeout=PATIENCE, auth=login)

    def url(self, scheme: str, port: int, path: str, query: dict[str, str]) -> str:
        """Without login, which is sent apart."""
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        return f"{scheme}://{host}:{self.address.port(port)}/{path}{f'?{urlencode(query)}' * bool(query)}"

    def post(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        """Only a status from 200 to 299 is a delivery."""
        answer = self._client.post(url, content=body, headers=headers)
        if answer.status_code in REFUSED:
            raise RefusedError(f"it answered {answer.status_code}: {answer.text[:200]}")
        if not answer.is_success:
            raise ConnectionError(f"it answered {answer.status_code}")

    def close(self) -> None:
        self._client.close()


@dataclass(frozen=True)
class WebhookOptions:
    """Options of a webhook; others are part of its URL."""

    secret: str = option("", "Secret that messages are signed with, whsec_…; unsigned if absent.")
    critical: float = option(10.0, "Severity from which an alert is critical, and not a warning.", least=0.0)


class Webhook(Http):
    """The messages of the service's webhooks: version 4 of Alertmanager's, signed as Standard Webhooks say."""

    name = "webhook"
    schemes = ("http", "https")
    Options = WebhookOptions
    most = 1

    def further(self, name: str) -> bool:  # noqa: ARG002
        return True

    def check(self) -> None:
        try:
            key = base64.b64decode(self.options.secret.removeprefix(PREFIX), validate=True)
        except ValueError:
            key = b""
        if self.options.secret and (not key or not self.options.secret.startswith(PREFIX)):
            raise SettingError(f"secret must be one of Standard Webhooks: {PREFIX} and base64")

    def load(self) -> None:
        super().load()
        from ..signature import signed_headers

        self._signed = signed_headers
        scheme = self.address.scheme
        port = {"http": 80, "https": 443}[scheme]
        self._url = self.url(scheme, port, self.address.path, self.address.rest(WebhookOptions))
        self._secrets = [self.options.secret] if self.options.secret else []

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:  # noqa: ARG002
        for letter in letters:
            message = message_id(letter.notice["id"], letter.notice["revision"])
            style = Style("", self.options.critical)
            told: dict[str, Any] = message_of(letter.standing, style, str(letter.notice["entity"]))
            body = json.dumps({**told, "notice": letter.notice}).encode()
            self.post(self._url, body, self._signed(self._secrets, message, body, time.time()))


@dataclass(frozen=True)
class AlertmanagerOptions:
    """Options of an Alertmanager."""

    interval: float = option(60.0, "Seconds after which it is told of an open event again.", least=0.1)
    critical: float = option(10.0, "Severity from which an alert is critical, and not a warning.", least=0.0)


class Alertmanager(Http):
    """Told of all that fires and of what has ended, again and again, as it wants to be told."""

    name = "alertmanager"
    schemes = ("alertmanager", "alertmanagers")
    Options = AlertmanagerOptions

    def check(self) -> None:
        self.again = self.options.interval

    def load(self) -> None:
        super().load()
        scheme, path = {"alertmanager": "http", "alertmanagers": "https"}[self.address.scheme], self.address.path
        self._url = self.url(scheme, 9093, f"{path.rstrip('/')}/api/v2/alerts".lstrip("/"), {})

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:  # noqa: ARG002
        style = Style("", self.options.critical)
        alerts = distinct([alert for one in standings for alert in alerts_of(one, style)])
        if alerts:
            until = time.time_ns() + round(INTERVALS * self.options.interval * 1e9)
            body = json.dumps([one.posted(until) for one in alerts]).encode()
            self.post(self._url, body, {"content-type": "application/json"})
