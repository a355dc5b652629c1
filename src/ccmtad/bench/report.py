"""The results as tables, with the published numbers beside ours."""

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from statistics import fmean
from typing import Any

from .protocol import COLUMNS, PERIODS
from .render import Section, markdown, page
from .summary import Figure, Group, Record, groups

__all__ = ["Section", "glance", "markdown", "page", "published", "sections"]

TITLES = {
    "pca": "PCA error",
    "iforest": "isolation forest",
    "norm": "row norm",
    "difference": "last-value difference",
    "random": "random score",
}
WHOLE = {"SMD": 28}  # entities of the datasets that may come in part
LEGEND = """\
Columns that have seen no label: **online** rows in alarm when they arrived; **corrected** after boundary correction; \
**point** no accumulation, the threshold from validation losses; **own** the method's own threshold at 1 % \
contamination.

Columns that chose on the test labels, per entity: **oracle** alpha and threshold (where a detector has two scales, \
for the p-values of the one that led); **oracle epoch** also the epoch of training (for the random score: the best of \
as many draws); **point oracle** the threshold alone.

Figures are means over seeds ± their standard deviation; a method without ± does not depend on the seed. **PR-AUC**: \
trapezoid under the exact curve over thresholds. **VUS**: TSB-AD's definition, window 100, 250 thresholds, of the \
score. **Range F1**: Tatbul et al., flat bias, reciprocal cardinality, existence weight 0.2. **Affiliation F1**: Huet \
et al. These are means over entities.

**Mean delay**: over events, then entities; a missed event counts as its whole length. For each entity the threshold \
is chosen on the test labels: the least delay with false alarms at least that far apart. A false alarm counts once, \
however long it lasts: all-positive, always in alarm, looks good by this and is not."""
FALSE_EVENTS = "false events per 10,000 rows"
ONE_DIGIT = {FALSE_EVENTS, "median delay", "mean delay"}
PRESETS = {"authors": "the authors' settings", "paper": "the paper's settings", "default": "default settings"}


def sections(records: Sequence[Record]) -> list[Section]:
    """Everything there is to say about these records."""
    grouped = groups(records)
    found = [Section(1, "Benchmark results", LEGEND), glance(grouped)]
    for group in grouped:
        found += _group(group)
    return found


def glance(grouped: Sequence[Group]) -> Section:
    """One line for each dataset: what a user gets, what simple methods get, and what an oracle gets out of noise."""
    rows = []
    for group in grouped:
        label_free = [_text(group.figure(m, "corrected", "F1, protocol 3")) for m in ("ccmtad", "pca", "iforest")]
        everything = _text(group.figure("all-positive", "corrected", "F1, protocol 3"))
        seen = [_text(group.figure("ccmtad", "corrected", n), n) for n in ("event recall", FALSE_EVENTS)]
        oracle = [_text(group.figure(m, "oracle epoch", "F1, protocol 3")) for m in ("ccmtad", "random")]
        rows.append([_name(group), *label_free, everything, *seen, *oracle])
    header = (
        "", "ccmtad", "PCA error", "isolation forest", "all-positive", "event recall", "false events / 10,000 rows",
        "oracle epoch: ccmtad", "oracle epoch: noise",
    )  # fmt: skip
    text = (
        "Label-free F1 after boundary correction (protocol 3), ccmtad's events, and the same F1 where an oracle chose "
        "alpha, threshold and epoch on the test labels, for ccmtad and for noise."
    )
    return Section(2, "At a glance", text, header, _rows(rows))


def published() -> dict[str, list[dict[str, Any]]]:
    """The paper's tables."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))


def title(method: str) -> str:
    return TITLES.get(method, method.rpartition(":")[2])


def _group(group: Group) -> list[Section]:
    columns = [column for column in COLUMNS if group.has(column)]
    found = [Section(2, _name(group), _facts(group))]
    for protocol in ("F1, protocol 3",) if group.single else ("F1, protocol 2", "F1, protocol 3"):
        rows = [[title(m), *(_text(group.figure(m, c, protocol)) for c in columns)] for m in group.methods]
        label = {"F1, protocol 2": "F1 per entity, averaged (protocol 2)"}.get(
            protocol, "F1" if group.single else "F1 of summed counts (protocol 3)"
        )
        found.append(Section(3, label, "", ("method", *columns), _rows(rows)))
    names = ("precision", "recall", "event recall", "false events per 10,000 rows", "median delay")
    rows = [[title(m), *(_text(group.figure(m, "online", n), n) for n in names)] for m in group.methods]
    found.append(Section(3, "What an operator sees (online column)", "", ("method", *names), _rows(rows)))
    found += _delays(group)
    names = ("PR-AUC", "VUS-PR", "VUS-ROC", "range F1", "affiliation F1")
    for column in ("corrected", "oracle epoch" if group.has("oracle epoch") else "oracle"):
        rows = [
            [title(m), *(_text(group.figure(m, column, n)) for n in names)]
            for m in group.methods
            if group.columns(m, column)
        ]
        found.append(Section(3, f"Other metrics, {column} column", "", ("method", *names), _rows(rows)))
    adjusted = "point-adjusted F1 (misleading)"
    rows = [[title(m), *(_text(group.figure(m, c, adjusted)) for c in columns)] for m in group.methods]
    if any(cell for row in rows for cell in row[1:]):
        text = "A random score does well by this metric when events are long: it says little about a method."
        found.append(
            Section(3, "Point-adjusted F1: misleading, shown on request", text, ("method", *columns), _rows(rows))
        )
    found += _paired(group, columns)
    return found + _published(group)


def _name(group: Group) -> str:
    plan = group.plan
    extra = ", ".join(f"{name} {value}" for name, value in plan["settings"].items())
    name = f"{group.dataset}, {PRESETS[plan['preset']]}" + (f" ({extra})" if extra else "")
    return name + (", one model over all entities" if plan["combined"] else "")


def _facts(group: Group) -> str:
    first = group.records[0]
    column = "online"
    per_entity = {r["entity"]: r["columns"][column] for r in group.records}
    rows, anomalous = (sum(c[key] for c in per_entity.values()) for key in ("rows", "positives"))
    entities = f"{len(per_entity)} entities" if not group.single else "one entity"
    if group.dataset in WHOLE and not group.single and len(per_entity) < WHOLE[group.dataset]:
        entities += f" of the {WHOLE[group.dataset]} published"
    online = "" if all(r["online"] for r in group.records) else " **Not online: the centred average looks ahead.**"
    versions = ", ".join(f"{name} {number}" for name, number in first["versions"].items())
    seeds = len({record["seed"] for record in group.records})
    return (
        f"{entities}, {rows:,} rows judged, {anomalous / rows:.2%} of them anomalous; {seeds} seeds, budget "
        f"{first['settings']['budget']}; {versions}.{online}"
    )


def _paired(group: Group, columns: Sequence[str]) -> list[Section]:
    if not {"ccmtad", "pca"} <= set(group.methods):
        return []
    rows = []
    for column in columns:
        for name in ("F1, protocol 3",) if group.single else ("F1, protocol 2", "F1, protocol 3"):
            paired = group.paired("ccmtad", "pca", column, name)
            if paired is not None:
                interval = "" if group.single else f"{paired.low:+.3f} to {paired.high:+.3f}"
                rows.append(
                    [f"{column}, {name}", paired.difference.text(), interval, f"{paired.better} / {paired.worse}"]
                )
    header = ("column", "difference ± over seeds", "90 % interval over entities", "entities better / worse")
    return [Section(3, "ccmtad minus PCA error, paired", "", header, _rows(rows))] if rows else []


def _delays(group: Group) -> list[Section]:
    """What `delay_at` recorded, over the entities where every method has it."""
    records = [(r["entity"], r["columns"]["online"].get("delay_at") or [None] * len(PERIODS)) for r in group.records]
    header, columns = ["method"], []
    for i, period in enumerate(PERIODS):
        unknown = {entity for entity, late in records if late[i] is None}
        known = [entity for entity in group.entities if entity not in unknown]
        if known:
            some = f" ({len(known)} of {len(group.entities)} entities)" if unknown else ""
            header.append(f"{period:,.0f} rows{some}")
            columns.append([_text(_delay(group, method, i, known), "mean delay") for method in group.methods])
    if not columns:
        return []
    text = (
        "Rows from an event's start to its alarm, when false alarms come at most once in so many rows: compare down a "
        "column, lower is better."
    )
    if len(columns) < len(PERIODS):
        text += " No entity has normal rows enough for longer periods."
    rows = list(zip(map(title, group.methods), *columns, strict=True))
    return [Section(3, "Mean delay by false-alarm period (online score)", text, tuple(header), _rows(rows))]


def _delay(group: Group, method: str, period: int, entities: Sequence[str]) -> Figure | None:
    seeds = group.columns(method, "online").values()
    late = [[columns[entity]["delay_at"][period] for entity in entities if entity in columns] for columns in seeds]
    means = [fmean(each) for each in late if each]
    return Figure.of(means) if means else None


def _published(group: Group) -> list[Section]:
    """The paper's table for this dataset, ours put among it."""
    column = "oracle epoch" if group.has("oracle epoch") else "oracle"
    ours_by = {1: "F1, protocol 3"} if group.plan["combined"] else {2: "F1, protocol 2", 3: "F1, protocol 3"}
    if group.single and not group.plan["combined"]:
        ours_by = {0: "F1, protocol 3"}
    tables = published()
    rows: list[list[str]] = []
    for protocol, name in ours_by.items():
        for entry in tables["best_f1"]:
            # For a single entity the protocols are all the same.
            if group.dataset in entry and (protocol == 0 or entry.get("protocol") == protocol):
                rows.append(
                    [
                        entry["method"],
                        str(protocol or ""),
                        f"{entry[group.dataset]:.3f}",
                        *_others(entry, tables, group),
                    ]
                )
        if group.dataset in WHOLE and len(group.entities) < WHOLE[group.dataset] and not group.plan["combined"]:
            continue
        ours = [group.figure("ccmtad", column, n) for n in (name, "PR-AUC", "VUS-PR", "VUS-ROC")]
        if ours[0] is not None:
            rows.append([f"**this library, {column}**", str(protocol or ""), *map(_text, ours)])
    if not rows:
        return []
    text = (
        "As printed in the CCM-TAD paper, which chose epoch, hyperparameters, alpha and threshold on the test labels. "
        f"Ours beside it is the {column} column"
    )
    text += {
        "authors": ", with the authors' settings for each entity.",
        "paper": ", with the paper's general settings, not searched per entity: no like-for-like comparison.",
    }.get(group.plan["preset"], ", with other settings: no like-for-like comparison.")
    if group.dataset in WHOLE and len(group.entities) < WHOLE[group.dataset]:
        text += f" The paper has all {WHOLE[group.dataset]} machines, we {len(group.entities)}: ours are left out here."
    header = ("method", "protocol", "best F1", "PR-AUC", "VUS-PR", "VUS-ROC")
    return [Section(3, "Published", text, header, _rows(rows))]


def _others(entry: dict[str, Any], tables: dict[str, list[dict[str, Any]]], group: Group) -> list[str]:
    """The other metrics of the same method under the same protocol; the paper gives those of protocol 3 as 2."""
    cells = []
    for metric in ("pr_auc", "vus_pr", "vus_roc"):
        protocol = {3: 2}.get(entry.get("protocol", 0), entry.get("protocol"))
        wanted = {None, protocol} if len(group.entities) == 1 and not group.plan["combined"] else {protocol}
        found = [
            other[group.dataset]
            for other in tables[metric]
            if other["method"] == entry["method"] and other.get("protocol") in wanted and group.dataset in other
        ]
        cells.append(f"{found[0]:.3f}" if found else "")
    return cells


def _text(figure: Figure | None, name: str = "") -> str:
    return "" if figure is None else figure.text(1 if name in ONE_DIGIT else 3)


def _rows(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in rows)
