"""API keys: a public id and a secret, of which only a digest is kept. The secret is random and long, so that one round
of SHA-256 is enough."""

import hashlib
import hmac
import re
import secrets
import threading
import time
from dataclasses import dataclass

from sqlalchemy import insert, select, update

from ..errors import InputError
from .store.store import Store
from .store.tables import keys

__all__ = ["SCOPES", "Key", "Keys"]

SCOPES = ("read", "write", "admin")  # look; send rows and say of events; keys, models
PREFIX = "ccm"
FORM = re.compile(rf"{PREFIX}_([0-9a-f]{{16}})_([A-Za-z0-9_-]{{43}})")
REMEMBERED = 2.0  # seconds in which a revoked key may still be taken by another process


@dataclass(frozen=True)
class Key:
    """Who asks, and what for."""

    id: str
    name: str
    scopes: tuple[str, ...]
    made: int
    revoked: int | None = None

    def may(self, scope: str) -> bool:
        """Whether it opens this door; an administrator's opens all."""
        return scope in self.scopes or "admin" in self.scopes


ANYBODY = Key("", "anybody", SCOPES, 0)


class Keys:
    """The keys of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, tuple[str, Key]] = {}
        self._read_at = -1e9
        self._lock = threading.Lock()

    def make(self, name: str, scopes: tuple[str, ...]) -> tuple[Key, str]:
        """A new key, and the text that is shown once."""
        _check(name, scopes)
        number, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        made = Key(number, name, tuple(scopes), time.time_ns())
        with self.store.write() as connection:
            connection.execute(
                insert(keys).values(
                    id=number, name=name, digest=_digest(secret), scopes=" ".join(scopes), made=made.made
                )
            )
        self.forget()
        return made, f"{PREFIX}_{number}_{secret}"

    def rotate(self, number: str) -> tuple[Key, str]:
        """A new key with the name and the scopes of an old one, which ends."""
        old = next((one for one in self.all() if one.id == number and one.revoked is None), None)
        if old is None:
            raise InputError(f"key must be the id of one in use; got {number!r}")
        made = self.make(old.name, old.scopes)
        self.revoke(number)
        return made

    def revoke(self, number: str) -> None:
        """Ends a key."""
        with self.store.write() as connection:
            ended = update(keys).where(keys.c.id == number, keys.c.revoked.is_(None)).values(revoked=time.time_ns())
            found = connection.execute(ended)
        self.forget()
        if not found.rowcount:
            raise InputError(f"key must be the id of one in use; got {number!r}")

    def all(self) -> list[Key]:
        """Those that ended, too; oldest first."""
        with self.store.read() as connection:
            return [_key(row) for row in connection.execute(select(keys).order_by(keys.c.made))]

    def known(self, text: str) -> Key | None:
        """Whose key this is. However wrong it is, it takes the same time to say."""
        match = FORM.fullmatch(text)
        number, secret = match.groups() if match is not None else ("", "")
        digest, key = self._current().get(number, ("", None))
        right = hmac.compare_digest(digest or _digest("nobody's"), _digest(secret))
        return key if right else None

    def by_id(self, number: str) -> Key | None:
        """A key in use, for who has shown it before."""
        return self._current().get(number, ("", None))[1]

    def forget(self) -> None:
        """What is in the store has changed."""
        self._read_at = -1e9

    @property
    def stale(self) -> bool:
        """Whether the store must be asked again."""
        return time.monotonic() - self._read_at > REMEMBERED

    def refresh(self) -> None:
        """Reads the keys in use, if that was not done just now."""
        with self._lock:
            if self.stale:
                with self.store.read() as connection:
                    rows = connection.execute(select(keys).where(keys.c.revoked.is_(None))).all()
                self._known = {row.id: (row.digest, _key(row)) for row in rows}
                self._read_at = time.monotonic()

    def _current(self) -> dict[str, tuple[str, Key]]:
        if self.stale:
            self.refresh()
        return self._known


def _key(row: object) -> Key:
    return Key(row.id, row.name, tuple(row.scopes.split()), row.made, row.revoked)  # type: ignore[attr-defined]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _check(name: str, scopes: tuple[str, ...]) -> None:
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise InputError("name must have 1 to 100 printable characters")
    wrong = [one for one in scopes if one not in SCOPES]
    if wrong or not scopes:
        raise InputError(f"scopes must be of {', '.join(SCOPES)}; got {', '.join(wrong) or 'none'}")
