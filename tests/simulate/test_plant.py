"""The plant is physical: mass balance holds, causes have effects, and everything is repeatable."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from ccmtad import SettingError
from ccmtad.simulate import CHANNELS, Fault, Run, schedule, simulate, spread
from ccmtad.simulate.faults import KINDS
from ccmtad.simulate.waste import AREA as WASTE_AREA
from ccmtad.simulate.water import AREA

STEP = 1.0 / 60.0  # hours in a row
ROWS = 24_000

# What flows into and out of each tank: (tank, level, in, out).
BALANCES = (
    ("101", "LIT101", ("FIT101",), ("FIT201", "spill 101")),
    ("301", "LIT301", ("FIT201",), ("leak 201", "FIT301", "spill 301")),
    ("401", "LIT401", ("FIT301",), ("FIT302", "FIT401", "spill 401")),
    ("501", "LIT501", ("FIT401",), ("leak 401", "FIT501", "spill 501")),
    ("601", "LIT601", ("FIT601",), ("FIT602", "spill 601")),
)


@pytest.fixture(scope="module")
def broken() -> Run:
    return simulate(ROWS, seed=7, faults=schedule(ROWS, seed=7))


def fault(kind: str, channel: str, size: float = 3.0, start: int = 500, end: int = 600) -> Fault:
    return Fault(kind, channel, start, end, size, (channel,))  # type: ignore[arg-type]


@pytest.mark.parametrize(("tank", "level", "inflows", "outflows"), BALANCES)
def test_water_is_neither_made_nor_lost(
    tank: str, level: str, inflows: tuple[str, ...], outflows: tuple[str, ...], broken: Run
) -> None:
    truth = broken.truth
    net = np.sum([truth[name] for name in inflows], axis=0) - np.sum([truth[name] for name in outflows], axis=0)
    volume = truth[level] * {**AREA, **WASTE_AREA}[tank]
    np.testing.assert_allclose(np.diff(volume), STEP * net[1:], atol=1e-6)


def test_faults_do_spill_and_leak(broken: Run) -> None:
    assert broken.truth["leak 201"].any()
    assert broken.truth["leak 401"].any()
    full = simulate(1_500, seed=9, faults=[fault("frozen sensor", "LIT101", end=1_200, start=400)])
    assert full.truth["spill 101"].any() or full.truth["LIT101"].min() < 1.0


def test_normal_operation_loses_nothing_and_switches() -> None:
    run = simulate(10_000, seed=3)
    for name in ("spill 101", "spill 301", "spill 401", "spill 501", "spill 601", "leak 201", "leak 401"):
        assert not run.truth[name].any()
    for name in ("P101", "P301", "P302", "P204", "P801", "B701"):
        assert np.abs(np.diff(run.truth[name])).sum() > 10, f"{name} hardly switches"
    daily = run.truth["FIT501"][: 6 * 1440].reshape(6, 1440).mean(axis=0)
    assert daily.max() > 2 * daily.min()  # a daily load


def test_there_are_enough_channels_of_every_sort() -> None:
    assert len(CHANNELS) >= 45
    constant = [name for name, value in spread().items() if value == 0]
    assert set(constant) == {"P102", "MV304", "UV401", "P402", "P802"}
    stages = {name.lstrip("ABDFILMPSTUV")[0] for name in CHANNELS}
    assert stages == set("12345678")


def test_the_two_lines_do_not_influence_each_other() -> None:
    normal = simulate(2_000, seed=4)
    broken = simulate(2_000, seed=4, faults=[fault("pump trip", "SIT401"), fault("leak", "FIT201", 0.5)])
    for name in CHANNELS:
        same = np.array_equal(normal.truth[name], broken.truth[name])
        waste = name.lstrip("ABDFILMPSTUV")[0] in "678"
        if waste:
            assert same, name
    assert not np.array_equal(normal.truth["LIT401"], broken.truth["LIT401"])


def test_the_same_seed_gives_the_same_run_and_a_longer_one_begins_alike() -> None:
    one, same, longer, other = simulate(500, 1), simulate(500, 1), simulate(900, 1), simulate(500, 2)
    np.testing.assert_array_equal(one.values, same.values)
    np.testing.assert_array_equal(one.values, longer.values[:500])
    assert not np.array_equal(one.values, other.values)


def test_nothing_happens_before_a_fault() -> None:
    faults = [fault(kind, places[0][0], 0.5) for kind, places in KINDS.items()]
    normal, broken = simulate(1_000, seed=5), simulate(1_000, seed=5, faults=faults)
    np.testing.assert_array_equal(normal.values[:500], broken.values[:500])


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_fault_shows_in_a_channel_it_claims_to_affect(kind: str) -> None:
    for place in KINDS[kind]:  # type: ignore[index]
        one = Fault(kind, place[0], 500, 700, 1.0 if kind == "leak" else 4.0, place)  # type: ignore[arg-type]
        normal, broken = simulate(1_000, seed=6), simulate(1_000, seed=6, faults=[one])
        assert set(place) <= set(CHANNELS)
        columns = [list(CHANNELS).index(name) for name in place]
        assert (normal.values[500:701, columns] != broken.values[500:701, columns]).any(), place


def test_a_leak_raises_the_flow_before_it_lowers_the_pressure_and_starves_the_tower() -> None:
    normal, broken = simulate(700, seed=8), simulate(700, seed=8, faults=[fault("leak", "FIT401", 1.0)])
    span = slice(505, 520)
    assert (broken.truth["FIT401"][span] > normal.truth["FIT401"][span]).all()
    assert (broken.truth["PIT401"][span] < normal.truth["PIT401"][span]).all()
    assert broken.truth["LIT501"][599] < normal.truth["LIT501"][599]


def test_a_spoofed_level_moves_the_controller() -> None:
    normal, broken = simulate(700, seed=9), simulate(700, seed=9, faults=[fault("spoofed sensor", "LIT501")])
    reading = list(CHANNELS).index("LIT501")
    assert broken.values[501, reading] < normal.values[501, reading] - 2 * spread()["LIT501"]
    assert broken.truth["SIT401"][510] > normal.truth["SIT401"][510]  # the pump believes the lie …
    assert broken.truth["LIT501"][590] > normal.truth["LIT501"][590]  # … and overfills the tower


def test_a_frozen_sensor_repeats_its_last_reading() -> None:
    for name in ("FIT602", "LIT601"):
        run = simulate(700, seed=10, faults=[fault("frozen sensor", name)])
        column = list(CHANNELS).index(name)
        assert (run.values[500:601, column] == run.values[499, column]).all()
        assert run.values[601, column] != run.values[499, column]
        assert run.faults[0].size is not None
        assert run.faults[0].size > 0


def test_bias_and_drift_have_the_size_they_state() -> None:
    bias, drift = fault("sensor bias", "PIT501"), fault("slow drift", "AIT801")
    normal, broken = simulate(700, seed=2), simulate(700, seed=2, faults=[bias, drift])
    shift = (broken.values - normal.values) / [max(s, 1e-9) for s in spread().values()]
    np.testing.assert_allclose(shift[500:601, list(CHANNELS).index("PIT501")], 3.0)
    ramp = shift[500:601, list(CHANNELS).index("AIT801")]
    assert ramp[-1] == pytest.approx(3.0)
    assert (np.diff(ramp) > 0).all()


def test_a_schedule_has_every_kind_an_overlap_and_hard_and_easy_sizes() -> None:
    faults = schedule(ROWS, seed=1)
    assert len(faults) == 14
    assert Counter(one.kind for one in faults) == dict.fromkeys(KINDS, 2)
    assert sum(later.start <= earlier.end for earlier, later in pairwise(faults)) == 2
    assert all(0 <= one.start < one.end < ROWS for one in faults)
    sizes = [one.size for one in faults if one.kind not in ("leak", "spoofed sensor") and one.size is not None]
    assert min(sizes) < 3
    assert max(sizes) > 5
    assert schedule(ROWS, seed=1) == faults
    assert schedule(ROWS, seed=2) != faults


def test_a_short_run_has_room_for_fewer_faults() -> None:
    assert schedule(500) == ()


def test_wrong_arguments_are_clear_errors() -> None:
    with pytest.raises(SettingError, match="rows must be at least 1; got 0"):
        simulate(0)
    with pytest.raises(SettingError, match="'leak' can happen at FIT201, FIT401; got 'FIT301'"):
        simulate(700, faults=[fault("leak", "FIT301")])
    with pytest.raises(SettingError, match="'sensor bias' can happen at .*; got 'P402'"):
        simulate(700, faults=[fault("sensor bias", "P402")])
    with pytest.raises(SettingError, match="faults must lie in rows 0 to 99; got 500 to 600"):
        simulate(100, faults=[fault("leak", "FIT401")])
