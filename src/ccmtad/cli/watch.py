"""`ccmtad watch`: judge rows as they come, and tell of events on standard output or elsewhere."""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import FileError, InputError
from ..live.sources.split import LONGEST_LINE
from ..results import Verdict
from ..tables import Reading
from ..wording import count
from . import show
from .options import AllowMissing, Budget, Quiet, reading_for, reads_lines
from .output import Output, standard
from .watches import PIPE, STANDARD, Wanted, run, wanted

if TYPE_CHECKING:
    from ..live.journal import Notice
    from ..live.sources import Source
    from ..live.sources.lines import Lines
    from ..live.watch import Watch
    from ..live.worker import Worker

__all__ = ["watch"]

log = logging.getLogger("ccmtad")


@reads_lines
def watch(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="Model file that `fit` wrote.", show_default=False)
    ] = None,
    source: Annotated[
        Path, typer.Argument(help="Growing file to follow, CSV or JSON lines; - is standard input.")
    ] = PIPE,
    origin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="URL",
            help="Server to read from instead of a file: mqtt://, redis://, nats://, kafka://, postgresql://, s3://.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="URL",
            help="Where notices go, repeatable: https://, alertmanager://, mqtt://, redis://, nats://, kafka://, "
            "postgresql://, sqlite://, file://, prometheus://; - is standard output.",
            show_default="-",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of several watches, a [[watch]] table each, in place of all this.", show_default=False
        ),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="File to keep the state in, and to go on from.", show_default=False)
    ] = None,
    shared: Annotated[
        Path | None,
        typer.Option(help="Folder by which several such commands share the entities of a source.", show_default=False),
    ] = None,
    partitions: Annotated[
        int, typer.Option(help="Parts that the entities are shared in, with --shared; Kafka has its own.")
    ] = 16,
    once: Annotated[
        bool, typer.Option("--once", help="Stop at the end of the file instead of waiting for more.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Name in event ids; the model file's if absent.", show_default=False)
    ] = None,
    longest_line: Annotated[
        int, typer.Option(help="Bytes that a line may have; one that has more is left out.")
    ] = LONGEST_LINE,
    budget: Budget = None,
    *,
    how: Reading,
    allow_missing: AllowMissing = False,
    quiet: Quiet = False,
) -> None:
    """Judge rows as they come; one JSON line per event change on standard output, or to where --to says.

    A file that is not there yet is waited for. A change is opened, updated (severity doubled), resolved, reopened or
    final. With --state, a watch that was killed
    goes on exactly: it may repeat lines, and a repeated one has the same id and revision. Of standard input, rows up to
    an "acknowledged" line need not be sent again. Ends on Ctrl-C, at once on a second one. Exit code 3 says that this
    run had events, 0 none, 2 that something went wrong: also where the state could not be saved at the end.

    Example: `ccmtad watch plant.ccm sensors.csv --state plant.state`
    """
    output = Output()
    show.notes(quiet)
    if config is not None:
        if model is not None:
            raise InputError(f"config must stand alone; got the model {str(model)!r} too")
        several = wanted(config)
    elif model is None:
        raise InputError("model must be a model file, or --config a file of watches; got neither")
    else:
        one = Wanted(
            model, source, origin, tuple(to or (STANDARD,)), state, once, name, longest_line, budget, how,
            allow_missing, shared, partitions,
        )  # fmt: skip
        several = [one]
    watches = made(several, output)

    def stop(number: int, _: object) -> None:
        output.stopped = True
        for watcher in watches:
            watcher.stopped = True
        signal.signal(number, signal.SIG_DFL)  # whoever says it twice means it

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    run(watches)
    for wish, watcher in zip(several, watches, strict=True):
        _end(watcher, "line" if wish.origin is None else "message", quiet)
    show.finish(any(watcher.new for watcher in watches))


def _end(watcher: "Watch | Worker", unit: str, quiet: bool) -> None:
    """What came of a watch."""
    from ..live.worker import Worker

    unread = count(watcher.source.left_out, unit)
    if watcher.source.left_out and not watcher.rows:
        raise InputError(f"source must hold rows; got {unread} and none that could be read")
    if not quiet:
        show.err.print(_tally(watcher, unread))
    if watcher.unsaved is not None:
        stays = "" if isinstance(watcher, Worker) else f"it stays at row {watcher.saved_rows}: "
        raise FileError(f"state must be saved at the end; {stays}{watcher.unsaved}")
    if isinstance(watcher, Worker):
        return
    waiting = [one for one in watcher.post.outboxes if one.waiting]
    if waiting and watcher.state is None:
        first = waiting[0]
        lost = count(len(first.waiting), "notice")
        raise InputError(f"sink must take what is told; {lost} not taken by {first.sink.address}: {first.trouble}")
    for one in waiting:
        log.warning("%s for %s wait in the state", count(len(one.waiting), "notice"), one.sink.address)


def made(several: list[Wanted], output: Output) -> "list[Watch | Worker]":
    """All of them, or none: what cannot be watched is an error before anything is."""
    found: list[Watch | Worker] = []
    try:
        for wish in several:
            found.append(_watch(wish, output))
    except BaseException:
        for one in found:
            one.close()
        raise
    return found


def _watch(wish: Wanted, output: Output) -> "Watch | Worker":
    from ..detector import Detector
    from ..files import check_writable
    from ..live.outbox import Post
    from ..live.sinks.reached import reached as sink
    from ..live.sources.file import FollowedFile
    from ..live.sources.lines import LineSource
    from ..live.sources.partitioned import Partitioned
    from ..live.sources.pipe import Pipe
    from ..live.sources.reached import reached
    from ..live.watch import Watch
    from ..live.worker import Worker
    from ..tables.lines import Parser

    if wish.origin is not None and wish.source != PIPE:
        raise InputError(f"--from must stand alone; got the source {str(wish.source)!r} too")
    if wish.shared is not None and (wish.origin is None or wish.state is not None):
        raise InputError("--shared must stand with --from, and without --state: the folder holds the states")
    if wish.shared is not None and wish.to != (STANDARD,):
        raise InputError(f"--shared tells on standard output alone, which can be piped on; got --to {wish.to[0]!r}")
    detector = Detector.load(wish.model)
    if wish.budget is not None:
        detector = detector.with_budget(wish.budget)
    if wish.state is not None:
        check_writable(wish.state, "state")
    how, completed = reading_for(detector, wish.how), wish.state is not None
    name = os.fsencode(wish.name or wish.model.stem).decode(errors="replace")  # a file's name need not be text
    loud = STANDARD in wish.to

    def acknowledge(rows: int, time: str | None) -> None:
        output.write(json.dumps({"change": "acknowledged", "rows": rows, "time": time}).encode() + b"\n")

    def tell(notice: "Notice") -> None:
        if loud:
            output.write(notice.line())

    def followed() -> "Source":
        if wish.origin is not None:
            return reached(wish.origin, detector.model_, how, watch=name, once=wish.once, kept=completed)
        parser = Parser(detector.model_.channels, detector.model_.named, how, wish.allow_missing)
        length = wish.longest_line
        lines: Lines
        if wish.source == PIPE:
            told = acknowledge if completed else None
            lines = Pipe(standard(sys.stdin, "input"), completed=completed, longest_line=length, acknowledge=told)
        else:
            lines = FollowedFile(wish.source, once=wish.once, completed=completed, longest_line=length)
        return LineSource(lines, parser)

    heard, zone = _hearing(wish.model), how.timezone
    if wish.shared is not None and wish.origin is not None:
        found = reached(wish.origin, detector.model_, how, watch=name, once=wish.once)
        if not isinstance(found, Partitioned):
            raise InputError(f"--shared must be of a source with partitions, nats:// or kafka://; got {found.name}://")
        parts = wish.partitions
        return Worker(detector, found, name, wish.shared, parts, emit=tell, heard=heard, zone=zone, once=wish.once)
    post = Post([sink(url) for url in wish.to if url != STANDARD], name)
    return Watch(detector, followed(), name, wish.state, emit=tell, post=post, heard=heard, zone=zone)


def _tally(watcher: "Watch | Worker", unread: str) -> str:
    """What a run came to."""
    from ..live.worker import Worker

    if isinstance(watcher, Worker):
        entities = count(len(watcher.streams), "entity").replace("entitys", "entities")
        return f"{count(watcher.rows, 'row')} now, {entities}; {unread} left out; {count(watcher.new, 'event')} now."
    tally = watcher.stream.tally
    return (
        f"{count(tally.rows, 'row')} in all ({watcher.rows:,} now), {tally.late:,} late or duplicate, "
        f"{count(tally.missing, 'value')} missing, {count(tally.gaps, 'gap')}; "
        f"{unread} left out; {count(watcher.events, 'event')} in all ({watcher.new:,} now)."
    )


def _hearing(path: Path) -> Callable[[], tuple[Verdict, ...]]:
    """What `ccmtad dismiss` and the like have put into the model file since it was last looked at."""
    from ..detector import Detector
    from ..errors import CcmtadError

    seen = [path.stat().st_mtime_ns]

    def heard() -> tuple[Verdict, ...]:
        try:
            changed = path.stat().st_mtime_ns
            if changed == seen[0]:
                return ()
            said = Detector.load(path).feedback_
            seen[0] = changed
            return said
        except (OSError, CcmtadError):  # being written, or gone: the watch goes on with what it has
            return ()

    return heard
