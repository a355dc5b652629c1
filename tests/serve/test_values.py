"""Single values, in any order, through the service."""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from ccmtad import Detector, Frame

from .rows import expected, same
from .server import Nursery, until

QUIET = ("--silence", "0", "--grace", "300")


def test_values_in_any_order_give_the_events_of_whole_rows_also_after_a_kill(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    assert faulty.times is not None
    dice, seconds = random.Random(4), faulty.times.astype("datetime64[s]").astype(np.int64).tolist()
    told = [
        {"channel": name, "value": None if np.isnan(value) else value, "time": time + dice.randrange(60)}
        for row, time in zip(faulty.values, seconds, strict=True)
        for name, value in zip(faulty.channels, row, strict=True)
    ]
    told.sort(key=lambda one: one["time"] + dice.randrange(300))  # each is late by less than the grace
    half = len(told) // 2
    with nursery.serving(models, store, *QUIET) as server:
        key = server.key
        taken = server.post("/v1/entities/a/values", {"values": told[:half]})
        assert (taken["accepted"], taken["late"]) == (half, 0)
        assert taken["waiting"] > 0
        server.kill()
    with nursery.serving(models, store, *QUIET, key=key) as server:
        for first in range(half, len(told), 5_000):
            taken = server.post("/v1/entities/a/values", {"values": told[first : min(first + 5_000, len(told))]})
            assert taken["late"] == 0
        late = server.post("/v1/entities/a/values", {"values": told[:3]})
        assert (late["accepted"], late["late"]) == (0, 3)
        last = {"channel": faulty.channels[0], "value": 1.0, "time": seconds[-1] + 3_600}
        server.post("/v1/entities/a/values", {"values": [last]})  # all that waited is whole
        server.judged("a", 900)
        same(server.events(), expected(fitted, faulty, "a"))


def test_values_that_wait_for_nobody_become_rows(nursery: Nursery, quick_models: Path, sqlite: str) -> None:
    with nursery.serving(quick_models, sqlite, "--silence", "0", "--grace", "0.1") as server:
        told = [{"channel": "x", "value": 1.0, "time": 1e9}, {"channel": "y", "value": None, "time": 1e9}]
        taken = server.post("/v1/entities/a/values", {"values": told})
        assert (taken["rows"], taken["waiting"]) == (0, 1)
        until("a row", lambda: server.get("/v1/entities/a")["rows"] == 1)
        assert server.get("/v1/entities/a/rows")["values"] == {"x": [1.0], "y": [None]}


def test_a_value_stamped_far_ahead_is_left_out_and_those_after_it_are_not_late(
    nursery: Nursery, quick_models: Path, sqlite: str
) -> None:
    now = time.time()
    told = [{"channel": "x", "value": 1.0, "time": at} for at in (now, now + 1, "2036-01-01", now + 10 * 365 * 86_400)]
    with nursery.serving(quick_models, sqlite, "--silence", "0", "--grace", "0.1") as server:
        taken = server.post("/v1/entities/a/values", {"values": told})
        assert (taken["accepted"], taken["ahead"], taken["late"]) == (2, 2, 0)
        after = {"channel": "y", "value": 2.0, "time": now + 2}
        taken = server.post("/v1/entities/a/values", {"values": [after]})
        assert (taken["accepted"], taken["ahead"], taken["late"]) == (1, 0, 0)
        assert 'ccmtad_values_total{what="ahead"} 2.0' in server.client.get("/metrics").text
    with nursery.serving(quick_models, sqlite, "--silence", "0", "--ahead", "0", "--no-keys") as server:
        assert server.post("/v1/entities/b/values", {"values": told})["ahead"] == 0  # a plant that is simulated, say


def test_wrong_values_are_refused(nursery: Nursery, quick_models: Path, sqlite: str) -> None:
    right = {"channel": "x", "value": 1.0, "time": 1e9}
    with nursery.serving(quick_models, sqlite, "--silence", "0") as server:
        bodies: tuple[Any, ...] = (
            {}, {"values": []}, {"values": 3}, {"values": [3]}, {"values": [{**right, "channel": "z"}]},
            {"values": [{**right, "channel": None}]}, {"values": [{**right, "value": "1"}]},
            {"values": [{**right, "time": None}]}, {"values": [right, {}]}, [right],
        )  # fmt: skip
        for wrong in bodies:
            answer = server.client.post("/v1/entities/a/values", json=wrong)
            assert answer.status_code == 422, (wrong, answer.text)
        assert server.client.get("/v1/entities/a").status_code == 404
