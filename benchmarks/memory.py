"""How much memory `detect` takes over its data, and how many rows it judges in a second.

    python benchmarks/memory.py [rows, 10 million unless told] [channels]

The data is made before the first look at the memory, and the compiled step is warm, so what is counted is what judging
needs and what it answers with.
"""

import sys
import time
from pathlib import Path

import numpy as np

from ccmtad import Detector

MEGABYTE = 2**20


def memory(line: str) -> float:
    """Megabytes, as the system counts them: `VmRSS` is held now, `VmHWM` has been the most."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = next(one for one in status.splitlines() if one.startswith(f"{line}:"))
    return int(found.split()[1]) * 1024 / MEGABYTE


def series(rows: int, channels: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Waves of several lengths with noise on them, made in place."""
    made = np.random.default_rng(seed).standard_normal((rows, channels))
    made *= 0.1
    for c in range(channels):
        made[:, c] += np.sin(np.arange(rows) / (5.0 + c))
    return made


def main(rows: int, channels: int) -> None:
    detector = Detector(epochs=1).fit(series(5_000, channels, 0))
    data = series(rows, channels, 1)
    detector.detect(data[:20_000])
    held = memory("VmRSS")
    start = time.perf_counter()
    result = detector.detect(data)
    took = time.perf_counter() - start
    answer = sum(getattr(result, name).nbytes for name in ("loss", "pvalue", "evidence", "score", "alarm", "label"))
    print(f"{rows:,} rows of {channels} channels, {data.nbytes / MEGABYTE:,.0f} MB; {len(result.events):,} events")
    over = memory("VmHWM") - held
    print(f"most over the data: {over:,.0f} MB ({answer / MEGABYTE:,.0f} of them the answer's columns)")
    print(f"{rows / took:,.0f} rows a second ({took:.1f} s)")


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:3]]
    main(*(given + [10_000_000, 10][len(given) :]))
