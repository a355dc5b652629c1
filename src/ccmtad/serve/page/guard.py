"""What every answer says to a browser, and what no browser may be made to do to a service without keys."""

from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..api.answer import refused
from ..refusal import Refusal
from ..settings import ServeSettings

__all__ = ["POLICY", "Guard"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SAID = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Guard:
    """Adds the headers. Without keys, every page in the world could have this machine's browser ask: then only requests
    by the machine's own name are answered, and what changes something only where it comes from here."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAID.items():
                    headers.setdefault(name, value)
            await send(message)

        if not self.settings.keys and not _from_here(scope):
            answer: Any = refused(None, Refusal(403, "foreign", "asked for by another name, or by another site"))  # type: ignore[arg-type]
            await answer(scope, receive, told)
            return
        await self.app(scope, receive, told)


def _from_here(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    if urlsplit(f"//{headers.get('host', '')}").hostname not in LOOPBACK:
        return False
    origin = headers.get("origin")
    return scope["method"] in ("GET", "HEAD") or origin is None or urlsplit(origin).hostname in LOOPBACK
