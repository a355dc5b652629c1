"""A source that has gone silent."""

import json

from ccmtad.live.journal import Journal
from ccmtad.live.silence import SILENT, Silence


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


def test_where_the_period_is_unknown_nothing_is_silent() -> None:
    clock = Clock()
    silence = Silence(None, clock)
    clock.now = 1e9
    assert silence.look(5, None) is None
