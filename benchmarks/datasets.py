"""What the datasets are made of, for docs/data.md: `python benchmarks/datasets.py DATA` counts those whose files are
there, and keeps what was counted of the others."""

import sys
from pathlib import Path

from ccmtad.bench import datasets
from ccmtad.bench.statistics import measured, read, save
from ccmtad.errors import CcmtadError

KEPT = Path(__file__).parents[1] / "docs" / "data.jsonl"


def main() -> None:
    found = {name: [one for one in read(KEPT) if one.dataset == name] for name in datasets.known()}
    for name in datasets.known():
        try:
            found[name] = list(measured(datasets.find(name, sys.argv[1])))
            print(name, len(found[name]))
        except CcmtadError as error:
            print(f"{name}: {error}")
    save((one for each in found.values() for one in each), KEPT)


if __name__ == "__main__":
    main()
