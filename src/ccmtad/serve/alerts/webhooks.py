"""The webhooks of a store: where to, and what with each is signed."""

import base64
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from ...live.signature import signed_headers
from ..names import check_text
from ..refusal import Refusal
from ..store.store import Store
from ..store.tables import webhooks
from .target import checked_url

__all__ = ["Webhook", "Webhooks"]

MOST = 100  # webhooks
OVERLAP = 24 * 3600 * 10**9  # nanoseconds after a rotation in which the old secret signs as well


@dataclass(frozen=True)
class Webhook:
    """Whom to tell."""

    id: str
    name: str
    url: str
    secret: str
    previous: str | None  # the secret before it
    rotated: int | None
    paused: str | None  # why nothing is sent
    made_by: str
    made: int

    @classmethod
    def of(cls, row: Row[Any]) -> "Webhook":
        """From the store."""
        return cls(**row._mapping)

    def headers(self, message: str, body: bytes, now: float) -> dict[str, str]:
        """Of one attempt, signed as Standard Webhooks say: by the old secret too, while receivers change over."""
        valid = [self.secret]
        if self.previous is not None and self.rotated is not None and now * 1e9 - self.rotated < OVERLAP:
            valid.append(self.previous)
        return signed_headers(valid, message, body, now)


class Webhooks:
    """Made, listed, changed and ended by administrators."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def make(self, name: str, url: str, by: str) -> Webhook:
        """A new one; its secret is in what comes back."""
        if not check_text(name, "name").strip() or not name.isprintable():
            raise Refusal(422, "bad-name", "name must have 1 to 100 printable characters")
        made = Webhook(
            secrets.token_hex(8), name, checked_url(url), _secret(), None, None, None, by, time.time_ns()
        )  # fmt: skip
        with self.store.write() as connection:
            if connection.execute(select(func.count()).select_from(webhooks)).scalar_one() >= MOST:
                raise Refusal(409, "too-many", f"there are {MOST} webhooks already: end some")
            connection.execute(insert(webhooks).values(**vars(made)))
        return made

    def all(self) -> list[Webhook]:
        """Oldest first."""
        with self.store.read() as connection:
            return [Webhook.of(row) for row in connection.execute(select(webhooks).order_by(webhooks.c.made))]

    def __getitem__(self, number: str) -> Webhook:
        with self.store.read() as connection:
            row = connection.execute(select(webhooks).where(webhooks.c.id == number)).first()
        if row is None:
            raise Refusal(404, "no-webhook", "there is no such webhook")
        return Webhook.of(row)

    def rotate(self, number: str) -> Webhook:
        """A new secret; for a day, the old one signs as well."""
        old = self[number]
        return self._change(number, secret=_secret(), previous=old.secret, rotated=time.time_ns())

    def pause(self, number: str, why: str | None) -> Webhook:
        """Nothing is sent there from now on; or again, where there is no reason."""
        return self._change(number, paused=why)

    def end(self, number: str) -> Webhook:
        """With all that waits for it."""
        ended = self[number]
        with self.store.write() as connection:
            connection.execute(delete(webhooks).where(webhooks.c.id == number))
        return ended

    def _change(self, number: str, **columns: Any) -> Webhook:
        with self.store.write() as connection:
            connection.execute(update(webhooks).where(webhooks.c.id == number).values(**columns))
        return self[number]


def _secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
