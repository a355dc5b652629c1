"""One stretch of the simulated plant as eight kinds of loggers, historians and spreadsheets would have written it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from ccmtad.simulate import simulate

__all__ = ["CHANNELS", "FAULT", "SHAPES", "Shape", "write"]

CHANNELS = ("LIT101", "FIT101", "PIT201", "FIT301", "P101")
NORMAL, RECENT = 900, 240
FAULT = slice(150, 160)  # rows of the recent file in which FIT101 reads far more than ever
BERLIN = ZoneInfo("Europe/Berlin")
UNITS = ("m", "m3/h", "bar", "m3/h", "-")

Rows = list[tuple[datetime, list[float]]]


@dataclass(frozen=True)
class Shape:
    """How a file is written, and what a user has to say beyond what the tool tells him to say."""

    lines: Callable[[Rows], Iterator[str]]
    start: datetime = datetime(2026, 3, 20, tzinfo=UTC)
    every: timedelta = timedelta(minutes=5)
    own: tuple[str, ...] = ()  # flags that the tool did not suggest, for check and fit
    suggested: tuple[tuple[str, str], ...] = ()  # by check, for check and fit, in this order
    suggested_later: tuple[str, ...] = ()  # by detect


def write(name: str, folder: Path) -> tuple[Path, Path]:
    """The files of normal operation and of what came after it."""
    shape, values = SHAPES[name], _values()
    paths = folder / "normal.csv", folder / "recent.csv"
    for path, first, last in zip(paths, (0, NORMAL), (NORMAL, NORMAL + RECENT), strict=True):
        rows = [(shape.start + i * shape.every, values[i].tolist()) for i in range(first, last)]
        path.write_text("\n".join(shape.lines(rows)) + "\n", encoding="utf-8")
    return paths


def _values() -> NDArray[np.float64]:
    frame = simulate(NORMAL + RECENT, seed=11).frame
    values = frame.values[:, [frame.channels.index(name) for name in CHANNELS]].copy()
    values[:, 1] *= 10.0  # large enough to have thousands
    values[:, 4] = (np.arange(len(values)) // 7) % 2  # a pump that is on and off
    values[NORMAL + FAULT.start : NORMAL + FAULT.stop, 1] += 5.0 * np.ptp(values[:, 1])
    return np.round(values, 3)


def _header(*first: str) -> list[str]:
    return [*first, *CHANNELS]


def local_time(rows: Rows) -> Iterator[str]:
    """Wall clock without a zone: over the night in October in which an hour comes twice."""
    yield ",".join(_header("time"))
    for time, values in rows:
        yield ",".join([f"{time.astimezone(BERLIN):%Y-%m-%d %H:%M:%S}", *map(str, values)])


def day_first(rows: Rows) -> Iterator[str]:
    """A spreadsheet of German make: semicolons, decimal commas, days first."""
    yield ";".join(_header("Zeit"))
    for time, values in rows:
        yield ";".join([f"{time:%d.%m.%Y %H:%M:%S}", *(str(value).replace(".", ",") for value in values)])


def one_value_a_row(rows: Rows) -> Iterator[str]:
    """A historian's export: time, tag, value, quality."""
    yield "timestamp,tag,value,quality"
    for i, name in enumerate(CHANNELS):
        for time, values in rows:
            yield f"{time:%Y-%m-%dT%H:%M:%SZ},{name},{values[i]},Good"


def with_units(rows: Rows) -> Iterator[str]:
    """A logger that writes units below the names."""
    yield ",".join(_header("ts"))
    yield ",".join(["", *UNITS])
    for time, values in rows:
        yield ",".join([f"{time:%Y-%m-%d %H:%M:%S}", *map(str, values)])


def thousands(rows: Rows) -> Iterator[str]:
    """1.234,5 for a thousand and some."""
    yield ";".join(_header("Datum"))
    for time, values in rows:
        cells = [f"{value:,.3f}".translate({44: ".", 46: ","}) for value in values]
        yield ";".join([f"{time:%d.%m.%Y %H:%M}", *cells])


def words(rows: Rows) -> Iterator[str]:
    """Pumps that are ON or OFF, and a mode in words."""
    yield ",".join([*_header("time"), "mode"])
    for i, (time, values) in enumerate(rows):
        mode = ("filling", "holding", "draining")[i // 20 % 3]
        yield ",".join([f"{time:%Y-%m-%d %H:%M:%S}", *map(str, values[:4]), ("OFF", "ON")[int(values[4])], mode])


def marks(rows: Rows) -> Iterator[str]:
    """Offsets in the times, -9999 and words where there is no value, a column of remarks."""
    yield ",".join([*_header("time"), "remark"])
    for i, (time, values) in enumerate(rows):
        cells = [*map(str, values)]
        if i % 97 == 5:
            cells[0] = "Bad Input"
        if i % 83 == 7:
            cells[3] = "-9999"
        remark = f"valve {i} greased" if i % 60 == 0 else ""
        yield ",".join([time.astimezone(BERLIN).isoformat(), *cells, remark])


def other_tags(rows: Rows) -> Iterator[str]:
    """A plant that was rebuilt: one sensor is gone in the later file, and another came."""
    later = rows[0][0] > SHAPES["other-tags"].start
    names = [*CHANNELS[:2], *CHANNELS[3:], "PIT999"] if later else list(CHANNELS)
    yield ",".join(["time", *names])
    for time, values in rows:
        cells = [*values[:2], *values[3:], 1.0] if later else values
        yield ",".join([f"{time:%Y-%m-%d %H:%M:%S}", *map(str, cells)])


SHAPES = {
    "local-time": Shape(
        local_time, datetime(2026, 10, 21, 18, tzinfo=UTC), suggested=(("--timezone", "Europe/Berlin"),)
    ),
    "day-first": Shape(day_first),
    "one-value-a-row": Shape(one_value_a_row),
    "units": Shape(with_units),
    "thousands": Shape(thousands),
    "words": Shape(words),
    "marks": Shape(
        marks,
        suggested=(("--missing", "Bad Input"), ("--drop", "remark"), ("--missing", "-9999")),
    ),
    "other-tags": Shape(other_tags, suggested_later=("--allow-missing",)),
}
