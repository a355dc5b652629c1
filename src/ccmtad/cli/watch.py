"""`ccmtad watch`: judge rows as they come, and tell of events on standard output."""

import json
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
from ..wording import count
from . import show
from .options import Budget, Drop, Missing, ModelFile, Quiet, Time, TimeFormat, reading
from .output import Output, standard

if TYPE_CHECKING:
    from ..live.journal import Notice
    from ..live.sources.lines import Lines

__all__ = ["watch"]

PIPE = Path("-")


def watch(
    model: ModelFile,
    source: Annotated[
        Path, typer.Argument(help="Growing file to follow, CSV or JSON lines; - is standard input.")
    ] = PIPE,
    state: Annotated[
        Path | None, typer.Option(help="File to keep the state in, and to go on from.", show_default=False)
    ] = None,
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
    time: Time = None,
    time_format: TimeFormat = None,
    missing: Missing = None,
    drop: Drop = None,
    quiet: Quiet = False,
) -> None:
    """Judge rows as they come; one JSON line per event change on standard output.

    A file that is not there yet is waited for. A change is opened, updated (severity doubled), resolved, reopened or
    final. With --state, a watch that was killed
    goes on exactly: it may repeat lines, and a repeated one has the same id and revision. Of standard input, rows up to
    an "acknowledged" line need not be sent again. Ends on Ctrl-C, at once on a second one. Exit code 3 says that this
    run had events, 0 none, 2 that something went wrong: also where the state could not be saved at the end.

    Example: `ccmtad watch plant.ccm sensors.csv --state plant.state`
    """
    from ..detector import Detector
    from ..files import check_writable
    from ..live.sources.file import FollowedFile
    from ..live.sources.lines import LineSource
    from ..live.sources.pipe import Pipe
    from ..live.watch import Watch
    from ..tables.lines import Parser

    output = Output()
    show.notes(quiet)
    detector = Detector.load(model)
    if budget is not None:
        detector = detector.with_budget(budget)
    if state is not None:
        check_writable(state, "state")
    parser = Parser(detector.model_.channels, detector.model_.named, reading(time, time_format, missing, drop))
    completed = state is not None

    def acknowledge(rows: int, time: str | None) -> None:
        output.write(json.dumps({"change": "acknowledged", "rows": rows, "time": time}).encode() + b"\n")

    def tell(notice: "Notice") -> None:
        output.write(notice.line())

    lines: Lines = (
        Pipe(standard(sys.stdin, "input"), completed=completed, longest_line=longest_line, acknowledge=acknowledge)
        if source == PIPE
        else FollowedFile(source, once=once, completed=completed, longest_line=longest_line)
    )
    name = os.fsencode(name or model.stem).decode(errors="replace")  # a file's name need not be text
    watcher = Watch(detector, LineSource(lines, parser), name, state, emit=tell, heard=_hearing(model))

    def stop(number: int, _: object) -> None:
        watcher.stopped = output.stopped = True
        signal.signal(number, signal.SIG_DFL)  # whoever says it twice means it

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    watcher.run()
    left_out = watcher.source.left_out
    if left_out and not watcher.rows:
        raise InputError(f"source must hold rows; got {count(left_out, 'line')} and none that could be read")
    if not quiet:
        tally = watcher.stream.tally
        show.err.print(
            f"{count(tally.rows, 'row')} in all ({watcher.rows:,} now), {tally.late:,} late or duplicate, "
            f"{count(tally.missing, 'value')} missing, {count(tally.gaps, 'gap')}; "
            f"{count(left_out, 'line')} left out; {count(watcher.events, 'event')} in all ({watcher.new:,} now)."
        )
    if watcher.unsaved is not None:
        raise FileError(f"state must be saved at the end; it stays at row {watcher.saved_rows}: {watcher.unsaved}")
    show.finish(watcher.new > 0)


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
