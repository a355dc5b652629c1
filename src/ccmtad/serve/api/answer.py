"""Answers as JSON."""

from typing import Any

import orjson
from fastapi import Request, Response

from ...errors import CcmtadError, StoreError
from ..refusal import Refusal

__all__ = ["answered", "refused"]

PROBLEM = "application/problem+json"


def answered(value: Any, status: int = 200) -> Response:
    """JSON, quickly; NaN becomes null."""
    return Response(orjson.dumps(value), status, media_type="application/json")


def refused(_: Request, error: Exception) -> Response:
    """What went wrong, in the one shape that every refusal has."""
    if isinstance(error, StoreError):
        status, kind = (507, "store-full") if error.full else (503, "store-away")
        error = Refusal(status, kind, "the store does not answer: ask again later", retry=5.0)
    elif isinstance(error, CcmtadError):
        error = Refusal(422, "bad-input", str(error))
    assert isinstance(error, Refusal)
    return Response(orjson.dumps(error.body), error.status, error.headers, PROBLEM)
