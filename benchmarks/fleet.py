"""Entities fitted in a minute: `python benchmarks/fleet.py`, with the SMD archive in CCMTAD_DATA.

Six of its machines, in one run: one process for each core with one thread in each, against one process with as many
threads.
"""

import os
import resource
import tempfile
import time
from itertools import islice
from pathlib import Path

import polars as pl
from joblib.externals.loky import get_reusable_executor

from ccmtad import fleet
from ccmtad.bench.datasets import load


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as made:
        history = Path(made) / "history"
        history.mkdir()
        for entity in islice(load("SMD", os.environ["CCMTAD_DATA"]), 6):
            columns = zip(entity.train.channels, entity.train.values.T, strict=True)
            pl.DataFrame(dict(columns)).write_parquet(history / f"{entity.name}.parquet")
        for workers, threads in ((cores, 1), (1, cores)):
            start = time.perf_counter()
            done = fleet.fit(
                history, Path(made) / f"{workers}", settings={"threads": threads}, workers=workers, together=False
            )
            seconds = time.perf_counter() - start
            failed = [entry.error for entry in done if entry.error]
            assert not failed, failed
            print(
                f"{workers} at a time, threads={threads}: {60 * len(done) / seconds:.1f} entities a minute "
                f"({len(done)} in {seconds:.0f} s)",
                flush=True,
            )
    get_reusable_executor().shutdown(wait=True)  # only those that have ended are counted
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process: {largest:.0f} MiB")


if __name__ == "__main__":
    main()
