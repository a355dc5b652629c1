"""Runs the engine and kills it between each pair of its stages, and between each pair of writes of its transaction;
each time another goes on. Prints what there is in the end, as JSON.

Arguments: folder of models, store, file with the rows.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from ccmtad.serve.engine import Engine
from ccmtad.serve.rows import Batch
from ccmtad.serve.service import Service
from ccmtad.serve.settings import ServeSettings
from ccmtad.serve.store import queries
from ccmtad.serve.store.store import Store
from ccmtad.serve.store.tables import entities, notices, scores

BATCH = 90
FATAL = 5  # the round in which it dies: an event is going on


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(engine: Engine, place: int) -> None:
    """It dies before the stage of this place or, from there on, before a part of what it writes, or its commit."""
    stages = list(engine.stages)
    rounds = 0

    def count(stage: Callable[[], None]) -> None:
        nonlocal rounds
        rounds += 1
        stage()

    first = stages[0]
    stages[0] = lambda: count(first)
    if place < len(stages):
        fatal = stages[place]
        stages[place] = lambda: die() if rounds + (place == 0) == FATAL else fatal()
    elif place == len(stages):
        stages.append(lambda: die() if rounds == FATAL else None)
    else:
        number, parts = place - len(stages) - 1, engine.parts

        def some(this: Any) -> list[Callable[[Any], None]]:
            found = list(parts(this))
            if rounds == FATAL:
                found.insert(number, lambda _: die())
            return found

        engine.parts = some  # type: ignore[method-assign]
    engine.stages = tuple(stages)  # type: ignore[assignment]


PLACES = 6 + 1 + 4  # stages, after the last, parts of the transaction and its commit


def made(models: str, store: str) -> Engine:
    settings = ServeSettings(models=Path(models), store=store, silence=0.0, snapshot_rows=200)
    engine = Service(settings).engine
    assert engine._begin()
    return engine


def feed(engine: Engine, entity: str, rows: dict[str, Any], acknowledged: Path | None = None) -> None:
    """All batches, one round for each; what is acknowledged is put down at once."""
    for first in range(0, len(rows["times"]), BATCH):
        part = slice(first, first + BATCH)
        channels = engine.models["plant"].model.channels
        answer: Future[Any] = engine.submit(Batch(entity, "plant", channels, rows["values"][part], rows["times"][part]))
        if acknowledged is not None:
            answer.add_done_callback(lambda done: acknowledged.write_text(str(done.result().rows)))
        engine.round()
        assert answer.done()
    engine.round()  # what came of the last rows is written


def in_a_child(work: Callable[[], None]) -> int:
    process = os.fork()
    if not process:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(models: str, store: str, file: str) -> None:
    rows = dict(np.load(file))
    ends = []
    for place in range(PLACES + 1):

        def life(place: int = place) -> None:
            """Goes on with what the one before has left, and dies over another entity."""
            engine = made(models, store)
            if place:
                there, said = engine.owned.entities[f"e{place - 1}"].logged, Path(f"{file}.{place - 1}").read_text()
                assert there >= int(said), (there, said)
                feed(engine, f"e{place - 1}", rows)
            if place < PLACES:
                dying(engine, place)
                feed(engine, f"e{place}", rows, Path(f"{file}.{place}"))

        ends.append(in_a_child(life))
    opened = Store(store)
    found = {f"e{place}": state(opened, f"e{place}") for place in range(PLACES)}
    opened.close()
    sys.stdout.write(json.dumps({"ends": ends, "found": found}) + "\n")


def state(store: Store, entity: str) -> dict[str, Any]:
    with store.read() as connection:
        number, logged, stepped = connection.execute(
            select(entities.c.id, entities.c.logged, entities.c.stepped).where(entities.c.name == entity)
        ).one()
        spans = connection.execute(
            select(scores.c.first, scores.c.rows).where(scores.c.entity == number).order_by(scores.c.first)
        ).all()
        told = connection.execute(select(notices.c.body).where(notices.c.entity == number).order_by(notices.c.seq))
        bodies = [json.loads(body) for body in told.scalars()]
        events, _ = queries.event_page(connection, entity=entity)
    return {
        "logged": logged,
        "stepped": stepped,
        "spans": [list(span) for span in spans],
        "notices": bodies,
        "events": events,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
