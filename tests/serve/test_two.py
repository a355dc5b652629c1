"""Two services on one store: each entity has one owner, and another when that is gone."""

import signal
from pathlib import Path

import httpx

from ccmtad import Detector, Frame

from .rows import as_json, expected, same
from .server import Nursery, until

QUIET = ("--silence", "0", "--lease", "1")


def test_rows_are_handed_on_and_when_one_is_killed_the_other_goes_on(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    with nursery.serving(models, store, *QUIET) as one, nursery.serving(models, store, *QUIET, key=one.key) as two:
        one.send("a", **as_json(faulty, 0, 300))
        two.send("b", **as_json(faulty, 0, 300))
        assert two.send("a", **as_json(faulty, 300, 450))["rows"] == 450  # through the other
        assert one.send("b", **as_json(faulty, 300, 450))["rows"] == 450
        owners = {found["entity"]: found["owner"] for found in one.get("/v1/entities")["entities"]}
        assert owners == {"a": one.url, "b": two.url}
        handed = {"X-Ccmtad-Handed-On": "1"}  # once, and not to and fro
        answer = two.client.post("/v1/entities/a/rows", json=as_json(faulty, 450, 460), headers=handed)
        assert (answer.status_code, answer.json()["owner"]) == (421, one.url)
        one.kill()
        until("taken over", lambda: two.get("/v1/entities/a")["owner"] == two.url)
        for entity in "ab":
            two.send(entity, **as_json(faulty, 400, 900))
            two.judged(entity, 900)
            same(two.events(entity=entity), expected(fitted, faulty, entity))


def test_one_that_was_stopped_for_too_long_writes_nothing_more(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    with nursery.serving(models, store, *QUIET) as one, nursery.serving(models, store, *QUIET, key=one.key) as two:
        one.send("a", **as_json(faulty, 0, 430))
        one.judged("a", 430)
        one.signal(signal.SIGSTOP)
        until("taken over", lambda: two.get("/v1/entities/a")["owner"] == two.url)
        two.send("a", **as_json(faulty, 430, 500))
        one.signal(signal.SIGCONT)

        def sent() -> bool:
            """It may say that it starts anew, and then hands on."""
            answer = one.client.post("/v1/entities/a/rows", json=as_json(faulty, 500, 900))
            assert answer.status_code in (200, 503), answer.text
            return answer.status_code == httpx.codes.OK

        until("handed on", sent)
        two.judged("a", 900)
        assert two.get("/v1/entities/a")["rows"] == 900
        same(two.events(), expected(fitted, faulty, "a"))


def test_one_that_ends_leaves_its_entities_to_the_other_at_once(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    patient = ("--silence", "0", "--lease", "3600")
    with nursery.serving(models, store, *patient) as one, nursery.serving(models, store, *patient, key=one.key) as two:
        one.send("a", **as_json(faulty, 0, 430))
        one.stop()
        two.send("a", **as_json(faulty, 430))
        two.judged("a", 900)
        same(two.events(), expected(fitted, faulty, "a"))
