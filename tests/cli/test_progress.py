"""Long work shows itself, with a terminal and without."""

import threading
import time
from typing import Any

import pytest

from ccmtad.cli import progress, show


def wait_for(said: list[str], number: int) -> None:
    end = time.monotonic() + 60.0
    while len(said) < number:
        assert time.monotonic() < end, said
        time.sleep(0.005)


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.02)
    said: list[str] = []
    with progress.lines(said.append, "Learning", 2.0) as tell:
        wait_for(said, 1)
        tell(1.0, "epoch 3 of 6")
        wait_for(said, len(said) + 2)
    number = len(said)
    assert said[0].startswith("Learning: 0%, ")
    assert said[-1].startswith("Learning: 50%, epoch 3 of 6, ")
    assert not [one for one in threading.enumerate() if one.name == "progress"]
    assert len(said) == number
    with progress.lines(said.append, "Reading", None):
        wait_for(said, number + 1)
    assert said[number].startswith("Reading: 0 s")


def test_the_clock_stops_where_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.02)
    with pytest.raises(RuntimeError, match="no"), progress.lines(print, "Learning", 1.0):
        raise RuntimeError("no")
    assert not [one for one in threading.enumerate() if one.name == "progress"]


def test_what_is_quick_says_nothing_and_quiet_never_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with show.working("Reading", quiet=False, total=None) as tell:
        tell(0.5)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    with show.working("Reading", quiet=True, total=None) as tell:
        time.sleep(0.1)
        tell(0.5, "half")
    assert capsys.readouterr().err == ""


def test_lines_go_to_standard_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    told: list[Any] = []
    with show.working("Judging", quiet=False) as tell:
        tell(0.25, "[red]half[/]")  # words of the data are no markup
        end = time.monotonic() + 60.0
        while "[red]" not in "".join(told):
            assert time.monotonic() < end
            time.sleep(0.01)
            told.append(capsys.readouterr().err)
    assert "Judging: 25%, [red]half[/], 0 s\n" in "".join(told)
    assert capsys.readouterr().out == ""
