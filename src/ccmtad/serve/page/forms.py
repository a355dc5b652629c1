"""What a form brings: fields, and the token without which nothing is done."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from fastapi import Request

from ..api.access import body_of
from ..refusal import Refusal

__all__ = ["Form", "form_of"]

LARGEST = 64 * 1024  # bytes
MOST_FIELDS = 100


@dataclass(frozen=True)
class Form:
    """The fields of a form, each with all its values."""

    values: Mapping[str, list[str]]

    def text(self, name: str, otherwise: str = "") -> str:
        """The last value of a field."""
        return self.values.get(name, [otherwise])[-1]

    def all(self, name: str) -> list[str]:
        """Every value: what was ticked."""
        return self.values.get(name, [])


async def form_of(request: Request) -> Form:
    """A form of this page; a `Refusal` where it is another's."""
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
    form = Form(found)
    request.state.visitor.check(form.text("token"))
    return form
