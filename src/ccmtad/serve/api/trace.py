"""What an entity did, beside what was expected of it."""

import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from numpy.typing import NDArray

from ..names import check_entity
from ..refusal import Refusal
from ..store import queries
from ..trace import Expected, trace
from .access import Reader, service_of
from .answer import answered
from .entities import number_of

__all__ = ["router"]

router = APIRouter(tags=["entities"])
MOST_ROWS = 20_000
FIGURES = 6
Place = Annotated[int | None, Query(ge=0, le=2**62)]


@router.get("/entities/{entity}/trace", summary="Channels as they were and as they were expected")
def show_trace(
    request: Request,
    entity: str,
    _: Reader,
    rows: Annotated[int, Query(ge=1, le=MOST_ROWS, description="How many, the last of them `last`.")] = 720,
    last: Annotated[Place, Query(description="Row that it ends in; the newest where it is not given.")] = None,
    points: Annotated[int, Query(ge=50, le=MOST_ROWS, description="At most, or nearly; peaks stay.")] = 600,
    channels: Annotated[list[str] | None, Query(description="Repeatable; those farthest off if absent.")] = None,
) -> Response:
    """Score over threshold, and for each channel `observed`, `expected` and the `reach` around what was expected
    within which an error is no evidence, after all that was dismissed."""
    service, name = service_of(request), check_entity(entity)
    with service.store.read() as connection:
        number, found = number_of(connection, name), queries.entity(connection, name)
    assert found is not None
    loaded = service.model_of(name, None)
    for one in channels or ():
        if one not in loaded.model.channels:
            raise Refusal(422, "bad-channels", "channels must be of the fitted data")
    newest = found["judged"] - 1
    end = newest if last is None else min(last, newest)
    shown = trace(service.store, loaded, number, (max(end - rows + 1, 0), end), channels, points)
    return answered(
        {
            "row": shown.rows.tolist(),
            "time": (shown.times / 1e9).tolist(),  # seconds since 1970
            "ratio": _numbers(shown.ratio),
            "alarm": shown.alarm.tolist(),
            "channels": [_channel(one) for one in shown.channels],
        }
    )


def _channel(one: Expected) -> dict[str, Any]:
    return {
        "name": one.name, "observed": _numbers(one.observed), "expected": _numbers(one.expected), "reach": one.reach,
    }  # fmt: skip


def _numbers(values: NDArray[np.floating]) -> list[float | None]:
    return [float(f"{one:.{FIGURES}g}") if math.isfinite(one) else None for one in values.tolist()]
