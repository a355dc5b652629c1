"""A new entity with few rows, started from its fleet: `python benchmarks/cold_start.py [--rows 500 1000 2000 4000]`.

Entities of SMD, JumpStarter, MSL and SMAP (in CCMTAD_DATA) in turn: the others are fitted on all their rows and are the
fleet; the one is new, with its first rows. Faults are put into the 6,000 rows that follow, as `ccmtad bench run
--inject` does. Beside the start from the fleet: a fit on the few rows, and the nearest model of the fleet as it is.
"""

import argparse
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from ccmtad import Detector, fleet
from ccmtad.bench.datasets import Entity, load
from ccmtad.bench.inject import AFTER, Ground
from ccmtad.bench.injected import schedule
from ccmtad.bench.watching import Baseline
from ccmtad.frame import Frame

LATER = 6_000
MOST, LEAST = 12, 2_000  # entities of a dataset, and rows of one


def main(numbers: list[int]) -> None:
    with tempfile.TemporaryDirectory() as made:
        for dataset in ("SMD", "JumpStarter", "MSL", "SMAP"):
            folder, data = Path(made) / dataset, os.environ["CCMTAD_DATA"]
            folder.mkdir()
            entities = [one for one in load(dataset, data) if len(one.train) >= LEAST][:MOST]
            side_by_side = Parallel(n_jobs=-1)
            side_by_side(delayed(_fitted)(one, folder) for one in entities)
            for rows in numbers:
                new = [one for one in entities if len(one.train) >= 2 * rows]
                print(f"{dataset}, {len(new)} entities, {rows:,} rows", flush=True)
                if new:
                    _print(side_by_side(delayed(_new)(one, folder, rows) for one in new))


def _fitted(entity: Entity, folder: Path) -> None:
    Detector().fit(entity.train).save(folder / f"{entity.name}.ccm")


def _new(entity: Entity, folder: Path, rows: int) -> dict[str, Any]:
    """What each way of starting makes of one entity."""
    frame = entity.train
    values = frame.values[: rows + LATER]
    few = Frame(values[:rows], frame.channels, None, frame.named)
    faults = schedule(few.values, rows + Detector().settings.window, len(values) - AFTER, 0)
    ground = Ground(few, values, rows, tuple(faults))
    with tempfile.TemporaryDirectory() as place:
        for path in folder.glob("*.ccm"):
            if path.stem != entity.name:
                shutil.copy(path, place)
        return {way: ground.all_judged(_watching(detector)) for way, detector in _ways(Path(place), few)}


def _ways(models: Path, few: Frame) -> Iterator[tuple[str, Detector]]:
    started = fleet.start(models, few)
    yield "from the fleet", started.detector
    yield "a fit of its own", Detector().fit(few)
    yield "the nearest as it is", Detector.load(models / f"{started.kin[0]}.ccm")


def _watching(detector: Detector) -> Baseline:
    return Baseline(detector.model_, detector.model_.engine)


def _print(answers: list[dict[str, Any]]) -> None:
    for way in answers[0]:
        found, faults, sure = 0, 0, Counter[bool]()
        rows, events, alarm = 0, 0, 0
        for one in (answer[way] for answer in answers):
            found += sum(fault["found"] for fault in one["faults"])
            faults += len(one["faults"])
            sure.update(fault["found"] for fault in one["faults"] if fault["fault"].startswith("10 ranges"))
            rows += one["untouched"]["rows"]
            events += sum(one["untouched"]["events"].values())
            alarm += one["untouched"]["alarm"]
        print(
            f"  {way}: found {found / faults:.3f} of {faults:,} faults, {sure[True] / sure.total():.3f} of ten ranges; "
            f"{1e4 * events / rows:.1f} false events in 10,000 rows, {alarm / rows:.1%} of them in alarm",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1_000, 2_000])
    main(parser.parse_args().rows)
