"""Templates to answers. Every route of the page is a `PageRoute`: a refusal becomes a page too."""

import time
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote

import jinja2
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute

from ... import __version__
from ...errors import CcmtadError, StoreError
from ...report.jinja import environment
from ...results import EVENT_COLUMNS, measured
from ...wording import count, lasting, number
from ..refusal import Refusal
from .assets import address
from .session import Visitor, give, visitor

__all__ = ["PageRoute", "local", "page", "who"]


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A template as an answer."""
    asks: Visitor = request.state.visitor
    shared = {"visitor": asks, "path": request.url.path, "query": request.url.query, "keys": _keys(request)}
    answer = HTMLResponse(_templates().get_template(template).render(**shared, **values), status)
    answer.headers["Cache-Control"] = "no-store"
    if asks.new:
        give(answer, request, asks.cookie)
    return answer


def who(request: Request) -> Visitor:
    """Who asks; one who has not logged in is sent to do so."""
    asks: Visitor = request.state.visitor
    if asks.key is None:
        raise LoginNeeded
    if not asks.key.may("read"):
        raise Refusal(403, "wrong-scope", "this key may not read: log in with another")
    return asks


def local(path: str) -> str:
    """A path of this page; another is the first one."""
    return path if path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable() else "/"


class LoginNeeded(Exception):  # noqa: N818  it is an answer
    """Nobody has logged in."""


class PageRoute(APIRoute):
    """Knows its visitor, and answers with pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As FastAPI asks for it."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            request.state.visitor = Visitor(None, "", False)
            try:
                request.state.visitor = visitor(request)
                return await handler(request)
            except LoginNeeded:
                asked = request.scope["raw_path"].decode("ascii").partition("?")[0]  # as it came: names may hold a %
                back = asked + (f"?{request.url.query}" if request.url.query else "")
                path = f"/login?next={quote(back, safe='')}" if request.method == "GET" else "/login"
                return RedirectResponse(path, 303)
            except RequestValidationError:
                return _error(request, Refusal(422, "malformed", "there is no such page"))
            except StoreError as error:
                status = 507 if error.full else 503
                return _error(request, Refusal(status, "store", "the store does not answer: try again later"))
            except CcmtadError as error:
                return _error(request, Refusal(422, "bad-input", str(error)))
            except Refusal as error:
                return _error(request, error)

        return handle


def _error(request: Request, error: Refusal) -> Response:
    return page(request, "error.html", error.status, error=error)


def _keys(request: Request) -> bool:
    asked: bool = request.app.state.service.settings.keys
    return asked


@cache
def _templates() -> jinja2.Environment:
    made = environment(__package__, "templates")
    sizes = [column for column in EVENT_COLUMNS if column.number]  # what an event is measured by
    made.globals.update(address=address, version=__version__, now=time.time, count=count, sizes=sizes)
    made.filters.update(
        segment=_segment, number=number, when=_when, day=lambda stamp: stamp[:10], clock=lambda stamp: stamp[11:19],
        ago=_ago, seconds=_seconds, measured=measured,
    )  # fmt: skip
    return made


def _segment(text: str) -> str:
    """A name as part of a path."""
    return quote(text, safe="")


def _when(stamp: str | None) -> str:
    """2026-03-01 12:00:00, of a time as JSON has it."""
    return "" if stamp is None else stamp[:19].replace("T", " ")


def _seconds(stamp: str | None) -> float | None:
    """Since 1970."""
    return None if stamp is None else datetime.fromisoformat(stamp[:19] + "+00:00").timestamp()


def _ago(stamp: str | None) -> str:
    """How long ago that is, in words."""
    then = _seconds(stamp)
    if then is None:
        return "never"
    past = time.time() - then
    return "just now" if -2 < past < 2 else f"{lasting(past)} ago" if past > 0 else f"in {lasting(-past)}"
