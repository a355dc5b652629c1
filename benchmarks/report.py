"""A report of a million rows: how long it takes to make, how large it is, and whether a browser opens it.

python benchmarks/report.py [rows]
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ccmtad import Detector, Frame, report
from ccmtad.simulate import schedule, simulate

CHANNELS = 50


def part(rows: int, seed: int, faults: int = 0) -> Frame:
    run = simulate(rows, seed=seed, faults=schedule(rows, seed=seed, count=faults) if faults else ()).frame
    return Frame(np.ascontiguousarray(run.values[:, :CHANNELS]), run.channels[:CHANNELS], run.times)


@contextmanager
def timed(name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"{name}: {time.perf_counter() - start:.1f} s")


def main(rows: int) -> None:
    detector = Detector().fit(part(40_000, seed=1))
    recent = part(rows, seed=2, faults=rows // 2_500)
    with timed(f"detect {rows:,} rows by {CHANNELS} channels"):
        found = detector.detect(recent)
    print(f"{len(found.events)} events")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        with timed("report"):
            report.save(found, path)
        print(f"{path.stat().st_size / 1e6:.1f} MB")
        opened(path)


def opened(path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        print("not opened: install chromium")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = running.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        with timed("opened and drawn"):
            page.goto(path.as_uri())
            page.wait_for_selector("#close-up .main-svg")
            page.wait_for_selector("#clusters .main-svg")
        print(f"errors in the page: {complaints or 'none'}")
        running.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
