"""Clocks on the wall: which moment they mean, and what they show."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad import SettingError
from ccmtad.wording import iso, stamp
from ccmtad.zones import Clock, moments, wall, walls, zone_of

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "UTC",
    "+05:30",
)
SECOND = 10**9


def since_1970(time: datetime) -> int:
    return int(time.timestamp()) * SECOND


def shown(time: datetime, zone: str) -> int:
    """The obvious way, by the standard library."""
    return since_1970(time.astimezone(zone_of(zone)).replace(tzinfo=UTC))


@given(st.sampled_from(ZONES), st.integers(0, 60 * 365), st.integers(30, 4_000), st.integers(2, 90))
def test_what_a_clock_shows_leads_back_to_the_moment(zone: str, day: int, step: int, rows: int) -> None:
    """Rows in even steps: over nights in which clocks are set, too."""
    start = datetime(1975, 1, 1, tzinfo=UTC) + timedelta(days=day)
    times = [start + timedelta(seconds=i * step) for i in range(rows)]
    expected = np.array([since_1970(time) for time in times])
    on_the_wall = np.array([shown(time, zone) for time in times])
    np.testing.assert_array_equal(walls(expected, zone), on_the_wall)
    assert [wall(int(one), zone) for one in expected] == on_the_wall.tolist()
    clock = Clock(zone)
    assert [clock.moment(int(one)) for one in on_the_wall] == moments(on_the_wall, zone)[0].tolist()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("minutes", [1, 7, 15, 60])
def test_a_whole_year_in_even_steps_has_no_gap_and_no_row_twice(zone: str, minutes: int) -> None:
    expected = since_1970(datetime(2026, 1, 1, tzinfo=UTC)) + np.arange(366 * 1440 // minutes) * minutes * 60 * SECOND
    found, doubled, skipped = moments(walls(expected, zone), zone)
    np.testing.assert_array_equal(found, expected)
    assert doubled.any() == ("/" in zone and zone != "Asia/Kolkata")
    assert not skipped.any()


@given(st.lists(st.integers(-5_000, 9_000), min_size=1, max_size=60), st.sampled_from(ZONES))
def test_any_order_of_times_is_read_at_once_as_one_by_one(seconds: list[int], zone: str) -> None:
    night = since_1970(datetime(2026, 10, 25, tzinfo=UTC))
    on_the_wall = night + np.array(seconds) * SECOND + 7_200 * SECOND
    found, doubled, skipped = moments(on_the_wall, zone)
    clock = Clock(zone)
    for i, one in enumerate(on_the_wall.tolist()):
        assert clock.moment(one) == found[i]
        assert (clock.doubled, clock.skipped) == (doubled[i], skipped[i])


def test_a_late_row_in_the_doubled_hour_is_late_and_not_an_hour_ahead() -> None:
    clock, berlin = Clock("Europe/Berlin"), ZoneInfo("Europe/Berlin")
    first = datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    expected = since_1970(first)
    for second in (0, 5, 10, 3, 15):
        found = clock.moment(since_1970(first.replace(tzinfo=UTC)) + second * SECOND)
        assert found == expected + second * SECOND
    assert clock.moment(since_1970(datetime(2026, 10, 25, 2, 0, tzinfo=UTC))) == expected + 1_800 * SECOND


def test_what_is_no_zone_is_refused() -> None:
    for name in ("Europe/Nowhere", "", "../../etc/passwd", "/etc/localtime", "x" * 5_000, "+99:99", "Europe/Berlin\0"):
        with pytest.raises(SettingError, match="timezone must be a name such as Europe/Berlin"):
            zone_of(name)


def test_times_are_told_in_their_zone() -> None:
    time = np.datetime64("2026-07-01T12:00:00.5", "ns")
    assert stamp(time) == "2026-07-01 12:00:00"
    assert stamp(time, "Europe/Berlin") == "2026-07-01 14:00:00"
    assert iso(time) == iso(time, "UTC") == "2026-07-01T12:00:00.5Z"
    assert iso(time, "Europe/Berlin") == "2026-07-01T14:00:00.5+02:00"
    assert iso(time, "America/St_Johns") == "2026-07-01T09:30:00.5-02:30"
