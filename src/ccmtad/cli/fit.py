"""`ccmtad fit`: learn what is normal, and write one model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..results import Epoch
from ..settings import Settings
from ..tables import Reading
from . import show
from .options import Data, Json, Quiet, check_out, reads

__all__ = ["fit"]


@reads
def fit(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.", show_default=False)],
    budget: Annotated[str | None, typer.Option(help="Acceptable false alarms: '1/10000 rows', '1/week'.")] = None,
    preset: Annotated[str | None, typer.Option(help="Settings to start from: default, or paper.")] = None,
    settings: Annotated[Path | None, typer.Option(help="TOML file of settings.", show_default=False)] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, any setting; repeatable, over the file's.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Known-bad span FIRST..LAST, rows or times, inclusive; repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything random.")] = None,
    device: Annotated[str | None, typer.Option(help="Where torch trains: auto, cpu, cuda.")] = None,
    *,
    how: Reading,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn normal operation from a file; the data should be mostly normal.

    Example: `ccmtad fit normal.csv -o plant.ccm --budget 1/week`
    """
    from .. import suited
    from ..detector import Detector

    show.notes(quiet)
    given = {"budget": budget, "preset": preset, "seed": seed, "device": device}
    table: dict[str, Any] = {} if settings is None else Settings.table(settings)
    chosen = {**table, **Settings.read(setting or ()), **{n: v for n, v in given.items() if v is not None}}
    Settings.of(**chosen)  # a wrong setting is an error before the data is read
    detector = Detector(**chosen)
    check_out("out", out, data)
    spans = [_span(text) for text in exclude or ()]
    silent = quiet or json
    with show.working("Reading", silent, total=None):
        loaded = suited.for_a_fit(
            data,
            how,
        )
    frame = loaded.frame
    with show.working("Learning", silent, total=1.0) as tell:

        def progress(epoch: Epoch) -> None:
            tell(epoch.done, epoch.text)

        detector.fit(frame, exclude=spans, progress=progress, reading=loaded.reading)
    detector.save(out)
    support, size = detector.support_, out.stat().st_size
    given_threshold = detector.settings.threshold != "auto"  # then the budget is of no account
    if json:
        show.as_json(
            {
                "model": str(out), "bytes": size, "rows": len(frame), "channels": len(frame.channels),
                "clusters": len(detector.clusters_), "alpha": detector.alpha_, "threshold": detector.threshold_,
                "budget": None if given_threshold else detector.settings.budget,
                "supported": None if support is None else support.enough,
                "validation_loss": min(epoch.validation for epoch in detector.history_),
                "rows_to_alarm": detector.model_.sight,
            }
        )  # fmt: skip
    elif not quiet:
        show.out.print(
            f"Learnt {len(frame):,} rows of {len(frame.channels)} channels in {len(detector.clusters_)} clusters; "
            + ("" if given_threshold else f"budget {show.safe(detector.settings.budget)}, ")
            + f"threshold {detector.threshold_:.3g}{', given' * given_threshold}."
        )
        show.out.print(show.sight(detector.model_.sight))
        show.out.print(f"Wrote {show.safe(out)} ({size / 1e6:.2g} MB).", soft_wrap=True)


def _span(text: str) -> tuple[Any, Any]:
    first, dots, last = text.partition("..")
    if not dots or not first.strip() or not last.strip():
        raise InputError(f"exclude must read FIRST..LAST, two rows or two times; got {text!r}")
    return tuple(int(end) if end.strip().isdecimal() else end.strip() for end in (first, last))  # type: ignore[return-value]
