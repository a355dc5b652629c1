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
    "Budget",
    "Data",
    "Drop",
    "Json",
    "Largest",
    "Missing",
    "ModelFile",
    "Quiet",
    "Time",
    "TimeFormat",
    "data_for",
    "reading",
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


def check_order(frame: "Frame", path: Path) -> None:
    """A few late rows are ignored; where most are, something else is wrong."""
    from ..prepare import timeline

    late = int((~timeline.kept(frame.times, len(frame))).sum())
    if late > len(frame) / 2:
        raise InputError(
            f"data {str(path)!r} must be in order of time; {late:,} of {len(frame):,} rows are not later than "
            "those before them: sort it, or name another time column with --time"
        )


def data_for(detector: "Detector", path: Path, how: Reading) -> "Frame":
    """A file for a fitted model: with its channels, in order of time, and long enough to be judged."""
    from ..prepare import timeline, windows
    from ..tables import read

    model = detector.model_
    frame = read(path, how, fitted=model.channels if model.named else ())
    frame = frame.align(model.channels, named=model.named, argument=f"data {str(path)!r}")
    check_order(frame, path)
    kept = timeline.kept(frame.times, len(frame), model.longest_pause)
    times = None if frame.times is None else frame.times[kept]
    starts = timeline.starts(times, int(kept.sum()), model.longest_pause)
    if not len(windows.ends(starts, model.settings.window)):
        raise InputError(
            f"data {str(path)!r} must hold {model.settings.window} rows that follow each other without a gap, or none "
            f"can be judged; got {len(frame):,} rows"
        )
    return frame


def reading(
    time: str | None,
    time_format: str | None,
    missing: list[str] | None,
    drop: list[str] | None,
    largest: int = LARGEST,
) -> Reading:
    """The flags on how to read a file, together."""
    return Reading(time, time_format, tuple(missing or ()), tuple(drop or ()), largest)
