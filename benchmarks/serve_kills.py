"""Kills a service again and again while rows come in: what was acknowledged must be there, each row judged once, and
the notices those of a stream that nobody interrupted.

    python benchmarks/serve_kills.py [--store sqlite|postgresql] [--kills 50] [--entities 20]
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sqlalchemy import select

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.serve.rows import as_json, expected  # noqa: E402
from tests.serve.server import Nursery  # noqa: E402

from ccmtad import Detector, Frame  # noqa: E402
from ccmtad.serve.store.log import chunks  # noqa: E402
from ccmtad.serve.store.store import Store  # noqa: E402
from ccmtad.serve.store.tables import entities, notices, scores  # noqa: E402
from ccmtad.simulate import schedule, simulate  # noqa: E402
from serve import fresh_store  # noqa: E402  beside this file

BATCH = 25
ROWS = 20_000
LONGEST_LIFE = 2.5  # seconds


@dataclass
class Feeding:
    """One entity: its rows, and how many were acknowledged."""

    name: str
    frame: Frame
    acknowledged: int = 0
    sent_again: int = 0


@dataclass
class Load:
    """Sends rows of all entities, batch after batch, whatever becomes of the service."""

    feedings: list[Feeding]
    url: str = ""
    key: str = ""
    stopped: bool = False
    answers: dict[int, int] = field(default_factory=dict)

    def run(self, mine: list[Feeding]) -> None:
        """One connection."""
        client = httpx.Client(timeout=30.0, trust_env=False)
        while not self.stopped:
            for one in mine:
                if one.acknowledged < ROWS:
                    self.send(client, one)
        client.close()

    def send(self, client: httpx.Client, one: Feeding) -> None:
        body = as_json(one.frame, one.acknowledged, one.acknowledged + BATCH)
        headers = {"Authorization": f"Bearer {self.key}"}
        try:
            answer = client.post(f"{self.url}/v1/entities/{one.name}/rows", json=body, headers=headers)
        except httpx.HTTPError:
            self.answers[0] = self.answers.get(0, 0) + 1
            time.sleep(0.02)
            return
        self.answers[answer.status_code] = self.answers.get(answer.status_code, 0) + 1
        if answer.status_code == 200:
            told = answer.json()
            assert told["accepted"] + told["duplicates"] == len(body["times"]), told
            one.sent_again += told["duplicates"]
            one.acknowledged += len(body["times"])
        else:
            time.sleep(0.02)


def kill(kind: str, kills: int, number: int, detector: Detector, models: Path, nursery: Nursery) -> None:
    """One store."""
    dice = random.Random(7)
    frames = [simulate(ROWS, seed=100 + i, faults=schedule(ROWS, seed=100 + i)).frame for i in range(number)]
    load = Load([Feeding(f"plant-{i}", frame) for i, frame in enumerate(frames)])
    threads = [threading.Thread(target=load.run, args=(load.feedings[i::5],)) for i in range(5)]
    began = time.perf_counter()
    with fresh_store(kind) as store:
        for killed in range(kills + 1):
            with nursery.serving(models, store, "--silence", "0", "--rate", "100000", key=load.key) as server:
                load.url, load.key = server.url, server.key
                if not killed:
                    for thread in threads:
                        thread.start()
                time.sleep(dice.random() * LONGEST_LIFE)
                if killed < kills:
                    server.kill()
                    continue
                load.stopped = True
                for thread in threads:
                    thread.join()
                for one in load.feedings:
                    server.judged(one.name, server.get(f"/v1/entities/{one.name}")["rows"])
                server.stop()
        spent = time.perf_counter() - began
        opened = Store(store)
        report(kind, kills, load, opened, detector, spent)
        opened.close()


def report(kind: str, kills: int, load: Load, store: Store, detector: Detector, spent: float) -> None:
    """What there is, against what there should be."""
    lost = twice = wrong = differing = told = opened = 0
    for one in load.feedings:
        assert one.frame.times is not None
        with store.read() as connection:
            row = connection.execute(select(entities).where(entities.c.name == one.name)).one()
            spans = connection.execute(
                select(scores.c.first, scores.c.rows).where(scores.c.entity == row.id).order_by(scores.c.first)
            ).all()
            bodies = connection.execute(
                select(notices.c.body).where(notices.c.entity == row.id).order_by(notices.c.seq)
            ).scalars()
            found: list[dict[str, Any]] = [json.loads(body) for body in bodies]
        values = np.concatenate([chunk.values for chunk in chunks(store, row.id, 0)])
        lost += max(one.acknowledged - len(values), 0)
        wrong += int((values != one.frame.values[: len(values)]).any(axis=1).sum())
        judged = np.concatenate([np.arange(first, first + rows) for first, rows in spans])
        twice += len(judged) - len(np.unique(judged))
        assert np.array_equal(np.unique(judged), np.arange(len(values))), "rows that were never judged"
        part = Frame(one.frame.values[: len(values)], one.frame.channels, one.frame.times[: len(values)])
        wanted = expected(detector, part, one.name)
        told += len(wanted)
        opened += sum(notice["change"] == "opened" for notice in wanted)
        same = [{name: notice[name] for name in other} for notice, other in zip(found, wanted, strict=False)]
        differing += abs(len(found) - len(wanted)) + sum(a != b for a, b in zip(same, wanted, strict=False))
    rows = sum(one.acknowledged for one in load.feedings)
    again = sum(one.sent_again for one in load.feedings)
    print(
        f"{kind}: {kills} kills in {spent:.0f} s, {len(load.feedings)} entities, {rows:,} rows acknowledged "
        f"({again:,} were there already when they were sent again); answers {dict(sorted(load.answers.items()))}\n"
        f"  acknowledged rows lost: {lost}; rows that differ: {wrong}; rows stepped twice: {twice}; "
        f"notices that differ from an uninterrupted stream: {differing} of {told} ({opened} events)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="append", help="sqlite or postgresql; repeatable")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--entities", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder) / "models"
        models.mkdir()
        detector = Detector(epochs=3, width=32, seed=1).fit(simulate(6_000, seed=11).frame)
        detector.save(models / "plant.ccm")
        nursery = Nursery(models / "plant.ccm", Path(folder))
        for kind in options.store or ["sqlite", "postgresql"]:
            kill(kind, options.kills, options.entities, detector, models, nursery)
        nursery.close()


if __name__ == "__main__":
    main()
