"""One entity, one model or one request that cannot be used stops no other, and the service says why."""

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from ccmtad import Detector, Frame
from ccmtad.serve.engine import Engine
from ccmtad.serve.refusal import Refusal
from ccmtad.serve.rows import Batch
from ccmtad.serve.service import Service
from ccmtad.serve.settings import ServeSettings
from ccmtad.serve.store import log as rows_log
from ccmtad.serve.store.store import Store
from ccmtad.serve.store.tables import snapshots
from ccmtad.serve.values import Values

from .rows import as_json
from .server import Nursery, until

QUIET = ("--silence", "0")
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two channels, `p` and `q`, and the period of the plant."""
    times = (10**18 + np.arange(400) * 60 * SECOND).astype("datetime64[ns]")
    values = np.random.default_rng(3).normal(size=(400, 2))
    detector = Detector(epochs=1, width=8, window=4, budget="1/100 rows", seed=0)
    path = tmp_path_factory.mktemp("other") / "other.ccm"
    detector.fit(Frame(values, ("p", "q"), times)).save(path)
    return path


def engine_of(models: Path, store: str) -> Engine:
    """One that works in this thread."""
    engine = Service(ServeSettings(models=models, store=store, silence=0.0)).engine
    assert engine._begin()
    return engine


def closed(engine: Engine) -> None:
    """It is gone, with nothing more written."""
    engine.lease.end()
    engine.store.close()


def normal(engine: Engine, entity: str, model: str, first: int, rows: int) -> Batch:
    channels = engine.models[model].model.channels
    values = np.random.default_rng(first).normal(size=(rows, len(channels)))
    return Batch(entity, model, channels, values, 10**18 + SECOND * (first + np.arange(rows)))


def test_a_model_replaced_by_one_with_other_channels_starts_its_streams_anew_and_stops_no_other(
    nursery: Nursery, models: Path, other: Path, store: str, faulty: Frame
) -> None:
    shutil.copy(models / "plant.ccm", models / "second.ccm")
    assert faulty.times is not None
    value = {"channel": faulty.channels[-1], "value": 1.0, "time": str(faulty.times[431])}
    with nursery.serving(models, store, *QUIET) as server:
        key = server.key
        for entity, model in (("a", "plant"), ("b", "second")):
            server.send(entity, **as_json(faulty, 0, 430), model=model)
            server.judged(entity, 430)
        assert server.post("/v1/entities/a/values", {"values": [value]})["waiting"] == 1
        shutil.copy(other, models / "plant.ccm")
        until("changed", lambda: server.get("/v1/models/plant")["channels"] == ["p", "q"])
        until("closed", lambda: not server.events(entity="a", open=True))
        rows: dict[str, Any] = {"times": [1.8e9 + i for i in range(50)], "values": [[0.1, 0.2]] * 50}
        assert server.send("a", **rows)["accepted"] == 50
        assert server.post("/v1/entities/a/values", {"values": [{**value, "channel": "q"}]})["accepted"] == 1
        assert server.send("b", **as_json(faulty, 430, 440))["accepted"] == 10
        server.judged("a", 480)
        assert server.get("/v1/entities/a/rows")["values"] == {"p": [0.1] * 50, "q": [0.2] * 50}
        assert server.get("/v1/entities/a/trace")["channels"]
        server.kill()
    with nursery.serving(models, store, *QUIET, key=key) as server:
        assert server.get("/healthz")["left_out"] == {"entities": 0, "models": 0}
        assert server.send("a", times=[1.9e9], values=[[0.1, 0.2]])["accepted"] == 1
        assert server.send("b", **as_json(faulty, 440, 450))["accepted"] == 10
        server.judged("b", 450)


def test_rows_that_were_not_judged_before_their_model_was_replaced_stay_in_the_log(
    models: Path, other: Path, store: str
) -> None:
    shutil.copy(other, models / "other.ccm")
    engine = engine_of(models, store)
    for entity, model in (("a", "plant"), ("b", "other")):
        engine.submit(normal(engine, entity, model, 0, 5))
        engine.round()
    engine.round()
    engine.submit(normal(engine, "a", "plant", 5, 3))
    for stage in (engine.gather, engine.claim, engine.draft, engine.write, engine.answer):
        stage()  # logged and answered, and then it dies
    closed(engine)
    swapped = Detector.load(models / "plant.ccm").model_.channels[::-1]  # as many, of other names
    frame = Frame(np.random.default_rng(1).normal(size=(300, len(swapped))), swapped, None)
    Detector(epochs=1, width=8, window=4, budget="1/50 rows", seed=0).fit(frame).save(models / "plant.ccm")
    for _ in range(2):  # also after a restart
        engine = engine_of(models, store)
        assert not engine.owned.unloaded
        anew = engine.owned.entities["a"]
        assert (anew.logged, anew.stepped, anew.offset) == (8, 8, 8)
        assert engine.owned.entities["b"].stepped == 5
        engine.round()
        closed(engine)


def test_an_entity_that_cannot_be_loaded_stops_no_other_and_healthz_says_why(
    nursery: Nursery, models: Path, store: str, faulty: Frame
) -> None:
    with nursery.serving(models, store, *QUIET) as server:
        key = server.key
        for entity in "ab":
            server.send(entity, **as_json(faulty, 0, 50))
            server.judged(entity, 50)
        server.stop()
    kept = Store(store)
    with kept.write() as connection:
        number = rows_log.known(connection, ["a"])["a"].id
        connection.execute(update(snapshots).where(snapshots.c.entity == number).values(state=b"nonsense"))
    kept.close()
    with nursery.serving(models, store, *QUIET, key=key) as server:
        assert server.send("b", **as_json(faulty, 50, 60))["accepted"] == 10
        answer = server.client.post("/v1/entities/a/rows", json=as_json(faulty, 50, 60))
        assert (answer.status_code, answer.json()["type"]) == (503, "not-judged")
        health = server.get("/healthz")
        assert health["status"] == "alive"
        assert health["left_out"] == {"entities": 1, "models": 0}
        assert list(health["why"]["entities"]) == ["a"]
        assert "snapshot" in health["why"]["entities"]["a"]
        assert "ccmtad_entities_not_judged 1.0" in server.client.get("/metrics").text
        without = server.client.get("/healthz", headers={"Authorization": ""}).json()
        assert without == {"status": "alive", "left_out": {"entities": 1, "models": 0}}
        server.client.put("/v1/models/plant", content=(models / "plant.ccm").read_bytes())  # it is tried again at once
        until("tried", lambda: server.text.count("entity 'a' cannot be judged") == 2)
        assert server.send("b", **as_json(faulty, 60, 70))["accepted"] == 10
        server.stop()


def test_what_could_not_be_loaded_is_tried_again(models: Path, sqlite: str) -> None:
    engine = engine_of(models, sqlite)
    engine.submit(normal(engine, "a", "plant", 0, 5))
    engine.round()
    engine.round()
    closed(engine)
    kept = Store(sqlite)
    with kept.write() as connection:
        right = rows_log.snapshot(connection, 1)
        connection.execute(update(snapshots).values(state=b"nonsense"))
    engine = engine_of(models, sqlite)
    (left,) = engine.owned.unloaded.values()
    assert left.again > time.monotonic() + 30
    refused = engine.submit(normal(engine, "a", "plant", 5, 1))
    engine.round()
    with pytest.raises(Refusal, match="entity 'a' cannot be judged"):
        refused.result(0)
    assert right is not None
    with kept.write() as connection:
        connection.execute(update(snapshots).values(state=right.state))
    kept.close()
    engine.owned.changed(["plant"])  # or once the time has come
    engine.owned.mend()
    assert not engine.owned.unloaded
    taken = engine.submit(normal(engine, "a", "plant", 5, 1))
    engine.round()
    assert taken.result(0).rows == 6
    closed(engine)


def test_an_item_that_cannot_be_taken_is_refused_alone(models: Path, sqlite: str) -> None:
    engine = engine_of(models, sqlite)
    model = engine.models["plant"].model
    channel, now = model.channels[0], time.time_ns()
    assert model.period is not None

    def value(entity: str, name: str, at: int) -> Any:
        return engine.submit(Values(entity, "plant", ((channel, 1.0, now), (name, 1.0, at))))

    odd = [value("a", channel, at) for at in (2**63 - 1, -(2**63), 10**19, -(10**30))]
    unknown = value("a", "nobody knows it", now)
    early, late = value("a", channel, now), value("b", channel, now)
    changed = engine.submit(Batch("a", "plant", ("x", "y"), np.zeros((1, 2)), np.array([now])))
    rows = engine.submit(normal(engine, "c", "plant", 0, 1))
    engine.round()
    for one in odd:
        assert (one.result(0).accepted, one.result(0).ahead) == (1, 1)
    with pytest.raises(Refusal, match="channel must be one of the fitted data; got 'nobody knows it'"):
        unknown.result(0)
    with pytest.raises(Refusal, match="the model has other channels now"):
        changed.result(0)
    assert early.result(0).accepted == late.result(0).accepted == 2
    assert rows.result(0).rows == 1
    assert engine.owned.entities.keys() == {"a", "b", "c"}
    closed(engine)
