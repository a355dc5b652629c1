"""`ccmtad inspect`: what is in a model file."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..calibrate.feedback import in_force
from ..settings import Settings
from . import show
from .options import Json, ModelFile, Quiet

if TYPE_CHECKING:
    from ..detector import Detector

__all__ = ["inspect"]


def inspect(model: ModelFile, json: Json = False, quiet: Quiet = False) -> None:
    """Show the channels, clusters, calibration, training and settings of a model, and how far they can be trusted.

    Example: `ccmtad inspect plant.ccm`
    """
    from ..detector import Detector

    show.notes(quiet)
    detector = Detector.load(model)
    facts = _facts(detector, model)
    if json:
        show.as_json(facts)
        return
    if quiet:
        return
    show.out.print(f"[bold]{show.safe(model)}[/]")
    table = show.plain_table("", "")
    table.show_header = False
    for name, text in _lines(facts):
        table.add_row(f"[dim]{name}[/]", show.safe(text))
    show.out.print(table)
    clusters = show.plain_table("", "", title="\nChannels, by cluster")
    clusters.show_header = False
    for i, group in enumerate(facts["clusters"], 1):
        clusters.add_row(str(i), show.safe(", ".join(group)))
    show.out.print(clusters)
    settings = show.plain_table("", "", "", "", "", "", title="\nSettings (bold: not the default)")
    settings.show_header = False
    usual = asdict(Settings())
    cells = []
    for name, value in facts["settings"].items():
        bold = value != usual[name]
        cells += [f"[dim]{name}[/]", f"[bold]{show.safe(value)}[/]" if bold else show.safe(value)]
    cells += [""] * (-len(cells) % 6)
    for first in range(0, len(cells), 6):
        settings.add_row(*cells[first : first + 6])
    show.out.print(settings)


def _facts(detector: "Detector", path: Path) -> dict[str, Any]:
    model, support = detector.model_, detector.support_
    history = detector.history_
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "weights": sum(int(np.size(array)) for array in model.weights.values()),
        "fingerprint": model.fingerprint[:16],
        "channels": list(model.channels),
        "clusters": [list(group) for group in detector.clusters_],
        "period": model.period,
        "calibration": {
            "normal_losses": len(detector.validation_losses_),
            "alpha": detector.alpha_,
            "threshold": detector.threshold_,
            "budget": model.learnt.allowed,
            "rows_per_alarm": None if support is None else support.wanted,
            "supported_rows_per_alarm": None if support is None or np.isinf(support.longest) else support.longest,
            "supported": None if support is None else support.enough,
            "rows_to_alarm": model.sight,
        },
        "feedback": [[one.event, one.word, one.at] for one in in_force(detector.feedback_)],
        "training": [asdict(epoch) for epoch in history],
        "settings": asdict(model.settings),
    }


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    told = facts["calibration"]
    period = facts["period"]
    lines = [
        ("size", f"{facts['bytes'] / 1e6:.2g} MB, {facts['weights']:,} weights"),
        ("fingerprint", facts["fingerprint"]),
        ("channels", f"{len(facts['channels'])} in {len(facts['clusters'])} clusters"),
        ("rows", "without times" if period is None else f"one every {period:g} s"),
        (
            "calibration",
            f"{told['normal_losses']:,} normal losses, alpha {told['alpha']:.3g}, threshold {told['threshold']:.3g}",
        ),
        ("budget", told["budget"] + _trust(told)),
        ("seen", show.sight(told["rows_to_alarm"])),
    ]
    words = [word for _, word, _ in facts["feedback"]]
    if words:
        told = ", ".join(f"{words.count(word)} {word}" for word in ("dismissed", "confirmed") if word in words)
        lines.append(("feedback", f"{told} (`ccmtad feedback` lists them)"))
    if facts["training"]:
        losses = [epoch["validation"] for epoch in facts["training"]]
        best = int(np.argmin(losses)) + 1
        level = "; still falling, more epochs may help" if best == len(losses) and len(losses) > 1 else ""
        lines.append(
            (
                "training",
                f"{len(losses)} epochs, validation loss {losses[0]:.4g} to {min(losses):.4g} (epoch {best}){level}",
            )
        )
    return lines


def _trust(told: dict[str, Any]) -> str:
    if told["supported"] is None:
        return ": the threshold was given, or is the paper's"
    if told["supported"]:
        return ": supported by the normal rows, within a factor of three"
    longest = told["supported_rows_per_alarm"]
    return f": extrapolated; the normal rows support one alarm in {longest:,.0f} rows"
