"""What a form brings: fields, and the token without which nothing is done."""

from urllib.parse import parse_qs

from fastapi import Request

from ..api.access import body_of
from ..refusal import Refusal

__all__ = ["fields"]

LARGEST = 64 * 1024  # bytes
MOST_FIELDS = 100


async def fields(request: Request) -> dict[str, str]:
    """The fields of a form of this page, the last of each name."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refusal(415, "bad-type", "a form must be sent as a form")
    body = await body_of(request)
    if len(body) > LARGEST:
        raise Refusal(413, "too-large", f"a form must have at most {LARGEST:,} bytes")
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise Refusal(422, "malformed", "a form must be text") from error
    request.state.visitor.check(found.get("token", [""])[-1])
    return {name: values[-1] for name, values in found.items()} | {"channels": "\n".join(found.get("channel", []))}
