"""Records of many entities and seeds become one figure with its spread."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .metrics import figures

__all__ = ["Figure", "Group", "Paired", "groups"]

Record = dict[str, Any]
Column = dict[str, Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 2_000  # of entities, for the interval of a paired difference


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

    def seconds(self, method: str) -> float:
        """A run of a method took, on average."""
        return float(np.mean([one["seconds"]["method"] for one in self.records if one["method"] == method]))

    def has(self, column: str) -> bool:
        return any(column in record["columns"] for record in self.records)

    def figure(self, method: str, column: str, name: str) -> Figure | None:
        seeds = self.columns(method, column)
        if not seeds:
            return None
        return Figure.of([figures()[name].over(list(columns.values())) for columns in seeds.values()])

    def paired(self, method: str, other: str, column: str, name: str) -> Paired | None:
        """`method` minus `other` in an F1; a method with one seed is paired with each seed of the other."""
        ours, theirs = self.columns(method, column), self.columns(other, column)
        names = [e for e in self.entities if all(e in columns for columns in (*ours.values(), *theirs.values()))]
        if not ours or not theirs or not names:
            return None
        f1 = _pooled_f1 if name == "F1, protocol 3" else _mean_f1
        random = np.random.default_rng(0)
        draws = random.integers(0, len(names), (RESAMPLES, len(names)))
        everything, alone = np.arange(len(names))[None], np.arange(len(names))[:, None]

        def gaps(chosen: Ints) -> Floats:
            """(seeds, choices of entities)"""
            pairs = [(ours[seed], theirs[seed] if seed in theirs else theirs[min(theirs)]) for seed in sorted(ours)]
            return np.array([f1(_table(one, names)[chosen]) - f1(_table(two, names)[chosen]) for one, two in pairs])

        low, high = (float(q) for q in np.quantile(gaps(draws).mean(axis=0), [0.05, 0.95]))
        each = gaps(alone).mean(axis=0)
        difference = Figure.of(gaps(everything)[:, 0].tolist())
        return Paired(difference, low, high, int((each > 1e-9).sum()), int((each < -1e-9).sum()))


def _table(columns: dict[str, Column], names: Sequence[str]) -> Ints:
    """(entities, 2): twice the correct rows, and the sum of predicted and positive ones; F1 is their ratio."""
    return np.array([[2 * c["correct"], c["predicted"] + c["positives"]] for c in (columns[name] for name in names)])


def _pooled_f1(table: Ints) -> Floats:  # (.., entities, 2)
    total = table.sum(axis=-2)
    return np.asarray(total[..., 0] / np.maximum(total[..., 1], 1))


def _mean_f1(table: Ints) -> Floats:
    return np.asarray((table[..., 0] / np.maximum(table[..., 1], 1)).mean(axis=-1))


def groups(records: Sequence[Record]) -> list[Group]:
    """Records by dataset and plan, in the order they come."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[f"{record['dataset']} {sorted(record['plan'].items())}"].append(record)
    ordered = [sorted(each, key=lambda r: (r["entity"], r["seed"])) for each in found.values()]
    return [Group(each[0]["dataset"], each[0]["plan"], tuple(each)) for each in ordered]
