"""`ccmtad dismiss`, `confirm`, `undo`, `feedback`: what people say of events, kept in the model file."""

import json as jsons
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..results import said_of
from ..wording import count, listed, now
from . import show
from .options import Json, ModelFile, Quiet

__all__ = ["confirm", "dismiss", "feedback", "undo"]

Events = Annotated[
    Path, typer.Argument(help="Events: what `detect --json` or `watch` wrote; - is standard input.", show_default=False)
]
Ids = Annotated[
    list[str] | None,
    typer.Argument(
        help="Those that are meant: their numbers in the table of `detect`, or their ids.", show_default=False
    ),
]
All = Annotated[bool, typer.Option("--all", help="All events of the file are meant.")]
STANDARD_INPUT = Path("-")


def dismiss(model: ModelFile, events: Events, ids: Ids = None, every: All = False, quiet: Quiet = False) -> None:
    """These events were nothing: every channel beyond normal in them is judged more mildly from now on.

    Nothing else changes. A running watch of this model takes it up. `ccmtad undo` takes it back.

    Example: `ccmtad dismiss plant.ccm found.json 3`, where found.json is what `ccmtad detect … --json` printed
    """
    _say("dismissed", model, events, ids, every, quiet)


def confirm(model: ModelFile, events: Events, ids: Ids = None, every: All = False, quiet: Quiet = False) -> None:
    """These events were real: their rows, by their times, are kept out of every later recalibration.

    Example: `ccmtad confirm plant.ccm found.json anomaly-2026-01-01T13:28:00Z`
    """
    _say("confirmed", model, events, ids, every, quiet)


def undo(
    model: ModelFile, ids: Annotated[list[str], typer.Argument(help="Ids of events.")], quiet: Quiet = False
) -> None:
    """Take back what was said of events.

    Example: `ccmtad undo plant.ccm anomaly-2026-01-01T13:28:00Z`
    """
    from dataclasses import replace

    from ..calibrate.feedback import in_force
    from ..detector import Detector

    show.notes(quiet)
    detector = Detector.load(model)
    known = {one.event: one for one in in_force(detector.feedback_)}
    for name in ids:
        if name not in known:
            raise InputError(f"ids must be of events that something was said of; got {name!r}")
    detector.heed([replace(known[name], word="undone", at=now()) for name in ids]).save(model)
    if not quiet:
        show.out.print(f"Took back what was said of {show.safe(listed(ids))}.")


def feedback(model: ModelFile, json: Json = False, quiet: Quiet = False) -> None:
    """List what was said of events.

    Example: `ccmtad feedback plant.ccm`
    """
    from ..calibrate.feedback import in_force, plain
    from ..detector import Detector

    show.notes(quiet)
    said = in_force(Detector.load(model).feedback_)
    if json:
        show.as_json({"model": str(model), "feedback": plain(said)})
        return
    if quiet:
        return
    if not said:
        show.out.print("Nothing was said of any event.")
        return
    table = show.plain_table("event", "word", "said at", "channels")
    for one in said:
        table.add_row(show.safe(one.event), one.word, show.safe(one.at), show.safe(listed(one.channels)))
    show.out.print(table)


def _say(word: Any, model: Path, events: Path, ids: list[str] | None, every: bool, quiet: bool) -> None:
    from ..detector import Detector

    show.notes(quiet)
    detector = Detector.load(model)
    known = _read(events)
    if not known:
        raise InputError(f"events must hold at least one event; got none in {str(events)!r}")
    if bool(ids) == every:
        raise InputError(
            "ids must be numbers or ids of events, or --all must be given in their place; got "
            + ("both" if every else f"neither, and {count(len(known), 'event')} in {str(events)!r}")
        )
    chosen = list(known.values()) if every else [_chosen(name, known, events) for name in ids or ()]
    detector.heed([said_of(one, word, now()) for one in chosen]).save(model)
    if not quiet:
        names = listed([one["id"] for one in chosen])
        show.out.print(f"{word[0].upper()}{word[1:]} {show.safe(names)}. Wrote {show.safe(model)}.")


def _chosen(name: str, known: dict[str, dict[str, Any]], events: Path) -> dict[str, Any]:
    """An event by its id, or by its place among those of the file."""
    if name in known:
        return known[name]
    if name.isdecimal() and 1 <= int(name) <= len(known):
        return list(known.values())[int(name) - 1]
    raise InputError(
        f"ids must be of events in {str(events)!r}, or numbers from 1 to {len(known)}; got {name!r}, not one of "
        f"{listed(list(known))}"
    )


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Events by id, the last word on each: one JSON object with a list of them, or a line for each change."""
    try:
        text = sys.stdin.read() if path == STANDARD_INPUT else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"events must be a readable file; got {str(path)!r}: {error}") from error
    try:
        whole = jsons.loads(text)
        told = whole["events"] if isinstance(whole, dict) and "events" in whole else [whole]
    except ValueError:
        try:
            told = [jsons.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise InputError(f"events must be JSON, or lines of JSON; got {str(path)!r}: {error}") from error
    return {one["id"]: one for one in told if isinstance(one, dict) and "id" in one and "peaks" in one}
