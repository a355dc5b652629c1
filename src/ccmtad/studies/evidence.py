"""What the benchmark's records say of the paper's claims: by the authors' evaluation, with their settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from ..bench import methods, published
from ..bench.published import AUTHORS
from ..bench.run import authors_table
from ..bench.summary import Column, Figure, Group, groups
from .claims import MORE, Comparison, compared
from .tables import printed

__all__ = [
    "NOT_WORSE", "SAME", "Line", "as_measured", "judged", "one_for_each", "online", "reproduced", "scored", "superior",
    "without_labels",
]  # fmt: skip

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Columns = Mapping[int, Mapping[str, Column]]  # by seed and entity
Span = tuple[float | None, float | None]

SAME = (-0.05, 0.05)  # of F1 or an area: so near counts as reproduced
NOT_WORSE = (-0.05, None)
MEAN, POOLED = "F1, protocol 2", "F1, protocol 3"
UNCORRECTED, POINT = f"{AUTHORS}, uncorrected", f"{AUTHORS}, point"
CASES = {POINT: "point", UNCORRECTED: "sequential, uncorrected", AUTHORS: "sequential, corrected"}  # as printed


@dataclass(frozen=True)
class Line:
    """One comparison, with the figures that it compares as they are told."""

    compared: Comparison
    paper: str = ""  # what is printed of the same
    other: str = ""  # what ours is compared with, where that is no printed figure of the method itself
    ours: str = ""


def judged(records: Sequence[dict[str, Any]]) -> list[Group]:
    """Those of the authors' settings, nothing put over them."""
    return [
        group
        for group in groups(records)
        if group.plan["preset"] == "authors" and not group.plan["settings"] and group.has(AUTHORS)
    ]


def reproduced(every: Sequence[Group]) -> Iterator[Line]:
    """The printed figures, of datasets that are here whole."""
    for group in _with_ours(every):
        for metric, name in published.METRICS.items():
            for protocol, figure in published.ours(group, metric).items():
                theirs = published.own(metric, group, protocol)
                if theirs:
                    words = f"{name}, protocol {protocol}" if protocol else name
                    yield Line(_against(group, words, figure, float(theirs), SAME), theirs, "", figure.text())


def superior(every: Sequence[Group]) -> Iterator[Line]:
    """Ours against the best rival of the same protocol, as printed."""
    for group in _with_ours(every):
        for metric in ("best_f1", "pr_auc"):
            for protocol, figure in published.ours(group, metric).items():
                rivals = {
                    line.method: float(line.cells[group.dataset])
                    for line in published.printed(metric)
                    if group.dataset in line.cells and protocol in (None, line.protocol) and line.method != "CCM-TAD"
                }
                if rivals:
                    best = max(rivals, key=lambda method: rivals[method])
                    words = f"{published.METRICS[metric]}, ours less {best}" + f", protocol {protocol}" * bool(protocol)
                    made = _against(group, words, figure, rivals[best], MORE)
                    own = published.own(metric, group, protocol)
                    yield Line(made, own, f"{rivals[best]:.3f}, printed", figure.text())


def as_measured(every: Sequence[Group]) -> Iterator[Line]:
    """Ours against every other method that was judged by the same evaluation here."""
    for group in _with_ours(every):
        ours, part = group.columns("ccmtad", AUTHORS), published.part(group)
        alike = [g for g in every if (g.dataset, g.plan["combined"]) == (group.dataset, group.plan["combined"])]
        for name in (POOLED,) if group.single else (MEAN, POOLED):
            for other, method in ((of, method) for of in alike for method in of.methods if method != "ccmtad"):
                protocol = 1 if group.plan["combined"] else int(name[-1])
                words = f"ours less {_title(method)}, protocol {protocol}" + f", {part}" * bool(part)
                made = _gap(group, words, ours, other.columns(method, AUTHORS), name)
                if made is not None:
                    theirs = _printed_of(group, protocol, _title(method))
                    yield Line(made, theirs, _text(other, method, AUTHORS, name), _text(group, "ccmtad", AUTHORS, name))


def one_for_each(every: Sequence[Group]) -> Iterator[Line]:
    """A model for each entity against one over all."""
    for group in _with_ours(every):
        for other in _with_ours(every):
            if group.single or other.dataset != group.dataset or not other.plan["combined"] or published.part(group):
                continue
            one, all_of = (of.figure("ccmtad", AUTHORS, POOLED) for of in (group, other))
            if one is not None and all_of is not None:
                half = float(np.hypot(_half(group, one), _half(other, all_of)))
                made = _within(group, "protocol 3 less protocol 1", one.mean - all_of.mean, half, MORE)
                theirs = " against ".join(published.own("best_f1", group, protocol) for protocol in (3, 1))
                yield Line(made, theirs, all_of.text(), one.text())


def scored(every: Sequence[Group]) -> Iterator[Line]:
    """Evidence accumulated or not, bounds corrected or not: each way at its own best on the labels."""
    for group in _with_ours(every):
        whole = not group.plan["combined"] and not published.part(group)
        theirs = printed("scorer_f1").get(group.dataset, {}) if whole else {}
        steps = ((AUTHORS, POINT), (UNCORRECTED, POINT), (AUTHORS, UNCORRECTED))
        for (one, other), name in product(steps, (POOLED,) if group.single else (POOLED, MEAN)):
            words = f"{CASES[one]}, less {CASES[other]}{'' if group.single else name[2:]}{_which(group)}"
            made = _gap(group, words, group.columns("ccmtad", one), group.columns("ccmtad", other), name)
            if made is not None:
                beside = theirs and name == POOLED
                told = f"{theirs[CASES[one]]:.3f} against {theirs[CASES[other]]:.3f}" if beside else ""
                yield Line(made, told, *(_text(group, "ccmtad", of, name) for of in (other, one)))


def online(_: Sequence[Group]) -> Iterator[Line]:
    """Whether what is computed at a row needs later ones: the authors' settings of each dataset say."""
    for dataset, entities in authors_table().items():
        ahead = max(_rows_ahead(settings) for settings in entities.values())
        words = "later rows that the average of a row takes in"
        yield Line(Comparison(dataset, words, "measured", ahead, ahead, ahead, (None, 0.5)), "0", "", f"{ahead}")


def _rows_ahead(settings: Mapping[str, Any]) -> int:
    return (settings.get("smooth", 1) - 1) // 2 if settings.get("smoothing") == "centred" else 0


def without_labels(every: Sequence[Group]) -> Iterator[Line]:
    """What is left of F1 where no label was seen: the threshold of the budget, the epoch of the lowest loss."""
    for group in _with_ours(every):
        words, ours = f"label-free less the evaluation{_which(group)}", group.columns("ccmtad", "corrected")
        made = _gap(group, words, ours, group.columns("ccmtad", AUTHORS), POOLED, NOT_WORSE)
        if made is not None:
            whole = "" if published.part(group) else published.own("best_f1", group, 1 if group.plan["combined"] else 3)
            yield Line(made, whole, *(_text(group, "ccmtad", of, POOLED) for of in (AUTHORS, "corrected")))


def _with_ours(every: Sequence[Group]) -> list[Group]:
    return [group for group in every if "ccmtad" in group.methods]


def _which(group: Group) -> str:
    """Of what, where that is not a model for each entity of the whole dataset."""
    some = published.part(group)
    return ", one model over all entities" * bool(group.plan["combined"]) + f", {some}" * bool(some)


def _title(method: str) -> str:
    one = methods.known().get(method)
    return method.rpartition(":")[2] if one is None else one.title or one.name


def _text(group: Group, method: str, column: str, name: str) -> str:
    figure = group.figure(method, column, name)
    return "" if figure is None else figure.text()


def _printed_of(group: Group, protocol: int, title: str) -> str:
    """Both as printed, where the other is, and the dataset is here whole."""
    lines = [line for line in published.printed("best_f1") if line.method == title and line.protocol == protocol]
    theirs = next((line.cells[group.dataset] for line in lines if group.dataset in line.cells), "")
    own = published.own("best_f1", group, protocol)
    return f"{own} against {theirs}" if own and theirs and not published.part(group) else ""


def _half(group: Group, figure: Figure) -> float:
    """Half of the 90 % interval of a mean over seeds; infinite where there is one."""
    seeds = len(group.columns("ccmtad", AUTHORS))
    return np.inf if figure.spread is None or seeds < 2 else float(t.ppf(0.95, seeds - 1)) * figure.spread / seeds**0.5


def _against(group: Group, words: str, figure: Figure, theirs: float, claimed: Span) -> Comparison:
    """Our mean over seeds less a printed figure."""
    return _within(group, words, figure.mean - theirs, _half(group, figure), claimed)


def _within(group: Group, words: str, gap: float, half: float, claimed: Span) -> Comparison:
    low, high = (gap - half, gap + half) if np.isfinite(half) else (None, None)
    return Comparison(group.dataset, words, "authors", gap, low, high, claimed)


def _gap(
    group: Group, words: str, ours: Columns, theirs: Columns, name: str, claimed: Span = MORE
) -> Comparison | None:
    """One F1 less another of the same entities, the mean over seeds; one seed is set beside each of the other's."""
    entities = [e for e in group.entities if all(e in of for of in (*ours.values(), *theirs.values()))]
    if not ours or not theirs or not entities:
        return None
    pairs = [(ours[seed], theirs.get(seed, theirs[min(theirs)])) for seed in sorted(ours)]
    both = np.array([[_counts(of, entities) for of in pair] for pair in pairs])  # (seeds, 2, entities, 2)
    f1 = _pooled if name == POOLED else _averaged

    def measure(chosen: Ints) -> float:
        each = f1(both[:, :, chosen])
        return float((each[:, 0] - each[:, 1]).mean())

    each = f1(both)
    gaps = each[:, 0] - each[:, 1]
    # `compared` takes the spread of one training, and of a difference the root of two times as much.
    spread = float(np.std(gaps, ddof=1) / np.sqrt(2)) if len(gaps) > 1 else None
    return compared(group.dataset, words, "authors", measure, len(entities), claimed, spread)


def _counts(columns: Mapping[str, Column], entities: Sequence[str]) -> list[tuple[float, float]]:
    """Twice the correct rows, and the sum of predicted and positive ones: F1 is their ratio."""
    of = [columns[entity] for entity in entities]
    return [(2.0 * one["correct"], float(one["predicted"] + one["positives"])) for one in of]


def _pooled(counts: Floats) -> Floats:  # (.., entities, 2)
    total = counts.sum(axis=-2)
    return np.asarray(total[..., 0] / np.maximum(total[..., 1], 1.0))


def _averaged(counts: Floats) -> Floats:
    return np.asarray((counts[..., 0] / np.maximum(counts[..., 1], 1.0)).mean(axis=-1))
