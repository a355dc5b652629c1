"""A past stretch of labelled series from Prometheus, or what speaks as it does: `GET /api/v1/query_range`.

Asked for in pieces, since Prometheus answers with at most 11,000 points of a series.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, MissingExtraError, SettingError
from ..frame import Frame
from ..wording import got, some
from .labels import Naming

__all__ = ["Range", "fetched", "seconds"]

MOST_POINTS = 10_000  # of a series in one answer
PATH = "/api/v1/query_range"
TIMEOUT = 120.0  # seconds: a long range may take a while
SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)?")
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0, None: 1.0}


def seconds(text: str, argument: str) -> float:
    """A span such as 15s, 5m or 2d, or a number of seconds."""
    found = SPAN.fullmatch(text.strip())
    value = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not value:
        raise SettingError(f"{argument} must be a span such as 15s, 5m, 12h or 7d; got {got(text)}")
    return value


@dataclass(frozen=True)
class Range:
    """What is asked for. Times are seconds since 1970."""

    queries: Sequence[str]
    start: float
    end: float
    step: float  # seconds between two rows

    def __post_init__(self) -> None:
        if not self.queries:
            raise SettingError("query must be given at least once; got none")
        if not self.step >= 1e-3:
            raise SettingError(f"step must be at least a millisecond; got {self.step!r} seconds")
        if not self.start < self.end:
            raise SettingError(f"start must be before end; got {self.start!r} and {self.end!r} seconds since 1970")

    @property
    def pieces(self) -> Iterator[tuple[float, float]]:
        """First and last time of each question, on one grid."""
        points = math.floor((self.end - self.start) / self.step + 1e-9) + 1
        for first in range(0, points, MOST_POINTS):
            last = min(first + MOST_POINTS, points) - 1
            yield self.start + first * self.step, self.start + last * self.step


def fetched(url: str, asked: Range, naming: Naming, entity: str | None = None, token: str = "") -> Frame:
    """One entity's series as a table: a row for each step in which any has a value, a column for each tag, by name.

    `entity` chooses where there are several. A step without a value, or with one that is no number, is missing.
    """
    columns: dict[str, dict[int, float]] = {}
    entities: set[str] = set()
    for query in asked.queries:
        for first, last in asked.pieces:
            for series in _answer(url, query, first, last, asked.step, token):
                labels = dict(series["metric"])
                name = labels.pop("__name__", "") or query
                found, tag = naming.place(name, tuple(labels.items()))
                if entity is not None and found != entity:
                    entities.add(found or "")
                    continue
                entities.add(found or "")
                column = columns.setdefault(tag, {})
                column.update((round(float(at) * 1_000), _number(text)) for at, text in series["values"])
    if entity is None and len(entities) > 1:
        raise InputError(f"entity must be chosen, since the queries have several: {some(sorted(entities))}")
    if not columns:
        there = f"; there are {some(sorted(entities))}" if entities else ""
        raise InputError(f"queries must have values from start to end; got none{there}")
    times = sorted({at for column in columns.values() for at in column})
    names = sorted(columns)
    values = np.array([[columns[name].get(at, math.nan) for name in names] for at in times])
    return Frame(values, tuple(names), np.array(times, dtype="datetime64[ms]").astype("datetime64[ns]"))


def _number(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else math.nan


def _answer(url: str, query: str, start: float, end: float, step: float, token: str) -> list[Any]:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("fetching needs httpx: pip install 'ccmtad[live]'") from error
    asked = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(trust_env=False, timeout=TIMEOUT) as client:
            answer = client.get(f"{url.rstrip('/')}{PATH}", params=asked, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise InputError(
            f"url must be that of a Prometheus that answers; got {type(error).__name__}: {error}"
        ) from error
    try:
        told = answer.json()
        if answer.status_code == 200 and told["status"] == "success" and told["data"]["resultType"] == "matrix":
            return list(told["data"]["result"])
        why = told.get("error") or told["status"]
    except (ValueError, KeyError, TypeError, AttributeError):
        why = answer.text[:200].strip()
    raise InputError(
        f"query must be one that Prometheus answers; got {answer.status_code} for {got(query)}: {got(why)}"
    )
