"""Single values become rows, whatever order they come in."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad import InputError, SettingError
from ccmtad.live.assemble import Assembled, Assembler
from tests import naive

SECOND = 1_000_000_000
CHANNELS = ("flow", "level", "power")

values = st.tuples(
    st.sampled_from(CHANNELS),
    st.floats(-1e6, 1e6) | st.just(math.nan),
    st.integers(0, 20 * SECOND),
)


def shown(rows: list[Assembled]) -> list[tuple[int, list[float | None]]]:
    return [(row.time, [None if math.isnan(one) else one for one in row.values.tolist()]) for row in rows]


def assembled(told: list[tuple[str, float, int]], period: float, grace: float) -> tuple[list[Any], Assembler]:
    assembler, rows = Assembler(CHANNELS, period, grace), list[Assembled]()
    for channel, value, time in told:
        rows += assembler.take(channel, value, time)
    return shown(rows + assembler.flush()), assembler


@given(
    st.lists(values, max_size=40), st.data(), st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([0.0, 0.7, 2.0, 30.0])
)
def test_any_order_of_arrival_within_the_grace_gives_the_same_rows(
    told: list[tuple[str, float, int]], data: st.DataObject, period: float, grace: float
) -> None:
    in_order = sorted(told, key=lambda one: one[2])
    # Each may be overtaken by any that are later by the grace at most.
    delays = data.draw(st.lists(st.floats(0.0, grace), min_size=len(told), max_size=len(told)))
    arrival = sorted(range(len(told)), key=lambda i: in_order[i][2] + round(delays[i] * SECOND))
    wanted = naive.assembled(in_order, CHANNELS, round(period * SECOND))
    for order in (in_order, [in_order[i] for i in arrival]):
        rows, assembler = assembled(order, period, grace)
        assert rows == wanted
        assert assembler.late == 0


@given(st.lists(values, max_size=40), st.integers(0, 40))
def test_a_restored_one_goes_on_as_if_it_had_never_stopped(told: list[tuple[str, float, int]], place: int) -> None:
    whole, _ = assembled(told, 1.0, 2.0)
    first, rows = Assembler(CHANNELS, 1.0, 2.0), list[Assembled]()
    for one in told[:place]:
        rows += first.take(*one)
    second = Assembler(CHANNELS, 1.0, 2.0)
    second.restore(first.state())
    for one in told[place:]:
        rows += second.take(*one)
    assert shown(rows + second.flush()) == whole


def test_late_values_are_counted_and_left_out() -> None:
    assembler = Assembler(("a", "b"), period=1.0, grace=2.0)
    assert assembler.take("a", 1.0, 0) == []
    (row,) = assembler.take("a", 2.0, 3 * SECOND)  # the first period is over, and its grace
    assert row.time == 0
    np.testing.assert_array_equal(row.values, [1.0, np.nan])
    assert assembler.take("b", 5.0, SECOND // 2) == []
    assert assembler.late == 1
    assert shown(assembler.flush()) == [(3 * SECOND, [2.0, None])]
    assert assembler.take("b", 5.0, 3 * SECOND) == []
    assert assembler.late == 2


def test_a_period_without_a_value_makes_no_row() -> None:
    rows, _ = assembled([("flow", 1.0, 0), ("flow", 2.0, 10 * SECOND)], 1.0, 0.0)
    assert [time for time, _ in rows] == [0, 10 * SECOND]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(SettingError, match="period must be at least"):
        Assembler(("a",), 0.0)
    with pytest.raises(SettingError, match="grace must be at least 0 seconds; got -1"):
        Assembler(("a",), 1.0, -1.0)
    with pytest.raises(InputError, match="channel must be one of the fitted data; got 'z'"):
        Assembler(("a",), 1.0).take("z", 1.0, 0)
