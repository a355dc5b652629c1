"""Rows that reach a process which does not own their entity: handed on once, or refused with the owner's address."""

import httpx
from fastapi import Request, Response

from ..refusal import Refusal

__all__ = ["HANDED_ON", "handed_on"]

HANDED_ON = "x-ccmtad-handed-on"
PASSED = ("content-type", "authorization", "cookie")
SECONDS = 30.0


async def handed_on(request: Request, body: bytes, refusal: Refusal, path: str | None = None) -> Response:
    """The owner's answer, to the same request or to JSON for another path. What was handed on already is refused: two
    processes never send it to and fro."""
    owner = refusal.more.get("owner")
    if not owner or HANDED_ON in request.headers:
        raise refusal
    headers = {name: request.headers[name] for name in PASSED if name in request.headers} | {HANDED_ON: "1"}
    if path is not None:
        headers["content-type"] = "application/json"
    client: httpx.AsyncClient = request.app.state.client
    query = f"?{request.url.query}" if request.url.query else ""
    path = path or request.scope["raw_path"].decode("ascii").partition("?")[0] + query
    try:
        found = await client.post(f"{owner}{path}", content=body, headers=headers, timeout=SECONDS)
    except httpx.HTTPError as error:
        text = f"the process that owns this entity does not answer: {type(error).__name__}"
        raise Refusal(503, "owner-away", text, retry=refusal.retry, owner=owner) from error
    kept = {name: found.headers[name] for name in ("retry-after",) if name in found.headers}
    return Response(found.content, found.status_code, kept, found.headers.get("content-type"))
