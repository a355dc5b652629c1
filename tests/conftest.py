"""Fixtures shared by all tests."""

import fcntl
import io
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

from ccmtad import Detector
from ccmtad.simulate import Run, simulate

settings.register_profile("ccmtad", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("ccmtad")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The guides first: they take longest, one after the other. Begun last, all else would wait for them."""
    items.sort(key=lambda item: item.path.name != "test_docs.py")


@pytest.fixture(scope="session", autouse=True)
def compiled(once: Callable[[str, Callable[[], Any]], Any]) -> None:
    """Of processes that test side by side one compiles, where nothing is compiled yet; the others wait, and load it."""

    def first_steps() -> None:
        detector = Detector.load(Path(__file__).parent / "golden" / "watch-v1.ccm")
        rows = np.zeros((50, len(detector.channels_)))
        detector.detect(rows)
        detector.stream().update(rows[0])

    if "PYTEST_XDIST_WORKER" in os.environ:
        once("compiled", first_steps)


@pytest.fixture(scope="session")
def plant() -> Run:
    """Normal operation of the simulated plant."""
    return simulate(6_000, seed=11)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[], Any]], Any]:
    """Makes what has a name once for all processes that test side by side."""
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made(name: str, make: Callable[[], Any]) -> Any:
        kept = folder / f"{name}.pickle"
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes first makes it, the others wait
            if not kept.exists():
                value = make()
                draft = kept.with_suffix(".draft")
                draft.write_bytes(pickle.dumps(value))
                draft.replace(kept)
            return pickle.loads(kept.read_bytes())

    return made


@pytest.fixture(scope="session")
def fitted(plant: Run, once: Callable[[str, Callable[[], Any]], Any]) -> Detector:
    """A detector fitted on it, small enough to be quick. Treat as read-only."""
    detector: Detector = once("fitted", lambda: Detector(epochs=3, width=32, seed=1).fit(plant.frame))
    return detector


@pytest.fixture(scope="session")
def telemanom() -> Callable[[str], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Loads (train, test) of one SMAP or MSL entity from the original archive."""
    folder = os.environ.get("CCMTAD_DATA")
    archive = Path(folder or ".") / "SMAP_MSL.zip"
    if folder is None or not archive.exists():
        pytest.skip(
            "SMAP_MSL.zip is missing: put the telemanom archive into a folder and name it in CCMTAD_DATA "
            "(layout: data/train/*.npy, data/test/*.npy)"
        )

    def load(entity: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        with zipfile.ZipFile(archive) as opened:
            parts = [np.load(io.BytesIO(opened.read(f"data/{part}/{entity}.npy"))) for part in ("train", "test")]
        return parts[0], parts[1]

    return load


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no browser: install Chromium (Debian: apt-get install chromium) to open pages in one")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield running
        running.close()
