"""What people said of events, numbered: a stream heeds words in this order, and a replay heeds them again so."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Connection, insert, select

from ...calibrate.feedback import plain, verdicts
from ...errors import FileError
from ...results import Verdict, said_of
from ...wording import now
from .store import Store
from .tables import words

__all__ = ["heeded", "learn", "of_event", "said", "say"]

log = logging.getLogger("ccmtad")

ALL_OF_IT = "now that it is over: all of it"


def say(
    store: Store, connection: Connection, event: str, model: str, word: str, text: str, who: str, at: str,
    verdict: Verdict | None = None,
) -> int:  # fmt: skip
    """Puts a word down; its number."""
    store.dialect.in_turn(connection)
    told = None if verdict is None else orjson.dumps(plain([verdict])).decode()
    new = {"event": event, "model": model, "word": word, "text": text, "said_by": who, "at": at, "verdict": told}
    return int(connection.execute(insert(words).values(**new).returning(words.c.id)).scalar_one())


def learn(store: Store, connection: Connection, told: dict[str, Any]) -> Verdict | None:
    """Says the word in force on an event that is over again, now of all of it: what was said while the event went on
    knew neither its end nor its height. None where there is nothing more to say."""
    wanted = select(words.c.word, words.c.verdict).where(words.c.event == told["id"], words.c.verdict.is_not(None))
    last = connection.execute(wanted.order_by(words.c.id.desc()).limit(1)).first()
    if last is None or last.word == "undone":
        return None
    (before,) = verdicts(orjson.loads(last.verdict))
    at = now()
    try:
        whole = said_of(told, before.word, at)
    except FileError as error:  # no model file could hold it
        log.warning("what was said of %r holds of it as it was then: %s", told["id"], error)
        return None
    if replace(whole, at=before.at) == before:
        return None
    say(store, connection, told["id"], told["model"], whole.word, ALL_OF_IT, "ccmtad", at, whole)
    return whole


def heeded(connection: Connection, model: str, after: int = 0, up_to: int | None = None) -> list[tuple[int, Verdict]]:
    """What the streams of a model are to heed, in order."""
    wanted = select(words.c.id, words.c.verdict).where(
        words.c.model == model, words.c.verdict.is_not(None), words.c.id > after
    )
    if up_to is not None:
        wanted = wanted.where(words.c.id <= up_to)
    return [
        (row.id, verdict)
        for row in connection.execute(wanted.order_by(words.c.id))
        for verdict in verdicts(orjson.loads(row.verdict))
    ]


def said(connection: Connection, model: str) -> set[tuple[str, str, str]]:
    """Event, word and time of all that streams of a model heed."""
    wanted = select(words.c.event, words.c.word, words.c.at).where(words.c.model == model)
    return {(row.event, row.word, row.at) for row in connection.execute(wanted)}


def of_event(connection: Connection, events: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """All that was said of events, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    wanted = select(words).where(words.c.event.in_(list(events))).order_by(words.c.id)
    for row in connection.execute(wanted):
        told = {"word": row.word, "text": row.text, "by": row.said_by, "at": row.at}
        found.setdefault(row.event, []).append(told)
    return found
