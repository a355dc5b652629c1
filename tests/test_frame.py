"""Anything table-like becomes a frame, or an error a person can act on."""

import math
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ccmtad import ChannelError, Detector, Frame, InputError
from ccmtad.results import plain, said_of

TIMES = pd.date_range("2026-03-01", periods=3, freq="min")
EXPECTED = np.array("2026-03-01T00:00", dtype="datetime64[ns]") + np.arange(3) * np.timedelta64(60_000_000_000, "ns")
DATA = {"flow": [1.0, 2.0, None], "pump": [True, False, True]}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(DATA, index=TIMES),
        pd.DataFrame({"when": TIMES, **DATA}),
        pl.DataFrame({"when": list(TIMES.to_pydatetime()), **DATA}),
        pa.table({"when": list(TIMES.to_pydatetime()), **DATA}),
        pd.DataFrame(DATA, index=TIMES.tz_localize("UTC").tz_convert("Asia/Tokyo")),
        pl.DataFrame({"when": list(TIMES.to_pydatetime()), **DATA}).with_columns(
            pl.col("when").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
        ),
    ],
    ids=["pandas index", "pandas column", "polars", "pyarrow", "pandas zone", "polars zone"],
)
def test_dataframes_keep_names_times_and_missing_values(table: Any) -> None:
    frame = Frame.of(table)
    assert frame.channels == ("flow", "pump")
    np.testing.assert_array_equal(frame.values, [[1.0, 1.0], [2.0, 0.0], [math.nan, 1.0]])
    assert frame.times is not None
    np.testing.assert_array_equal(frame.times, EXPECTED)


def test_arrays_have_positions_for_names() -> None:
    frame = Frame.of(np.arange(6).reshape(3, 2))
    assert (frame.channels, frame.named, frame.times) == (("0", "1"), False, None)
    assert Frame.of([[1, 2], [3, None]]).values.tolist()[0] == [1.0, 2.0]


def test_a_numeric_time_column_is_seconds() -> None:
    frame = Frame.of(pl.DataFrame({"t": [0.0, 0.5, 60.0], "x": [1, 2, 3]}), time="t")
    assert frame.channels == ("x",)
    assert frame.times is not None
    assert np.diff(frame.times).astype(int).tolist() == [500_000_000, 59_500_000_000]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.empty((0, 3)), "at least one row; got none"),
        (np.empty((3, 0)), "at least one channel; got none"),
        (
            np.arange(5.0),
            r"two dimensions \(rows, channels\); got shape \(5,\); for a single channel write x\[:, None\]",
        ),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.array([["a", "b"]]), "real numbers; got values of type"),
        (np.array([[1 + 2j]]), "real numbers; got values of type complex128"),
        ([[1, "x"]], "must hold"),
        ([[1, 2], [3]], "rows of unequal length"),
        (np.array([[1.0, np.inf]]), r"finite .* got inf in row 0, channel '1'"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), r"must hold numbers; column 'b' holds 'x'"),
        (pd.DataFrame({"a": [1, None, "z"]}, dtype=object), r"column 'a' holds 'z'"),
        (pl.DataFrame({"a": ["1", "2"]}), r"column 'a' holds '1' \(String\)"),
        (pl.DataFrame({"a": [1.0, -math.inf]}), r"got -inf in row 1, channel 'a'"),
        (pd.DataFrame({"a": [1]}, index=[pd.NaT]), "index has none in row 0"),
        (
            pl.DataFrame({"t": [None], "a": [1]}, schema={"t": pl.Datetime, "a": pl.Int64}),
            "'t' has none in row 0",
        ),
        (pd.DataFrame({"s": TIMES, "e": TIMES, "a": 1}), "one time column; got 's', 'e'"),
        (None, "must have two dimensions"),
        ("data.csv", "must have two dimensions"),
    ],
)
def test_bad_tables_are_clear_errors(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Frame.of(table, argument="train")
    assert str(caught.value).startswith("train must")


def test_columns_named_by_numbers_are_channels() -> None:
    assert Frame.of(pd.DataFrame(np.zeros((2, 3)))).channels == ("0", "1", "2")
    two_levels = pd.DataFrame(np.zeros((2, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert len(Frame.of(two_levels).channels) == 2


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1.0, 2.0], "dead": [None, None]}),
        pd.DataFrame({"a": [1, 2], "dead": pd.array([None, None], dtype="Int64")}),
        pl.DataFrame({"a": [1.0, 2.0], "dead": [None, None]}),
        pa.table({"a": [1.0, 2.0], "dead": pa.nulls(2)}),
        np.ma.masked_equal([[1.0, -999], [2.0, -999]], -999),
        pd.DataFrame({"a": [1.0, 2.0], "dead": [pd.NA, None]}, dtype=object),
    ],
    ids=["pandas", "nullable", "polars", "pyarrow", "masked", "object"],
)
def test_a_dead_sensor_reads_as_missing(table: Any) -> None:
    values = Frame.of(table).values
    assert values[:, 0].tolist() == [1.0, 2.0]
    assert np.isnan(values[:, 1]).all()


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])],
    ids=["pandas", "pyarrow"],
)
def test_a_column_named_twice_is_an_error(table: Any) -> None:
    with pytest.raises(InputError, match="train must have distinct column names"):
        Frame.of(table, argument="train")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [[1.0]]}, "float64 values of two dimensions"),
        ({"values": np.array([[np.inf]])}, "must be finite"),
        ({"channels": ("a", "b")}, "1 distinct channel names"),
        ({"times": np.array(["2026-01-01"], dtype="datetime64[s]")}, r"one datetime64\[ns\] for each of its 1 rows"),
        ({"times": np.array(["NaT"], dtype="datetime64[ns]")}, "a time in every row; got none in row 0"),
    ],
    ids=str,
)
def test_a_frame_made_by_hand_is_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Frame(**{"values": np.array([[1.0]]), "channels": ("a",), **changes})


def test_times_that_nanoseconds_cannot_hold_are_errors() -> None:
    with pytest.raises(InputError, match=r"seconds as a time .* 1.7e\+12 \(milliseconds\?\) in row 0"):
        Frame.of(pl.DataFrame({"t": [1.7e12], "x": [1]}), time="t")
    with pytest.raises(InputError, match="from 1678 to 2261 .* 9999-01-01T00:00:00 in row 0"):
        Frame.of(pl.DataFrame({"t": [datetime(9999, 1, 1)], "x": [1]}))


def test_a_time_column_that_is_not_there_or_not_a_time_is_an_error() -> None:
    table = pl.DataFrame({"a": [1], "b": ["x"]})
    with pytest.raises(InputError, match=r"time must be a column of table; got 'when', and the columns are 'a', 'b'"):
        Frame.of(table, time="when")
    with pytest.raises(InputError, match=r"datetimes or seconds as times; column 'b' has String"):
        Frame.of(table, time="b")
    with pytest.raises(InputError, match="time must be None"):
        Frame.of(np.zeros((2, 2)), time="a")


def test_reordered_channels_are_put_back() -> None:
    frame = Frame.of(pl.DataFrame({"b": [2.0], "a": [1.0]})).align(("a", "b"))
    assert frame.values.tolist() == [[1.0, 2.0]]


def test_missing_and_extra_channels_are_named() -> None:
    frame = Frame.of(pl.DataFrame({"a": [1.0], "x": [1.0]}))
    with pytest.raises(ChannelError, match=r"missing: 'b'; not fitted: 'x'"):
        frame.align(("a", "b"), argument="recent")
    with pytest.raises(ChannelError, match=r"must have the 3 channels of the fitted data; got 2"):
        Frame.of(np.zeros((2, 2))).align(("a", "b", "c"))


def test_unnamed_channels_are_taken_by_position() -> None:
    assert Frame.of(np.zeros((2, 2))).align(("a", "b")).channels == ("a", "b")
    assert Frame.of(pl.DataFrame({"a": [1.0]})).align(("0",), named=False).channels == ("0",)


def test_a_numeric_column_called_time_is_the_time() -> None:
    table = pd.DataFrame({"time": [100.0, 160.0, 220.0], "a": [1.0, 2.0, 3.0]})
    frame = Frame.of(table)
    assert frame.channels == ("a",)
    assert frame.times is not None
    assert frame.times.astype(np.int64).tolist() == [100 * 10**9, 160 * 10**9, 220 * 10**9]
    with pytest.raises(InputError, match=r"must have seconds as a time in every row; column 'time' has 1e\+18"):
        Frame.of(pd.DataFrame({"time": [1e18], "a": [1.0]}))


def test_a_frame_is_a_copy_of_the_callers_array() -> None:
    rows = np.zeros((3, 2))
    frame = Frame.of(rows)
    rows[0, 0] = 9.0
    assert frame.values[0, 0] == 0.0


HOURS = pd.date_range("2026-10-24 20:00", periods=600, freq="5min", tz="Europe/Berlin")
WAVES = np.column_stack([np.sin(np.arange(600) / 9), np.cos(np.arange(600) / 9)])


@pytest.fixture(scope="module")
def tiny() -> Detector:
    return Detector(epochs=1, width=4, window=4, blocks=1).fit(pd.DataFrame(WAVES, columns=["a", "b"], index=HOURS))


def test_an_answer_to_a_table_with_a_time_zone_joins_with_it(tiny: Detector) -> None:
    table = pd.DataFrame(WAVES, columns=["a", "b"], index=HOURS)
    joined = table.join(tiny.detect(table).to_frame())
    assert joined.score.notna().all()
    assert str(joined.index.tz) == "Europe/Berlin"
    in_column = table.rename_axis("when").reset_index()
    assert in_column.merge(tiny.detect(in_column).to_frame(), left_on="when", right_index=True).shape == (600, 9)
    for unit in ("ms", "us", "ns"):
        polars = pl.from_pandas(in_column).with_columns(pl.col("when").dt.cast_time_unit(unit))
        answer = tiny.detect(polars).to_frame()
        assert answer.schema["when"] == polars.schema["when"]
        assert polars.join(answer, on="when").height == 600
    naive = table.tz_convert("UTC").tz_localize(None)
    assert tiny.detect(naive).to_frame().index.tz is None
    offsets = table.tz_convert("Etc/GMT-2")
    assert offsets.join(tiny.detect(offsets).to_frame()).score.notna().all()


def test_events_are_told_in_the_zone_that_times_came_in(tiny: Detector) -> None:
    values = WAVES.copy()
    values[300:310] = 50.0
    (event, *_) = tiny.detect(pd.DataFrame(values, columns=["a", "b"], index=HOURS)).events
    assert event.zone == "Europe/Berlin"
    told = plain(event)
    assert told["start_time"] == HOURS[event.start].isoformat()
    assert told["id"].endswith("Z")
    said = said_of(told, "confirmed", "2026-01-01T00:00:00Z")
    assert said.start == event.verdict("confirmed", "x").start
    assert said.start is not None
    assert said.start.endswith("Z")


def test_numpy_rows_may_come_with_times_beside_them(tiny: Detector) -> None:
    expected = Frame.of(pd.DataFrame(WAVES, index=HOURS)).times
    assert expected is not None
    for times in (HOURS, HOURS.to_series(), list(HOURS), expected, expected.astype("datetime64[s]")):
        np.testing.assert_array_equal(Frame.of(WAVES, times=times).times, expected)
    np.testing.assert_array_equal(Frame.of(WAVES, times=expected.astype(np.int64) / 1e9).times, expected)
    np.testing.assert_array_equal(Frame.of(WAVES, times=[str(one) for one in HOURS]).times, expected)
    assert Frame.of(WAVES, times=HOURS).zone == "Europe/Berlin"
    found = tiny.detect(WAVES, times=HOURS)
    assert (found.zone, str(found.to_frame().index.tz)) == ("Europe/Berlin", "Europe/Berlin")
    fitted = Detector(epochs=1, width=4, window=4, blocks=1).fit(
        WAVES, times=HOURS, exclude=[("2026-10-25 01:00", "2026-10-25 04:00")]
    )
    assert fitted.model_.period == 300.0


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (HOURS[:-1], "times must hold one for each of the 600 rows; got shape \\(599,\\)"),
        (np.full(600, 1e12), "times must be seconds from 1678 to 2261; got 1000000000000.0 in row 0"),
        (5, "times must be a list or array"),
        ("2026", "times must be a list or array"),
        (["soon"] * 600, "time must be a datetime, an ISO date and time"),
        ([None] * 600, "times must have a time from 1678 to 2261 in every row; it has none in row 0"),
        (np.full(600, np.datetime64("NaT")), "it has none in row 0"),
    ],
)
def test_times_that_are_none_are_refused(times: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Frame.of(WAVES, times=times)


def test_times_beside_times_are_one_too_many() -> None:
    with pytest.raises(InputError, match="times must be None for table with times of its own"):
        Frame.of(pd.DataFrame(WAVES, index=HOURS), times=HOURS)


def test_a_lazy_table_is_collected() -> None:
    lazy = pl.DataFrame({"time": HOURS.tz_convert("UTC").tz_localize(None), "a": WAVES[:, 0]}).lazy()
    frame = Frame.of(lazy.with_columns(b=pl.col("a") * 2))
    assert (frame.channels, len(frame)) == (("a", "b"), 600)
    with pytest.raises(InputError, match="table must be a lazy table that can be collected"):
        Frame.of(lazy.select("nothing"))


def test_a_channel_may_be_missing_where_that_is_allowed(tiny: Detector, caplog: pytest.LogCaptureFixture) -> None:
    table = pd.DataFrame({"a": WAVES[:, 0], "new": 1.0}, index=HOURS)
    with pytest.raises(
        ChannelError, match="missing: 'b'; not fitted: 'new': allow_missing=True judges the others alone"
    ):
        tiny.detect(table)
    found = tiny.detect(table, allow_missing=True)
    assert "'b' missing: judged without, as a lost signal; 'new' not fitted: left out" in caplog.text
    assert [(one.kind, one.channels) for one in found.events if one.kind == "signal lost"] == [("signal lost", ("b",))]
    with pytest.raises(ChannelError, match="missing: 'a', 'b'; not fitted: 'new'$"):
        tiny.detect(table[["new"]], allow_missing=True)
