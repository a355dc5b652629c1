"""`ccmtad demo`: the whole idea on a simulated plant, judged against its true faults."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..errors import FileError, MissingExtraError
from . import show
from .detect import needs_plotly

if TYPE_CHECKING:
    from ..bench.judge import Judgement, Match
    from ..bench.plant import Trial
    from ..results import Detection, Epoch

__all__ = ["demo"]

LOOK: Any = {"box": None, "padding": (0, 1, 0, 0), "title_justify": "left", "title_style": "bold"}  # fits 80 columns


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Another seed: other weather, other faults, other weights.")] = 0,
    train_rows: Annotated[int, typer.Option(min=2_000, help="Minutes of normal operation to learn from.")] = 40_000,
    rows: Annotated[int, typer.Option(min=2_000, help="Minutes to watch, with faults.")] = 24_000,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for normal.csv, recent.csv, plant.ccm and report.html.", show_default=False
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Serve six simulated works that break now and then, with a page to look at.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of the live page; 0 takes a free one.")] = 8787,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")] = False,
) -> None:
    """Simulate a water works, learn its normal operation, and find the faults.

    With `--live`, watch it happen on the page of the service, until Ctrl-C.

    Example: `ccmtad demo --out demo`
    """
    if live:
        from .demo_live import run_live

        run_live(seed, port, out)
        return
    try:
        from ..bench import plant  # imported here: the help text needs none of it
    except ImportError as error:
        raise MissingExtraError(f"the demo needs {error.name}: pip install 'ccmtad[train,cli]'") from error

    show.notes(quiet)
    console = show.console()
    if out is not None:
        _prepare(out)
    trial = plant.prepare(seed, train_rows, rows)
    console.print(
        f"A simulated water works, one row a minute, {len(trial.train.channels)} channels: "
        f"{train_rows:,} normal rows to learn from, then {rows:,} rows with {len(trial.watched.faults)} faults."
    )
    with show.working("Learning", quiet) as working:

        def tell(epoch: "Epoch") -> None:
            working(epoch.done, epoch.text)

        working(0.0, "grouping channels")
        detection, judgements = trial.run(tell)
    last = trial.detector.history_[-1]
    console.print(f"Learnt: {last.text}.")

    console.print(_table(judgements["ccmtad"]))
    for event in judgements["ccmtad"].false_events:
        console.print(f"  false event: rows {event.start} to {event.end}, blamed {', '.join(event.channels[:3])}")
    console.print(
        f"\n[bold]The same rows, scorer and budget ({trial.detector.settings.budget})[/]; "
        "a fault is found when an alarm starts between its start and its end plus one window; "
        "blame is right when a truly affected channel is in the top three."
    )
    console.print(_summary(judgements))
    if out is not None:
        _keep(trial, detection, out)
        console.print(
            f"\nWrote normal.csv, recent.csv, plant.ccm and report.html into {show.safe(out)}.", soft_wrap=True
        )


def _prepare(folder: Path) -> None:
    """An unwritable place is an error before the work is done."""
    from ..files import check_writable

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"out must be a folder that can be made; got {str(folder)!r}: {error.strerror}") from error
    check_writable(folder / "report.html", "out")
    needs_plotly()


def _keep(trial: "Trial", detection: "Detection", folder: Path) -> None:
    """The files that the other commands start from."""
    import polars as pl

    from .. import report
    from ..files import write

    for name, run in (("normal.csv", trial.train), ("recent.csv", trial.watched)):
        columns = {"time": run.times, **{channel: run.values[:, i] for i, channel in enumerate(run.channels)}}
        text = pl.DataFrame(columns).write_csv(float_precision=4, datetime_format="%Y-%m-%d %H:%M:%S")
        write(text.encode(), folder / name)
    trial.detector.save(folder / "plant.ccm")
    report.save(detection, folder / "report.html", title="A simulated water works")


def _table(judgement: "Judgement") -> Table:
    table = Table(title="True faults, and what was found (rows are minutes)", **LOOK)
    for name in ("fault", "at"):
        table.add_column(name)
    for name in ("size", "rows", "found", "delay"):
        table.add_column(name, justify="right")
    table.add_column("most blamed channels")
    for match in judgement.matches:
        table.add_row(*_row(match))
    return table


def _row(match: "Match") -> list[str]:
    fault, event = match.fault, match.event
    size = "" if fault.size is None else f"{fault.size:.1f}σ"
    row = [fault.kind, fault.channel, size, f"{fault.start}-{fault.end}"]
    if event is None:
        masked = "" if match.masked_by is None else f"in alarm since {match.masked_by.alarm}"
        return [*row, "[red]missed[/]", "", masked]
    blamed = (f"[bold green]{name}[/]" if name in fault.affected else name for name in event.channels[:3])
    until = "" if event.end is None else event.end
    return [*row, f"{event.start}-{until}", str(match.delay), " ".join(blamed)]


def _summary(judgements: "dict[str, Judgement]") -> Table:
    table = Table(**LOOK)
    table.add_column("method", no_wrap=True)
    for name in ("found", "false events", "normal in alarm", "median delay", "blame right"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, judgement in judgements.items():
        found = f"{len(judgement.found)} of {len(judgement.matches)}"
        row = [name, found, str(len(judgement.false_events)), f"{judgement.normal_alarm:.2%}"]
        table.add_row(*row, *([f"{judgement.median_delay:.0f}", f"{judgement.blamed:.0%}"] if judgement.found else []))
    return table
