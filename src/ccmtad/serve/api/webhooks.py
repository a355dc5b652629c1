"""Webhooks, for administrators: whom to tell, and what could not be delivered."""

import time
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from ...live.alert import message_of
from ...wording import iso
from ..alerts.webhooks import Webhook
from ..refusal import Refusal
from ..store import outbox
from ..store.outbox import read_standing
from .access import Admin, service_of

__all__ = ["router"]

router = APIRouter(tags=["webhooks"])
Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
Number = Annotated[int, Path(ge=1, le=2**62)]


class NewWebhook(BaseModel):
    """A webhook to be made."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=100)
    url: str = Field(min_length=1, max_length=2_000, description="http or https, without credentials.")


class WebhookShown(BaseModel):
    """A webhook, without its secret."""

    id: str
    name: str
    url: str
    paused: str | None = Field(description="Why nothing is sent there; null while it is.")
    rotated: str | None
    by: str
    made: str


class WebhookMade(WebhookShown):
    """A webhook with a new secret, which is shown this once."""

    secret: str


class Tried(BaseModel):
    """What came of a message sent to try a webhook out."""

    message: str = Field(description="Its webhook-id.")
    delivered: bool
    status: int | None = Field(description="That the receiver answered; null where it did not.")
    detail: str
    seconds: float


class DeadLetter(BaseModel):
    """What was not delivered, after so many attempts."""

    id: int
    message: str = Field(description="Its webhook-id.")
    event: str
    attempts: int
    made: str
    dead: str
    trouble: str = Field(description="Of the last attempt.")
    body: dict[str, object] = Field(description="What would be sent.")


class DeadLetters(BaseModel):
    """Newest first."""

    letters: list[DeadLetter]
    next: int | None = Field(description="Ask with `before` for those that follow; null after the last.")


class Done(BaseModel):
    """How many letters it was done to."""

    letters: int


@router.get("/webhooks", summary="Webhooks")
def list_webhooks(request: Request, _: Admin) -> dict[str, list[WebhookShown]]:
    """Without their secrets."""
    return {"webhooks": [_shown(one) for one in service_of(request).alerting.webhooks.all()]}


@router.post("/webhooks", status_code=201, summary="Make a webhook")
def make_webhook(request: Request, new: NewWebhook, key: Admin) -> WebhookMade:
    """From now on it is sent what fires and what ends, in Alertmanager's shape, signed as Standard Webhooks say.

    Its secret is in this answer, and in no other.
    """
    return _made(service_of(request).alerting.webhooks.make(new.name, new.url, key.name))


@router.delete("/webhooks/{number}", summary="End a webhook")
def end_webhook(request: Request, number: Id, _: Admin) -> WebhookShown:
    """With all that waits for it."""
    return _shown(service_of(request).alerting.webhooks.end(number))


@router.post("/webhooks/{number}/rotate", summary="Give a webhook a new secret")
def rotate_secret(request: Request, number: Id, _: Admin) -> WebhookMade:
    """For a day, the old one signs as well, so that the receiver can change over."""
    return _made(service_of(request).alerting.webhooks.rotate(number))


@router.post("/webhooks/{number}/pause", summary="Send nothing to a webhook")
def pause_webhook(request: Request, number: Id, key: Admin) -> WebhookShown:
    """Until it is resumed: what happens in between is not sent, what waits already stays."""
    return _shown(service_of(request).alerting.webhooks.pause(number, f"paused by {key.name}"))


@router.post("/webhooks/{number}/resume", summary="Send to a webhook again")
def resume_webhook(request: Request, number: Id, _: Admin) -> WebhookShown:
    """One that was paused, or whose receiver answered 410."""
    return _shown(service_of(request).alerting.webhooks.pause(number, None))


@router.post("/webhooks/{number}/test", summary="Try a webhook out")
async def try_webhook(request: Request, number: Id, _: Admin) -> Tried:
    """One message, of no event, now and once."""
    message, answer = await service_of(request).alerting.try_out(number)
    return Tried(
        message=message, delivered=not answer.trouble, status=answer.status, detail=answer.trouble or "delivered",
        seconds=round(answer.seconds, 4),
    )  # fmt: skip


@router.get("/webhooks/{number}/dead-letters", summary="What could not be delivered")
def list_dead_letters(
    request: Request,
    number: Id,
    _: Admin,
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> DeadLetters:
    """They are kept for 30 days."""
    alerting = service_of(request).alerting
    webhook = alerting.webhooks[number]
    with alerting.store.read() as connection:
        rows = outbox.dead_letters(connection, number, before, limit + 1)
    letters = [
        DeadLetter(
            id=row.id, message=row.message, event=row.event, attempts=row.attempts, made=_time(row.made) or "",
            dead=_time(row.dead) or "", trouble=row.trouble,
            body=message_of(read_standing(row.body), alerting.style, webhook.name),
        )
        for row in rows[:limit]
    ]  # fmt: skip
    return DeadLetters(letters=letters, next=letters[-1].id if len(rows) > limit else None)


@router.post("/webhooks/{number}/dead-letters/retry", summary="Send all dead letters again")
def retry_all(request: Request, number: Id, _: Admin) -> Done:
    """With the ids they had, and as many attempts as at first."""
    return _retry(request, number, None)


@router.post("/webhooks/{number}/dead-letters/{letter}/retry", summary="Send a dead letter again")
def retry_one(request: Request, number: Id, letter: Number, _: Admin) -> Done:
    """With the id it had, and as many attempts as at first."""
    return _retry(request, number, letter)


@router.delete("/webhooks/{number}/dead-letters/{letter}", summary="Drop a dead letter")
def drop_one(request: Request, number: Id, letter: Number, _: Admin) -> Done:
    """It is gone."""
    store = service_of(request).store
    with store.write() as connection:
        return _done(outbox.drop(connection, number, letter))


@router.delete("/webhooks/{number}/dead-letters", summary="Drop all dead letters")
def drop_all(request: Request, number: Id, _: Admin) -> Done:
    """They are gone."""
    service = service_of(request)
    webhook = service.alerting.webhooks[number]
    with service.store.write() as connection:
        return Done(letters=outbox.drop(connection, webhook.id, None))


def _retry(request: Request, number: str, letter: int | None) -> Done:
    service = service_of(request)
    webhook = service.alerting.webhooks[number]
    with service.store.write() as connection:
        found = outbox.retry(connection, webhook.id, letter, time.time_ns())
    return Done(letters=found) if letter is None else _done(found)


def _done(letters: int) -> Done:
    if not letters:
        raise Refusal(404, "no-letter", "there is no such dead letter")
    return Done(letters=letters)


def _shown(webhook: Webhook) -> WebhookShown:
    return WebhookShown(
        id=webhook.id, name=webhook.name, url=webhook.url, paused=webhook.paused, rotated=_time(webhook.rotated),
        by=webhook.made_by, made=_time(webhook.made) or "",
    )  # fmt: skip


def _made(webhook: Webhook) -> WebhookMade:
    return WebhookMade(**_shown(webhook).model_dump(), secret=webhook.secret)


def _time(time: int | None) -> str | None:
    return None if time is None else iso(np.datetime64(time, "ns"))
