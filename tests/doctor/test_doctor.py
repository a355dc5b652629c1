"""The data doctor sees what was planted, and says nothing of a healthy series."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ccmtad import Detector, Frame, InputError, Settings
from ccmtad.doctor import Finding, compare, examine

ROWS = 60_000


def frame(values: NDArray[np.float64] | None = None, times: NDArray[np.datetime64] | None = None) -> Frame:
    base = healthy() if values is None else values
    start = np.datetime64("2026-01-01T00:00:00", "ns") + np.arange(len(base)) * np.timedelta64(60, "s")
    return Frame(base, tuple("abcd"[: base.shape[1]]), start if times is None else times)


def healthy(rows: int = ROWS) -> NDArray[np.float64]:
    random = np.random.default_rng(0)
    wave = np.sin(np.arange(rows) / 200)[:, None] * [3.0, -2.0, 1.0, 5.0]
    return np.asarray(wave + random.normal(size=(rows, 4)) + [10.0, 50.0, -3.0, 0.0])


def seen(found: tuple[Finding, ...], topic: str) -> Finding:
    (one,) = [finding for finding in found if finding.topic == topic and finding.weight != "fine"]
    return one


def test_a_healthy_series_is_fine() -> None:
    assert {finding.weight for finding in examine(frame())} == {"fine"}
    assert {finding.weight for finding in compare(frame(), frame())} == {"fine"}


def test_times() -> None:
    good = frame()
    assert good.times is not None
    assert "no time column" in seen(examine(Frame(good.values, good.channels)), "times").text
    late = good.times.copy()
    late[100:110] = late[99]
    assert "10 rows are not later" in seen(examine(frame(times=late)), "order").text
    assert seen(examine(frame(times=good.times[::-1].copy())), "order").weight == "problem"
    gap = good.times.copy()
    gap[500:] += np.timedelta64(7_200, "s")
    found = seen(examine(frame(times=gap)), "gaps")
    assert "1 gap of more than 10 minutes, the longest 2.02 hours after 2026-01-01 08:19:00" in found.text
    uneven = good.times + (np.arange(ROWS) % 2) * np.timedelta64(20, "s")
    assert "are off the median" in seen(examine(frame(times=uneven)), "sampling").text


def test_rows_that_repeat_a_time_are_counted_in_any_order() -> None:
    times = frame().times
    assert times is not None
    order = np.random.default_rng(1).permutation(ROWS)
    mixed = times[order]
    mixed[10], mixed[20], mixed[30] = mixed[1_000], mixed[2_000], mixed[3_000]
    assert "(3 repeat a time)" in seen(examine(frame(times=mixed)), "order").text


def test_clocks_that_were_set_back_are_known_and_the_cure_is_named() -> None:
    times = frame().times
    assert times is not None
    back = times.copy()
    back[30_000:] -= np.timedelta64(1, "h")
    assert "name their zone, such as timezone='Europe/Berlin'" in seen(examine(frame(times=back)), "order").text
    back[30_000:] -= np.timedelta64(1, "h")
    assert "zone" not in seen(examine(frame(times=back)), "order").text


def test_a_second_file_is_looked_at_in_every_way() -> None:
    values = healthy()
    values[:, 1] = values[:, 0]
    values[40_000:, 3] += 60.0
    values[100:400, 2] = np.nan
    topics = {one.topic for one in examine(frame(values), learning=False) if one.weight != "fine"}
    assert {"copies", "jumps", "missing"} <= topics


def test_other_channels_in_a_second_file_are_a_problem_and_the_rest_is_compared() -> None:
    other = Frame(healthy(), ("a", "b", "c", "new"), frame().times)
    found = compare(frame(), other)
    one = seen(found, "channels")
    assert (one.weight, one.channels) == ("problem", ("d", "new"))
    assert "allow_missing=True" in one.text
    assert any(finding.topic == "drift" for finding in found)


def test_missing_and_constant_channels() -> None:
    values = healthy()
    values[100:400, 1] = np.nan
    values[:, 2] = np.nan
    values[:, 3] = 7.0
    found = examine(frame(values))
    empty, holes = [finding for finding in found if finding.topic == "missing"]
    assert (empty.weight, empty.channels) == ("problem", ("c",))
    assert holes.channels == ("b",)
    assert "at most 300 rows on end" in holes.text
    assert seen(found, "constant").channels == ("d",)
    late = healthy()
    late[: int(ROWS * 0.85), 0] = 1.0
    one = seen(examine(frame(late)), "constant")
    assert (one.weight, one.channels) == ("problem", ("a",))
    assert "only in the last 20%" in one.text


def test_copies_wild_values_and_jumps() -> None:
    values = healthy()
    values[:, 1] = values[:, 0]
    values[50, 2] = values[70, 2] = -9999.0
    values[40_000:, 3] += 60.0
    found = examine(frame(values))
    assert seen(found, "copies").channels == ("b",)
    wild = seen(found, "range")
    assert wild.channels == ("c",)
    assert "'c' reaches -9999 (2 times)" in wild.text
    jump = seen(found, "jumps")
    assert jump.channels == ("d",)
    assert "near row 40,500" in jump.text or "near row 39,000" in jump.text
    still = np.repeat(healthy(ROWS // 4), 4, axis=0)
    assert "75% of the rows repeat" in seen(examine(frame(still)), "copies").text


@pytest.mark.parametrize(
    ("rows", "budget", "weight", "text"),
    [
        (99, "1/10000 rows", "problem", "99 rows are too few to fit: at least 100 are needed"),
        (ROWS, "1/100000 rows", "note", "about 100,000 rows are comfortable"),
        (900, "1/10000 rows", "note", "the last 20%, 180 rows, calibrate; for a budget of 1/10000 rows about 10,000"),
        (ROWS, "1/10000 rows", "fine", "enough for a budget"),
        (ROWS, "1/week", "fine", "enough for a budget"),
    ],
)
def test_rows_needed(rows: int, budget: str, weight: str, text: str) -> None:
    found = [one for one in examine(frame(healthy(rows)), Settings(budget=budget)) if one.topic == "rows"]
    assert [one.weight for one in found] == [weight]
    assert text in found[0].text


def test_drift_between_two_files() -> None:
    moved = healthy()
    moved[:, 0] += 13.0
    moved[:, 1] *= 1_000.0
    slow = frame().times
    assert slow is not None
    slow = slow[0] + (slow - slow[0]) * 5
    found = compare(frame(), frame(moved, slow))
    assert [one.channels for one in found if one.weight == "problem"] == [("b",), ()]
    assert any(one.weight == "note" and "outside the range" in one.text and one.channels == ("a",) for one in found)
    assert any("median moved" in one.text and "a" in one.channels for one in found)
    assert any("one row every 5 minutes, and every 1 minute in training" in one.text for one in found)


def test_the_rows_it_asks_for_are_those_a_fit_needs() -> None:
    Detector(epochs=1, width=4).fit(healthy(100))
    with pytest.raises(InputError):
        Detector(epochs=1, width=4).fit(healthy(80))


@pytest.mark.parametrize("seed", range(12))
def test_a_clean_shift_is_found_wherever_it_is(seed: int) -> None:
    random = np.random.default_rng(seed)
    row = int(random.uniform(0.15, 0.85) * 20_000)
    values = random.normal(size=(20_000, 2))
    values[row:, 1] += 50.0
    values[: 20_000 // 40, 1] = np.nan  # an empty first part shifts nothing
    found = seen(examine(frame(values)), "jumps")
    assert found.channels == ("b",)
    told = int(found.text.partition("near row ")[2].partition(".")[0].replace(",", ""))
    assert abs(told - row) <= 20_000 / 40


@pytest.mark.parametrize("every", [20, 97, 300, 5_000])
def test_a_number_that_stands_for_missing_is_found_however_common(every: int) -> None:
    values = healthy()
    values[::every, 2] = -9999.0
    assert "'c' reaches -9999" in seen(examine(frame(values)), "range").text


def test_odd_frames_are_looked_at_without_complaint() -> None:
    times = frame().times
    assert times is not None
    for values in (np.ones((1, 1)), np.full((50, 2), np.nan), np.full((500, 2), 1e300), np.arange(1_000.0)[:, None]):
        start = times[: len(values)]
        for moments in (start, np.full(len(values), start[0]), None):
            one = Frame(values, tuple("ab"[: values.shape[1]]), moments)
            for budget in ("1/week", "1/1000 rows"):
                assert examine(one, Settings(budget=budget))
            assert compare(one, one)


def test_a_channel_that_died_or_was_born_late_is_told() -> None:
    dead = healthy()
    dead[:, 1] = np.nan
    assert any(one.channels == ("b",) and "no value at all" in one.text for one in compare(frame(), frame(dead)))
    late = healthy()
    late[: int(ROWS * 0.85), 1] = np.nan
    found = [one for one in examine(frame(late)) if one.topic == "missing" and one.weight == "problem"]
    assert [one.channels for one in found] == [("b",)]
    with pytest.raises(InputError, match="got none in 'b'"):
        Detector(epochs=1, width=4).fit(frame(late))


def test_a_file_that_is_only_judged_is_looked_at_for_its_times() -> None:
    good = frame().times
    assert good is not None
    found = examine(frame(times=good[::-1].copy()), learning=False)
    assert seen(found, "order").weight == "problem"
    assert not [one for one in found if one.topic == "rows"]


def test_a_signal_that_stood_still_is_seen_in_either_file() -> None:
    values = healthy()
    values[5_000:5_300, 1] = values[5_000, 1]
    found = seen(examine(frame(values)), "frozen")
    assert found.channels == ("b",)
    assert "300 rows from 2026-01-04 11:20:00 on, while otherwise 1 row at most" in found.text
    among_new = seen(compare(frame(), frame(values)), "frozen")
    assert "'b' stood still for 300 rows from 2026-01-04 11:20:00 on; more than 24 are too many" in among_new.text


def test_a_signal_that_was_lost_is_seen_among_new_rows() -> None:
    values = healthy()
    values[7_000:7_200, 2] = np.nan
    found = seen(compare(frame(), frame(values)), "lost")
    assert found.channels == ("c",)
    assert "'c' missing for 200 rows from 2026-01-05 20:40:00 on" in found.text


def test_a_command_that_seldom_moves_is_not_called_frozen() -> None:
    values = healthy(10_000)
    values[:, 3] = np.arange(10_000) // 2_500 % 2
    assert not [one for one in examine(frame(values)) if one.topic == "frozen"]
    assert not [one for one in compare(frame(values), frame(values)) if one.topic == "frozen"]
