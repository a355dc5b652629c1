"""Who looks at the page: a key, shown once, for a cookie; and the token that forms carry.

The cookie is a random text of which the store keeps a digest, so that a session outlives a restart, holds for every
process on the store, and ends with its key. The token of forms is made from the cookie: another site can have a browser
send the one, but can never read the other.
"""

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

from fastapi import Request, Response
from sqlalchemy import delete, insert, select

from ..keys import ANYBODY, Key, Keys
from ..refusal import Refusal
from ..store.store import Store
from ..store.tables import sessions

__all__ = ["COOKIE", "Sessions", "Visitor", "give", "visitor"]

COOKIE = "ccmtad"
LASTS = 7 * 86_400  # seconds
SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class Visitor:
    """Who asks for a page."""

    key: Key | None  # None: nobody has logged in
    cookie: str  # what the browser has, or will have
    new: bool  # whether it has to be told

    @property
    def token(self) -> str:
        """What forms carry."""
        return hmac.new(self.cookie.encode(), b"form", hashlib.sha256).hexdigest()

    def check(self, token: str) -> None:
        """A form that does not carry it was not ours."""
        if self.new or not hmac.compare_digest(token.encode(), self.token.encode()):
            raise Refusal(403, "no-token", "this form is not from here, or too old: load the page again")


class Sessions:
    """Those of a store."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self.store, self.keys = store, keys

    def begin(self, key: Key) -> str:
        """What the cookie is to hold."""
        cookie, now = secrets.token_urlsafe(32), time.time_ns()
        with self.store.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.ends < now))
            ends = now + LASTS * 1_000_000_000
            connection.execute(insert(sessions).values(digest=_digest(cookie), key=key.id, ends=ends))
        return cookie

    def end(self, cookie: str) -> None:
        """Nobody is logged in by it any more."""
        with self.store.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.digest == _digest(cookie)))

    def key(self, cookie: str) -> Key | None:
        """Whose it is, where its key is still in use."""
        wanted = select(sessions.c.key).where(sessions.c.digest == _digest(cookie), sessions.c.ends > time.time_ns())
        with self.store.read() as connection:
            number = connection.execute(wanted).scalar()
        return None if number is None else self.keys.by_id(number)

    def vouch(self, request: Request) -> Key | None:
        """Who is logged in may read the API; what changes something goes through the forms, which carry a token."""
        cookie = request.cookies.get(COOKIE, "")
        return self.key(cookie) if cookie and request.method in SAFE else None


def visitor(request: Request) -> Visitor:
    """Who asks."""
    cookie = request.cookies.get(COOKIE, "")
    new = not 20 <= len(cookie) <= 100 or not cookie.isascii()
    if new:
        cookie = secrets.token_urlsafe(32)
    if not request.app.state.service.settings.keys:
        return Visitor(ANYBODY, cookie, new)
    return Visitor(None if new else request.app.state.sessions.key(cookie), cookie, new)


def give(response: Response, request: Request, cookie: str) -> None:
    """Has the browser keep it, out of reach of scripts and of other sites."""
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, max_age=LASTS, httponly=True, samesite="strict", secure=secure, path="/")


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogateescape")).hexdigest()
