"""Records of many entities and seeds become one figure with its spread."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from .metrics import Counts

__all__ = ["FIGURES", "Figure", "Group", "Paired", "groups"]

Record = dict[str, Any]
Column = dict[str, Any]

RESAMPLES = 2_000  # of entities, for the interval of a paired difference


def counts(column: Column) -> Counts:
    return Counts(column["predicted"], column["correct"], column["positives"])


def _total(columns: Sequence[Column], key: str) -> int:
    return sum(column[key] for column in columns)


def _mean(key: str) -> Callable[[Sequence[Column]], float]:
    def mean(columns: Sequence[Column]) -> float:
        known = [column[key] for column in columns if column.get(key) is not None]
        return float(np.mean(known)) if known else np.nan

    return mean


def _delay(columns: Sequence[Column]) -> float:
    delays = [delay for column in columns for delay in column["delays"]]
    return float(median(delays)) if delays else np.nan


def _pooled(columns: Sequence[Column]) -> Counts:
    return sum((counts(column) for column in columns), Counts(0, 0, 0))


FIGURES: dict[str, Callable[[Sequence[Column]], float]] = {
    "F1, protocol 2": lambda columns: float(np.mean([counts(column).f1 for column in columns])),
    "F1, protocol 3": lambda columns: _pooled(columns).f1,
    "precision": lambda columns: _pooled(columns).precision,
    "recall": lambda columns: _pooled(columns).recall,
    "event recall": lambda columns: _total(columns, "found") / max(_total(columns, "events"), 1),
    "false events per 10,000 rows": lambda columns: 1e4 * _total(columns, "false") / _total(columns, "rows"),
    "median delay": _delay,
    "PR-AUC": _mean("pr_auc"),
    "VUS-PR": _mean("vus_pr"),
    "VUS-ROC": _mean("vus_roc"),
    "range F1": _mean("range_f1"),
    "affiliation F1": _mean("affiliation_f1"),
    "point-adjusted F1 (misleading)": _mean("point_adjusted_f1"),
}


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, and its spread (standard deviation) where there are several."""

    mean: float
    spread: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figure":
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)

    def text(self, digits: int = 3) -> str:
        if np.isnan(self.mean):
            return ""
        spread = "" if self.spread is None else f" ± {self.spread:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


@dataclass(frozen=True)
class Paired:
    """One method minus another, entity by entity."""

    difference: Figure  # over seeds
    low: float  # 90 % interval over resampled entities
    high: float
    better: int  # entities on which it is, by the mean over seeds
    worse: int


@dataclass(frozen=True, eq=False)
class Group:
    """The records of one dataset under one plan."""

    dataset: str
    plan: dict[str, Any]
    records: tuple[Record, ...]

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(record["method"] for record in self.records))

    @property
    def entities(self) -> list[str]:
        return list(dict.fromkeys(record["entity"] for record in self.records))

    @property
    def single(self) -> bool:
        """One entity, or one model over all: protocols 2 and 3 are the same."""
        return len(self.entities) == 1

    def columns(self, method: str, column: str) -> dict[int, dict[str, Column]]:
        """By seed, then by entity."""
        found: dict[int, dict[str, Column]] = defaultdict(dict)
        for record in self.records:
            if record["method"] == method and column in record["columns"]:
                found[record["seed"]][record["entity"]] = record["columns"][column]
        return found

    def has(self, column: str) -> bool:
        return any(column in record["columns"] for record in self.records)

    def figure(self, method: str, column: str, name: str) -> Figure | None:
        seeds = self.columns(method, column)
        if not seeds:
            return None
        return Figure.of([FIGURES[name](list(columns.values())) for columns in seeds.values()])

    def paired(self, method: str, other: str, column: str, name: str) -> Paired | None:
        """`method` minus `other`; a method with one seed is paired with each seed of the other."""
        ours, theirs = self.columns(method, column), self.columns(other, column)
        if not ours or not theirs:
            return None
        figure = FIGURES[name]
        names = [e for e in self.entities if all(e in columns for columns in (*ours.values(), *theirs.values()))]
        if not names:
            return None

        def gap(seed: int, chosen: Iterable[str]) -> float:
            chosen = list(chosen)
            other_seed = theirs[seed] if seed in theirs else theirs[min(theirs)]
            return figure([ours[seed][e] for e in chosen]) - figure([other_seed[e] for e in chosen])

        random = np.random.default_rng(0)
        draws = random.integers(0, len(names), (RESAMPLES if len(names) > 1 else 1, len(names)))
        seeds = sorted(ours)
        means = [np.mean([gap(seed, [names[i] for i in draw]) for seed in seeds]) for draw in draws]
        alone = [float(np.mean([gap(seed, [name]) for seed in seeds])) for name in names]
        low, high = (float(q) for q in np.quantile(means, [0.05, 0.95]))
        differences = Figure.of([gap(seed, names) for seed in seeds])
        return Paired(differences, low, high, sum(a > 1e-9 for a in alone), sum(a < -1e-9 for a in alone))


def groups(records: Sequence[Record]) -> list[Group]:
    """Records by dataset and plan, in the order they come."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[f"{record['dataset']} {sorted(record['plan'].items())}"].append(record)
    ordered = [sorted(each, key=lambda r: (r["entity"], r["seed"])) for each in found.values()]
    return [Group(each[0]["dataset"], each[0]["plan"], tuple(each)) for each in ordered]
