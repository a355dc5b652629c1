"""Events judged against true faults."""

import math

import numpy as np
import pytest

from ccmtad import Detection, Event, Frame, Settings
from ccmtad.bench.judge import judge
from ccmtad.results import Health, Learnt
from ccmtad.simulate import Fault


def fault(start: int, end: int, *affected: str) -> Fault:
    return Fault("leak", affected[0], start, end, 1.0, affected)


def event(alarm: int, end: int, *channels: str) -> Event:
    return Event(alarm - 2, alarm, end, 2.0, channels, (1.0,) * len(channels))


def detection(rows: int, *events: Event) -> Detection:
    alarm = np.zeros(rows, dtype=np.bool_)
    for one in events:
        assert one.end is not None
        alarm[one.alarm : one.end + 1] = True
    zeros = np.zeros(rows)
    return Detection(
        zeros,
        zeros,
        zeros,
        zeros,
        alarm,
        alarm,
        zeros,
        events,
        {"anomaly": alarm},
        1.0,
        Frame(np.zeros((rows, 1)), ("a",)),
        Health("healthy", 0.0, ""),
        Learnt(Settings(), (("a",),), None, None, 0.05, 100, (), None),
        lambda: np.zeros((rows, 1), np.float32),
        lambda first, last: np.zeros((last - first + 1, 1)),
    )


def test_a_fault_is_found_from_its_start_to_its_end_plus_a_window() -> None:
    faults = [fault(100, 120, "a"), fault(300, 320, "b")]
    early, within, late = event(99, 99, "a"), event(330, 335, "x", "y", "b"), event(331, 331, "a")
    result = judge(detection(1_000, early, within, late), faults, window=10)
    assert [match.event for match in result.matches] == [None, within]
    assert result.false_events == (early, late)
    assert result.found[0].delay == 30
    assert result.median_delay == 30
    assert result.blamed == 1.0
    normal = 1_000 - 2 * 31
    assert result.normal_alarm == pytest.approx((1 + 5) / normal)


def test_an_alarm_already_on_does_not_find_the_next_fault() -> None:
    result = judge(detection(500, event(105, 250, "a")), [fault(100, 120, "a"), fault(200, 220, "b")], window=10)
    assert [match.event is not None for match in result.matches] == [True, False]
    assert result.matches[1].masked_by is not None
    assert result.matches[0].masked_by is None


def test_blame_counts_the_first_three_channels() -> None:
    result = judge(detection(500, event(105, 110, "x", "y", "z", "a")), [fault(100, 120, "a")], window=10)
    assert result.blamed == 0.0


def test_nothing_found_has_no_delay() -> None:
    result = judge(detection(500), [fault(100, 120, "a")], window=10)
    assert math.isnan(result.median_delay)
    assert math.isnan(result.blamed)
    assert result.normal_alarm == 0.0
