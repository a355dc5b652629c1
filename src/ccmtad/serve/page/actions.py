"""What people do: words on events, and maintenance windows. Forms ask the API's functions as requests do."""

import time
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from ..api import events, windows
from ..api.schemas import NewWindow, Said
from ..keys import Key
from ..names import LONGEST_TEXT
from ..refusal import Refusal
from .forms import Form, form_of
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
MOST_HOURS = 10_000


@router.post("/events/{event}/{word}")
async def say(request: Request, event: str, word: str) -> Response:
    """A word on an event."""
    key, form = await _pressed(request)
    if word not in WORDS:
        raise Refusal(404, "no-word", "there is no such button")
    said = Said(text=form.text("text").replace("\r\n", "\n")[:LONGEST_TEXT])
    await run_in_threadpool(WORDS[word], request, event, said, key)
    return _back(form)


@router.post("/maintenance")
async def silence(request: Request) -> Response:
    """Begins or plans a maintenance window."""
    key, form = await _pressed(request)
    new = NewWindow(
        entity=form.text("entity").strip() or None, channels=form.all("channel") or None, start=None,
        end=_end(form.text("hours")), comment=form.text("comment")[:LONGEST_TEXT],
    )  # fmt: skip
    await run_in_threadpool(windows.make_window, request, new, key)
    return _back(form)


@router.post("/maintenance/{number}/end")
async def end(request: Request, number: int) -> Response:
    """Ends one now."""
    key, form = await _pressed(request)
    await run_in_threadpool(windows.end_window, request, number, key)
    return _back(form)


async def _pressed(request: Request) -> tuple[Key, Form]:
    """Who pressed a button, and what the form holds."""
    asks, form = who(request), await form_of(request)
    assert asks.key is not None
    if not asks.key.may("write"):
        raise Refusal(403, "wrong-scope", "this key may look, and not change anything")
    return asks.key, form


def _end(hours: str) -> float | None:
    """Seconds since 1970; None where a window goes on until it is ended."""
    try:
        length = None if hours == "" else float(hours)
    except ValueError:
        length = -1.0
    if length is None:
        return None
    if not 0.0 < length <= MOST_HOURS:
        raise Refusal(422, "bad-window", f"hours must be a number up to {MOST_HOURS:,}")
    return time.time() + length * 3_600.0


def _back(form: Form) -> Response:
    return RedirectResponse(local(form.text("back", "/")), 303)
