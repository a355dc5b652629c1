"""Style sheets and scripts, by name: those of the page, and those it shares with the report. No path of a request
reaches the file system."""

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from ..refusal import Refusal

__all__ = ["address", "router"]

router = APIRouter()
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
SHARED = ("shared.css", "theme.js")
KEPT = "public, max-age=31536000, immutable"  # its address changes with what it holds


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """One of them."""
    found = _all().get(name)
    if found is None:
        raise Refusal(404, "no-file", "there is no such file")
    kept = KEPT if request.query_params.get("v") == _version(name) else "no-cache"
    return Response(found, media_type=TYPES[name.rpartition(".")[2]], headers={"Cache-Control": kept})


def address(name: str) -> str:
    """Where a browser gets it."""
    return f"/static/{name}?v={_version(name)}"


@cache
def _all() -> dict[str, bytes]:
    own = files(__package__).joinpath("static")
    pieces = files("ccmtad.report").joinpath("pieces")
    found = {one.name: one.read_bytes() for one in own.iterdir() if one.name.rpartition(".")[2] in TYPES}
    return found | {name: pieces.joinpath(name).read_bytes() for name in SHARED}


@cache
def _version(name: str) -> str:
    return hashlib.sha256(_all()[name]).hexdigest()[:12]
