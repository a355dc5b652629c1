"""API keys, for administrators."""

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Request

from ...wording import iso
from ..keys import Key
from ..refusal import Refusal
from .access import Admin, service_of
from .schemas import KeyMade, KeyShown, NewKey

__all__ = ["router"]

router = APIRouter(tags=["keys"])
Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


@router.get("/keys", summary="Keys")
def list_keys(request: Request, _: Admin) -> dict[str, list[KeyShown]]:
    """Without their secrets; those that ended, too."""
    return {"keys": [_shown(key) for key in service_of(request).keys.all()]}


@router.post("/keys", status_code=201, summary="Make a key")
def make_key(request: Request, new: NewKey, _: Admin) -> KeyMade:
    """Its text is in this answer, and nowhere else."""
    key, text = service_of(request).keys.make(new.name, tuple(dict.fromkeys(new.scopes)))
    return KeyMade(**_shown(key).model_dump(), key=text)


@router.post("/keys/{number}/rotate", status_code=201, summary="Replace a key")
def rotate_key(request: Request, number: Id, _: Admin) -> KeyMade:
    """A new one with the same name and scopes; the old one ends."""
    _there(request, number)
    key, text = service_of(request).keys.rotate(number)
    return KeyMade(**_shown(key).model_dump(), key=text)


@router.delete("/keys/{number}", summary="End a key")
def revoke_key(request: Request, number: Id, _: Admin) -> KeyShown:
    """Nobody is let in with it from now on; by other processes on this store, from two seconds on."""
    _there(request, number)
    keys = service_of(request).keys
    keys.revoke(number)
    return next(_shown(key) for key in keys.all() if key.id == number)


def _there(request: Request, number: str) -> None:
    if service_of(request).keys.by_id(number) is None:
        raise Refusal(404, "no-key", "there is no such key in use")


def _shown(key: Key) -> KeyShown:
    revoked = None if key.revoked is None else iso(np.datetime64(key.revoked, "ns"))
    return KeyShown(
        id=key.id,
        name=key.name,
        scopes=list(key.scopes),
        made=iso(np.datetime64(key.made, "ns")) or "",
        revoked=revoked,
    )
