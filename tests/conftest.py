"""Fixtures shared by all tests."""

import io
import os
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


@pytest.fixture(scope="session")
def plant() -> Run:
    """Normal operation of the simulated plant."""
    return simulate(6_000, seed=11)


@pytest.fixture(scope="session")
def fitted(plant: Run) -> Detector:
    """A detector fitted on it, small enough to be quick. Treat as read-only."""
    return Detector(epochs=3, width=32, seed=1).fit(plant.frame)


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
