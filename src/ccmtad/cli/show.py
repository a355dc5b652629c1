"""What commands print: answers to standard output; notes, progress and errors to standard error."""

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..results import EVENT_COLUMNS, Event
from ..wording import printable
from . import progress
from .progress import Tell
from .wording import with_flags

__all__ = [
    "EVENTS", "Tell", "as_json", "console", "err", "events", "finish", "notes", "out", "plain_table", "safe", "sight",
    "working",
]  # fmt: skip

EVENTS = 3  # exit code: events were found
WIDE = 120  # columns where there is no terminal to ask
# What JSON lets through and a terminal acts on: C1 codes, directions of writing, breaks of lines; half characters.
CODES = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]")


def console(stderr: bool = False, **more: Any) -> Console:
    """Standard output or error. A colon in a name begins no emoji."""
    return Console(stderr=stderr, highlight=False, emoji=False, **more)


def _console(stderr: bool) -> Console:
    made = console(stderr)
    return made if made.is_terminal else console(stderr, width=WIDE)


out = _console(stderr=False)
err = _console(stderr=True)


def safe(text: object) -> str:
    """What came with data or from a file, as it may stand in what is printed: no markup, no codes of the terminal."""
    return escape(printable(str(text)))


class _Notes(logging.Handler):
    """The library's warnings, as a person reads them."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(f"[yellow]note:[/] {safe(with_flags(record.getMessage()))}", soft_wrap=True)


def notes(quiet: bool) -> None:
    """Sends the library's warnings to standard error, or nowhere."""
    log = logging.getLogger("ccmtad")
    log.handlers = [logging.NullHandler() if quiet else _Notes()]
    log.propagate = False


@contextmanager
def working(text: str, quiet: bool, total: float | None = 1.0) -> Iterator[Tell]:
    """Shows on standard error how far long work is: a bar on a terminal, else a line now and then."""
    if quiet:
        yield lambda done, more="": None  # noqa: ARG005
    elif err.is_terminal:
        with progress.bar(err, text, total) as tell:
            yield tell
    else:
        with progress.lines(lambda line: err.print(safe(line), soft_wrap=True), text, total) as tell:
            yield tell


def as_json(value: dict[str, Any]) -> None:
    """One object, to standard output. What a terminal would take for a code is escaped, as JSON escapes it."""
    utf = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not utf, indent=2, allow_nan=False)
    typer.echo(CODES.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def plain_table(*names: str, right: tuple[str, ...] = (), title: str | None = None) -> Table:
    """A table without a box."""
    table = Table(box=None, padding=(0, 2, 0, 0), title=title, title_justify="left", title_style="bold")
    for name in names:
        table.add_column(name, justify="right" if name in right else "left", header_style="dim")
    return table


def events(found: Sequence[Event], most: int = 50, entities: Sequence[str] = ()) -> Table:
    """The events, numbered, in order of time, and only the most severe where there are many; or, of `entities`, in
    their own order."""
    told = [column for column in EVENT_COLUMNS if column.title]
    zones = {event.zone or "UTC" for event in found if event.start_time is not None}
    if len(zones) > 1:  # one clock for all
        found, zones = [replace(event, zone=None) for event in found], {"UTC"}
    titles = [
        f"{column.title} ({''.join(zones)})" if zones and column.name == "start" else column.title for column in told
    ]
    first = "entity" if entities else "#"
    right = ("#", *(title for title, column in zip(titles, told, strict=True) if column.number))
    table = plain_table(first, *titles, right=right)
    for column in table.columns[:-1]:
        column.no_wrap = True  # times are never cut: the last column gives way
    severe = range(len(found)) if entities else sorted(range(len(found)), key=lambda i: -found[i].severity)[:most]
    for i in sorted(severe):
        cells = (column.text(found[i]) for column in told)
        table.add_row(safe(entities[i]) if entities else str(i + 1), *map(safe, cells))
    return table


def sight(rows: Mapping[int, int | None]) -> str:
    """What can be seen how soon."""
    parts: list[str] = []
    for times, needed in rows.items():
        after = "never" if needed is None else "at once" if needed == 1 else f"after {needed:,} rows"
        parts.append(f"{times} times the usual alarms {after}" if not parts else f"{times} times {after}")
    return f"An error of {', '.join(parts)}."


def finish(found: bool) -> None:
    """Ends a command: 3 where events were found, else 0."""
    raise typer.Exit(EVENTS if found else 0)
