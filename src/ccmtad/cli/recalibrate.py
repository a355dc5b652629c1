"""`ccmtad recalibrate`: refresh what is normal, without training again."""

from pathlib import Path
from typing import Annotated

import typer

from ..tables import Reading
from . import show
from .options import Data, Json, ModelFile, Quiet, check_out, data_for, reads

__all__ = ["recalibrate"]

HARDLY_NORMAL = 0.01  # share of rows in alarm above which that is said


@reads
def recalibrate(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Model file to write; may be the one that is read.", show_default=False)
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Also with rows that the network does not know; it will see little then.")
    ] = False,
    *,
    how: Reading,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn the normal losses and the threshold anew from recent normal rows; the network stays as it is.

    The rows must not be those of fitting, which the network knows too well. For when `detect` or `watch` says that the
    calibration is drifting. A running watch must be started afresh with the new model.

    Example: `ccmtad recalibrate plant.ccm lastweek.csv -o plant2.ccm`
    """
    from ..detector import Detector

    show.notes(quiet)
    check_out("out", out, data)
    detector = Detector.load(model)
    before = detector.threshold_
    with show.working("Reading", quiet or json, total=None):
        frame = data_for(
            detector,
            data,
            how,
        )
    with show.working("Calibrating", quiet or json, total=None):
        alarmed = float(detector.detect(frame).alarm.mean())
        detector.recalibrate(frame, force=force)
    if alarmed > HARDLY_NORMAL and not quiet:
        show.err.print(
            f"[yellow]note:[/] {alarmed:.0%} of these rows are in alarm by the old calibration: are they normal?"
        )
    detector.save(out)
    if json:
        support = detector.support_
        show.as_json(
            {
                "model": str(out), "rows": len(frame), "threshold": detector.threshold_, "threshold_before": before,
                "alpha": detector.alpha_, "supported": None if support is None else support.enough,
            }
        )  # fmt: skip
    elif not quiet:
        show.out.print(
            f"Calibrated on {len(detector.validation_losses_):,} normal rows; threshold {detector.threshold_:.3g} "
            f"(was {before:.3g}). Wrote {show.safe(out)}."
        )
