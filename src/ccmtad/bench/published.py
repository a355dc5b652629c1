"""The numbers printed in the CCM-TAD paper, and those of ours that are the same figures."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .summary import Figure, Group

__all__ = [
    "DATASETS",
    "METRICS",
    "SEEDED",
    "Line",
    "beside",
    "column",
    "over_seeds",
    "own",
    "part",
    "printed",
    "sizes",
    "with_ours",
]

AUTHORS = "oracle, authors"  # the column of their evaluation
DATASETS = ("WADI", "PSM", "SWaT", "MSL", "SMD", "SMAP")  # in the paper's order
METRICS = {
    "best_f1": "best F1",
    "pr_auc": "PR-AUC",
    "vus_pr": "VUS-PR",
    "vus_roc": "VUS-ROC",
    "range_f1": "range F1",
    "affiliation_f1": "affiliation F1",
}
# What the paper also gives over five seeds, and our protocol for it. It names none there; its F1 is of protocol 3
# unless said otherwise, and its other metrics it gives as means over entities only.
SEEDED = {"best_f1": 3, "pr_auc": 2, "vus_pr": 2, "vus_roc": 2}


@dataclass(frozen=True)
class Line:
    """A method under a protocol (none for datasets of one entity), and its figures by dataset."""

    method: str
    protocol: int | None
    cells: dict[str, str]


@cache
def tables() -> dict[str, list[dict[str, Any]]]:
    """The paper's tables."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Whole:
    """A dataset as the paper counts it."""

    entities: int
    channels: int
    train_rows: int  # of all entities: the one size that the record of a model over all of them shows too
    test_rows: int
    anomalous: float  # share of the test rows


def sizes() -> dict[str, Whole]:
    """Of every dataset."""
    return {row["dataset"]: Whole(**{n: v for n, v in row.items() if n != "dataset"}) for row in tables()["datasets"]}


# Of several entities; the others are one.
WHOLE = {name: whole for name, whole in sizes().items() if whole.entities > 1}


def printed(metric: str) -> list[Line]:
    """The paper's table of a metric."""
    return [
        Line(row["method"], row.get("protocol"), {name: f"{row[name]:.3f}" for name in DATASETS if name in row})
        for row in tables()[metric]
    ]


def over_seeds(metric: str) -> list[Line]:
    """The paper's means over five seeds and their spread, where it gives them."""
    found: dict[str, dict[str, str]] = {}
    for row in tables()["robustness"]:
        if row["metric"] == metric:
            found.setdefault(row["method"], {})[row["dataset"]] = Figure(row["mean"], row["spread"]).text()
    return [Line(method, SEEDED[metric], cells) for method, cells in found.items()]


def part(group: Group) -> str:
    """How much of the paper's dataset this is; empty where it is all of it."""
    whole = WHOLE.get(group.dataset)
    rows = sum({record["entity"]: record["train_rows"] for record in group.records}.values())
    if whole is None or rows >= whole.train_rows:
        return ""
    if group.plan["combined"]:
        return f"{rows:,} of the {whole.train_rows:,} training rows published"
    return f"{len(group.entities)} of the {whole.entities} entities published"


def column(group: Group) -> str:
    """The column of ours that is nearest to what the paper's figures were computed by."""
    return next(name for name in (AUTHORS, "oracle epoch", "oracle") if name == "oracle" or group.has(name))


def ours(group: Group, metric: str, method: str = "ccmtad") -> dict[int | None, Figure]:
    """Our figures of a metric by protocol: none where we have only part of the dataset, and of other metrics than F1
    none but those of the authors' evaluation, which are other figures than ours of the same names."""
    if part(group) or (metric != "best_f1" and column(group) != AUTHORS):
        return {}
    found = {}
    for protocol in _protocols(group, metric):
        f1 = "F1, protocol 2" if protocol == 2 else "F1, protocol 3"
        figure = group.figure(method, column(group), f1 if metric == "best_f1" else f"{METRICS[metric]}, the authors'")
        if figure is not None:
            found[protocol] = figure
    return found


def _protocols(group: Group, metric: str) -> tuple[int | None, ...]:
    if group.dataset not in WHOLE:
        return (None,)
    if group.plan["combined"]:
        return (1,)
    return (2, 3) if metric == "best_f1" else (2,)  # the others are means over entities


def with_ours(lines: Sequence[Line], metric: str, named: Sequence[tuple[str, Group]]) -> list[Line]:
    """A table of the paper, by protocol, and in it the same figures of these groups."""
    known = {None, *(line.protocol for line in lines)}
    added: dict[tuple[str, int | None], dict[str, str]] = {}
    for name, group in named:
        for protocol, figure in ours(group, metric).items():
            if protocol in known:
                added.setdefault((name, protocol), {})[group.dataset] = figure.text()
    mine = [Line(name, protocol, cells) for (name, protocol), cells in added.items()]
    return sorted([*lines, *mine], key=lambda line: line.protocol or 4)  # one entity: after protocol 3


def beside(group: Group) -> dict[str, tuple[str, str, str, str]]:
    """By figure, where the paper has it for its own method: as printed, over its seeds, ours, and that of noise."""
    found = {}
    for metric, title in METRICS.items():
        mine, noise = ({p: f.text() for p, f in ours(group, metric, m).items()} for m in ("ccmtad", "random"))
        for protocol in _protocols(group, metric):
            theirs = own(metric, group, protocol)
            name = f"{title}, protocol {protocol}" if metric == "best_f1" and protocol else title
            if theirs:
                seeds = _own(over_seeds(metric), group, protocol)
                found[name] = (theirs, seeds, mine.get(protocol, ""), noise.get(protocol, ""))
    return found


def own(metric: str, group: Group, protocol: int | None) -> str:
    """CCM-TAD's figure as printed; empty where there is none."""
    return _own(printed(metric), group, protocol)


def _own(lines: Sequence[Line], group: Group, protocol: int | None) -> str:
    """CCM-TAD's figure; for one entity all protocols are the same."""
    cells = (line.cells for line in lines if line.method == "CCM-TAD" and protocol in (None, line.protocol))
    return next((cell[group.dataset] for cell in cells if group.dataset in cell), "")
