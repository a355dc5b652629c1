"""The results as tables, with the published numbers beside ours."""

from collections.abc import Sequence
from statistics import fmean

from . import published
from .inject_report import injected_sections
from .methods import known
from .metrics import figures
from .metrics.events import FALSE_EVENTS, PERIODS
from .protocol import COLUMNS
from .render import Section, markdown, page
from .summary import Figure, Group, Record, groups

__all__ = ["Section", "glance", "markdown", "page", "sections"]

LEGEND = """\
Columns that have seen no label: **online** rows in alarm when they arrived; **corrected** after boundary correction; \
**point** no accumulation, the threshold from validation losses; **own** the method's own threshold at 1 % \
contamination.

**All kinds** is online with events of every kind. **With an operator** has seen labels: as corrected, watched by \
somebody who dismisses every false event once it is over.

Columns that chose on the test labels, per entity: **oracle** alpha and threshold (where a detector has many tracks, \
for the p-values of the one that led); **oracle epoch** also the epoch of training, all by the best F1 (for the \
random score: the best of as many draws; the method's authors choose the epoch by its best point F1: another figure); \
**point oracle** the threshold alone; **oracle, authors** what the evaluation in the authors' published code gives \
(epoch from the second on by the best point F1, alpha and threshold by the best F1), **oracle, authors, uncorrected** \
the same without boundary correction, **oracle, authors, point** without accumulation.

Figures are means over seeds ± their standard deviation; a method without ± does not depend on the seed, or was \
run with one. **PR-AUC**: \
trapezoid under the exact curve over thresholds. **VUS**: TSB-AD's definition, window 100, 250 thresholds, of the \
score. **Range F1**: Tatbul et al., flat bias, reciprocal cardinality, existence weight 0.2. **Affiliation F1**: Huet \
et al. These are means over entities.

**Mean delay**: over events, then entities; a missed event counts as its whole length. For each entity the threshold \
is chosen on the test labels: the least delay with false alarms at least that far apart. A false alarm counts once, \
however long it lasts: all-positive, always in alarm, looks good by this and is not."""
PRESETS = {"authors": "the authors' settings", "paper": "the paper's settings", "default": "default settings"}
LIKENESS = {
    "authors": ", with the authors' settings.",
    "paper": ", with the paper's general settings, not searched per entity: no like-for-like comparison.",
    "default": ", with other settings: no like-for-like comparison.",
}
PAPER = """\
As printed in the CCM-TAD paper, which chose epoch, hyperparameters, alpha and threshold on the test labels. Its \
PR-AUC, VUS, range F1 and affiliation F1 are other figures than ours of the same names: beside them stand only those \
that its authors' evaluation gives (preset authors). Protocol **1** is one model over all entities, **2** \
one for each, metrics averaged, **3** one for each, F1 of summed counts; WADI, PSM and SWaT are one entity, for which \
all are the same.

In bold are ours, where we have the same figure; how alike the settings are is said with each dataset, above."""


def sections(records: Sequence[Record]) -> list[Section]:
    """Everything there is to say about these records."""
    everything = groups(records)
    grouped = [group for group in everything if not group.plan.get("inject")]
    injected = injected_sections([group for group in everything if group.plan.get("inject")], title)
    if not grouped:
        return [Section(1, "Benchmark results"), *injected]
    found = [Section(1, "Benchmark results", LEGEND), *glance(grouped)]
    for group in grouped:
        found += _group(group)
    return found + injected + _paper(grouped)


GLANCED = ("ccmtad", "pca", "norm", "random", "iforest")


def glance(grouped: Sequence[Group]) -> list[Section]:
    """What a user gets without labels beside what simple methods get; then, where it was asked for, what the authors'
    evaluation gives, beside what they printed and what it gives for noise."""
    rows, theirs = [], []
    for group in grouped:
        if "ccmtad" not in group.methods:
            continue
        label_free = [_text(group.figure(m, "corrected", "F1, protocol 3")) for m in GLANCED]
        everything = _text(group.figure("all-positive", "corrected", "F1, protocol 3"))
        seen = [_text(group.figure("ccmtad", "corrected", n), n) for n in ("event recall", FALSE_EVENTS)]
        dismissing = _text(group.figure("ccmtad", "with an operator", FALSE_EVENTS), FALSE_EVENTS)
        rows.append([_name(group), *label_free, everything, *seen, dismissing])
        if group.has(published.AUTHORS) and group.dataset in published.DATASETS:
            theirs += _by_authors(group)
    header = (
        "", *(title(method) for method in GLANCED), "all-positive", "event recall", "false events / 10,000 rows",
        "false events, oracle operator",
    )  # fmt: skip
    text = (
        "Label-free F1 after boundary correction (protocol 3), and ccmtad's events; last, its false events where "
        "somebody who knows the test labels dismisses each once it is over. PCA error, row norm and random score have "
        "ccmtad's scorer and limits: only what reconstructs the rows differs."
    )
    found = [Section(2, "At a glance", text, header, _rows(rows))] if rows else []
    if theirs:
        columns = ("oracle", "printed", "ccmtad", "PCA error", "noise")
        text = (
            "F1 by the evaluation of the authors' published code, which chooses epoch, alpha and threshold on the "
            "test labels, with their settings: as printed in the paper, and as measured here."
        )
        found.append(Section(2, "By the authors' evaluation", text, columns, _rows(theirs)))
    return found


def _by_authors(group: Group) -> list[list[str]]:
    rows = []
    for protocol in (1,) if group.plan["combined"] else (2, 3):
        figure = "F1, protocol 2" if protocol == 2 else "F1, protocol 3"  # of one model, both are the same
        found = [_text(group.figure(m, published.AUTHORS, figure)) for m in ("ccmtad", "pca", "random")]
        some = published.part(group)
        name = f"{group.dataset}, protocol {protocol}" + (f" ({some})" if some else "")
        rows.append([name, "" if some else published.own("best_f1", group, protocol), *found])
    return rows


def title(method: str) -> str:
    one = known().get(method)
    if one is None:
        return method.rpartition(":")[2]
    return (one.title or one.name) + (" (looks ahead)" if one.looks_ahead else "")


def _group(group: Group) -> list[Section]:
    columns = [column for column in COLUMNS if group.has(column)]
    found = [Section(2, _name(group), _facts(group))]
    for protocol in ("F1, protocol 3",) if group.single else ("F1, protocol 2", "F1, protocol 3"):
        rows = [[title(m), *(_text(group.figure(m, c, protocol)) for c in columns)] for m in group.methods]
        label = {"F1, protocol 2": "F1 per entity, averaged (protocol 2)"}.get(
            protocol, "F1" if group.single else "F1 of summed counts (protocol 3)"
        )
        found.append(Section(3, label, "", ("method", *columns), _rows(rows)))
    names = _titles("operator")
    rows = [
        [title(m), *(_text(group.figure(m, "online", n), n) for n in names), f"{group.seconds(m):.1f}"]
        for m in group.methods
    ]
    header = ("method", *names, "seconds to fit and judge an entity")
    found.append(Section(3, "What an operator sees (online column)", "", header, _rows(rows)))
    found += _delays(group)
    names = _titles("other")
    for column in ("corrected", "oracle epoch" if group.has("oracle epoch") else "oracle"):
        rows = [
            [title(m), *(_text(group.figure(m, column, n)) for n in names)]
            for m in group.methods
            if group.columns(m, column)
        ]
        found.append(Section(3, f"Other metrics, {column} column", "", ("method", *names), _rows(rows)))
    names = _titles("authors")
    rows = [
        [title(m), column, *(_text(group.figure(m, column, n)) for n in names)]
        for m in group.methods
        for column in columns
        if column.startswith(published.AUTHORS) and group.columns(m, column)
    ]
    if rows:
        text = "Of the same names as ours and other figures: see above. Means over entities."
        found.append(
            Section(3, "Other metrics, as the authors compute them", text, ("method", "", *names), _rows(rows))
        )
    adjusted = "point-adjusted F1 (misleading)"
    rows = [[title(m), *(_text(group.figure(m, c, adjusted)) for c in columns)] for m in group.methods]
    if any(cell for row in rows for cell in row[1:]):
        text = "A random score does well by this metric when events are long: it says little about a method."
        found.append(
            Section(3, "Point-adjusted F1: misleading, shown on request", text, ("method", *columns), _rows(rows))
        )
    found += _paired(group, columns)
    return found + _beside(group)


def _name(group: Group) -> str:
    return f"{group.dataset}, {_settings(group)}" + (", one model over all entities" if group.plan["combined"] else "")


def _settings(group: Group) -> str:
    extra = ", ".join(f"{name} {value}" for name, value in group.plan["settings"].items())
    return PRESETS[group.plan["preset"]] + (f" ({extra})" if extra else "")


def _facts(group: Group) -> str:
    first = group.records[0]
    column = "online"
    longest_last = sorted(group.records, key=lambda r: r["columns"][column]["rows"])  # some need longer windows
    per_entity = {r["entity"]: r["columns"][column] for r in longest_last}
    rows, anomalous = (sum(c[key] for c in per_entity.values()) for key in ("rows", "positives"))
    entities = "One entity" if group.single else f"{len(per_entity)} entities"
    if published.part(group):
        entities = f"**{published.part(group)}**"
    elif group.plan["combined"]:
        entities = "All entities in one series"
    online = "" if all(r["online"] for r in group.records) else " **Not online: the centred average looks ahead.**"
    ahead = [(title(name), known()[name].looks_ahead) for name in group.methods if name in known()]
    online += "".join(f"\n\n**{name}**: {how}." for name, how in ahead if how)
    versions = ", ".join(f"{name} {number}" for name, number in first["versions"].items())
    seeds = len({record["seed"] for record in group.records})
    return (
        f"{entities}, {rows:,} rows judged, {anomalous / rows:.2%} of them anomalous; {seeds} seeds, budget "
        f"{first['settings']['budget']}; {versions}.{_fewer(group, seeds)}{online}"
    )


def _fewer(group: Group, seeds: int) -> str:
    """Which methods that a seed can change ran with fewer of them."""
    ran = {name: len(group.columns(name, "online")) for name in group.methods if name in known()}
    short = [f"{title(name)} {number}" for name, number in ran.items() if known()[name].seeded and number < seeds]
    return f" Fewer seeds: {', '.join(short)}." if short else ""


def _paired(group: Group, columns: Sequence[str]) -> list[Section]:
    if not {"ccmtad", "pca"} <= set(group.methods):
        return []
    rows = []
    for column in columns:
        for name in ("F1, protocol 3",) if group.single else ("F1, protocol 2", "F1, protocol 3"):
            paired = group.paired("ccmtad", "pca", column, name)
            if paired is not None:
                interval = f"{paired.low:+.3f} to {paired.high:+.3f}"
                label = column if group.single else f"{column}, {name}"
                rows.append([label, paired.difference.text(), interval, f"{paired.better} / {paired.worse}"])
    header = ("column", "difference ± over seeds", "90 % interval over entities", "entities better / worse")
    shown = 2 if group.single else 4  # one entity has no spread over entities
    rows = [row[:shown] for row in rows]
    return [Section(3, "ccmtad minus PCA error, paired", "", header[:shown], _rows(rows))] if rows else []


def _delays(group: Group) -> list[Section]:
    """What `delay_at` recorded, over the entities where every method has it."""
    records = [(r["entity"], r["columns"]["online"].get("delay_at") or [None] * len(PERIODS)) for r in group.records]
    header, columns = ["method"], []
    for i, period in enumerate(PERIODS):
        unknown = {entity for entity, late in records if late[i] is None}
        there = [entity for entity in group.entities if entity not in unknown]
        if there:
            some = f" ({len(there)} of {len(group.entities)} entities)" if unknown else ""
            header.append(f"{period:,.0f} rows{some}")
            columns.append([_text(_delay(group, method, i, there), "median delay") for method in group.methods])
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


def _beside(group: Group) -> list[Section]:
    """The paper's figures for its own method on this dataset, beside ours."""
    if group.dataset not in published.DATASETS or "ccmtad" not in group.methods:
        return []
    heading = "Beside the paper"
    if published.part(group):
        text = f"Not the same data: this is {published.part(group)}. The paper's numbers are at the end, without ours."
        return [Section(3, heading, text)]
    found = published.beside(group)
    column = published.column(group)
    text = (
        f"The paper chose epoch, hyperparameters, alpha and threshold on the test labels. Ours is the {column} column"
        + ("" if column in (published.AUTHORS, "oracle epoch") else " (the epoch not chosen)")
        + LIKENESS["default" if group.plan["settings"] else group.plan["preset"]]
    )
    absent = [name for name in published.METRICS.values() if not any(key.startswith(name) for key in found)]
    text += f" The paper gives no {' and no '.join(absent)} here." if absent else ""
    names = (
        "CCM-TAD, as printed",
        "CCM-TAD, mean of five seeds",
        f"**this library, {column}**",
        f"random score, {column}",
    )
    rows = [(name, *cells) for name, *cells in zip(names, *found.values(), strict=True) if any(cells)]
    return [Section(3, heading, text, ("", *found), _rows(rows))]


def _paper(grouped: Sequence[Group]) -> list[Section]:
    """Every number of the paper, ours among them."""
    named = [
        (f"**this library, {_settings(group)}, {published.column(group)}**", group)
        for group in grouped
        if group.dataset in published.DATASETS
    ]
    if not named:
        return []
    seen = {group.dataset for _, group in named}
    parts = seen - {group.dataset for _, group in named if not published.part(group)}
    text = PAPER
    if absent := [name for name in published.DATASETS if name not in seen]:
        text += f" We have no results here for {', '.join(absent)}."
    if parts:
        text += f" Ours for {', '.join(sorted(parts))} cover only part of it and are left out."
    found = [Section(2, "The paper's tables of results", text)]
    for metric, label in published.METRICS.items():
        lines = published.with_ours(published.printed(metric), metric, named)
        rows = [[line.method, str(line.protocol or ""), *_cells(line)] for line in lines]
        found.append(
            Section(3, label[0].upper() + label[1:], "", ("method", "protocol", *published.DATASETS), _rows(rows))
        )
    rows = [
        [line.method, published.METRICS[metric], *_cells(line)]
        for metric in published.SEEDED
        for line in published.with_ours(published.over_seeds(metric), metric, named)
    ]
    text = (
        "The paper does not say by which protocol: our F1 beside it is of protocol 3, its usual one; the rest are "
        "means over entities. Ours are over as many seeds as is said above."
    )
    return [*found, Section(3, "Mean of five seeds", text, ("method", "metric", *published.DATASETS), _rows(rows))]


def _cells(line: published.Line) -> list[str]:
    return [line.cells.get(name, "") for name in published.DATASETS]


def _text(figure: Figure | None, name: str = "") -> str:
    return "" if figure is None else figure.text(figures()[name].digits if name else 3)


def _titles(table: str) -> tuple[str, ...]:
    """The figures of one table."""
    return tuple(figure.title for figure in figures().values() if figure.table == table)


def _rows(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in rows)
