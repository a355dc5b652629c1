"""A full disk: a clear answer, nothing acknowledged, and it goes on when there is room again."""

import resource
from pathlib import Path

from ccmtad import Detector, Frame

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
