"""Timeline, missing values, scaling, smoothing and windows against their slow twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad.prepare import missing, smooth, timeline, windows
from ccmtad.prepare.scale import Scaler, clip
from tests import naive

VALUES = st.lists(st.sampled_from([math.nan, 0.0, 1.0, -2.5, 7.0]), min_size=1, max_size=40)


def starts(draw_from: list[bool], rows: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    start = np.array((draw_from * rows)[:rows] if draw_from else [False] * rows, dtype=np.bool_)
    start[0] = True
    return start


@given(VALUES, st.integers(0, 6), st.lists(st.sampled_from([True, False, False, False]), max_size=12))
def test_a_missing_value_holds_its_last_for_a_while(values: list[float], limit: int, breaks: list[bool]) -> None:
    start = starts(breaks, len(values))
    filled, present = missing.hold(np.array(values)[:, None], limit, start, np.array([0.25]))
    expected, judged = naive.hold(values, limit, start.tolist(), 0.25)
    assert filled[:, 0].tolist() == expected
    assert present[:, 0].tolist() == judged


def test_training_gaps_take_the_last_value_and_leading_ones_the_median() -> None:
    values = np.array([[math.nan, 1.0], [4.0, math.nan], [math.nan, math.nan], [6.0, 3.0]])
    np.testing.assert_array_equal(missing.fill(values), [[5.0, 1.0], [4.0, 1.0], [4.0, 1.0], [6.0, 3.0]])


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=50),
    st.integers(1, 12),
    st.lists(st.sampled_from([True, False, False, False, False]), max_size=12),
)
def test_the_trailing_average_is_the_mean_of_what_has_been_seen(
    rows: list[float], length: int, breaks: list[bool]
) -> None:
    start = starts(breaks, len(rows))
    averaged = smooth.trailing(np.array(rows)[:, None], length, start)
    np.testing.assert_allclose(averaged[:, 0], naive.trailing(rows, length, start.tolist()), atol=1e-12)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.integers(1, 12))
def test_the_centred_average_reaches_almost_half_its_length_ahead(rows: list[float], length: int) -> None:
    averaged = smooth.centred(np.array(rows)[:, None], length, starts([], len(rows)))
    np.testing.assert_allclose(averaged[:, 0], naive.centred(rows, length), atol=1e-12)
    if length <= len(rows):  # as the authors have it
        np.testing.assert_allclose(averaged[:, 0], np.convolve(rows, np.ones(length) / length, "same"), atol=1e-12)


def test_an_outlier_leaves_no_rounding_error_behind_the_average() -> None:
    rows = np.full((200, 1), 0.1)
    rows[50] = 1e15
    averaged = smooth.trailing(rows, 7, starts([], 200))
    assert averaged[60:, 0] == pytest.approx(0.1, rel=1e-12)


@given(
    st.lists(st.sampled_from([True, False, False, False, False, False]), min_size=1, max_size=40),
    st.lists(st.sampled_from([True, False, False, False, False, False]), min_size=1, max_size=40),
    st.integers(2, 6),
)
def test_windows_straddle_no_break_and_hold_no_bad_row(begins: list[bool], bad: list[bool], window: int) -> None:
    start = starts(begins, len(begins))
    worse = np.array((bad * len(begins))[: len(begins)])
    found = windows.ends(start, window, worse).tolist()
    assert found == naive.window_ends(start.tolist(), window, worse.tolist())


@given(st.sets(st.integers(0, 50)))
def test_runs_cover_exactly_the_ends(rows: set[int]) -> None:
    ends = np.array(sorted(rows), dtype=np.int64)
    covered = [row for first, last in windows.runs(ends) for row in range(first, last + 1)]
    assert covered == sorted(rows)


def test_late_and_duplicate_rows_are_not_kept() -> None:
    times = np.array([0, 10, 10, 5, 20, 15, 30], dtype="datetime64[s]").astype("datetime64[ns]")
    assert timeline.kept(times, 7).tolist() == [True, True, False, False, True, False, True]
    assert timeline.median_period(times[timeline.kept(times, 7)]) == 10.0


def test_a_long_pause_starts_afresh() -> None:
    times = np.array([0, 1, 2, 50, 51], dtype="datetime64[s]").astype("datetime64[ns]")
    assert timeline.starts(times, 5, 10.0).tolist() == [True, False, False, True, False]
    assert timeline.starts(None, 3, None).tolist() == [True, False, False]


def test_scaling_maps_the_training_range_to_plus_minus_one() -> None:
    train = np.array([[0.0, 7.0], [10.0, 7.0]])
    scaled = Scaler.fit(train)(np.array([[5.0, 7.0], [20.0, 8.0]]))
    np.testing.assert_array_equal(scaled, [[0.0, -1.0], [3.0, 1.0]])  # a constant channel moves in raw units


def test_rows_are_clipped_to_four() -> None:
    assert clip(np.array([[-9.0, 3.5, 9.0]])).tolist() == [[-4.0, 3.5, 4.0]]
