"""What people do: words on events, and maintenance windows. The forms say to the API's functions what a request would."""

import time
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from ..api import events, windows
from ..api.schemas import NewWindow, Said
from ..keys import Key
from ..refusal import Refusal
from .forms import fields
from .render import PageRoute, local, who

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)
WORDS: dict[str, Callable[[Request, str, Said, Key], Any]] = {
    "acknowledge": events.acknowledge,
    "dismiss": events.dismiss,
    "confirm": events.confirm,
    "undo": events.undo,
    "comment": events.comment,
}
HOUR = 3_600.0


@router.post("/events/{event}/{word}")
async def say(request: Request, event: str, word: str) -> Response:
    """A word on an event."""
    key, form = await _pressed(request)
    if word not in WORDS:
        raise Refusal(404, "no-word", "there is no such button")
    said = Said(text=form.get("text", "")[:10_000].replace("\r\n", "\n"))
    await run_in_threadpool(WORDS[word], request, event, said, key)
    return _back(form)


@router.post("/maintenance")
async def silence(request: Request) -> Response:
    """Begins or plans a maintenance window."""
    key, form = await _pressed(request)
    hours = form.get("hours", "")
    try:
        end = None if hours == "" else time.time() + float(hours) * HOUR
    except ValueError as error:
        raise Refusal(422, "bad-window", "hours must be a number") from error
    new = NewWindow(
        entity=form.get("entity", "").strip() or None, channels=form["channels"].split("\n") if form["channels"] else None,
        end=end, comment=form.get("comment", ""), start=None,
    )  # fmt: skip
    await run_in_threadpool(windows.make_window, request, new, key)
    return _back(form)


@router.post("/maintenance/{number}/end")
async def end(request: Request, number: int) -> Response:
    """Ends one now."""
    key, form = await _pressed(request)
    await run_in_threadpool(windows.end_window, request, number, key)
    return _back(form)


async def _pressed(request: Request) -> tuple[Key, dict[str, str]]:
    """Who pressed a button, and what the form holds."""
    asks, form = who(request), await fields(request)
    assert asks.key is not None
    if not asks.key.may("write"):
        raise Refusal(403, "wrong-scope", "this key may look, and not change anything")
    return asks.key, form


def _back(form: dict[str, str]) -> Response:
    return RedirectResponse(local(form.get("back", "/")), 303)
