"""Models: looked up by name, uploaded, changed while streams run."""

from pathlib import Path

from ccmtad import Detector, Frame

from .rows import as_json, expected, same
from .server import Nursery, until

QUIET = ("--silence", "0")


def test_streams_go_on_where_the_fingerprint_holds_and_start_anew_where_not(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    path = models / "plant.ccm"
    with nursery.serving(models, store, *QUIET) as server:
        key = server.key
        server.send("a", **as_json(faulty, 0, 430))
        server.judged("a", 430)
        (opened,) = server.events(open=True)
        before = server.get("/v1/models/plant")
        path.write_bytes(path.read_bytes())  # the same again
        server.send("a", **as_json(faulty, 430, 440))
        other = fitted.with_budget("1/1000 rows")
        other.save(path)
        until("changed", lambda: server.get("/v1/models/plant")["fingerprint"] != before["fingerprint"])
        until("closed", lambda: not server.events(open=True))
        (closed,) = server.events()
        assert (closed["id"], closed["change"], closed["end"]) == (opened["id"], "final", 439)
        assert "entity 'a' starts anew at row 440: its model has changed" in server.text
        server.send("a", **as_json(faulty, 440, 700))
        server.kill()
    with nursery.serving(models, store, *QUIET, key=key) as server:
        server.send("a", **as_json(faulty, 700))
        server.judged("a", 900)
        assert faulty.times is not None
        rest = Frame(faulty.values[440:], faulty.channels, faulty.times[440:])
        told = expected(other, rest, "a")
        for one in told:  # rows are counted from the first of the entity
            for name in ("start", "alarm", "end"):
                one[name] = None if one[name] is None else one[name] + 440
        same([one for one in server.events() if one["id"] != opened["id"]], told)


def test_a_model_is_uploaded_as_data(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    data = (models / "plant.ccm").read_bytes()
    with nursery.serving(models, store, *QUIET) as server:
        assert server.client.put("/v1/models/second", content=data).json()["uploaded"]
        until("there", lambda: len(server.get("/v1/models")["models"]) == 2)
        answer = server.client.post("/v1/entities/new/rows", json=as_json(faulty, 0, 10))
        assert (answer.status_code, answer.json()["type"]) == (422, "which-model")
        server.send("new", **as_json(faulty), model="second")
        answer = server.client.post("/v1/entities/new/rows", json={**as_json(faulty), "model": "plant"})
        assert (answer.status_code, answer.json()["type"]) == (409, "other-model")
        server.judged("new", 900)
        same(server.events(), expected(fitted, faulty, "new"))
        assert server.client.delete("/v1/models/second").status_code == 409  # in use
        assert server.client.delete("/v1/models/plant").status_code == 409  # a file of the folder
        for body in (b"", b"nonsense", data[:1000], data[:-1] + b"x"):
            answer = server.client.put("/v1/models/third", content=body)
            assert (answer.status_code, answer.json()["type"]) == (422, "bad-input")
        for name in ("..", "..%2F..%2Fetc%2Fpasswd", "a%00b", "x" * 200, "-rf"):
            assert server.client.put(f"/v1/models/{name}", content=data).status_code in (404, 405, 422)
            assert server.client.get(f"/v1/models/{name}").status_code in (404, 422)
        assert server.client.put("/v1/models/third", content=data).status_code == 200
        until("there", lambda: len(server.get("/v1/models")["models"]) == 3)
        assert server.client.delete("/v1/models/third").status_code == 200
        assert sorted(one["model"] for one in server.get("/v1/models")["models"]) == ["plant", "second"]


def test_a_file_that_is_no_model_is_left_out_and_said(nursery: Nursery, models: Path, sqlite: str) -> None:
    (models / "broken.ccm").write_bytes(b"nonsense")
    (models / "odd name.ccm").write_bytes((models / "plant.ccm").read_bytes())
    with nursery.serving(models, sqlite, *QUIET) as server:
        assert [one["model"] for one in server.get("/v1/models")["models"]] == ["plant"]
        assert "model 'broken' cannot be used" in server.text
        assert "model file 'odd name.ccm' is left out" in server.text
        assert "KiB for each entity" in server.text
