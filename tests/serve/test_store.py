"""The store: its tables, and what is too old."""

import sqlite3
import time
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import delete, func, select

from ccmtad import FileError, Frame
from ccmtad.serve.settings import DAY, ServeSettings
from ccmtad.serve.store.store import Store
from ccmtad.serve.store.tables import events, log, metadata, notices, scores, words
from ccmtad.serve.upkeep import Upkeep

from .rows import as_json
from .server import Nursery


def test_the_migrations_lead_to_the_tables(store: str) -> None:
    opened = Store(store)
    with opened.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    opened.close()
    Store(store).close()  # and once more, where all is done


def test_commits_are_forced_to_the_disk(store: str) -> None:
    opened = Store(store)
    with opened.read() as connection:
        if opened.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    opened.close()


def test_closed_it_leaves_no_connection_to_the_garbage_collector(store: str) -> None:
    """Not one that is in use then, nor one that is made later."""
    opened = Store(store)
    driver = []
    with opened.read() as connection:
        driver.append(connection.connection.driver_connection)
        opened.close()
    with opened.read() as connection:
        driver.append(connection.connection.driver_connection)
    for one in driver:
        assert one is not None
        if opened.dialect.name == "sqlite":
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                one.execute("SELECT 1")
        else:
            assert one.closed


def test_what_is_too_old_goes_and_what_is_needed_stays(
    nursery: Nursery, models: Path, store: str, faulty: Frame
) -> None:
    with nursery.serving(models, store, "--silence", "0") as server:
        key = server.key
        for first in range(0, 900, 100):
            server.send("a", **as_json(faulty, first, first + 100))
        server.judged("a", 900)
        event = next(one for one in server.events() if one["change"] == "final")
        server.post(f"/v1/events/{event['id']}/comment", {"text": "gone with it"})
        server.stop()
    opened = Store(store)

    def numbers() -> list[int]:
        with opened.read() as connection:
            return [
                connection.execute(select(func.count()).select_from(table)).scalar() or 0
                for table in (log, scores, events, notices, words)
            ]

    before = numbers()
    upkeep = Upkeep(ServeSettings(models=None, keep_rows=DAY, keep_events=2 * DAY), opened)
    upkeep.clean(time.time_ns())
    assert numbers() == before  # however old the times of the rows are
    upkeep.clean(time.time_ns() + round(1.5 * DAY * 1e9))
    after = numbers()
    assert after[:2] == [0, 0]  # the last snapshot has seen all rows
    assert after[2:] == before[2:]
    upkeep.clean(time.time_ns() + round(2.5 * DAY * 1e9))
    assert numbers()[2] < before[2]
    assert numbers()[4] == 0
    opened.close()
    with nursery.serving(models, store, "--silence", "0", key=key) as server:  # the stream goes on without them
        assert server.get("/v1/entities/a")["judged"] == 900
        assert not any(one["change"] == "final" for one in server.events())
        assert server.send("a", **as_json(faulty, 890, 900))["duplicates"] == 10  # nobody remembers them: left out


def test_a_word_on_an_event_that_has_just_gone_goes_too_unless_streams_heed_it(
    nursery: Nursery, models: Path, store: str, faulty: Frame
) -> None:
    with nursery.serving(models, store, "--silence", "0") as server:
        server.send("a", **as_json(faulty, 0, 600))
        server.judged("a", 600)
        event = next(one for one in server.events() if one["change"] == "final")["id"]
        server.post(f"/v1/events/{event}/dismiss", {})
        for text in ("first", "second"):
            server.post(f"/v1/events/{event}/comment", {"text": text})
        kept = Store(store)
        with kept.write() as connection:
            connection.execute(delete(events).where(events.c.id == event))  # and their words not yet
        assert server.client.post(f"/v1/events/{event}/comment", json={"text": "too late"}).status_code == 404
        server.stop()
    Upkeep(ServeSettings(models=None), kept).clean(time.time_ns())
    with kept.read() as connection:
        assert connection.execute(select(words.c.word)).scalars().all() == ["dismissed"]
    kept.close()


@pytest.mark.parametrize("url", ["mysql://host/name", "nonsense://", "sqlite://", "sqlite:///:memory:"])
def test_a_store_that_cannot_be_used_is_said(url: str) -> None:
    with pytest.raises(FileError, match="store must be"):
        Store(url)
