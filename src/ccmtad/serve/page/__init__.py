"""The page: what people look at, and the buttons they press. Nothing in it comes from elsewhere."""

from fastapi import FastAPI

from ..service import Service
from . import actions, assets, live, login, views
from .guard import Guard
from .pulse import Pulse
from .session import Sessions

__all__ = ["add"]


def add(app: FastAPI) -> None:
    """Gives an app its page, and lets who is logged in there read the API."""
    service: Service = app.state.service
    app.state.sessions = Sessions(service.store, service.keys)
    app.state.pulse = Pulse(service)
    app.state.vouch.append(app.state.sessions.vouch)
    app.add_middleware(Guard, settings=service.settings)
    for part in (login, views, actions, live, assets):
        app.include_router(part.router, include_in_schema=False)
