"""`ccmtad fleet`: a model for each of many entities."""

import json as jsons
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..results import Event, plain
from ..settings import Settings
from ..tables import Reading
from ..wording import count, number
from . import show
from .options import Address, Budget, Json, On, Quiet, Workers, check_out, reads

if TYPE_CHECKING:
    from ..fleet import Entry, Facts, Found

__all__ = ["fleet"]

FAILED = 4  # exit code: some entities could not be fitted or judged
MOST = 50  # lines of a table

fleet = typer.Typer(help="Many entities: a model for each, fitted side by side.", no_args_is_help=True)

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="Folder with a file for each entity; list of files (.txt); or table, with --key.",
        show_default=False,
    ),
]  # fmt: skip
Models = Annotated[
    Path, typer.Argument(metavar="MODELS", help="Folder of models that `fleet fit` wrote.", show_default=False)
]
Key = Annotated[str | None, typer.Option("--key", help="Column of a table that names the entity of each row.")]


@fleet.command("fit")
@reads
def fit(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write models to.", show_default=False)],
    key: Key = None,
    budget: Annotated[str | None, typer.Option(help="Acceptable false alarms: '1/10000 rows', '1/week'.")] = None,
    preset: Annotated[str | None, typer.Option(help="Settings to start from: default, or paper.")] = None,
    settings: Annotated[Path | None, typer.Option(help="TOML file of settings.", show_default=False)] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, any setting; repeatable, over the file's.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything random.")] = None,
    device: Annotated[str | None, typer.Option(help="Where torch trains: auto, cpu, cuda.")] = None,
    on: On = "joblib",
    workers: Workers = None,
    address: Address = None,
    together: Annotated[
        bool | None,
        typer.Option("--together/--apart", help="Train entities of equal channels in one network; on a GPU if absent."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Fit entities again whose model stands.")] = False,
    *,
    how: Reading,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn normal operation of each entity; those whose rows and settings have not changed are not fitted again.

    Exit code 4 says that some could not be fitted; the others are.

    Example: `ccmtad fleet fit history -o models --budget 1/week`
    """
    from .. import fleet as fleets

    show.notes(quiet)
    given = {"budget": budget, "preset": preset, "seed": seed, "device": device}
    table: dict[str, Any] = {} if settings is None else Settings.table(settings)
    chosen = {**table, **Settings.read(setting or ()), **{n: v for n, v in given.items() if v is not None}}
    fresh: set[str] = set()

    def tell(entry: "Entry", done: int, planned: int, standing: bool) -> None:
        if not standing:
            fresh.add(entry.entity)
        if not quiet and not json:
            _progress(entry.entity, () if standing else entry.notes, _came_of(entry, standing), done, planned)

    entries = fleets.fit(
        data, out, settings=chosen, key=key, how=how, on=on,
        workers=workers, address=address, together=together, again=again, progress=tell,
    )  # fmt: skip
    failed = [one for one in entries if one.status == "failed"]
    if json:
        show.as_json(
            {"models": str(out), "fitted": len(entries) - len(failed), "entities": [asdict(e) for e in entries]}
        )
    elif not quiet:
        new = sum(one.entity in fresh for one in entries) - len(failed)
        stood = len(entries) - len(failed) - new
        more = f", {stood:,} stood" * bool(stood) + f", [red]{len(failed):,} failed[/]" * bool(failed)
        show.out.print(f"Fitted {count(new, 'model')} into {show.safe(out)}{more}.", soft_wrap=True)
    raise typer.Exit(FAILED if failed else 0)


def _came_of(entry: "Entry", standing: bool) -> str:
    if entry.status == "failed":
        return f"[red]failed:[/] {show.safe(entry.error)}"
    took = "stands" if standing else f"{entry.seconds:.1f} s"
    return f"{entry.rows:,} rows of {count(entry.channels, 'channel')}, {took}"


def _progress(entity: str, notes: Any, text: str, done: int, planned: int) -> None:
    show.err.print(f"[dim]{done:>{len(str(planned))}}/{planned}[/] {show.safe(entity)}: {text}", soft_wrap=True)
    for note in notes:
        show.err.print(f"  [yellow]note:[/] {show.safe(note)}", soft_wrap=True)


@fleet.command("detect")
@reads
def detect(
    models: Models,
    data: Data,
    key: Key = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of events to write, one JSON object in a line.")
    ] = None,
    budget: Budget = None,
    on: On = "joblib",
    workers: Workers = None,
    address: Address = None,
    *,
    how: Reading,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the events of all entities, the worst first.

    Exit code 3 says that there are events; 4 that there are none, but some entities could not be judged; 0 neither.

    Example: `ccmtad fleet detect models recent --out events.jsonl`
    """
    from .. import fleet as fleets
    from ..files import write

    show.notes(quiet)
    if out is not None:
        check_out("out", out)

    def tell(found: "Found", done: int, planned: int) -> None:
        if not quiet and not json and (found.error or found.notes):
            text = f"[red]could not be judged:[/] {show.safe(found.error)}" if found.error else "judged"
            _progress(found.entity, found.notes, text, done, planned)

    answers = fleets.detect(
        models, data, key=key, how=how, budget=budget, on=on,
        workers=workers, address=address, progress=tell,
    )  # fmt: skip
    events = sorted(
        ((one.entity, event) for one in answers for event in one.events), key=lambda found: -found[1].severity
    )
    told = [{"entity": entity, **plain(event)} for entity, event in events]
    failed = [one for one in answers if one.error]
    if out is not None:
        write(b"".join(jsons.dumps(event, allow_nan=False).encode() + b"\n" for event in told), out)
    if json:
        entities = [asdict(replace(one, events=())) for one in answers]
        for entity in entities:
            del entity["events"]
        show.as_json({"models": str(models), "data": str(data), "entities": entities, "events": told})
    elif not quiet:
        _print_events(answers, events, failed)
        if out is not None:
            show.out.print(f"Wrote {show.safe(out)}.", soft_wrap=True)
    raise typer.Exit(show.EVENTS if events else FAILED if failed else 0)


def _print_events(answers: "tuple[Found, ...]", events: list[tuple[str, Event]], failed: "list[Found]") -> None:
    rows, alarms = sum(one.rows for one in answers), sum(one.alarms for one in answers)
    struck = sum(bool(one.events) for one in answers)
    told = f"{count(len(events), 'event')} in {struck:,} of " if events else "No events in "
    more = f"; [red]{len(failed):,} could not be judged[/]" * bool(failed)
    show.out.print(
        f"{told}{len(answers):,} {'entity' if len(answers) == 1 else 'entities'}, {rows:,} rows, "
        f"{alarms / max(rows, 1):.2%} of them in alarm{more}."
    )
    if events:
        shown = events[:MOST]
        show.out.print(show.events([event for _, event in shown], entities=[entity for entity, _ in shown]))
        if len(events) > MOST:
            show.out.print(f"[dim]and {len(events) - MOST:,} less severe; --out writes all.[/]")
    for one in answers:
        if one.health not in ("healthy", "unknown"):
            show.out.print(f"[yellow]{show.safe(one.entity)}: calibration is {one.health}[/]: {show.safe(one.advice)}.")


@fleet.command("start")
@reads
def start(
    models: Models,
    data: Annotated[
        Path, typer.Argument(metavar="FILE", help="Few normal rows of the new entity.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.", show_default=False)],
    budget: Budget = None,
    *,
    how: Reading,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A model for a new entity with few rows, from those of the fleet with the same channels.

    Nothing is trained. From about 1,500 rows on, `ccmtad fit` is better.

    Example: `ccmtad fleet start models new.csv -o models/new.ccm`
    """
    from .. import fleet as fleets
    from .. import suited

    show.notes(quiet)
    check_out("out", out, data)
    loaded = suited.for_a_fit(data, fleets.reading_of(models, how))
    started = fleets.start(models, loaded.frame, budget=budget, reading=loaded.reading, but=out)
    detector, rows = started.detector, len(loaded.frame)
    detector.save(out)
    if json:
        show.as_json(
            {
                "model": str(out), "rows": rows, "channels": len(detector.channels_), "from": list(started.kin),
                "worse": round(started.worse, 4), "threshold": detector.threshold_,
                "budget": detector.model_.learnt.allowed, "rows_to_alarm": detector.model_.sight,
            }
        )  # fmt: skip
    elif not quiet:
        first, *others = map(show.safe, started.kin)
        show.out.print(
            f"Started {rows:,} rows of {count(len(detector.channels_), 'channel')} from {first}: errors "
            f"{number(started.worse)} times those of its own rows"
            + f"; limits also from {' and '.join(others)}" * bool(others)
            + f". Budget {show.safe(detector.model_.learnt.allowed)}, threshold {detector.threshold_:.3g}."
        )
        show.out.print(show.sight(detector.model_.sight))
        show.out.print(f"Wrote {show.safe(out)}.", soft_wrap=True)


@fleet.command("inspect")
def inspect(models: Models, json: Json = False, quiet: Quiet = False) -> None:
    """Show the models of a fleet: rows, budget, threshold, whether the normal rows support it, sizes.

    Exit code 4 says that some entities have no model that can be used.

    Example: `ccmtad fleet inspect models`
    """
    from .. import fleet as fleets

    show.notes(quiet)
    told = list(fleets.inspect(models))
    failed = [one for one in told if one.error]
    if json:
        show.as_json({"models": str(models), "entities": [{**asdict(one), "health": one.health} for one in told]})
    elif not quiet:
        right = ("rows", "channels", "clusters", "threshold", "loss", "kB")
        table = show.plain_table(
            "entity", "rows", "channels", "clusters", "budget", "threshold", "calibration", "loss", "kB", right=right
        )
        for one in told:
            table.add_row(*map(show.safe, _cells(one)))
        show.out.print(table)
        size = sum(one.size for one in told)
        more = f"; [red]{len(failed):,} without[/]" * bool(failed)
        show.out.print(f"{count(len(told) - len(failed), 'model')}, {size / 1e6:.3g} MB{more}.")
    raise typer.Exit(FAILED if failed else 0)


def _cells(one: "Facts") -> tuple[str, ...]:
    if one.error:
        return (one.entity, "", "", "", "", "", one.error, "", "")
    longest = "" if one.supported is not False or one.longest is None else f", 1 in {one.longest:,.0f} rows at most"
    return (
        one.entity, "" if one.rows is None else f"{one.rows:,}", f"{one.channels:,}", f"{one.clusters:,}", one.budget,
        f"{one.threshold:.3g}", one.health + longest, "" if one.loss is None else f"{one.loss:.3g}",
        f"{one.size / 1e3:,.0f}",
    )  # fmt: skip
