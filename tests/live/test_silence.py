"""A source that has gone silent."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ccmtad import Detector
from ccmtad.live.journal import Journal, Notice
from ccmtad.live.silence import SILENT, Silence
from ccmtad.live.sources.file import FollowedFile
from ccmtad.live.sources.lines import LineSource
from ccmtad.live.watch import Watch
from ccmtad.tables.lines import Parser

GOLDEN = Path(__file__).parents[1] / "golden"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_silence_is_told_once_and_ends_with_the_next_row() -> None:
    clock, journal = Clock(), Journal("plant")
    silence = Silence(10.0, clock)
    assert silence.heard(0) is None
    clock.now = 9.0
    assert silence.look(5, 10**9) is None
    clock.now = 25.0
    opened = silence.look(5, 10**9)
    assert opened is not None
    assert (opened.what, opened.event.kind, opened.event.severity) == ("opened", "signal lost", 2.5)
    assert opened.event.sentence == "no rows at all, since 1970-01-01 00:00:01"
    assert silence.look(5, 10**9) is None
    first = journal.take(opened, SILENT)
    kept, told = json.loads(json.dumps(silence.state())), json.loads(json.dumps(journal.state()))
    again, other = Silence(10.0, clock), Journal("plant")
    again.restore(kept)
    other.restore(told)
    clock.now = 85.0
    ended = again.heard(61 * 10**9)
    assert ended is not None
    last = other.take(ended, SILENT)
    assert first is not None
    assert last is not None
    assert (first.id, first.revision, last.id, last.revision) == ("plant-signal lost-5", 1, "plant-signal lost-5", 2)
    assert last.event.sentence == "no rows at all, for 1 min"
    assert again.heard(None) is None


def test_a_silence_is_as_long_as_nothing_came_also_where_rows_were_kept_back_meanwhile() -> None:
    clock = Clock()
    silence = Silence(10.0, clock)
    clock.now = 25.0
    assert silence.look(5, 10**9) is not None
    clock.now = 30.0
    ended = silence.heard(2 * 10**9)  # the row that was due next
    assert ended is not None
    assert ended.event.sentence == "no rows at all, for 30 s"


def test_where_the_period_is_unknown_nothing_is_silent() -> None:
    clock = Clock()
    silence = Silence(None, clock)
    clock.now = 1e9
    assert silence.look(5, None) is None


def test_a_source_that_is_gone_is_silent_even_where_the_period_is_unknown() -> None:
    clock = Clock()
    silence = Silence(None, clock)
    clock.now = 61.0
    opened = silence.look(5, None, troubled=True)
    assert opened is not None
    assert (opened.what, opened.event.kind) == ("opened", "signal lost")


def test_silence_is_noted_with_its_reason_and_so_is_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, *rows = (GOLDEN / "watch-v1.csv").read_text().splitlines(keepends=True)
    source, detector, clock = tmp_path / "a.csv", Detector.load(GOLDEN / "watch-v1.ccm"), Clock()
    source.write_text("".join([header, *rows[:50]]))
    notices: list[Notice] = []
    followed = FollowedFile(source)
    lines = LineSource(followed, Parser(detector.model_.channels, detector.model_.named))
    watch = Watch(detector, lines, "plant", None, notices.append)
    watch.silence.clock = clock
    looks: list[Callable[[], object]] = [
        lambda: source.write_text("".join(rows[50:60])),
        lambda: setattr(clock, "now", 1e6),
        source.unlink,
    ]

    def wait(_: float) -> None:
        if looks:
            looks.pop()()
        watch.stopped = watch.rows == 60
        followed.quiet_since = -1e9  # no grace for the deleted one

    monkeypatch.setattr(lines, "wait", wait)
    watch.run()
    assert [(one.event.kind, one.event.channels, one.change) for one in notices] == [
        ("signal lost", (), "opened"),
        ("signal lost", (), "final"),
    ]
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        f"source {source} is gone: waiting",
        "no row has come for 10 min: the source is gone",
        f"source {source} can be read again",
        "row 50: rows come again",
    ]
