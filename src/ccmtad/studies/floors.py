"""The data behind the figures: what there is of it, what an answer that knows nothing gets, and where the alphas that
the authors chose leave the paper's own bound."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from statistics import fmean, median
from typing import Any

from ..bench import published
from ..bench.published import AUTHORS
from ..bench.render import Section
from ..bench.statistics import Facts, floor, share
from ..bench.summary import groups
from .tables import printed

__all__ = ["alphas", "at_the_floor", "data_page"]

NEAR = 0.01  # of F1: so near to it counts as at the floor
BOUND = 1 / math.e
Record = Mapping[str, Any]
Kept = Mapping[str, Sequence[Facts]]  # by dataset


def data_page(facts: Sequence[Facts], records: Sequence[dict[str, Any]]) -> list[Section]:
    """The whole page, from what was counted and what the benchmark recorded."""
    kept = {name: [one for one in facts if one.dataset == name] for name in dict.fromkeys(one.dataset for one in facts)}
    return [_statistics(kept), _floors(kept), _below(kept), _bound(kept, records)]


def alphas() -> dict[str, dict[str, float]]:
    """By dataset and entity, as the authors published them with their code."""
    text = files("ccmtad.bench").joinpath("authors_alphas.json").read_text(encoding="utf-8")
    return {name: each for name, each in json.loads(text).items() if name != "note"}


def _whole(kept: Kept, dataset: str) -> bool:
    """Whether all of the paper's dataset was counted."""
    whole = published.sizes().get(dataset)
    return whole is not None and len(kept.get(dataset, ())) == whole.entities


def _statistics(kept: Kept) -> Section:
    rows = []
    for name in dict.fromkeys((*kept, *published.sizes())):
        of, theirs = kept.get(name), published.sizes().get(name)
        if of:
            lengths = sorted(length for one in of for length in one.events)
            still = sorted(one.constant for one in of)
            spread = f"{lengths[0]:,} / {median(lengths):,.0f} / {lengths[-1]:,}" if lengths else ""
            rows.append((
                name, f"{len(of)}", f"{of[0].channels}", _between(still), f"{sum(one.train_rows for one in of):,}",
                f"{sum(one.test_rows for one in of):,}", f"{share(of):.2%}", f"{len(lengths):,}", spread,
            ))  # fmt: skip
        if theirs:
            rows.append((
                f"{name}, as printed", f"{theirs.entities}", f"{theirs.channels}", "", f"{theirs.train_rows:,}",
                f"{theirs.test_rows:,}", f"{theirs.anomalous:.2%}", "", "",
            ))  # fmt: skip
    text = (
        "Counted from the published files (`python benchmarks/datasets.py DATA`), and below it what the paper's table "
        "of datasets says. A constant channel has one value in all training rows of its entity: fewest, middle and "
        "most of an entity. An event is a stretch of anomalous rows: shortest, middle, longest. Where a line is "
        "missing, the files were not at hand."
    )
    header = (
        "", "entities", "channels", "constant channels", "training rows", "test rows", "anomalous", "events",
        "rows of an event",
    )  # fmt: skip
    return Section(1, "The data and the floors", text, header, tuple(rows))


def _between(values: Sequence[int]) -> str:
    """Fewest, middle and most."""
    if values[0] == values[-1]:
        return str(values[0])
    return f"{values[0]} / {median(values):g} / {values[-1]}"


def _floor(kept: Kept, dataset: str, protocol: int | None) -> float:
    """Of protocol 2 the mean over entities, where all are there to be counted; else of all rows together."""
    if _whole(kept, dataset):
        of = kept[dataset]
        return fmean(floor(share([one])) for one in of) if protocol == 2 else floor(share(of))
    return floor(published.sizes()[dataset].anomalous)


def _floors(kept: Kept) -> Section:
    rows = []
    for name, theirs in published.sizes().items():
        whole = _whole(kept, name)
        anomalous = share(kept[name]) if whole else theirs.anomalous
        averaged = whole and theirs.entities > 1
        each = [share([one]) for one in kept[name]] if averaged else []
        rows.append((
            name, f"{anomalous:.2%}", "the labels" if whole else "the paper", f"{_floor(kept, name, 3):.3f}",
            f"{_floor(kept, name, 2):.3f}" if averaged else "", f"{(1 + anomalous) / 2:.3f}",
            f"{fmean((1 + r) / 2 for r in each):.3f}" if averaged else "", _own(name, 1), _own(name, 2),
        ))  # fmt: skip
    text = (
        "Calling every row anomalous gives an F1 of 2r / (1 + r) for a share r of anomalous rows: a best F1 over "
        "thresholds cannot be lower. In protocol 2 it is the mean over entities, known where all their labels are at "
        "hand.\n\n"
        "PR-AUC by the authors' evaluation is a trapezoid that begins at recall 0 and precision 1 and goes on to where "
        "everything is predicted. A curve of these two ends alone has an area of (1 + r) / 2: a score with few "
        "distinct values gets near it, whatever it knows. Beside it stands CCM-TAD's PR-AUC as printed."
    )
    header = (
        "", "anomalous", "by", "F1, protocols 1 and 3", "F1, protocol 2", "two ends", "two ends, mean over entities",
        "printed, protocol 1", "printed, protocol 2",
    )  # fmt: skip
    return Section(2, "What an answer that knows nothing gets", text, header, tuple(rows))


def _own(dataset: str, protocol: int) -> str:
    lines = [line for line in published.printed("pr_auc") if line.method == "CCM-TAD"]
    found = [line.cells.get(dataset) for line in lines if line.protocol in (protocol, None)]
    return next((cell for cell in found if cell), "") if dataset in published.WHOLE or protocol == 1 else ""


def at_the_floor(kept: Kept) -> list[tuple[str, int | None, str, float, float]]:
    """Printed best F1 that are at the floor or below: method, protocol, dataset, as printed, the floor."""
    found = []
    for row in published.tables()["best_f1"]:
        for name in published.DATASETS:
            if name in row and row[name] <= (least := _floor(kept, name, row.get("protocol"))) + NEAR:
                found.append((row["method"], row.get("protocol"), name, row[name], least))
    return found


def _below(kept: Kept) -> Section:
    found = at_the_floor(kept)
    every = [row[name] for row in published.tables()["best_f1"] for name in published.DATASETS if name in row]
    rows = tuple(
        (method, str(protocol or ""), name, f"{value:.3f}", f"{least:.3f}", "below" if value < least - NEAR else "at")
        for method, protocol, name, value, least in found
    )
    below = sum(row[-1] == "below" for row in rows)
    text = (
        f"Of the {len(every)} best F1 that the paper prints, {len(rows)} are no better than this floor: "
        f"{len(rows) - below} are at it, within {NEAR:g}, and {below} are below it. A figure below it cannot be a best "
        "F1 over thresholds of the same labels: it was computed otherwise. A rival at it has shown nothing, and "
        "beating it shows nothing either."
    )
    return Section(2, "Printed figures at or below the floor", text, ("", "protocol", "", "printed", "floor", ""), rows)


def _bound(kept: Kept, records: Sequence[dict[str, Any]]) -> Section:
    rows: list[tuple[str, ...]] = []
    for name, chosen in alphas().items():
        beyond = {entity: alpha for entity, alpha in chosen.items() if alpha >= BOUND}
        names = [one.entity for one in kept.get(name, ())]
        called = [names[int(e) - 1] if e.isdigit() and len(names) == len(chosen) else e for e in beyond]
        climbs = median(math.log(alpha) + 1 for alpha in beyond.values())
        rows.append(
            (f"{name}, the authors' choice", f"{len(beyond)} of {len(chosen)}", f"{climbs:.2f}", ", ".join(called))
        )
    rows += _ours(records)
    told = {name: of["alpha_max"] for name, of in printed("alpha_max").items() if of["alpha_max"] >= BOUND}
    total, all_of = (sum(len(of) for of in each) for each in (
        [[a for a in chosen.values() if a >= BOUND] for chosen in alphas().values()], alphas().values(),
    ))  # fmt: skip
    text = (
        "Where p-values of normal rows are uniform, the mean evidence of a normal row, log(alpha / p), is log(alpha) "
        f"+ 1 (the paper's Appendix A): below 0, and the score stays near 0, for alpha < 1/e = {BOUND:.4f}. From there "
        "on it climbs by itself until a reset, and time itself becomes the score. "
        f"{total} of the {all_of} alphas that the authors published "
        "are beyond it, all found by the best F1 on the test labels"
        + (f"; so is the upper end of the range searched on {', '.join(told)} ({_listed(told)})" if told else "")
        + ". A detector here refuses such an alpha; `bench run --set alpha=0.5` and the studies do not.\n\n"
        "**Climbs** is the middle of log(alpha) + 1 over those beyond: what the score of normal rows gains a row."
    )
    return Section(2, "Alpha and the bound of Appendix A", text, ("", "1/e or more", "climbs", "entities"), tuple(rows))


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:g}" for value in values.values())


def _ours(records: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """What the authors' evaluation chose for our trainings, over all seeds."""
    rows: list[tuple[str, ...]] = []
    for group in groups(records):
        if group.plan["preset"] != "authors" or group.plan["combined"] or group.plan["settings"]:
            continue
        seeds = group.columns("ccmtad", AUTHORS)
        chosen = [column["alpha"] for of in seeds.values() for column in of.values() if "alpha" in column]
        beyond = [alpha for alpha in chosen if alpha >= BOUND]
        if chosen:
            climbs = f"{median(math.log(alpha) + 1 for alpha in beyond):.2f}" if beyond else ""
            name = f"{group.dataset}, by the same search here, {len(seeds)} seeds"
            rows.append((name, f"{len(beyond)} of {len(chosen)}", climbs, ""))
    return rows
