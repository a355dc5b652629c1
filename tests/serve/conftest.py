"""A model in a folder, and stores of both kinds."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from ccmtad import Detector

POSTGRESQL = os.environ.get("CCMTAD_POSTGRESQL", "postgresql://127.0.0.1/test")


@pytest.fixture(scope="session")
def models(fitted: Detector, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model, `plant`. Treat as read-only."""
    folder = tmp_path_factory.mktemp("models")
    fitted.save(folder / "plant.ccm")
    return folder


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store, of each kind in turn."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
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
