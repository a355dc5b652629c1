"""`python -m ccmtad.bench`: the heavy part, where only numpy, scipy, scikit-learn and torch are installed.

`ccmtad bench run` does the same with progress bars, `ccmtad bench report` makes tables of the results.
"""

import argparse
import sys

from ..errors import CcmtadError
from ..settings import Settings
from .datasets import DATASETS, find
from .methods import METHODS
from .run import Plan, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ccmtad.bench", description=__doc__)
    parser.add_argument("--data", required=True, help="folder with the datasets")
    parser.add_argument("--out", required=True, help="results file; an unfinished one goes on")
    parser.add_argument("--dataset", nargs="+", required=True, choices=list(DATASETS))
    parser.add_argument("--method", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", default="default", help="default, paper or authors")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings put over the preset's")
    parser.add_argument("--combined", action="store_true", help="protocol 1: one model over all entities")
    parser.add_argument("--oracle-epoch", action="store_true", help="also choose the epoch on test labels")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    try:
        plan = Plan(
            tuple(find(name, given.data) for name in given.dataset),
            tuple(given.method),
            given.seeds,
            given.preset,
            Settings.read(given.set),
            given.combined,
            given.oracle_epoch,
        )
        run(
            plan,
            given.out,
            workers=given.workers,
            progress=lambda done, planned, record: print(
                f"{done} of {planned}: {record['dataset']} {record['entity']}, {record['method']}, "
                f"seed {record['seed']}, {record['seconds']['method']} + {record['seconds']['judging']} s",
                flush=True,
            ),
        )
    except CcmtadError as error:
        sys.exit(f"ccmtad.bench: {error}")


if __name__ == "__main__":
    main()
