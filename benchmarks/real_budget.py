"""Does the budget hold on real rows? `python benchmarks/real_budget.py DATA [OTHER [JOBS]]` (an hour of a core).

Every entity of MSL, SMAP, SMD and JumpStarter is fitted on its training rows and asked at several budgets: false events
in 10,000 rows of its test series that no label is on, and the labelled stretches found. Beside it another checkout (a
folder with `src/ccmtad`), whose calibration may be another. A last table has both at equal numbers of false events.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccmtad.bench import datasets

HERE = Path(__file__).parents[1]
SETS = ("MSL", "SMAP", "SMD", "JumpStarter")
ASKED = (10_000, 1_000)
BUDGETS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000)
EQUAL = (1.0, 2.0, 4.0)  # false events in 10,000 rows

# Prints one line of JSON; it speaks to this checkout and to older ones.
TASK = """
import json, sys, time, logging
import numpy as np
from ccmtad import Detector
logging.getLogger("ccmtad").addHandler(logging.NullHandler())
data = np.load(sys.argv[1])
start = time.perf_counter()
fitted = Detector().fit(data["train"])
told = {"seconds": time.perf_counter() - start, "normal": int((~data["label"]).sum()), "budgets": {}}
edges = np.flatnonzero(np.diff(np.r_[False, data["label"], False].astype(int)))
stretches = list(zip(edges[::2], edges[1::2] - 1))
told["stretches"] = len(stretches)
for budget in map(int, sys.argv[2:]):
    events = fitted.with_budget(f"1/{budget} rows").detect(data["test"]).events
    ends = [(e.start, len(data["test"]) - 1 if e.end is None else e.end, getattr(e, "kind", "anomaly")) for e in events]
    false = [kind for first, last, kind in ends if not data["label"][first:last + 1].any()]
    found = sum(any(first <= b and a <= last and kind == "anomaly" for first, last, kind in ends) for a, b in stretches)
    told["budgets"][str(budget)] = [false.count("anomaly"), len(false), found]
print(json.dumps(told))
"""


def ask(source: Path, path: Path) -> dict[str, Any]:
    alone = {"PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", TASK, str(path), *map(str, BUDGETS)]
    done = subprocess.run(command, env=os.environ | alone, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def table(name: str, answers: Sequence[dict[str, Any]]) -> NDArray[np.float64]:
    """(budgets, 3): false anomalies and false events of all kinds in 10,000 rows, share of stretches found."""
    normal, stretches = (sum(one[what] for one in answers) for what in ("normal", "stretches"))
    counts = np.array([[one["budgets"][str(budget)] for budget in BUDGETS] for one in answers]).sum(axis=0)
    shares: NDArray[np.float64] = counts / np.array([normal / 10_000, normal / 10_000, stretches])
    for budget in ASKED:
        anomalies, events, found = shares[BUDGETS.index(budget)]
        asked = f"1/{budget:,} asked ({10_000 / budget:g} in 10,000)"
        print(f"{name} {asked}: {anomalies:.2f} false anomalies, {events:.2f} of all kinds; found {found:.3f}")
    print(f"{name} fit: {np.mean([one['seconds'] for one in answers]):.1f} s an entity", flush=True)
    return shares


def at_equal(shares: NDArray[np.float64]) -> str:
    """The share found where so many anomalies are false, between the budgets that come nearest."""
    order = np.argsort(shares[:, 0], kind="stable")
    false, found = shares[order, 0], np.maximum.accumulate(shares[order, 2])
    return ", ".join(
        f"{each:g}: {np.interp(each, false, found):.3f}" if false[0] <= each <= false[-1] else f"{each:g}: not reached"
        for each in EQUAL
    )


def main(folder: Path, sources: Sequence[Path], jobs: int) -> None:
    with tempfile.TemporaryDirectory() as kept, ThreadPoolExecutor(jobs) as pool:
        for name in SETS:
            paths = []
            for entity in datasets.load(name, folder):
                paths.append(Path(kept) / f"{name}-{entity.name.replace('/', '_')}.npz")
                np.savez(paths[-1], train=entity.train.values, test=entity.test.values, label=entity.truth.anomalous)
            for source in sources:
                shown = f"{name}, {'here' if source == HERE else 'there'},"
                shares = table(shown, list(pool.map(lambda path, of=source: ask(of, path), paths)))
                print(f"{shown} found at so many false anomalies in 10,000 rows: {at_equal(shares)}", flush=True)


if __name__ == "__main__":
    others = [Path(one).resolve() for one in sys.argv[2:3]]
    main(Path(sys.argv[1]), [HERE, *others], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
