"""Injected faults as tables."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

from .injected import FAULTS
from .render import Section
from .summary import Figure, Group

__all__ = ["injected_sections"]

Told = dict[str, Any]

LEGEND = """\
Faults put into normal rows, one a run: fitted on the first 70 % of a training series, injected into the rest. Sizes \
are in ranges of the channel (its largest training value less its smallest). **Found**: an alarm from the first \
injected row to the last + 24 that the untouched run does not have; a fault that begins in the middle of an alarm is \
missed by this, unless it is an event of another kind. Shares are over all faults of all entities; ± is \
the standard deviation over seeds. **Blame**: of the faults found, those where a touched channel was named first, or \
among the first three. **Changes a value**: what stands still already cannot be frozen, two channels that are alike \
cannot be swapped: such a fault leaves the rows as they were, to the bit, and nobody can find it."""


def injected_sections(groups: Sequence[Group], title: Callable[[str], str]) -> list[Section]:
    """An overview over datasets, then each dataset."""
    if not groups:
        return []
    found = [Section(2, "Injected faults", LEGEND)]
    names = [f"{group.dataset}{', kept apart' * bool(group.plan['kept_apart'])}" for group in groups]
    rows = [
        (fault.name, *(_share(group, "ccmtad", fault.name, lambda told: told["found"]) for group in groups))
        for fault in FAULTS
    ]
    rows += [
        (
            f"{fault.name}, where it changes a value",
            *(_share(g, "ccmtad", fault.name, _found_if_changed) for g in groups),
        )
        for fault in FAULTS
        if not all(one.get("changed", True) for group in groups for one in _told(group, "ccmtad", fault.name))
    ]
    rows += [(f"*{label}*", *(_of(group) for group in groups)) for label, _of in OVERALL]
    found.append(Section(3, "Found by ccmtad, by dataset", "", ("fault", *names), tuple(rows)))
    for group, name in zip(groups, names, strict=True):
        found += _dataset(group, name, title)
    return found


def _dataset(group: Group, name: str, title: Callable[[str], str]) -> list[Section]:
    short = sorted({r["entity"] for r in group.records if "too_short" in r})
    used = [entity for entity in group.entities if entity not in short]
    text = f"{len(used)} entities, {len({r['seed'] for r in group.records})} seeds."
    if short:
        text += f" Too short to fit and inject into, so left out: {', '.join(short)}."
    header = (
        "fault", *(f"{title(m)}" for m in group.methods), "changes a value", "at once", "median delay", "blame first",
        "top three",
    )  # fmt: skip
    rows = []
    for fault in FAULTS:
        cells = [_share(group, m, fault.name, lambda told: told["found"]) for m in group.methods]
        at_once = _share(group, "ccmtad", fault.name, lambda told: told["found"] and told["delay"] == 0)
        delays = [one["delay"] for one in _told(group, "ccmtad", fault.name) if one["found"]]
        blame = [_share(group, "ccmtad", fault.name, partial(_if_found, key)) for key in ("first", "top_three")]
        changed = _share(group, "ccmtad", fault.name, lambda told: told.get("changed"))
        rows.append((fault.name, *cells, changed, at_once, f"{median(delays):g}" if delays else "", *blame))
    rows.append(("*false events per 10,000 untouched rows*", *(_false(group, m) for m in group.methods)))
    return [Section(3, f"Injected faults, {name}", text, header, tuple(rows))]


def _found_if_changed(told: Told) -> bool | None:
    return told["found"] if told.get("changed", True) else None


def _if_found(key: str, told: Told) -> bool | None:
    return told[key] if told["found"] else None


def _told(group: Group, method: str, fault: str, seed: int | None = None) -> list[Told]:
    return [
        one
        for record in group.records
        if record["method"] == method and seed in (None, record["seed"])
        for one in record["faults"]
        if one["fault"] == fault
    ]


def _share(group: Group, method: str, fault: str, holds: Callable[[Told], bool | None]) -> str:
    """The share of faults for which something holds, of those for which it is known."""
    means = []
    for seed in sorted({record["seed"] for record in group.records if record["method"] == method}):
        known = [answer for one in _told(group, method, fault, seed) if (answer := holds(one)) is not None]
        if known:
            means.append(fmean(known))
    return Figure.of(means).text(2) if means else ""


def _false(group: Group, method: str, kind: str | None = None) -> str:
    means = []
    for seed in sorted({record["seed"] for record in group.records if record["method"] == method}):
        records = [r for r in group.records if r["method"] == method and r["seed"] == seed and r["untouched"]]
        rows = sum(r["untouched"]["rows"] for r in records)
        events = sum(n for r in records for k, n in r["untouched"]["events"].items() if kind in (None, k))
        if rows:
            means.append(1e4 * events / rows)
    return Figure.of(means).text(1) if means else ""


def _blamed_first(group: Group) -> str:
    """Where one channel was touched."""
    single = {fault.name for fault in FAULTS if fault.touches == 1}
    known = [
        one["first"] for r in group.records if r["method"] == "ccmtad"
        for one in r["faults"] if one["found"] and one["fault"] in single
    ]  # fmt: skip
    return f"{fmean(known):.2f}" if known else ""


def _masked(group: Group) -> str:
    """A fault in the middle of an alarm raises no other."""
    told = [one["masked"] for r in group.records if r["method"] == "ccmtad" for one in r["faults"]]
    return f"{fmean(told):.3f}" if told else ""


OVERALL: tuple[tuple[str, Callable[[Group], str]], ...] = (
    ("blame first, one channel touched", _blamed_first),
    ("share of faults that began in an alarm", _masked),
    ("false events per 10,000 untouched rows", lambda group: _false(group, "ccmtad")),
    ("of them anomalies", lambda group: _false(group, "ccmtad", "anomaly")),
)
