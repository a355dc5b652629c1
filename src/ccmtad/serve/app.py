"""The service as a web application: composition only."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import CcmtadError
from . import page
from .api import annotations, entities, events, health, keys, models, push, rows, streams, trace, webhooks, windows
from .api.answer import refused
from .api.schemas import Problem
from .refusal import Refusal
from .service import Service

__all__ = ["make_app"]

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in (
        (400, "Not understood"), (401, "No key"), (403, "Wrong scope"), (404, "Not there"), (408, "Too slow"),
        (409, "Does not fit"), (413, "Too large"), (415, "Of another type"), (421, "Owned by another process"),
        (422, "Wrong"), (429, "Too many"), (503, "Not now"), (507, "The store is full"),
    )
}  # fmt: skip


def make_app(service: Service) -> FastAPI:
    """The application of a service.

    `app.state.vouch` is a list of functions that may say whose request one without a key is: the page's login adds one.
    """

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        async with httpx.AsyncClient(trust_env=False) as client:
            app.state.client = client
            await service.start()
            try:
                yield
            finally:
                await service.stop()

    app = FastAPI(
        title="ccmtad", version=__version__, description="Rows in, events out.", lifespan=life, docs_url=None,
        redoc_url=None, openapi_url="/v1/openapi.json",
    )  # fmt: skip
    app.state.service = service
    app.state.vouch = []
    app.state.said = set()
    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(CcmtadError, refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _plain)
    for part in (models, rows, push, entities, trace, events, annotations, streams, windows, webhooks, keys):
        app.include_router(part.router, prefix="/v1", responses=PROBLEMS)
    app.include_router(push.telegraf, responses=PROBLEMS)
    app.include_router(health.router)
    page.add(app)
    return app


def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(one) for one in first["loc"])
    return refused(request, Refusal(422, "malformed", f"{place}: {first['msg']}"))


def _plain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = refused(request, Refusal(error.status_code, "http", str(error.detail)))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer
