"""Flags that several commands share: each means the same everywhere."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..tables import Reading

if TYPE_CHECKING:
    from ..detector import Detector
    from ..frame import Frame

__all__ = [
    "READING",
    "Address",
    "AllowMissing",
    "Budget",
    "Data",
    "Json",
    "ModelFile",
    "On",
    "Quiet",
    "Workers",
    "check_out",
    "data_for",
    "reading",
    "reading_for",
    "reads",
    "reads_lines",
]

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `fit` wrote.", show_default=False)]
Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="CSV, JSON lines (both also .gz) or Parquet file.", show_default=False)
]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing",
        help="Judge without fitted channels that are not there, as lost signals, and leave out those not fitted.",
    ),
]
On = Annotated[str, typer.Option("--on", help="Who does the work: joblib (processes of this machine), or ray.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="At a time; one for each core if absent.")]
Address = Annotated[str | None, typer.Option("--address", help="Ray cluster to use; a local one is started if absent.")]
# How to read a file: the flags of a `Reading`, by its fields.
READING: dict[str, Any] = {
    "time": Annotated[
        str | None, typer.Option("--time", help="Time column; found by its name or its values if absent.")
    ],
    "time_format": Annotated[
        str | None,
        typer.Option("--time-format", help="How times are written, such as '%d.%m.%Y %H:%M:%S'; ISO needs none."),
    ],
    "timezone": Annotated[
        str | None,
        typer.Option("--timezone", help="Zone of times that name none, such as Europe/Berlin; results are told in it."),
    ],
    "day_first": Annotated[
        bool | None,
        typer.Option(
            "--day-first/--month-first",
            help="Whether 03.04.2026 is in April or in March; found where a day is above 12.",
            show_default=False,
        ),
    ],
    "missing": Annotated[
        list[str] | None,
        typer.Option("--missing", help="A cell that stands for a missing value, such as -9999; repeatable."),
    ],
    "drop": Annotated[list[str] | None, typer.Option("--drop", help="Column to leave out; repeatable.")],
    "thousands": Annotated[
        str | None,
        typer.Option("--thousands", help="What parts thousands in numbers: one of . , ' or a blank; found if absent."),
    ],
    "tag": Annotated[
        str | None,
        typer.Option("--tag", help="In a file of one value a row, the column that names the channel; found if absent."),
    ],
    "value": Annotated[str | None, typer.Option("--value", help="In such a file, the column that holds the values.")],
    "largest": Annotated[
        int,
        typer.Option("--largest", help="Bytes that a file may unpack to; a hundred times its own are always allowed."),
    ],
}
_DEFAULTS = {one.name: None if one.default == () else one.default for one in fields(Reading)}
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


def reads(command: Callable[..., None], leave: Sequence[str] = ()) -> Callable[..., None]:
    """A command that takes `how`, a `Reading`: in its place users meet the flags of one, but for those left out."""
    flags = {name: flag for name, flag in READING.items() if name not in leave}
    signature = inspect.signature(command)
    parameters: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        if one.name == "how":
            parameters += [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[name], annotation=flag)
                for name, flag in flags.items()
            ]
        else:
            parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(*others: Any, **given: Any) -> None:
        said = {name: given.pop(name) for name in flags if name in given}
        command(*others, how=reading(**said), **given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def reads_lines(command: Callable[..., None]) -> Callable[..., None]:
    """The same for what is read line by line: never unpacked, and all channels in every row."""
    return reads(command, leave=("largest", "tag", "value"))


def reading(**said: Any) -> Reading:
    """What was said on how to read a file; a flag that may be repeated gives a list, or nothing."""
    for name in ("missing", "drop"):
        said[name] = tuple(said.get(name) or ())
    return Reading(**said)
