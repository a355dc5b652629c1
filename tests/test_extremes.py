"""Values and times at the ends of what a machine can hold, and series longer than memory likes."""

import tracemalloc
import warnings
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad import Detector, Frame, InputError
from ccmtad.compiled import available
from ccmtad.doctor import examine
from ccmtad.frame import nanoseconds
from ccmtad.model import BLOCK
from ccmtad.network.engine import Engine
from ccmtad.prepare.missing import Holding
from ccmtad.stream import Stream


class Broken(tzinfo):
    """A zone that fails."""

    def utcoffset(self, _: datetime | None) -> timedelta:
        raise ZeroDivisionError

    dst = utcoffset

    def tzname(self, _: datetime | None) -> str:
        raise ZeroDivisionError


@pytest.fixture(scope="module", params=[1, 3])
def small(request: pytest.FixtureRequest) -> Detector:
    t = np.arange(500)[:, None]
    values = np.sin(t / [9, 7, 5]) + 0.02 * np.random.default_rng(0).normal(size=(500, 3))
    return Detector(epochs=1, width=6, window=4, blocks=1, smooth=request.param).fit(values)


def rows(count: int = 60) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = np.sin(np.arange(count)[:, None] / [9, 7, 5])
    for place, value in ((20, 1e308), (21, -1e308), (30, 1.7e308), (40, 5e-324)):
        values[place] = value
    return values


@pytest.mark.parametrize("compiled", [True, False])
def test_values_of_1e308_warn_of_nothing_and_leave_no_half_changed_stream(small: Detector, compiled: bool) -> None:
    if compiled and not available():
        pytest.skip("numba is missing: pip install 'ccmtad[fast]'")
    model = small.model_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = Stream(model, Engine(model.weights, model.architecture, compiled=compiled))
        steps = [stream.update(row) for row in rows()]
        found = small.detect(rows())
        assert found.blame.shape == (60, 3)
        assert examine(Frame(np.tile(rows(), (5, 1)), ("a", "b", "c")))
    assert stream.tally.rows == 60
    assert steps[20].alarm
    assert found.alarm[20]


NO_TIMES: tuple[object, ...] = (
    10**400, -(10**5_000), Fraction(10**400, 3), Decimal(5), np.timedelta64(5, "s"), np.datetime64(2**62, "Y"),
    np.datetime64(10**12, "D"), np.datetime64("NaT"), np.longdouble("1e4000"), float("nan"), float("inf"), 1e300,
    True, date(2026, 1, 1), datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
    datetime(2026, 1, 1, tzinfo=Broken()), np.array(5.0), np.array([1, 2]), b"2026-01-01", "2026-01-01\ud800",
    "9" * 10**5, complex(1), [], {}, object(),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(NO_TIMES)))
def test_a_time_that_is_none_is_an_input_error_and_changes_nothing(small: Detector, number: int) -> None:
    stream = small.stream()
    stream.update([0, 0, 0], 5)
    before = stream.snapshot()
    with pytest.raises(InputError, match="time must be a datetime, an ISO date and time, or seconds") as told:
        stream.update([0, 0, 0], NO_TIMES[number])
    assert len(str(told.value)) < 300
    assert stream.snapshot() == before


def test_a_time_of_any_unit_is_the_same_time() -> None:
    wanted = nanoseconds(datetime(2026, 1, 1, tzinfo=UTC))
    for unit in ("Y", "M", "D", "h", "s", "ms", "us", "ns"):
        assert nanoseconds(np.datetime64("2026-01-01T00", "h").astype(f"datetime64[{unit}]")) == wanted
    assert nanoseconds(np.datetime64(10**12, "ps")) == 10**9


def test_a_detection_makes_nothing_of_the_size_of_its_data_but_what_the_network_takes() -> None:
    channels, many = 40, 12 * BLOCK
    values = np.sin(np.arange(many)[:, None] / np.arange(5, 5 + channels))
    detector = Detector(epochs=1, width=8, window=4, blocks=1, clusters=1).fit(values[:1_000])
    values[100:200, 3] = np.nan
    frame = Frame(values, tuple(map(str, range(channels))), named=False)
    detector.detect(frame.values[: 2 * BLOCK])  # what is compiled and imported once is not counted
    tracemalloc.start()
    try:
        found = detector.detect(frame)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    single, marks, per_row = values.nbytes // 2, values.size, 200 * many  # rows of the network, present or not
    assert len(found) == many
    assert peak < single + marks + per_row + 20_000_000


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=2, max_size=40), st.data())
def test_values_are_held_alike_however_the_series_is_cut(cells: list[float], data: st.DataObject) -> None:
    values = np.array(cells)[:, None]
    start = np.array(data.draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells))))
    start[0] = True
    whole, present = Holding(2, np.array([0.25])).take(values, start)
    cut = data.draw(st.integers(1, len(cells) - 1))
    holding = Holding(2, np.array([0.25]))
    parts = [holding.take(values[:cut], start[:cut]), holding.take(values[cut:], start[cut:])]
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), whole)
    judged = [np.ones(part.shape, dtype=np.bool_) if there is None else there for part, there in parts]
    np.testing.assert_array_equal(np.concatenate(judged), np.ones(whole.shape) if present is None else present)


@pytest.mark.parametrize("smooth", [1, 7, 50])
def test_a_long_series_is_made_ready_as_its_pieces_say(smooth: int) -> None:
    """Piece by piece is the whole at once: missing values, late rows and pauses across the seams."""
    from ccmtad.model import prepare
    from ccmtad.prepare import missing, timeline

    random, many = np.random.default_rng(smooth), 3 * BLOCK + 17
    values = np.cumsum(random.normal(size=(many, 3)), axis=0)
    values[random.random(size=values.shape) < 0.2] = np.nan
    values[BLOCK - 40 : BLOCK + 40, 1] = np.nan
    times = np.datetime64("2026-01-01", "ns") + np.arange(many) * np.timedelta64(1, "s")
    times[2 * BLOCK - 3 :] += np.timedelta64(100, "s")
    times[50] = times[40]
    frame = Frame(values, ("a", "b", "c"), times)
    detector = Detector(epochs=1, width=4, window=4, blocks=1, smooth=smooth).fit(
        Frame(random.normal(size=(400, 3)), frame.channels, times[1_000:1_400])
    )
    model = detector.model_
    kept = timeline.kept(times, many, model.longest_pause)
    start = timeline.starts(times[kept], int(kept.sum()), model.longest_pause)
    held, present = missing.hold(values[kept], model.settings.hold_rows, start, model.fallback)
    made = model.series(frame)
    np.testing.assert_array_equal(made.rows, prepare(held, start, model.scaler, model.settings))
    np.testing.assert_array_equal(made.present, present)


def test_answers_at_several_budgets_share_no_array() -> None:
    values = np.sin(np.arange(600)[:, None] / [9, 7, 5])
    found = Detector(epochs=1, width=6, window=4, blocks=1).fit(values).backtest(values, ["1/100 rows", "1/1000 rows"])
    one, other = found.values()
    for name in ("loss", "pvalue", "evidence", "score", "alarm", "label"):
        assert not np.shares_memory(getattr(one, name), getattr(other, name))
