"""A key for a cookie, and the way out."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from ..api.access import service_of
from .forms import form_of
from .render import PageRoute, local, page
from .session import COOKIE, Sessions, give

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)


@router.get("/login")
def ask(request: Request, next: Annotated[str, Query(max_length=2_000)] = "/") -> Response:
    """Asks for a key."""
    if request.state.visitor.key is not None:
        return RedirectResponse(local(next), 303)
    return page(request, "login.html", next=local(next), wrong=False)


@router.post("/login")
async def enter(request: Request) -> Response:
    """Takes a key, and gives a cookie of its own: never one that the browser came with."""
    form = await form_of(request)
    service, sessions = service_of(request), _sessions(request)
    key = service.keys.known(form.text("key").strip())
    if key is None:
        return page(request, "login.html", 403, next=local(form.text("next", "/")), wrong=True)
    answer = RedirectResponse(local(form.text("next", "/")), 303)
    give(answer, request, sessions.begin(key))
    return answer


@router.post("/logout")
async def leave(request: Request) -> Response:
    """Ends the session, here and in the store."""
    await form_of(request)
    _sessions(request).end(request.state.visitor.cookie)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def _sessions(request: Request) -> Sessions:
    sessions: Sessions = request.app.state.sessions
    return sessions
