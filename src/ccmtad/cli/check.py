"""`ccmtad check`: a look at the data before anything is learnt from it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..settings import Settings
from ..tables import Reading
from ..wording import count
from . import show
from .options import Data, Json, Quiet, reads
from .wording import with_flags

__all__ = ["check"]

MARKS = {"fine": "[green]✓[/]", "note": "[yellow]•[/]", "problem": "[bold red]✗[/]"}


@reads
def check(
    data: Data,
    recent: Annotated[
        Path | None, typer.Argument(help="A second file to compare with the first.", show_default=False)
    ] = None,
    budget: Annotated[str, typer.Option(help="False alarms that would be acceptable.")] = Settings().budget,
    *,
    how: Reading,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look for gaps, odd times, missing, constant and frozen channels, wild values, level shifts, drift; enough rows?

    Exit code 3 says that something would stop or spoil a fit, 0 that nothing would.

    Example: `ccmtad check normal.csv recent.csv`
    """
    from ..doctor import compare, examine
    from ..tables import load

    show.notes(quiet)
    settings = Settings(budget=budget)
    with show.working("Looking", quiet or json, total=None):
        first = load(data, how)
        findings = {"data": examine(first.frame, settings)}
        if recent is not None:
            like_it, _ = how.over(first.reading)
            other = load(recent, like_it, fitted=first.frame.channels, argument="recent").frame
            findings["recent"] = (*examine(other, settings, learning=False), *compare(first.frame, other, settings))
    if json:
        show.as_json({name: [asdict(one) for one in found] for name, found in findings.items()})
    elif not quiet:
        for path, found in zip((data, recent), findings.values(), strict=False):
            table = show.plain_table("", "", "", title=show.safe(path))
            table.show_header = False
            for one in found:
                table.add_row(MARKS[one.weight], one.topic, show.safe(with_flags(one.text)))
            show.out.print(table)
    problems = sum(one.weight == "problem" for found in findings.values() for one in found)
    if not (quiet or json):
        noted = sum(one.weight == "note" for found in findings.values() for one in found)
        show.out.print(f"\n{count(problems, 'problem')}, {count(noted, 'note')}.")
    show.finish(problems > 0)
