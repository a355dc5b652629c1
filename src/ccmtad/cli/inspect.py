"""`ccmtad inspect`: what is in a model file."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from ..calibrate.feedback import in_force
from ..network.adjacency import between
from ..settings import Settings
from ..tables.words import said
from . import show
from .options import Json, ModelFile, Quiet
from .wording import with_flags

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
    show.out.print("\n[bold]Channels, by cluster[/]")
    show.out.print(_clusters(facts))
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
        "cluster_quality": _quality(detector),
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
        "reading": {} if model.reading is None else model.reading.facts(),
        "feedback": [[one.event, one.word, one.at] for one in in_force(detector.feedback_)],
        "training": [asdict(epoch) for epoch in history],
        "settings": asdict(model.settings),
    }


def _quality(detector: "Detector") -> dict[str, Any] | None:
    """How clearly the clusters are apart; None in older files."""
    correlation, label = detector.correlation_, detector.model_.clusters.label
    each, alike = detector.silhouettes_, detector.adjacency_
    if correlation is None or each is None or alike is None:
        return None
    members = detector.model_.clusters.members
    return {
        "silhouette": _mean(each),
        "silhouettes": [_mean(each[group]) for group in members],
        **{
            name: [[None if np.isnan(cell) else float(cell) for cell in row] for row in between(of, correlation, label)]
            for name, of in (("correlation", np.abs(correlation)), ("adjacency", alike))
        },
    }


def _mean(values: NDArray[np.float64]) -> float | None:
    """Of those that are numbers."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _clusters(facts: dict[str, Any]) -> Table:
    """The channels of each cluster; where it is known, how clearly it is apart: its silhouette, and how strongly its
    channels are correlated, and how alike their profiles are, inside and with the nearest other cluster."""
    quality = facts["cluster_quality"]
    if quality is None:
        table = show.plain_table("", "")
        table.show_header = False
        for i, group in enumerate(facts["clusters"], 1):
            table.add_row(str(i), show.safe(", ".join(group)))
        return table
    table = show.plain_table("", "silhouette", "correlation", "adjacency", "channels")
    for i, group in enumerate(facts["clusters"]):
        cells = [_inside_and_out(quality[name][i], i) for name in ("correlation", "adjacency")]
        table.add_row(str(i + 1), _number(quality["silhouettes"][i]), *cells, show.safe(", ".join(group)))
    return table


def _inside_and_out(row: list[float | None], own: int) -> str:
    others = [cell for i, cell in enumerate(row) if i != own and cell is not None]
    nearest = f" / {_number(max(others))}" if others else ""
    return f"{_number(row[own]) or '-'}{nearest}" if others or row[own] is not None else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    told = facts["calibration"]
    period = facts["period"]
    lines = [
        ("size", f"{facts['bytes'] / 1e6:.2g} MB, {facts['weights']:,} weights"),
        ("fingerprint", facts["fingerprint"]),
        ("channels", f"{len(facts['channels'])} in {len(facts['clusters'])} clusters{_apart(facts)}"),
        ("rows", "without times" if period is None else f"one every {period:g} s"),
        (
            "calibration",
            f"{told['normal_losses']:,} normal losses, alpha {told['alpha']:.3g}, threshold {told['threshold']:.3g}",
        ),
        ("budget", told["budget"] + _trust(told)),
        ("seen", show.sight(told["rows_to_alarm"])),
    ]
    if facts["reading"]:
        lines.append(("reading", _read_as(facts["reading"])))
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


def _read_as(reading: dict[str, Any]) -> str:
    """How files are read, as the flags that would say so."""
    told = [f"{name}={value!r}" for name, value in reading.items() if isinstance(value, str | bool)]
    told += [f"{name}={value!r}" for name in ("missing", "drop") for value in reading.get(name, ())]
    books = [f"{name}: {said(book)}" for name, book in reading.get("words", {}).items()]
    return with_flags("; ".join((*told, *books)))


def _apart(facts: dict[str, Any]) -> str:
    quality = facts["cluster_quality"]
    return "" if quality is None or quality["silhouette"] is None else f", silhouette {quality['silhouette']:.2f}"


def _trust(told: dict[str, Any]) -> str:
    if told["supported"] is None:
        return ": the threshold was given, or is the paper's"
    if told["supported"]:
        return ": supported by the normal rows, within a factor of three"
    longest = told["supported_rows_per_alarm"]
    return f": extrapolated; the normal rows support one alarm in {longest:,.0f} rows"
