"""Files as they come from loggers, historians and spreadsheets."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad import InputError, SettingError
from ccmtad.tables import Reading, load, read
from ccmtad.tables.dialect import Dialect
from ccmtad.tables.lines import BadLineError, Parser
from ccmtad.tables.read import _check_ragged
from ccmtad.tables.times import moment

TIMES = np.array(["2026-01-01T00:00:00", "2026-01-01T00:01:00"], dtype="datetime64[ns]")


def written(folder: Path, data: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    "data",
    [
        "time,a,b\n2026-01-01 00:00:00,1.5,2\n2026-01-01 00:01:00,3,4\n",
        "time,a,b\r\n2026-01-01T00:00:00Z,1.5,2\r\n\r\n2026-01-01T00:01:00Z,3,4\r\n",
        "Timestamp;a;b\n2026-01-01T01:00:00+01:00;1,5;2\n2026-01-01T01:01:00+01:00;3;4\n",
        "a\tts\tb\n1.5\t1767225600\t2\n3\t1767225660\t4\n",
        "ts,a,b\n1767225600000,1.5,2\n1767225660000,3,4\n",
        "ts,a,b\n1767225600000000000,1.5,2\n1767225660000000000,3,4\n",
        '"time","a","b"\n"2026-01-01 00:00","1.5","2"\n"2026-01-01 00:01","3","4"\n',
        "when, a , b\n2026-01-01 00:00:00, 1.5, 2\n2026-01-01 00:01:00, 3 ,4\n",
        "time,a,b,\n2026-01-01,1.5,2,\n2026-01-01 00:01,3,4,\n",
        '{"time": "2026-01-01T00:00:00", "a": 1.5, "b": 2}\n{"a": 3, "time": "2026-01-01T00:01:00", "b": 4}\n',
        gzip.compress(b"time,a,b\n2026-01-01 00:00:00,1.5,2\n2026-01-01 00:01:00,3,4\n", mtime=0),
        "\ufefftime,a,b\n2026-01-01 00:00:00,1.5,2\n2026-01-01 00:01:00,3,4\n",
        "time,a,b\n2026-01-01 00:00:00,1.5,2\n2026-01-01 00:01:00,3,4\n".encode("utf-16"),
    ],
)
def test_all_of_these_are_one_table(tmp_path: Path, data: str | bytes) -> None:
    frame = read(written(tmp_path, data))
    assert frame.channels == ("a", "b")
    assert frame.named
    np.testing.assert_array_equal(frame.values, [[1.5, 2], [3, 4]])
    assert frame.times is not None
    np.testing.assert_array_equal(frame.times, TIMES)


def test_parquet_is_read_with_its_types(tmp_path: Path) -> None:
    pl.DataFrame({"when": TIMES, "a": [1, 2], "b": [True, None]}).write_parquet(tmp_path / "a.parquet")
    frame = read(tmp_path / "a.parquet")
    assert frame.channels == ("a", "b")
    np.testing.assert_array_equal(frame.values, [[1, 1], [2, np.nan]])
    assert frame.times is not None
    np.testing.assert_array_equal(frame.times, TIMES)


def test_a_table_without_a_header_has_channels_by_position(tmp_path: Path) -> None:
    frame = read(written(tmp_path, "1,2\n3,4\n"))
    assert (frame.channels, frame.named, len(frame)) == (("0", "1"), False, 2)


def test_older_code_pages_are_read(tmp_path: Path) -> None:
    assert read(written(tmp_path, "T °C,b\n1,2\n".encode("cp1252"))).channels == ("T °C", "b")


def test_missing_values_are_named_or_known(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,-9999\n,2\nNaN,I/O Timeout\n")
    values = read(path, Reading(missing=("-9999", "I/O Timeout"))).values
    np.testing.assert_array_equal(values, [[1, np.nan], [np.nan, 2], [np.nan, np.nan]])


def test_the_fitted_channels_are_no_time(tmp_path: Path) -> None:
    path = written(tmp_path, "ts,a\n1,2\n3,4\n")
    assert read(path, fitted=("ts", "a")).channels == ("ts", "a")
    assert read(path).channels == ("a",)
    with pytest.raises(
        InputError, match="must have one time column; got 'date', 'time': choose with time='date', drop='time'"
    ):
        read(written(tmp_path, "date,time,a\n1,2,3\n"))


def test_a_format_of_times_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "Date,a\n13/01/2026 10:00,1\n14/01/2026 10:00,2\n")
    with pytest.raises(InputError, match="must have times in ISO 8601 .* has '13.01.26' in row 0"):
        read(written(tmp_path, "Date,a\n13.01.26,1\n14.01.26,2\n", "b.csv"))
    times = read(path, Reading(time_format="%d/%m/%Y %H:%M")).times
    assert times is not None
    assert str(times[1]) == "2026-01-14T10:00:00.000000000"
    with pytest.raises(InputError, match="must have times written as '%Y'"):
        read(path, Reading(time_format="%Y"))


def test_a_ragged_line_is_found_wherever_it_is(tmp_path: Path) -> None:
    lines = ["a,b", *(f"{i},{i}" for i in range(200))]
    quoted = [line if i % 3 else f'"{i}","x,y"' for i, line in enumerate(lines)]
    for whole in (lines, quoted):
        dialect = Dialect.of("a,b")
        _check_ragged("\n".join(whole).encode(), dialect, 2, "data", block=64)
        for place in (1, 7, 100, 200):
            for wrong in ("1", "1,2,3", '"1,2"'):
                broken = [*whole[:place], wrong, *whole[place + 1 :]]
                with pytest.raises(InputError, match=f"in line {place + 1}$"):
                    _check_ragged("\n".join(broken).encode(), dialect, 2, "data", block=64)
    with pytest.raises(InputError, match="got 1 in line 3$"):
        read(written(tmp_path, "a,b\n1,2\n3\n"))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(",;\t|"))
def test_a_cell_reads_back_the_number_that_was_written(value: float, separator: str) -> None:
    dialect = Dialect.of(separator.join("ab"))
    assert dialect == Dialect(separator, ("a", "b"))
    assert dialect.number(dialect.cells(f" {value!r} {separator}x")[0]) == value


@given(
    st.datetimes(
        min_value=__import__("datetime").datetime(1975, 1, 1), max_value=__import__("datetime").datetime(2200, 1, 1)
    )
)
def test_a_time_is_the_same_however_it_is_written(time: object) -> None:
    import datetime

    assert isinstance(time, datetime.datetime)
    seconds = int(time.replace(tzinfo=datetime.UTC, microsecond=0).timestamp())
    how = Reading()
    expected = seconds * 1_000_000_000
    for cell in (str(time.replace(microsecond=0)), time.replace(microsecond=0).isoformat() + "Z", str(seconds)):
        assert moment(cell, how) == expected
    if seconds > 2e8:
        assert moment(str(seconds * 1000), how) == expected


FILES = {
    "plain": "time,a,b\n2026-01-01 00:00:00,1,2.5\n2026-01-01 00:01:00,3,4\n",
    "another order": "b,time,a\n2.5,2026-01-01 00:00:00,1\n4,2026-01-01 00:01:00,3\n",
    "an index of times": ",a,b\n2026-01-01 00:00:00,1,2.5\n2026-01-01 00:01:00,3,4\n",
    "an index of numbers": ",time,a,b\n0,2026-01-01 00:00:00,1,2.5\n1,2026-01-01 00:01:00,3,4\n",
    "times by their values": "Zeit;a;b\n2026-01-01 00:00:00;1;2,5\n2026-01-01 00:01:00;3;4\n",
    "decimal commas late": "time;a;b\n2026-01-01;1;2\n2026-01-01 00:01:00;3;4,5\n2026-01-01 00:02:00;1,5E+03;4\n",
    "hours without a zero": "time,a,b\n2026-01-01 9:05:00,1,2.5\n2026-1-01 10:05:00,3,4\n",
    "nanoseconds": "time,a,b\n2026-01-01 00:00:00.123456789,1,2.5\n2026-01-01 00:01:00.5,3,4\n",
    "zones": "time,a,b\n2026-01-01T00:00:00+05:30,1,2.5\n2026-01-01T00:01:00-02:00,3,4\n",
    "milliseconds": "ts,a,b\n1767225600123,1,2.5\n1767225660456,3,4\n",
    "tabs and empty cells": "a\tb\ttime\n\t2.5\t2026-01-01 00:00:00\n3\t\t2026-01-01 00:01:00\n",
    "blank lines": "time,a,b\n\n2026-01-01 00:00:00,1,2.5\n   \n2026-01-01 00:01:00,3,4\n\n",
    "quotes": '"time","a","b"\n"2026-01-01 00:00:00","1","2.5"\n"2026-01-01 00:01:00",3,4\n',
    "words": "time,a,b\n2026-01-01 00:00:00,true,NA\n2026-01-01 00:01:00,false,4\n",
    "markers": "time,a,b\n2026-01-01 00:00:00,-9999,2.5\n2026-01-01 00:01:00,3,-9999.0\n",
    "a final separator": "time,a,b,\n2026-01-01 00:00:00,1,2.5,\n2026-01-01 00:01:00,3,4,\n",
    "json": '{"time": "2026-01-01 00:00:00", "a": 1, "b": 2.5}\n{"b": -9999, "time": "2026-01-01 00:01:00"}\n',
    "sparse json": '{"time": 1767225600, "a": 1}\n{"b": 4, "a": null, "time": 1767225660}\n',
    "words in json": '{"ts": 1767225600, "a": "Bad Input", "b": "NaN"}\n{"b": "4.5", "a": 1, "ts": 1767225660}\n',
    "old code page": "time,a,b\n2026-01-01 00:00:00,1,2.5\n",
    "units": "time,a,b\n,bar,m3/h\n2026-01-01 00:00:00,1,2.5\n2026-01-01 00:01:00,3,4\n",
    "units and more": "time,a,b\n-,°C,bar\nUTC,mean,last\n2026-01-01 00:00:00,1,2.5\n2026-01-01 00:01:00,3,4\n",
    "units without a time": "a,b\nbar,m3/h\n1,2.5\n3,4\n",
    "days first": "Zeit;a;b\n31.01.2026 23:59;1;2,5\n1.2.2026 0:00;3;4\n",
    "days first with slashes": "date,a,b\n13/01/2026 10:00:00.25,1,2.5\n01/02/2026 10:01,3,4\n",
    "months first": "date,a,b\n01/13/2026 12:59:00 PM,1,2.5\n02/01/2026 12:00 AM,3,4\n",
    "dates alone": "date;a;b\n13-01-2026;1;2,5\n14-01-2026;3;4\n",
    "thousands": "time;a;b\n2026-01-01 00:00:00;1.234,5;2,5\n2026-01-01 00:01;-1.234.567;4\n2026-01-01 00:02;1.000;9\n",
    "thousands in quotes": 'time,a,b\n2026-01-01 00:00:00,"1,234",2.5\n2026-01-01 00:01:00,999,"12,345"\n',
    "thousands of the Swiss": "time;a;b\n2026-01-01 00:00:00;1'234.5;2.5\n2026-01-01 00:01:00;9;1’000\n",
    "thousands by blanks": "time;a;b\n2026-01-01 00:00:00;1 234,5;2,5\n2026-01-01 00:01:00;12\u00a0345\u202f678;4\n",
    "switches": "time,a,b\n2026-01-01 00:00:00,ON,2.5\n2026-01-01 00:01:00,off,4\n2026-01-01 00:02:00,NA,4\n",
    "switches and figures": "time,a,b\n2026-01-01 00:00:00,ON,2.5\n2026-01-01 00:01:00,0,4\n",
    "states": "time,a,b\n"
    + "".join(f"2026-01-01 00:{i:02}:00,{('Fill', 'hold', 'DRAIN')[i // 9 % 3]},{i}\n" for i in range(54)),
    "switches in json": '{"time": 1767225600, "a": "Open", "b": 1}\n{"time": 1767225660, "a": "closed", "b": 4}\n',
    "the doubled hour": "time,a,b\n"
    + "".join(f"2026-10-25 {hour}:{minute}:00,1,2\n" for hour in ("02", "02", "03") for minute in ("00", "20", "40")),
    "the missing hour": "time,a,b\n2026-03-29 01:59:00,1,2\n2026-03-29 03:00:00,1,2\n2026-03-29 02:30:00,1,2\n",
    "a zone now and then": "time,a,b\n2026-10-25 02:30,1,2\n2026-10-25T02:30:00+01:00,1,2\n2026-10-25 02:40,1,2\n",
    "no newline at the end": "time,a,b\n2026-01-01 00:00:00,1,2.5\n2026-01-01 00:01:00,3,4",
}


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_read_at_once_and_line_by_line_is_the_same(tmp_path: Path, name: str) -> None:
    """Else `detect` and `watch` would not agree."""
    for zone in (None, "Europe/Berlin"):
        how = Reading(missing=("-9999", "Bad Input"), timezone=zone)
        found = load(written(tmp_path, FILES[name]), how, fitted=("a", "b"))
        frame = found.frame.align(("a", "b"))
        parser = Parser(("a", "b"), True, found.reading)
        lines = FILES[name].encode().split(b"\n")
        rows = []
        for i, line in enumerate(lines):
            row = parser.row(line) if i else parser.first(line)
            rows += [] if row is None else [row]
            kept = json.loads(json.dumps(parser.state()))  # a watch that is killed after any line goes on
            parser = Parser(("a", "b"), True, found.reading, told=parser.told, pending=parser.pending)
            parser.resume(kept)
        np.testing.assert_array_equal([row.values for row in rows], frame.values)
        times = [None] * len(rows) if frame.times is None else frame.times.astype(np.int64).tolist()
        assert [row.time for row in rows] == times
        told = [note for row in rows for note in row.notes if "row of units" not in note and "clocks of" not in note]
        assert not told


def test_these_are_the_numbers_and_times_that_were_meant(tmp_path: Path) -> None:
    def values(name: str) -> list[list[float]]:
        found: list[list[float]] = read(written(tmp_path, FILES[name])).values.tolist()
        return found

    def times(name: str, zone: str | None = None) -> list[str]:
        found = read(written(tmp_path, FILES[name]), Reading(timezone=zone)).times
        assert found is not None
        return [str(time)[:16] for time in found]

    assert values("thousands") == [[1234.5, 2.5], [-1234567.0, 4.0], [1000.0, 9.0]]
    assert values("thousands in quotes") == [[1234.0, 2.5], [999.0, 12345.0]]
    assert values("thousands of the Swiss") == [[1234.5, 2.5], [9.0, 1000.0]]
    assert values("thousands by blanks") == [[1234.5, 2.5], [12345678.0, 4.0]]
    np.testing.assert_array_equal(values("switches"), [[1, 2.5], [0, 4], [np.nan, 4]])
    assert [row[0] for row in values("states")][::9] == [1.0, 2.0, 0.0] * 2
    assert times("days first") == ["2026-01-31T23:59", "2026-02-01T00:00"]
    assert times("months first") == ["2026-01-13T12:59", "2026-02-01T00:00"]
    assert times("the doubled hour", "Europe/Berlin")[::3] == [
        "2026-10-25T00:00",
        "2026-10-25T01:00",
        "2026-10-25T02:00",
    ]
    assert times("the missing hour", "Europe/Berlin")[:2] == ["2026-03-29T00:59", "2026-03-29T01:00"]
    assert times("a zone now and then", "Europe/Berlin") == ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T01:40"]


BY_TIME = [(f"2026-01-01 00:0{t}:00", tag, f"{t}.{i}") for t in range(4) for i, tag in enumerate("ba")]
BY_TAG = sorted(BY_TIME, key=lambda one: "ba".index(one[1]))
LONG = {
    "by time": "\n".join(["when,tag,value", *map(",".join, BY_TIME)]),
    "by tag": "\n".join(["when,tag,value", *map(",".join, BY_TAG)]),
    "by other names": "\n".join(["x;y;z", *map(";".join, BY_TIME)]),
    "with a unit": "\n".join(["time,sensor,unit,value", *(f"{t},{tag},bar,{v}" for t, tag, v in BY_TAG)]),
    "as json": "\n".join(json.dumps({"time": t, "name": tag, "value": float(v)}) for t, tag, v in BY_TIME),
}


@pytest.mark.parametrize("name", list(LONG))
def test_one_value_a_row_is_put_together(tmp_path: Path, name: str) -> None:
    found = load(written(tmp_path, LONG[name]))
    assert found.frame.channels == ("b", "a")
    np.testing.assert_array_equal(found.frame.values, [[t, t + 0.1] for t in range(4)])
    assert found.frame.times is not None
    assert (np.diff(found.frame.times) == np.timedelta64(60, "s")).all()
    assert found.reading.tag is not None
    wide = load(written(tmp_path, "time,a,b\n2026-01-01,1,2\n"), Reading().over(found.reading)[0], fitted=("a", "b"))
    assert wide.frame.channels == ("a", "b")


def test_words_in_a_tag_are_numbers_of_their_own(tmp_path: Path) -> None:
    lines = [f"2026-01-01 00:0{t}:00,{c},{v}" for t in range(4) for c, v in (("pump", ("ON", "OFF")[t % 2]), ("p", t))]
    frame = read(written(tmp_path, "\n".join(["time,tag,value", *lines])))
    np.testing.assert_array_equal(frame.values, [[1, 0], [0, 1], [1, 2], [0, 3]])


def test_the_doubled_hour_is_told_apart_tag_by_tag(tmp_path: Path) -> None:
    """Hourly values: a time that comes again is the hour that comes again, and not the next tag's."""
    for order in ("by time", "by tag"):
        moments = [(hour, tag) for hour in (1, 2, 2, 3) for tag in "ab"]
        if order == "by tag":
            moments.sort(key=lambda one: one[1])
        lines = [f"2026-10-25 0{hour}:00:00,{tag},{hour}" for hour, tag in moments]
        frame = read(written(tmp_path, "\n".join(["time,tag,value", *lines])), Reading(timezone="Europe/Berlin"))
        np.testing.assert_array_equal(frame.values, [[1, 1], [2, 2], [2, 2], [3, 3]])
        assert frame.times is not None
        assert (np.diff(frame.times) == np.timedelta64(1, "h")).all()


def test_tags_and_times_without_end_are_bounded(tmp_path: Path) -> None:
    lines = [f"{1_767_225_600 + i},tag{i},1" for i in range(9_000)]
    with pytest.raises(InputError, match="must unpack to at most"):
        read(written(tmp_path, "\n".join(["time,tag,value", *lines])))


def test_what_was_found_out_about_a_file_is_kept_for_the_next(tmp_path: Path) -> None:
    text = "Zeit;a;b\n13.01.2026 10:00;1.234,5;ON\n01.02.2026 10:00;2;OFF\n"
    found = load(written(tmp_path, text), Reading(timezone="Europe/Berlin", missing=("x",))).reading
    assert found.facts() == {
        "time": "Zeit", "missing": ["x"], "timezone": "Europe/Berlin", "day_first": True, "thousands": ".",
        "words": {"b": {"off": 0.0, "on": 1.0}},
    }  # fmt: skip
    assert Reading.of(json.loads(json.dumps(found.facts()))) == found
    later, told = Reading(missing=("y",)).over(found)
    assert told == ("missing=('y',) instead of ('x',), which the model was fitted with",)
    frame = load(written(tmp_path, "Zeit;a;b\n01.02.2026 10:00;1.000;off\n"), later).frame
    assert frame.values.tolist() == [[1000.0, 0.0]]
    assert frame.zone == "Europe/Berlin"
    assert frame.times is not None
    assert str(frame.times[0]) == "2026-02-01T09:00:00.000000000"


@pytest.mark.parametrize(
    "facts",
    [
        [], {"what": 1}, {"time": 1}, {"time": "x" * 2_000}, {"time_format": "%"}, {"time_format": "%d %d"},
        {"time_format": "%Q"}, {"timezone": "Nowhere"}, {"timezone": 3}, {"timezone": "../x"}, {"day_first": "yes"},
        {"thousands": "x"}, {"thousands": []}, {"missing": "x"}, {"missing": [1]}, {"drop": ["\ud800"]},
        {"words": []}, {"words": {"a": 1}}, {"words": {"a": {"b": "c"}}}, {"words": {"a": {"b": 1e300}}}, {"tag": "a"},
        {"words": {"a": {"b": True}}}, {"largest": 1}, {"kept": ["drop"]},
    ],
)  # fmt: skip
def test_what_is_no_way_to_read_a_file_is_refused(facts: object) -> None:
    with pytest.raises(SettingError):
        Reading.of(facts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ts,a,b\n20260301,1,2\n", "looks like a date, not like seconds"),
        ("time,a,b\n46042.777,1,2\n", "looks like a date, not like seconds"),
        ("time,a,b\n46042,1,2\n", "looks like a date, not like seconds"),
        ("time,a,b\n1601-01-01 00:00:00,1,2\n", "must have times|1678"),
        ("time,a,b\n20.01.26,1,2\n", "must have times in ISO 8601"),
        ("time,a,b\n10.01.2026,1,2\n", "which number of its times is the day.*'10.01.2026': say day_first=True or"),
        ("time,a,b\n20.13.2026,1,2\n", "must have times in ISO 8601"),
        ("time,a,a\n2026-01-01,1,2\n", "distinct column names"),
        ("time,a,c\n2026-01-01,1,2\n", "missing: 'b'; not fitted: 'c'"),
        ("[1, 2]\n", "JSON array"),
        ("time,a,b\ninf,1,2\n", "must have times|1678"),
    ],
)
def test_both_refuse_what_cannot_be_right(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, text), fitted=("a", "b")).align(("a", "b"))
    parser = Parser(("a", "b"), True)
    first, second = text.encode().split(b"\n")[:2]
    with pytest.raises(InputError, match=message):
        _ = parser.first(first), parser.row(second)


def test_which_line_is_a_header() -> None:
    for header in ("time,a,b", ",a,b", "0,1,2", "time,101,102", '"a b","c"', "T °C;p"):
        assert Dialect.of(header).header is not None, header
    for row in ("1,2,3", "1.0,NA,3.0", "2026-01-01 00:00:00,1,2", "1,,3", "-1;2,5"):
        assert Dialect.of(row).header is None, row


def test_digits_are_read_by_their_format(tmp_path: Path) -> None:
    path = written(tmp_path, "time,a\n202603011200,1\n202603011201,2\n")
    times = read(path, Reading(time_format="%Y%m%d%H%M")).times
    assert times is not None
    assert str(times[1]) == "2026-03-01T12:01:00.000000000"
    with pytest.raises(InputError, match="looks like a date"):
        read(path)
    zeros = read(written(tmp_path, "time,a\n01032026,1\n02032026,2\n"), Reading(time_format="%d%m%Y"))
    assert zeros.times is not None
    assert [str(time)[:10] for time in zeros.times] == ["2026-03-01", "2026-03-02"]
    assert zeros.values.tolist() == [[1.0], [2.0]]
    german = written(tmp_path, "Zeit;a\n01.03.2026 12:00;1\n01.03.2026 12:01;2\n")
    assert read(german, Reading(time_format="%d.%m.%Y %H:%M")).channels == ("a",)
    with pytest.raises(
        InputError, match="column 'Zeit' of .* day; none is above 12.* say day_first=True or day_first=F"
    ):
        read(german)
    assert read(german, Reading(day_first=True)).channels == ("a",)


def test_two_decimal_marks_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="must have one decimal mark; column 'b' has '2,5', column 'a' a decimal point"
    ):
        read(written(tmp_path, "a;b\n1.5;2,5\n"))
    parser = Parser(("a", "b"), True)
    parser.first(b"a;b")
    row = parser.row(b"1.5;2,5")
    assert row is not None
    assert row.values[0] == 1.5
    assert np.isnan(row.values[1])
    assert "'2,5', which is no number" in row.notes[0]


@pytest.mark.parametrize(
    "line", ["[[[[[", '"a', "{" * 3_000, '{"a": 1' + "0" * 400 + "}", "\x00", "\ud800", '{"a": [1]}']
)
def test_no_later_line_is_an_exception(line: str) -> None:
    for first in (b"time,a,b", b'{"time": 1, "a": 1, "b": 2}'):
        parser = Parser(("a", "b"), True)
        parser.first(first)
        parser.rows = True
        try:
            row = parser.row(line.encode(errors="surrogatepass"))
            assert row is None or len(row.values) == 2
        except BadLineError:
            continue


def test_an_empty_column_of_text_is_a_dead_channel(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": [1.0, 2.0], "b": pl.Series([None, None], dtype=pl.String)})
    table.write_parquet(tmp_path / "a.parquet")
    assert np.isnan(read(tmp_path / "a.parquet").values[:, 1]).all()
