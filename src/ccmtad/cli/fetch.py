"""`ccmtad fetch`: what Prometheus remembers, as a table to fit on."""

import io
import os
import time as clock
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError, SettingError
from ..frame import Frame
from ..wording import count
from . import show
from .options import Quiet, check_out

__all__ = ["fetch"]

TOKEN = "PROMETHEUS_TOKEN"


def fetch(
    url: Annotated[
        str, typer.Argument(help="Of a Prometheus or a VictoriaMetrics: http://localhost:9090.", show_default=False)
    ],
    query: Annotated[list[str], typer.Option("--query", help="Series to fetch, in PromQL; repeatable.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File to write: CSV, or Parquet by its ending.", show_default=False)
    ],
    start: Annotated[str, typer.Option(help="First time, ISO 8601; or a span before now, such as 7d.")] = "7d",
    end: Annotated[str, typer.Option(help="Last time, likewise.", show_default="now")] = "",
    step: Annotated[str, typer.Option(help="Time between rows: 15s, 1m.")] = "1m",
    entity: Annotated[
        str | None, typer.Option(help="The one to keep, where there are several.", show_default=False)
    ] = None,
    entity_label: Annotated[
        list[str] | None,
        typer.Option(
            help="Label that names the entity; repeatable, the first that is there counts.",
            show_default="instance, host, service.instance.id, host.name, service.name",
        ),
    ] = None,
    drop_label: Annotated[
        list[str] | None,
        typer.Option(help="Label that is no part of a column's name; repeatable.", show_default="job"),
    ] = None,
    token_from: Annotated[
        str, typer.Option("--token-from", help="Environment variable that holds a bearer token, if there is one.")
    ] = TOKEN,
    quiet: Quiet = False,
) -> None:
    """Fetch past values from Prometheus or VictoriaMetrics into a table to fit on.

    Columns are named as `ccmtad serve` names pushed values, so that a model fitted on them takes remote write.

    Example: `ccmtad fetch http://localhost:9090 --query '{job="plant"}' --start 14d --step 15s -o normal.csv`
    """
    from ..live.labels import DROP_LABELS, ENTITY_LABELS, Naming
    from ..live.query_range import Range, fetched, seconds

    check_out("out", out)
    now = clock.time()
    asked = Range(query, _time(start, now, "start"), _time(end, now, "end") if end else now, seconds(step, "step"))
    naming = Naming(
        ENTITY_LABELS if entity_label is None else tuple(entity_label),
        DROP_LABELS if drop_label is None else tuple(drop_label),
    )
    try:
        frame = fetched(url, asked, naming, entity, os.environ.get(token_from, ""))
    except InputError as error:
        if str(error).startswith("entity must be chosen"):
            raise InputError(f"{error}: choose with --entity") from error
        raise
    _write(frame, out)
    if not quiet:
        rows, columns = frame.values.shape
        show.err.print(f"{count(rows, 'row')} of {count(columns, 'channel')} in {show.safe(str(out))}.")


def _time(text: str, now: float, argument: str) -> float:
    """Seconds since 1970, of a moment or of a span before now."""
    from ..live.query_range import SPAN, seconds
    from ..tables.reading import Reading
    from ..tables.times import moment

    if SPAN.fullmatch(text.strip()) and not text.strip().isdecimal():
        return now - seconds(text, argument)
    try:
        return moment(text.strip(), Reading()) / 1e9
    except (ValueError, InputError, OverflowError) as error:
        rule = "must be ISO 8601, such as 2026-03-01T12:00:00Z, or a span before now, such as 7d"
        raise SettingError(f"{argument} {rule}; got {text!r}") from error


def _write(frame: Frame, out: Path) -> None:
    import polars as pl

    from .. import files

    assert frame.times is not None
    columns = {"time": pl.Series(frame.times.astype("datetime64[ms]"))}
    columns |= {name: pl.Series(frame.values[:, i]).fill_nan(None) for i, name in enumerate(frame.channels)}
    table, buffer = pl.DataFrame(columns), io.BytesIO()
    if out.suffix.lower() == ".parquet":
        table.write_parquet(buffer)
    else:
        table.write_csv(buffer, datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")
    files.write(buffer.getvalue(), out)
