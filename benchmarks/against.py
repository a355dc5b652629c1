"""This checkout against another one, in one run: `python benchmarks/against.py OTHER` (a folder with `src/ccmtad`).

Both are asked in turn, each in a process of its own, one thread, so that a noisy moment hits both alike: the median of
several rounds, as a ratio. A model that the other one wrote is what both judge with.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1]
ROUNDS = 5

FIT = """
import sys
import numpy as np
from ccmtad import Detector
random = np.random.default_rng(0)
def rows(n, channels):
    return np.sin(np.arange(n)[:, None] / (5.0 + np.arange(channels))) + 0.1 * random.normal(size=(n, channels))
for name, channels, clusters, width, expansion in (("a", 25, 4, 256, 1), ("b", 123, 9, 256, 3), ("c", 53, 8, 64, 1)):
    made = Detector(epochs=1, width=width, expansion=expansion, clusters=clusters).fit(rows(3_000, channels))
    made.save(f"{sys.argv[1]}/{name}.ccm")
Detector(epochs=1, clusters=6).fit(rows(3_000, 50)).save(f"{sys.argv[1]}/d.ccm")
"""

# Prints the seconds of one task; each speaks to this checkout and to older ones.
TASK = """
import sys, time
if sys.argv[3] == "numpy":
    sys.modules["numba"] = None
import numpy as np
from ccmtad import Detector
folder, task = sys.argv[1:3]
random = np.random.default_rng(1)
def rows(n, channels):
    return np.sin(np.arange(n)[:, None] / (5.0 + np.arange(channels))) + 0.1 * random.normal(size=(n, channels))
if task.startswith("update"):
    detector = Detector.load(f"{folder}/{task[-1]}.ccm")
    stream, data = detector.stream(), rows(2_000, len(detector.channels_))
    for row in data[:700]:
        stream.update(row)
    start = time.perf_counter()
    for row in data[700:]:
        stream.update(row)
elif task == "detect":
    detector, data = Detector.load(f"{folder}/d.ccm"), rows(200_000, 50)
    detector.detect(data[:1_000])
    start = time.perf_counter()
    detector.detect(data)
elif task == "streams":
    detector = Detector.load(f"{folder}/c.ccm")
    streams, data = detector.streams(range(1_000)), rows(60, 53)
    for row in data[:40]:
        streams.update(dict.fromkeys(range(1_000), row))
    start = time.perf_counter()
    for row in data[40:]:
        streams.update(dict.fromkeys(range(1_000), row))
else:
    detector = Detector.load(f"{folder}/c.ccm")
    streams, data = [detector.stream() for _ in range(1_000)], rows(45, 53)
    for row in data[:40]:
        for stream in streams:
            stream.update(row)
    start = time.perf_counter()
    for row in data[40:]:
        for stream in streams:
            stream.update(row)
    print(4 * (time.perf_counter() - start))  # for as many rows as the others
    sys.exit()
print(time.perf_counter() - start)
"""

TASKS = (
    ("update, 25 channels, width 256", "update a", "numba", 1_300),
    ("update, 123 channels, width 256, expansion 3", "update b", "numba", 1_300),
    ("update, 53 channels, width 64", "update c", "numba", 1_300),
    ("update, 25 channels, width 256", "update a", "numpy", 1_300),
    ("update, 123 channels, width 256, expansion 3", "update b", "numpy", 1_300),
    ("update, 53 channels, width 64", "update c", "numpy", 1_300),
    ("detect, 200,000 rows by 50 channels", "detect", "numba", 200_000),
    ("detect, 200,000 rows by 50 channels", "detect", "numpy", 200_000),
    ("streams, 1,000 keys of 53 channels", "streams", "numba", 20_000),
    ("1,000 single streams of 53 channels", "single", "numba", 20_000),
)


def run(source: Path, code: str, *arguments: str) -> str:
    alone = {"PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=os.environ | alone, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def main(other: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(other, FIT, folder)
        for title, task, kernels, rows in TASKS:
            seconds: dict[Path, list[float]] = {HERE: [], other: []}
            for _ in range(ROUNDS):
                for source, taken in seconds.items():
                    taken.append(float(run(source, TASK, folder, task, kernels)))
            new, old = (statistics.median(taken) for taken in seconds.values())
            each = f"{1e6 * new / rows:.1f} µs a row here, {1e6 * old / rows:.1f} there"
            print(f"{title} ({kernels}): {old / new:.2f} times as fast ({each})", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
