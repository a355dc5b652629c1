"""What commands print: answers to standard output; notes, progress and errors to standard error."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..results import Event
from ..wording import stamp

__all__ = ["EVENTS", "as_json", "err", "events", "finish", "notes", "out", "plain_table", "working"]

EVENTS = 3  # exit code: events were found
WIDE = 120  # columns where there is no terminal to ask


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=WIDE)


out = _console(stderr=False)
err = _console(stderr=True)


class Tell(Protocol):
    """How far it is, and a word beside the bar."""

    def __call__(self, done: float, more: str = "") -> None: ...


class _Notes(logging.Handler):
    """The library's warnings, as a person reads them."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(f"[yellow]note:[/] {escape(record.getMessage())}", soft_wrap=True)


def notes(quiet: bool) -> None:
    """Sends the library's warnings to standard error, or nowhere."""
    log = logging.getLogger("ccmtad")
    log.handlers = [logging.NullHandler() if quiet else _Notes()]
    log.propagate = False


@contextmanager
def working(text: str, quiet: bool, total: float | None = 1.0) -> Iterator[Tell]:
    """A progress bar that goes away; without a total, one that only moves."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[more]}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as progress:
        task = progress.add_task(text, total=total, more="")

        def tell(done: float, more: str = "") -> None:
            progress.update(task, completed=done, more=more)

        yield tell


def as_json(value: dict[str, Any]) -> None:
    """One object, to standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def plain_table(*names: str, right: tuple[str, ...] = (), title: str | None = None) -> Table:
    """A table without a box."""
    table = Table(box=None, padding=(0, 2, 0, 0), title=title, title_justify="left", title_style="bold")
    for name in names:
        table.add_column(name, justify="right" if name in right else "left", header_style="dim")
    return table


def events(found: tuple[Event, ...], most: int = 50) -> Table:
    """The events, in order of time; only the most severe where there are many."""
    start = "start" if not found or found[0].start_time is None else "start (UTC)"
    table = plain_table("#", start, "alarm", "end", "severity", "most blamed channels", right=("#", "severity"))
    severe = sorted(range(len(found)), key=lambda i: -found[i].severity)[:most]
    for i in sorted(severe):
        one = found[i]
        table.add_row(
            str(i + 1),
            where(one.start, one.start_time),
            where(one.alarm, one.alarm_time),
            "still open" if one.end is None else where(one.end, one.end_time),
            f"{one.severity:.3g}",
            escape(", ".join(f"{name} {share:.0%}" for name, share in zip(one.channels[:3], one.blame, strict=False))),
        )
    return table


def where(row: int, time: np.datetime64 | None) -> str:
    """A time to the second, or a row."""
    return f"row {row:,}" if time is None else stamp(time)


def finish(found: bool) -> None:
    """Ends a command: 3 where events were found, else 0."""
    raise typer.Exit(EVENTS if found else 0)
