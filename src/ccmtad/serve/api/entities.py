"""Entities: how they stand, their rows and their scores."""

import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from numpy.typing import NDArray
from sqlalchemy import select

from ..bodies import time_of
from ..names import check_entity
from ..refusal import Refusal
from ..store import queries
from ..store.tables import entities
from .access import Reader, service_of

__all__ = ["number_of", "router", "span"]

router = APIRouter(tags=["entities"])
Most = Annotated[int, Query(ge=1, le=1_000)]
When = Annotated[str | None, Query(max_length=40, description="ISO 8601, or seconds since 1970.")]
Channels = Annotated[list[str] | None, Query(description="Those that are wanted; repeatable.")]
FIRST, LAST = -(2**63) + 2, 2**63 - 1
CHUNKS = 500  # at most, in one answer


@router.get("/entities", summary="All entities, and how they stand")
def list_entities(request: Request, _: Reader, after: str = "", limit: Most = 1_000) -> dict[str, Any]:
    """In order of their names; `after` is the last name of the page before."""
    with service_of(request).store.read() as connection:
        found = queries.entity_list(connection, check_entity(after) if after else "", limit)
    return {"entities": found, "next": found[-1]["entity"] if len(found) == limit else None}


@router.get("/entities/{entity}", summary="How an entity stands")
def show_entity(request: Request, entity: str, _: Reader) -> dict[str, Any]:
    """Its model, rows, newest score, threshold, health and open events."""
    with service_of(request).store.read() as connection:
        found = queries.entity(connection, check_entity(entity))
    if found is None:
        raise _unknown()
    return found


@router.get("/entities/{entity}/scores", summary="Scores of an entity")
def show_scores(
    request: Request,
    entity: str,
    _: Reader,
    start: When = None,
    end: When = None,
    after: Annotated[int, Query(ge=-1, le=2**62)] = -1,
) -> dict[str, Any]:
    """Columns, one value for each row from `start` to `end`; `next` is given to `after` for those that follow."""
    with service_of(request).store.read() as connection:
        number = number_of(connection, entity)
        columns, following = queries.score_range(connection, number, *span(start, end), CHUNKS, after)
    return {**columns, "next": following}


@router.get("/entities/{entity}/rows", summary="Rows of an entity, as they came")
def show_rows(
    request: Request,
    entity: str,
    _: Reader,
    start: When = None,
    end: When = None,
    after: Annotated[int, Query(ge=-1, le=2**62)] = -1,
    channels: Channels = None,
) -> dict[str, Any]:
    """Values by channel from `start` to `end`, null where missing; `next` is given to `after` for those that follow."""
    service = service_of(request)
    names = service.model_of(check_entity(entity), None).model.channels
    wanted = _wanted(channels, names)
    with service.store.read() as connection:
        number = number_of(connection, entity)
        places, times, values, following = queries.row_range(
            connection, number, *span(start, end), len(names), CHUNKS, after
        )
    shown = {name: _numbers(values[:, names.index(name)]) for name in wanted}
    return {"row": places.tolist(), "time": queries.stamps(times), "values": shown, "next": following}


def _wanted(asked: list[str] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in asked or ():
        if name not in names:
            raise Refusal(422, "bad-channels", "channels must be of the fitted data")
    return names if asked is None else tuple(dict.fromkeys(asked))


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [one if math.isfinite(one) else None for one in values.tolist()]


def number_of(connection: Any, entity: str) -> int:
    """What the store calls an entity."""
    number = connection.execute(select(entities.c.id).where(entities.c.name == check_entity(entity))).scalar()
    if number is None:
        raise _unknown()
    return int(number)


def span(start: str | None, end: str | None) -> tuple[int, int]:
    """A range of time; all of it where nothing is said."""
    first = FIRST if start is None else time_of(start, "start")
    return first, LAST if end is None else time_of(end, "end")


def _unknown() -> Refusal:
    return Refusal(404, "no-entity", "there is no such entity")
