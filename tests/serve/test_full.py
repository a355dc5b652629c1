"""A full disk: a clear answer, nothing acknowledged, and it goes on when there is room again."""

import os
import resource
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from ccmtad import Detector, Frame

from .conftest import POSTGRESQL, empty_store
from .rows import as_json, expected, same
from .server import Nursery, until


def test_a_full_disk_is_said_and_survived(
    nursery: Nursery, models: Path, sqlite: str, fitted: Detector, faulty: Frame
) -> None:
    file = Path(sqlite.removeprefix("sqlite:///"))
    with nursery.serving(models, sqlite, "--silence", "0") as server:
        server.send("a", **as_json(faulty, 0, 430))
        server.judged("a", 430)
        size = max(path.stat().st_size for path in file.parent.iterdir())
        endless = resource.RLIM_INFINITY
        resource.prlimit(server.process, resource.RLIMIT_FSIZE, (size, endless))  # no file may grow any more
        accepted, first = 430, 430
        while True:
            answer = server.client.post("/v1/entities/a/rows", json=as_json(faulty, first, first + 10))
            if answer.status_code != 200:
                break
            accepted = first = answer.json()["rows"]
        assert (answer.status_code, answer.json()["type"]) == (507, "store-full")
        assert int(answer.headers["Retry-After"]) >= 1
        until("unready", lambda: server.client.get("/readyz").status_code == 503)
        assert server.get("/v1/entities/a")["rows"] == accepted  # reading goes on
        assert server.client.post("/v1/windows", json={}).status_code == 507
        resource.prlimit(server.process, resource.RLIMIT_FSIZE, (endless, endless))
        until("ready", lambda: server.client.get("/readyz").status_code == 200)
        assert server.send("a", **as_json(faulty, 400))["rows"] == 900
        server.judged("a", 900)
        same(server.events(), expected(fitted, faulty, "a"))
        assert "nothing can be written" in server.text
        server.stop()


@contextmanager
def small_tablespace(folder: Path) -> Iterator[str]:
    """The name of a tablespace on a disk of its own, 48 MiB large, in `folder`."""
    import psycopg

    name = f"ccmtad_{uuid.uuid4().hex}"
    folder.mkdir(mode=0o755)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no disk can be made small here: run this as root, who may mount a tmpfs ({done.stderr.strip()})")
    try:
        for parent in folder.parents:  # the server is another user
            if parent.stat().st_uid == os.getuid() and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o111)
        place = folder / "space"
        place.mkdir(mode=0o700)
        shutil.chown(place, "postgres", "postgres")
        with psycopg.connect(POSTGRESQL, autocommit=True) as server:
            server.execute(f"CREATE TABLESPACE \"{name}\" LOCATION '{place}'")
            try:
                yield name
            finally:
                server.execute(f'DROP TABLESPACE "{name}"')
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_under_postgresql_is_said_and_survived(
    nursery: Nursery, models: Path, fitted: Detector, faulty: Frame, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    with small_tablespace(disk) as space, empty_store("postgresql", tmp_path) as url:
        store = url + quote(f" -cdefault_tablespace={space}")
        with nursery.serving(models, store, "--silence", "0") as server:
            server.send("a", **as_json(faulty, 0, 430))
            server.judged("a", 430)
            ballast = disk / "ballast"
            with ballast.open("wb") as file:
                try:
                    while True:
                        os.write(file.fileno(), bytes(4_096))
                except OSError:
                    pass  # it is full
            accepted = 430
            while True:
                answer = server.client.post("/v1/entities/a/rows", json=as_json(faulty, accepted, accepted + 10))
                if answer.status_code != 200:
                    break
                accepted = answer.json()["rows"]
                assert accepted < 900
            assert (answer.status_code, answer.json()["type"]) == (507, "store-full")
            until("unready", lambda: server.client.get("/readyz").status_code == 503)
            assert server.get("/v1/entities/a")["rows"] == accepted
            ballast.unlink()
            until("ready", lambda: server.client.get("/readyz").status_code == 200)
            assert server.send("a", **as_json(faulty, 400))["rows"] == 900
            server.judged("a", 900)
            same(server.events(), expected(fitted, faulty, "a"))
            assert "nothing can be written" in server.text
            server.stop()
