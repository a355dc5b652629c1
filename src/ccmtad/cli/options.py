"""Flags that several commands share: each means the same everywhere."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from ..tables import LARGEST, Reading

if TYPE_CHECKING:
    from ..detector import Detector
    from ..frame import Frame

__all__ = [
    "AllowMissing",
    "Budget",
    "Data",
    "DayFirst",
    "Drop",
    "Json",
    "Largest",
    "Missing",
    "ModelFile",
    "Quiet",
    "Tag",
    "Thousands",
    "Time",
    "TimeFormat",
    "TimeZone",
    "Value",
    "data_for",
    "reading",
    "reading_for",
]

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `fit` wrote.", show_default=False)]
Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="CSV, JSON lines (both also .gz) or Parquet file.", show_default=False)
]
Time = Annotated[str | None, typer.Option("--time", help="Time column; found by its name or its values if absent.")]
TimeFormat = Annotated[
    str | None,
    typer.Option("--time-format", help="How times are written, such as '%d.%m.%Y %H:%M:%S'; ISO needs none."),
]
TimeZone = Annotated[
    str | None,
    typer.Option("--timezone", help="Zone of times that name none, such as Europe/Berlin; results are told in it."),
]
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="Whether 03.04.2026 is in April or in March; found where a day is above 12.",
        show_default=False,
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option("--thousands", help="What parts thousands in numbers: one of . , ' or a blank; found if absent."),
]
Tag = Annotated[
    str | None,
    typer.Option("--tag", help="In a file of one value a row, the column that names the channel; found if absent."),
]
Value = Annotated[str | None, typer.Option("--value", help="In such a file, the column that holds the values.")]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing",
        help="Judge without fitted channels that are not there, as lost signals, and leave out those not fitted.",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", help="A cell that stands for a missing value, such as -9999; repeatable."),
]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Column to leave out; repeatable.")]
Largest = Annotated[
    int,
    typer.Option("--largest", help="Bytes that a file may unpack to; a hundred times its own are always allowed."),
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", help="Other acceptable false alarms than at fitting: '1/10000 rows', '1/week'."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes, no progress, no tables: the exit code tells.")]


def check_out(argument: str, path: Path, *inputs: Path) -> None:
    """Says, before the work is done, that a file cannot be written, or would replace what is read."""
    from ..files import check_writable

    check_writable(path, argument)
    for one in inputs:
        if path.exists() and one.exists() and path.samefile(one):
            raise InputError(f"{argument} must be another file than what is read; got {str(path)!r}")


def data_for(
    detector: "Detector", path: Path, how: Reading, allow_missing: bool | None = None, beside: str | None = None
) -> "Frame":
    """A file for a fitted model: read as that of the fit was, with its channels, in order of time, and long enough to
    be judged. `allow_missing` is None where the command has no such flag; `beside` is a column that is no channel."""
    from .. import suited

    return suited.for_a_model(detector.model_, path, how, allow_missing, beside)


def reading_for(detector: "Detector", how: Reading, aloud: bool = True) -> Reading:
    """How to read a file for a fitted model: as the one it was fitted on, but for what is said now."""
    from .. import suited

    return suited.reading_for(detector.model_, how, aloud)


def reading(
    time: str | None,
    time_format: str | None,
    missing: list[str] | None,
    drop: list[str] | None,
    largest: int = LARGEST,
    *,
    timezone: str | None = None,
    day_first: bool | None = None,
    thousands: str | None = None,
    tag: str | None = None,
    value: str | None = None,
) -> Reading:
    """The flags on how to read a file, together."""
    marks = tuple(missing or ()), tuple(drop or ())
    return Reading(time, time_format, *marks, largest, timezone, day_first, thousands, tag, value)
