"""What each part of the calibration is worth, one at a time: `python benchmarks/calibration.py DATA CACHE`.

Networks of the default settings are trained once for every entity of MSL, SMAP and SMD and three seeds (their errors
are kept in CACHE); then only what comes after the network is changed, but for the variants that say so. The tracks by
themselves: extremes, signals and events of other kinds are off. Label-free throughout; F1 by protocol 3. Prints a
Markdown table.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccmtad import Settings, batch
from ccmtad.bench.datasets import find
from ccmtad.bench.metrics.events import event_counts
from ccmtad.bench.metrics.point import Counts
from ccmtad.bench.metrics.ranges import runs
from ccmtad.calibrate.budget import independent_threshold
from ccmtad.calibrate.calibration import Calibration
from ccmtad.fit import TrainingSeries
from ccmtad.network.engine import Reconstructor
from ccmtad.network.linear import Principal
from ccmtad.score import combine, events
from ccmtad.score.combine import Combiner
from ccmtad.score.step import Judged

DATASETS = ("MSL", "SMAP", "SMD")
TRACKS_ALONE: dict[str, Any] = {"extremes": False, "signals": False, "unlike": False}
LONG = 1_000  # rows of a long event
ROWS_PER_ALARM = 10_000

INDEPENDENT = "threshold of independent rows"  # no setting: what the validation part's own score adds is left out

VARIANTS: dict[str, dict[str, Any]] = {
    "**default**": {},
    "the paper's calibration": {
        "combine": "mean", "tail": "empirical", "reset": "everything", "persistence": 1, "settle": 0, "drift": 0.0,
        "accept": 0,
    },
    "no second, averaged track (persistence 1)": {"persistence": 1},
    "no settling (settle 0)": {"settle": 0},
    "no drift following after settling (drift 0)": {"drift": 0.0},
    "neither (settle 0, drift 0)": {"settle": 0, "drift": 0.0, "accept": 0},
    "an event is never accepted (accept 0)": {"accept": 0},
    "mean of channels": {"combine": "mean"},
    "mean of scaled channels": {"combine": "scaled mean"},
    "fitted tail (pareto)": {"tail": "pareto"},
    "fitted tail, neither settling nor drift": {"tail": "pareto", "settle": 0, "drift": 0.0, "accept": 0},
    "the paper's reset": {"reset": "everything"},
    "alarms must last 5 rows (duration 5)": {"duration": 5},
    "200 rows between events (cooldown 200)": {"cooldown": 200},
    "threshold as if rows were independent": {INDEPENDENT: True},
    "calibrated on the last fifth (blocks 1)": {"blocks": 1},
    "the network alone (linear false)": {"linear": False},
    "both of these": {"blocks": 1, "linear": False},
}  # fmt: skip
TRAINED_BY = ("blocks", "linear", "seed")  # settings that need networks of their own


def errors(engine: Reconstructor, rows: NDArray[np.float32], ends: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.concatenate([error for _, error in engine.errors(rows, ends)]).astype(np.float32)


def load(data: Path, cache: Path, dataset: str, entity: str, settings: Settings) -> dict[str, Any]:
    """The squared errors of one entity, from the cache or from a network trained now."""
    told = "_".join(str(getattr(settings, name)) for name in TRAINED_BY)
    path = cache / f"{dataset}_{entity.replace(' ', '_')}_{told}.npz"
    if not path.exists():
        found = find(dataset, data).read(entity)
        learnt = TrainingSeries.of(found.train, Settings.of(**{name: getattr(settings, name) for name in TRAINED_BY}))
        series, trained = learnt.series(found.test), learnt.train()
        engine, window = learnt.engine(trained.weights), learnt.settings.window
        pca = Principal.fit(learnt.rows[learnt.training], window)
        unseen = learnt.held_out(lambda block: Principal.fit(learnt.rows[block.training], window))
        np.savez(
            path,
            truth=found.truth.anomalous,
            ends=series.ends,
            vends=learnt.validation,
            val=larger(errors(engine, learnt.rows, learnt.validation), trained.held_out),
            test=errors(engine, series.rows, series.ends),
            pca_val=larger(errors(pca, learnt.rows, learnt.validation), unseen),
            pca_test=errors(pca, series.rows, series.ends),
        )
    with np.load(path) as held:
        return dict(held)


def larger(own: NDArray[np.float32], held_out: NDArray[np.float64] | None) -> NDArray[np.float32]:
    """As a fit takes them: a row may be no worse than either the network in use or one that had not seen it shows."""
    return own if held_out is None else np.maximum(own, held_out).astype(np.float32)


class Total:
    """One variant on one dataset with one seed."""

    def __init__(self) -> None:
        self.corrected = self.online = Counts(0, 0, 0)
        self.true = self.found = self.false = self.rows = 0
        self.long: list[tuple[bool, float]] = []

    def add(self, held: dict[str, Any], settings: Settings, kind: str, independent: bool = False) -> None:
        scores = score(held, settings, kind, independent)
        label = events.label(events.find(scores.score, scores.evidence, scores.alarm), len(scores.score))
        truth = held["truth"][held["ends"]]
        self.corrected += Counts.of(label, truth)
        self.online += Counts.of(scores.alarm, truth)
        found = event_counts(label, scores.alarm, truth)
        self.true, self.found, self.false = self.true + found.true, self.found + found.found, self.false + found.false
        self.rows += len(truth)
        for first, last in zip(*runs(truth), strict=True):
            if last - first >= LONG:
                self.long.append(
                    (bool(scores.alarm[last - 10 : last + 1].any()), float(scores.alarm[first : last + 1].mean()))
                )


def score(held: dict[str, Any], settings: Settings, kind: str = "", independent: bool = False) -> Judged:
    """What comes after the network."""
    normal, test = held[f"{kind}val"].astype(np.float64), held[f"{kind}test"].astype(np.float64)
    combiner = Combiner.fit(normal, combine.find(settings.combine))
    calibration = Calibration.fit(batch.in_order(combiner.loss(normal), held["vends"]), ROWS_PER_ALARM, settings)
    if independent:
        allowed, rules = ROWS_PER_ALARM * len(calibration.tracks), calibration.rules
        tracks = (replace(t, threshold=independent_threshold(rules, t, allowed)) for t in calibration.tracks)
        calibration = replace(calibration, tracks=tuple(tracks))
    return calibration.score(combiner.loss(test))


def long_events(data: Path, cache: Path, seeds: int) -> None:
    """Every long event of SMAP and SMD, with and without following drift."""
    print("\n| event | rows | at its end, with | without | share, with | without | normal rows, with | without |")
    print("|---" + "|---:" * 7 + "|")
    usual = Settings.of(**TRACKS_ALONE)
    plain = usual.but(settle=0, drift=0.0, accept=0)
    for dataset in ("SMAP", "SMD"):
        for entity in find(dataset, data).entities():
            held = [load(data, cache, dataset, entity, usual.but(seed=seed)) for seed in range(seeds)]
            truth = held[0]["truth"][held[0]["ends"]]
            spans = [(a, b) for a, b in zip(*runs(truth), strict=True) if b - a >= LONG]
            alarms = [[score(one, s).alarm for one in held] for s in (usual, plain)] if spans else []
            for first, last in spans:
                ends = [f"{sum(bool(a[last - 10 : last + 1].any()) for a in each)} of {seeds}" for each in alarms]
                shares = [f"{np.mean([a[first : last + 1].mean() for a in each]):.0%}" for each in alarms]
                normal = [f"{np.mean([a[~truth].mean() for a in each]):.0%}" for each in alarms]
                cells = [f"{dataset} {entity}", f"{last - first + 1:,}", *ends, *shares, *normal]
                print("| " + " | ".join(cells) + " |", flush=True)


def row(name: str, totals: dict[tuple[str, int], Total], datasets: Sequence[str]) -> str:
    by_seed = defaultdict(list)
    for (_, seed), total in totals.items():
        by_seed[seed].append(total.corrected.f1)
    means = [float(np.mean(values)) for values in by_seed.values()]
    each = [float(np.mean([t.corrected.f1 for (d, _), t in totals.items() if d == dataset])) for dataset in datasets]
    online = np.mean([total.online.f1 for total in totals.values()])
    found = np.mean([total.found / total.true for total in totals.values()])
    false = np.mean([1e4 * total.false / total.rows for total in totals.values()])
    long = [one for total in totals.values() for one in total.long]
    spread = f" ± {np.std(means, ddof=1):.3f}" if len(means) > 1 else ""
    cells = [name, f"{np.mean(means):.3f}{spread}", *(f"{f1:.3f}" for f1 in each), f"{online:.3f}"]
    cells += [f"{found:.2f}", f"{false:.1f}", f"{np.mean([end for end, _ in long]):.0%}" if long else ""]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with the datasets")
    parser.add_argument("cache", type=Path, help="folder that errors are kept in")
    parser.add_argument("--variant", default="", help="only those whose names hold this")
    parser.add_argument("--dataset", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    data, cache, datasets = given.data, given.cache, given.dataset
    cache.mkdir(exist_ok=True)
    header = ["variant", "mean corrected F1", *datasets, "mean online F1", "event recall", "false events / 10,000"]
    print("| " + " | ".join([*header, "long events in alarm at their end"]) + " |")
    print("|---" + "|---:" * len(header) + "|")
    base = Settings.of(**TRACKS_ALONE)
    for kind, variants, seeds in (("", VARIANTS, given.seeds), ("pca_", {"PCA error, default calibration": {}}, 1)):
        for name, change in variants.items():
            if given.variant not in name:
                continue
            settings = base.but(**{key: value for key, value in change.items() if key != INDEPENDENT})
            totals: dict[tuple[str, int], Total] = defaultdict(Total)
            for dataset in datasets:
                for entity in find(dataset, data).entities():
                    for seed in range(seeds):
                        held = load(data, cache, dataset, entity, settings.but(seed=seed))
                        totals[dataset, seed].add(held, settings, kind, INDEPENDENT in change)
            print(row(name, totals, datasets), flush=True)
    if not given.variant and set(datasets) == set(DATASETS):
        long_events(data, cache, given.seeds)


if __name__ == "__main__":
    main()
