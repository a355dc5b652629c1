"""Clocks that are wrong for a while."""

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad import Detector, Frame
from ccmtad.prepare import timeline

MINUTE = np.timedelta64(60, "s")


def minutes(rows: int) -> NDArray[np.datetime64]:
    return np.datetime64("2026-01-01", "ns") + np.arange(rows) * MINUTE


def test_one_row_from_the_future_costs_two_more_and_not_all() -> None:
    times = minutes(100)
    times[40] = np.datetime64("2036-01-01", "ns")
    kept = timeline.kept(times, 100, 600.0)
    assert np.flatnonzero(~kept).tolist() == [41, 42]
    starts = timeline.starts(times[kept], int(kept.sum()), 600.0)
    assert np.flatnonzero(starts).tolist() == [0, 40, 41]  # the jump, and the way back


def test_rows_sent_again_are_never_judged_twice() -> None:
    times = np.concatenate([minutes(50), minutes(120)[80:], minutes(50)[20:], minutes(120)[90:], minutes(130)[120:]])
    kept = timeline.kept(times, len(times), 600.0)
    assert np.flatnonzero(kept).tolist() == [*range(90), *range(len(times) - 10, len(times))]


def test_a_backlog_from_inside_a_pause_is_taken_and_so_is_what_follows() -> None:
    times = np.concatenate([minutes(50), minutes(130)[100:110], minutes(90)[60:], minutes(130)[110:]])
    kept = timeline.kept(times, len(times), 600.0)
    assert np.flatnonzero(~kept).tolist() == [60, 61]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=50))
def test_no_row_is_kept_because_of_a_later_one(stamps: list[int]) -> None:
    times = np.datetime64("2026-01-01", "ns") + np.array(stamps) * MINUTE
    whole = timeline.kept(times, len(times), 300.0)
    for cut in range(1, len(times)):
        np.testing.assert_array_equal(timeline.kept(times[:cut], cut, 300.0), whole[:cut])


def test_a_wrong_clock_is_said_and_recovered_from(caplog: pytest.LogCaptureFixture) -> None:
    random, rows = np.random.default_rng(0), 3_000
    values = np.column_stack([np.sin(np.arange(rows) / 20 + i) + 0.1 * random.normal(size=rows) for i in range(3)])
    detector = Detector(epochs=1, width=16, blocks=1).fit(Frame(values[:2_000], tuple("abc"), minutes(2_000)))
    recent, times = values[2_000:].copy(), minutes(3_000)[2_000:].copy()
    recent[600, 1] += 30.0
    times[100] = np.datetime64("2036-01-01", "ns")
    with caplog.at_level(logging.WARNING):
        result = detector.detect(Frame(recent, tuple("abc"), times))
    assert "the clock was ahead up to row 100 (2036-01-01 00:00:00), and is right again from row 103 on" in caplog.text
    assert 600 in {event.alarm for event in result.events}
    stream = detector.stream()
    steps = [stream.update(row, time) for row, time in zip(recent, times, strict=True)]
    notes = {step.index: step.notes for step in steps if step.notes}
    assert notes[100][0].startswith("the clock jumps ahead by 3.65e+03 days")
    assert notes[103] == ("the clock was ahead, and is right again: window restarted",)
    np.testing.assert_array_equal([step.score for step in steps], result.score)
    resumed = detector.stream()
    for row, time in zip(recent[:102], times[:102], strict=True):
        resumed.update(row, time)
    other = detector.stream(resume=resumed.snapshot())
    rest = [other.update(row, time) for row, time in zip(recent[102:], times[102:], strict=True)]
    assert [step.score for step in rest] == [step.score for step in steps[102:]]
