"""What others are to be told of events: written with the notice, or the word, that it tells of.

An event fires while it goes on, unless a maintenance window silences it or somebody has dismissed it. Whoever changes
one of these calls `settle` in the same transaction: it puts down how the event stands now, which Alertmanagers are sent
again and again, and what is to be delivered to each webhook, once.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, insert, or_, select, update

from ...live.alert import Standing, message_id
from .store import Store
from .tables import alerts, deliveries, entities, events, processes, webhooks

__all__ = [
    "Counts", "Letter", "counts", "current", "dead_letters", "delivered", "drop", "due", "failed", "forget", "hold",
    "next_due", "pause", "pulse", "read_standing", "retry", "settle",
]  # fmt: skip


@dataclass(frozen=True)
class Letter:
    """Something to be delivered to a webhook."""

    id: int
    webhook: str
    message: str
    body: str
    attempts: int  # made before this one


@dataclass(frozen=True)
class Counts:
    """How much there is, for metrics."""

    firing: int
    waiting: int
    dead: int


def settle(store: Store, connection: Connection, event: str, at: int, *, news: bool) -> None:
    """An event has changed, or what was said of it. `news`: what is told while it fires has changed, too."""
    wanted = (
        select(events, alerts.c.firing, alerts.c.number, alerts.c.since, alerts.c.channel, alerts.c.first)
        .join(alerts, alerts.c.event == events.c.id, isouter=True)
        .where(events.c.id == event)
    )
    row = connection.execute(wanted).one()
    why = "dismissed" if row.word == "dismissed" else "silenced" if row.silenced is not None else ""
    firing = row.open and not why
    if not (firing if row.number is None else firing != row.firing or (firing and news)):
        return
    body = orjson.loads(row.body)
    if row.number is None:
        channel, first, since, number = (body["channels"] or [""])[0], row.severity, at, 1
    else:
        channel, first, since, number = row.channel, row.first, row.since, row.number + 1
    state = {"firing": firing, "number": number, "changed": at}
    new = store.insert(alerts).values(event=event, since=since, channel=channel, first=first, **state)
    connection.execute(new.on_conflict_do_update(index_elements=["event"], set_=state))
    standing = Standing(body, firing, why if row.open else "", since, at, channel, first)
    _post(connection, event, message_id(event, number), standing, at)


def _post(connection: Connection, event: str, message: str, standing: Standing, at: int) -> None:
    to = connection.execute(select(webhooks.c.id).where(webhooks.c.paused.is_(None))).scalars().all()
    same = {"event": event, "message": message, "body": _text(standing), "made": at, "due": at}
    if to:
        rows = [{"webhook": one, "attempts": 0, "trouble": "", **same} for one in to]
        connection.execute(insert(deliveries), rows)


def _text(standing: Standing) -> str:
    return orjson.dumps(asdict(standing)).decode()


def read_standing(text: str) -> Standing:
    """What was put down of it."""
    return Standing(**orjson.loads(text))


# What Alertmanagers are told.


def pulse(connection: Connection, recent: int) -> tuple[int, ...]:
    """Other than before where something has changed of what `current` tells."""
    wanted = select(func.count(), func.coalesce(func.sum(alerts.c.number), 0)).where(_told(recent))
    return tuple(connection.execute(wanted).one())


def current(connection: Connection, process: int, recent: int) -> list[Standing]:
    """What fires, and what has ceased to since `recent`, of the entities of a process and of those that nobody has."""
    ours = or_(entities.c.owner == process, entities.c.owner.is_(None), _gone(entities.c.owner))
    wanted = (
        select(alerts, events.c.body, events.c.open, events.c.word)
        .join(events, events.c.id == alerts.c.event)
        .join(entities, entities.c.id == events.c.entity)
        .where(_told(recent), ours)
    )
    return [
        Standing(
            orjson.loads(row.body), row.firing, _why(row), row.since, row.changed, row.channel, row.first
        )
        for row in connection.execute(wanted)
    ]  # fmt: skip


def _why(row: Any) -> str:
    if row.firing or not row.open:
        return ""
    return "dismissed" if row.word == "dismissed" else "silenced"


def _told(recent: int) -> ColumnElement[bool]:
    return or_(alerts.c.firing.is_(True), alerts.c.changed > recent)


def _gone(process: Any) -> ColumnElement[bool]:
    return ~exists().where(processes.c.id == process)


# What webhooks are told.


def due(connection: Connection, process: int, busy: Collection[int], most: int, now: int) -> list[Letter]:
    """Letters that may be sent now, at most so many for each webhook, those due first before the others.

    Of one event, none goes before those that were written before it. `busy` are those that this process sends already:
    what it holds beside them it has lost sight of.
    """
    earlier = deliveries.alias()
    first = ~exists().where(
        earlier.c.webhook == deliveries.c.webhook,
        earlier.c.event == deliveries.c.event,
        earlier.c.id < deliveries.c.id,
        earlier.c.dead.is_(None),
    )
    order = func.row_number().over(partition_by=deliveries.c.webhook, order_by=(deliveries.c.due, deliveries.c.id))
    ready = (
        select(deliveries, order.label("place"))
        .join(webhooks, webhooks.c.id == deliveries.c.webhook)
        .where(deliveries.c.due <= now, deliveries.c.dead.is_(None), webhooks.c.paused.is_(None))
        .where(_free(process, busy), first)
        .subquery()
    )
    rows = connection.execute(select(ready).where(ready.c.place <= most).order_by(ready.c.place, ready.c.id))
    return [Letter(row.id, row.webhook, row.message, row.body, row.attempts) for row in rows]


def hold(
    connection: Connection, process: int, busy: Collection[int], letters: Sequence[Letter]
) -> list[Letter]:  # fmt: skip
    """Those of these that this process sends now: no other has been quicker."""
    held = update(deliveries).where(deliveries.c.dead.is_(None), _free(process, busy)).values(holder=process)
    return [one for one in letters if connection.execute(held.where(deliveries.c.id == one.id)).rowcount]


def _free(process: int, busy: Collection[int]) -> ColumnElement[bool]:
    mine = and_(deliveries.c.holder == process, deliveries.c.id.not_in(sorted(busy)))
    return or_(deliveries.c.holder.is_(None), mine, _gone(deliveries.c.holder))


def next_due(connection: Connection, now: int) -> int | None:
    """When there is more to do."""
    later = select(func.min(deliveries.c.due)).where(deliveries.c.due > now, deliveries.c.dead.is_(None))
    return connection.execute(later).scalar()


def delivered(connection: Connection, letter: int) -> None:
    """It has arrived."""
    connection.execute(delete(deliveries).where(deliveries.c.id == letter))


def failed(connection: Connection, letter: int, trouble: str, due: int, dead: int | None) -> None:
    """It has not: it is due again, or dead."""
    state = {"attempts": deliveries.c.attempts + 1, "due": due, "dead": dead, "holder": None, "trouble": trouble}
    connection.execute(update(deliveries).where(deliveries.c.id == letter).values(**state))


def pause(connection: Connection, webhook: str, why: str) -> None:
    """Nothing is sent there any more."""
    connection.execute(update(webhooks).where(webhooks.c.id == webhook).values(paused=why))


def dead_letters(connection: Connection, webhook: str, before: int | None, most: int) -> list[Any]:
    """Those that were given up, newest first."""
    wanted = select(deliveries).where(deliveries.c.webhook == webhook, deliveries.c.dead.is_not(None))
    if before is not None:
        wanted = wanted.where(deliveries.c.id < before)
    return list(connection.execute(wanted.order_by(deliveries.c.id.desc()).limit(most)))


def retry(connection: Connection, webhook: str, letter: int | None, now: int) -> int:
    """Sends dead letters again, one or all; how many there were."""
    state = {"attempts": 0, "due": now, "dead": None}
    return connection.execute(update(deliveries).where(*_dead(webhook, letter)).values(**state)).rowcount


def drop(connection: Connection, webhook: str, letter: int | None) -> int:
    """Throws dead letters away, one or all; how many there were."""
    return connection.execute(delete(deliveries).where(*_dead(webhook, letter))).rowcount


def _dead(webhook: str, letter: int | None) -> list[ColumnElement[bool]]:
    rules = [deliveries.c.webhook == webhook, deliveries.c.dead.is_not(None)]
    return rules if letter is None else [*rules, deliveries.c.id == letter]


def counts(connection: Connection) -> Counts:
    """What waits, and what was given up."""
    firing = connection.execute(select(func.count()).select_from(alerts).where(alerts.c.firing.is_(True))).scalar_one()
    both = select(func.count(), func.count(deliveries.c.dead)).select_from(deliveries)
    number, dead = connection.execute(both).one()
    return Counts(firing, number - dead, dead)


def forget(connection: Connection, before: int) -> int:
    """Throws away what was given up before a time; how many there were."""
    return connection.execute(delete(deliveries).where(deliveries.c.dead < before)).rowcount
