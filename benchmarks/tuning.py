"""Settings that come after the network, tried without training again: `python benchmarks/tuning.py DATA NAME=VALUE ..`.

Each entity is fitted twice: on the first part of its training series, into whose rest faults are injected, and on all
of it, to judge its labelled rows label-free. What is calibrated from these two networks is changed, one setting at a
time. Prints a line for each dataset and setting; one seed; no entity that is kept apart.
"""

import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ccmtad import Settings
from ccmtad.bench.datasets import Entity, find
from ccmtad.bench.inject import Ground
from ccmtad.bench.metrics import Prediction, figures, measure
from ccmtad.bench.watching import Baseline
from ccmtad.fit import TrainingSeries

ENTITIES = {
    "MSL": ("M-6", "T-5", "D-14", "P-14", "F-4"),
    "SMAP": ("P-1", "E-5", "A-1", "D-7", "G-1"),
    "SMD": ("machine-1-1", "machine-3-2"),
    "JumpStarter": ("service1", "service11"),
}
FAULTS = ("1 ranges, 10 rows", "0.3 ranges, 100 rows", "noise", "drift", "frozen", "swapped")
LABELLED = ("F1, protocol 3", "event recall", "false events per 10,000 rows")


def main() -> None:
    data = Path(sys.argv[1])
    variants = {"default": {}, **{one: Settings.read([one]) for one in sys.argv[2:]}}
    print("dataset | setting |", " | ".join((*FAULTS, "false, untouched", *LABELLED)), flush=True)
    for dataset, names in ENTITIES.items():
        told: dict[str, list[Any]] = defaultdict(list)
        columns: dict[str, list[Any]] = defaultdict(list)
        there = find(dataset, data)
        for name in [one for one in names if one in there.entities()]:
            entity = there.read(name)
            for variant, made in injected(entity, variants).items():
                told[variant].append(made)
            for variant, column in labelled(entity, variants).items():
                columns[variant].append(column)
        for variant in variants:
            faults = [fault for one in told[variant] for fault in one["faults"]]
            cells = [fmean(fault["found"] for fault in faults if fault["fault"] == name) for name in FAULTS]
            events = sum(sum(one["untouched"]["events"].values()) for one in told[variant])
            cells.append(1e4 * events / sum(one["untouched"]["rows"] for one in told[variant]))
            cells += [figures()[title].over(columns[variant]) for title in LABELLED]
            print(dataset, variant, *(f"{cell:.3f}" for cell in cells), sep=" | ", flush=True)


def calibrated(series: TrainingSeries, variants: dict[str, dict[str, Any]]) -> dict[str, Baseline]:
    """One network, calibrated in each way."""
    trained, made = series.train(), {}
    for variant, change in variants.items():
        model = replace(series, settings=series.settings.but(**change)).model(trained)
        made[variant] = Baseline(model, model.engine)
    return made


def injected(entity: Entity, variants: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """As `bench run --inject` does."""
    ground = Ground.of(entity.train, Settings.of(seed=0), 0)
    if ground is None:
        return {}
    ground = replace(ground, faults=tuple(one for one in ground.faults if one.fault.name in FAULTS))
    return {
        variant: ground.all_judged(watching)
        for variant, watching in calibrated(TrainingSeries.of(ground.train, Settings.of(seed=0)), variants).items()
    }


def labelled(entity: Entity, variants: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The corrected column of the label-free tables."""
    series, made = TrainingSeries.of(entity.train, Settings.of(seed=0)), {}
    for variant, watching in calibrated(series, variants).items():
        found = watching.detect(entity.test)
        judged = ~np.isnan(found.loss)
        where = slice(*np.flatnonzero(judged)[[0, -1]] + [0, 1])
        label = np.zeros(len(found), dtype=np.bool_)
        for event in found.events:
            if event.kind == "anomaly":
                label[event.start : (len(found) if event.end is None else event.end + 1)] = True
        label, truth = label & judged, entity.truth.anomalous & judged
        said = Prediction(label[where], found.alarms["anomaly"][where], truth[where])
        made[variant] = {"rows": int(judged.sum()), **measure(said, ())}
    return made


if __name__ == "__main__":
    main()
