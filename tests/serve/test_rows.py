"""Rows in, events out: the same as without a service."""

import json
import subprocess
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.tables import Reading

from .rows import as_json, expected, last_of, same
from .server import Nursery

QUIET = ("--silence", "0")


def test_events_of_the_service_are_those_of_a_stream(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    told = expected(fitted, faulty, "pump 1")
    assert len(last_of(told)) >= 2
    with nursery.serving(models, store, *QUIET) as server:
        for first in range(0, len(faulty), 100):
            taken = server.send("pump 1", **as_json(faulty, first, first + 100))
            assert taken == {"accepted": 100, "duplicates": 0, "late": 0, "rows": first + 100, "notes": []}
        server.judged("pump 1", len(faulty))
        same(server.events(), told)
        scores, detected = server.get("/v1/entities/pump 1/scores"), fitted.detect(faulty)
        assert scores["row"] == list(range(len(faulty)))
        np.testing.assert_allclose(scores["score"], detected.score, rtol=1e-5, atol=1e-5)
        assert scores["alarm"] == detected.alarm.tolist()
        rows = server.get("/v1/entities/pump 1/rows", start=as_json(faulty)["times"][890])
        assert rows["row"] == list(range(890, 900))
        assert rows["values"][faulty.channels[1]] == [None] * 10
        assert rows["values"][faulty.channels[0]] == faulty.values[890:, 0].tolist()
        server.stop()


def test_what_is_sent_again_is_left_out(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    with nursery.serving(models, store, *QUIET) as server:
        server.send("a", **as_json(faulty, 0, 500))
        again = server.send("a", **as_json(faulty, 400, 600))
        assert (again["accepted"], again["duplicates"], again["rows"]) == (100, 100, 600)
        key = server.key
        server.stop()
    with nursery.serving(models, store, *QUIET, key=key) as server:
        again = server.send("a", **as_json(faulty, 0, 900))
        assert (again["accepted"], again["duplicates"], again["rows"]) == (300, 600, 900)
        server.judged("a", len(faulty))
        same(server.events(), expected(fitted, faulty, "a"))


def test_late_rows_are_taken_and_ignored_and_the_first_of_two_counts(
    nursery: Nursery, models: Path, sqlite: str, fitted: Detector, faulty: Frame
) -> None:
    with nursery.serving(models, sqlite, *QUIET) as server:
        everything = as_json(faulty)
        moved = [*range(450), *range(451, 460), 450, *range(460, 900)]  # one comes late
        sent = {name: [column[i] for i in moved] for name, column in everything.items()}
        taken = server.send("a", **sent)
        assert (taken["accepted"], taken["duplicates"], taken["late"]) == (900, 0, 1)
        liar = {"times": everything["times"][450:451], "values": [[1e6] * len(faulty.channels)]}
        assert server.send("a", **liar)["duplicates"] == 1
        twice = {name: column[:1] * 2 for name, column in everything.items()}
        assert server.send("b", **twice) == {"accepted": 1, "duplicates": 1, "late": 0, "rows": 1, "notes": []}
        server.judged("a", 900)
        assert faulty.times is not None
        same(
            server.events(entity="a"),
            expected(fitted, Frame(faulty.values[moved], faulty.channels, faulty.times[moved]), "a"),
        )


def test_rows_without_times_are_known_by_their_sequence(
    nursery: Nursery, models: Path, store: str, faulty: Frame
) -> None:
    values = as_json(faulty)["values"]
    with nursery.serving(models, store, *QUIET) as server:
        assert server.send("a", values=values[:100], sequence=0)["accepted"] == 100
        again = server.send("a", values=values[50:150], sequence=50)
        assert (again["accepted"], again["duplicates"], again["rows"]) == (50, 50, 150)
        key = server.key
        server.kill()
    with nursery.serving(models, store, *QUIET, key=key) as server:
        again = server.send("a", values=values[100:200], sequence=100)
        assert (again["accepted"], again["duplicates"], again["rows"]) == (50, 50, 200)
        assert server.send("b", values=values[:10])["accepted"] == 10  # with neither, each is new
        assert server.send("b", values=values[:10])["accepted"] == 10


def test_every_way_to_write_rows_is_read_the_same(
    nursery: Nursery, models: Path, sqlite: str, fitted: Detector, faulty: Frame
) -> None:
    told, names = as_json(faulty), list(faulty.channels)
    by_name = [dict(zip(names, row, strict=True)) for row in told["values"]]
    both = list(zip(told["times"], by_name, strict=True))
    lines = "\n".join(json.dumps({"time": time, **row}) for time, row in both)
    table = "\n".join(
        ["time," + ",".join(names)]
        + [f"{time}," + ",".join("" if one is None else repr(one) for one in row.values()) for time, row in both]
    )
    assert faulty.times is not None
    numbers = (faulty.times.astype("datetime64[ms]").astype(np.int64)).tolist()
    turned = {"times": numbers, "channels": names[::-1], "values": [row[::-1] for row in told["values"]]}
    wanted = expected(fitted, faulty, "x")
    with nursery.serving(models, sqlite, *QUIET) as server:
        server.send("columns", **told)
        server.send("turned", **turned)
        server.send("rows", rows=[{"time": time, "values": row} for time, row in both])
        for time, row in both[:3]:
            server.send("single", time=time, values=row)
        for entity, kind, text in (("lines", "application/x-ndjson", lines), ("table", "text/csv", table)):
            answer = server.client.post(f"/v1/entities/{entity}/rows", content=text, headers={"Content-Type": kind})
            assert answer.status_code == 200, answer.text
        for entity in ("columns", "turned", "rows", "lines", "table"):
            server.judged(entity, 900)
            named = [{**one, "id": one["id"].replace("x-", f"{entity}-", 1)} for one in wanted]
            same(server.events(entity=entity), named)
        assert server.get("/v1/entities/single")["rows"] == 3


def test_a_killed_service_goes_on_as_if_nothing_had_happened(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    key = ""
    for first in range(0, len(faulty), 150):
        with nursery.serving(models, store, *QUIET, key=key) as server:
            key = server.key
            server.send("a", **as_json(faulty, first, first + 75))
            server.send("a", **as_json(faulty, first + 75, first + 150))
            if first + 150 == len(faulty):
                server.judged("a", len(faulty))
                same(server.events(), expected(fitted, faulty, "a"))
            server.kill()


def test_notices_are_streamed_and_gone_on_with(
    nursery: Nursery, models: Path, store: str, fitted: Detector, faulty: Frame
) -> None:
    told = expected(fitted, faulty, "a")
    with nursery.serving(models, store, *QUIET) as server:
        server.send("a", **as_json(faulty, 0, 450))
        found: dict[int, str] = {}
        with server.client.stream("GET", "/v1/stream", params={"after": 0}) as answer:
            lines = answer.iter_lines()
            while not found:
                _take(next(lines), lines, found)
        server.send("a", **as_json(faulty, 450))
        with server.client.stream("GET", "/v1/stream", headers={"Last-Event-ID": str(max(found))}) as answer:
            lines = answer.iter_lines()
            while len(found) < len(told):
                _take(next(lines), lines, found)
    names = ("id", "revision", "change")
    assert [[json.loads(body)[name] for name in names] for _, body in sorted(found.items())] == [
        [one[name] for name in names] for one in told
    ]


def _take(line: str, lines: object, found: dict[int, str]) -> None:
    """One event of a stream, if this line begins one."""
    if line.startswith("id: "):
        assert next(lines) == "event: notice"  # type: ignore[call-overload]
        found[int(line[4:])] = next(lines)[6:]  # type: ignore[call-overload]


def test_infinite_cells_are_missing_ones(nursery: Nursery, models: Path, sqlite: str, faulty: Frame) -> None:
    lines = [
        ",".join(faulty.channels),
        *(",".join([one] * len(faulty.channels)) for one in ("1", "inf", "-inf", "nan")),
    ]
    with nursery.serving(models, sqlite, *QUIET) as server:
        answer = server.client.post(
            "/v1/entities/a/rows", content="\n".join(lines), headers={"Content-Type": "text/csv"}
        )
        assert answer.json()["accepted"] == 4
        server.judged("a", 4)
        shown = server.get("/v1/entities/a/rows")["values"]
        assert shown == {name: [1.0, None, None, None] for name in faulty.channels}
        assert server.client.get("/v1/entities/a/trace").status_code == 200


def test_marks_for_missing_values_are_those_of_the_model(
    nursery: Nursery, models: Path, sqlite: str, fitted: Detector, faulty: Frame
) -> None:
    """-9999 in the file that it was fitted on is -9999 on the wire."""
    marked = copy(fitted)
    marked._model = replace(fitted.model_, reading=Reading(missing=("-9999",)))
    for path in models.glob("*.ccm"):
        marked.save(path)
    values = faulty.values.copy()
    values[10:20, 2] = -9999.0
    with nursery.serving(models, sqlite, *QUIET) as server:
        server.send("a", **as_json(replace(faulty, values=values), 0, 100))
        server.judged("a", 100)
        shown = server.get("/v1/entities/a/rows")["values"][faulty.channels[2]]
        assert [one is None for one in shown] == [10 <= row < 20 for row in range(100)]


def test_scores_are_streamed(nursery: Nursery, models: Path, sqlite: str, fitted: Detector, faulty: Frame) -> None:
    with nursery.serving(models, sqlite, *QUIET) as server:
        server.send("a", **as_json(faulty, 0, 100))
        scores: list[float] = []
        with server.client.stream("GET", "/v1/entities/a/stream", params={"after": 0}) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    columns = json.loads(line[6:])
                    assert columns["row"][0] == len(scores)
                    scores += columns["score"]
                    if len(scores) == 100:
                        server.send("a", **as_json(faulty, 100, 200))
                    if len(scores) == 200:
                        break
    np.testing.assert_allclose(scores, fitted.detect(faulty).score[:200], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("argument", [["--help"], ["keys", "--help"]])
def test_the_command_explains_itself(argument: list[str]) -> None:
    command = [sys.executable, "-c", "from ccmtad.cli import main; main()", "serve", *argument]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "key" in done.stdout
