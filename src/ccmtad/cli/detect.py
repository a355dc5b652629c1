"""`ccmtad detect`: the events of a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, MissingExtraError
from ..results import plain
from ..tables import Reading
from . import show
from .labels import Labels, labels_of, print_truth, told_truth
from .options import AllowMissing, Budget, Data, Json, ModelFile, Quiet, check_out, data_for, reading_for, reads

if TYPE_CHECKING:
    from ..results import Detection
    from ..truth import Truth

__all__ = ["detect", "needs_plotly", "told"]


@reads
def detect(
    model: ModelFile,
    data: Data,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.", show_default=False)] = None,
    rows: Annotated[
        Path | None, typer.Option(help="File of every row's values to write: .csv or .parquet.", show_default=False)
    ] = None,
    budget: Budget = None,
    labels: Labels = None,
    *,
    how: Reading,
    allow_missing: AllowMissing = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find events in a file, as a stream would have found them row by row.

    Exit code 3 says that there are events, 0 that there are none.

    Example: `ccmtad detect plant.ccm recent.csv --report report.html`
    """
    from ..detector import Detector
    from ..truth import judge

    show.notes(quiet)
    if rows is not None and rows.suffix not in {".csv", ".parquet"}:
        raise InputError(f"rows must end in .csv or .parquet; got {str(rows)!r}")
    for argument, path in (("report", report), ("rows", rows)):
        if path is not None:
            check_out(argument, path, model, data)
    if report is not None:
        needs_plotly()
    detector = Detector.load(model)
    if budget is not None:
        detector = detector.with_budget(budget)
    silent = quiet or json
    with show.working("Reading", silent, total=None):
        channels = detector.channels_
        marks = None if labels is None else labels_of(data, reading_for(detector, how, False), labels, channels)
        frame = data_for(detector, data, how, allow_missing, beside=labels)
    with show.working("Judging", silent) as tell:
        found = detector.detect(frame, progress=lambda share: tell(share, ""))
    if rows is not None:
        with show.working("Writing rows", silent, total=None):
            _write_rows(found, rows)
    if report is not None:
        from .. import report as reports

        with show.working("Drawing", silent, total=None):
            reports.save(found, report, title=f"{data.name}, judged by {model.name}", labels=marks)
    truth = None if marks is None else judge(found, marks)
    if json:
        by_labels = {} if truth is None else {"labels": told_truth(truth)}
        about = {"model": str(model), "data": str(data), "budget": found.learnt.allowed}
        show.as_json({**about, **told(found), **by_labels})
    elif not quiet:
        _print(found, truth, report, rows)
    show.finish(bool(found.events))


def told(found: "Detection") -> dict[str, Any]:
    """A detection as JSON knows it."""
    return {
        "threshold": found.threshold,
        "rows": len(found),
        "timezone": found.zone or "UTC",
        "rows_in_alarm": int(found.alarm.sum()),
        "health": {"state": found.health.state, "gap": found.health.gap, "advice": found.health.advice},
        "events": [plain(one) for one in found.events],
    }


def _print(found: "Detection", truth: "Truth | None", report: Path | None, rows: Path | None) -> None:
    count = len(found.events)
    show.out.print(
        f"{count or 'No'} event{'s' * (count != 1)} in {len(found):,} rows; {found.alarm.mean():.2%} of them in alarm "
        f"({_allowed(found)})."
    )
    if count:
        most = 50
        show.out.print(show.events(found.events, most))
        if count > most:
            show.out.print(f"({count - most:,} less severe events are left out; --json and --report list more.)")
    for i, one in enumerate(found.events, 1):
        if accept := found.accepted_after(one):
            show.out.print(
                f"[yellow]Event {i} lasted more than {accept:,} rows[/] and was taken for the "
                "new normal from there on: its alarm may have ended although nothing was repaired."
            )
    if found.health.state not in ("healthy", "unknown"):
        show.out.print(f"[yellow]Calibration is {found.health.state}[/]: {show.safe(found.health.advice)}.")
    if truth is not None:
        print_truth(truth)
    for path in (rows, report):
        if path is not None:
            show.out.print(f"Wrote {show.safe(path)}.", soft_wrap=True)


def _allowed(found: "Detection") -> str:
    allowed = found.learnt.allowed
    return show.safe(allowed if allowed.startswith("threshold") else f"budget {allowed}")


def _write_rows(found: "Detection", path: Path) -> None:
    import io

    from ..files import write

    table, buffer = found.as_polars(), io.BytesIO()
    if path.suffix == ".csv":
        table.write_csv(buffer)
    else:
        table.write_parquet(buffer)
    write(buffer.getvalue(), path)


def needs_plotly() -> None:
    try:
        import plotly  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("reports need plotly: pip install 'ccmtad[report]'") from error
