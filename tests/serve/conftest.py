"""A model in a folder, stores of both kinds, and rows with a fault in them."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.simulate import simulate

from .server import Nursery

POSTGRESQL = os.environ.get("CCMTAD_POSTGRESQL", "postgresql://127.0.0.1/test")


@pytest.fixture(scope="session")
def plant_models(fitted: Detector, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model, `plant`. No service may use it: what is said of events is written there. Copy it."""
    folder = tmp_path_factory.mktemp("plant")
    fitted.save(folder / "plant.ccm")
    return folder


@pytest.fixture
def models(plant_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a folder for this test alone."""
    return shutil.copytree(plant_models, tmp_path_factory.mktemp("own") / "models")


@pytest.fixture(scope="session")
def quick_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, `quick`, of two channels and a hundred rows a second."""
    folder = tmp_path_factory.mktemp("quick")
    times = (10**18 + np.arange(400) * 10**7).astype("datetime64[ns]")
    values = np.random.default_rng(3).normal(size=(400, 2))
    Detector(epochs=1, width=8, window=4, budget="1/100 rows", seed=0).fit(Frame(values, ("x", "y"), times)).save(
        folder / "quick.ccm"
    )
    return folder


@pytest.fixture(scope="session")
def nursery(plant_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Where services come from."""
    made = Nursery(plant_models / "plant.ccm", tmp_path_factory.mktemp("printed"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def faulty() -> Frame:
    """Rows of the plant: a fault in the middle, a dead channel at the end."""
    frame = simulate(900, seed=5).frame
    values = frame.values.copy()
    values[400:460, 3] += 6 * values[:, 3].std() + 1
    values[700:, 1] = np.nan
    return Frame(values, frame.channels, frame.times)


@contextmanager
def empty_store(kind: str, folder: Path) -> Iterator[str]:
    """The URL of an empty store."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'store.db'}"
        return
    import psycopg

    try:
        server = psycopg.connect(POSTGRESQL, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        pytest.skip(
            f"no PostgreSQL answers on {POSTGRESQL}: start one that trusts this machine, with a database `test` "
            f"(Debian: apt-get install postgresql), or name one in CCMTAD_POSTGRESQL ({error})"
        )
    with server:
        name = f"ccmtad_{uuid.uuid4().hex}"
        server.execute(f'CREATE SCHEMA "{name}"')
        try:
            yield f"{POSTGRESQL}?options={quote(f'-csearch_path={name}')}"
        finally:
            server.execute(f'DROP SCHEMA "{name}" CASCADE')


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store, of each kind in turn."""
    with empty_store(request.param, tmp_path) as url:
        yield url


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """An empty store in a file."""
    return f"sqlite:///{tmp_path / 'store.db'}"
